import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isReadId, type ReadId } from '../../feeds/names.ts';
import { Refusal } from '../../refusals.ts';
import { type Change, type FileWriter, textFile } from './durable.ts';
import { RETIRED_FILE, readIdOfTemp, TOKENS_FILE } from './names.ts';
import { findAgain, readWhole, whyUnreadable } from './read-file.ts';

/**
 * The text of a file in the data folder, of any length; empty when there is none.
 * @throws Refusal `store_unavailable` if something is there that cannot be read, or all of the data folder is away
 */
export async function readText(dir: string, name: string): Promise<string> {
  const path = join(dir, name);
  const file = await findAgain(dir, () => readWhole(path));
  if (file) return new TextDecoder().decode(file.bytes);
  const why = await whyUnreadable(path, Number.POSITIVE_INFINITY);
  if (why === undefined) return '';
  throw new Refusal('store_unavailable', `The file ${name} in the data folder cannot be read: ${why}.`);
}

/**
 * The read ids of deleted feeds in a data folder, one a line: those of `.deleted-read-ids`, and those for which it had no room,
 * which are in the names of folders. Throws as `readText`.
 */
export async function readRetired(dir: string): Promise<string> {
  const held = (await readdir(dir)).map(readIdOfTemp).filter((readId) => readId !== undefined);
  return [await readText(dir, RETIRED_FILE), ...held].join('\n');
}

/**
 * The read ids of deleted feeds, which nobody gets again (contract §3): the lines of `.deleted-read-ids` in the
 * data folder. It holds no feed's name.
 */
export class RetiredReadIds {
  readonly #dir: string;
  readonly #writer: FileWriter;
  readonly #ids: Set<ReadId>;
  /** The file may end in a part of a line, or a kill may have come before its last sync, so it must be rewritten before anything is appended. */
  #isUnsure: boolean;

  /** @param text see `readRetired` */
  constructor(dir: string, writer: FileWriter, text: string) {
    this.#dir = dir;
    this.#writer = writer;
    this.#ids = new Set(text.split('\n').filter(isReadId));
    this.#isUnsure = text !== '';
  }

  has(readId: ReadId): boolean {
    return this.#ids.has(readId);
  }

  /** Settles when the line is durable. Call it again only after it has settled. */
  async add(readId: ReadId): Promise<void> {
    if (this.#ids.has(readId) && !this.#isUnsure) return;
    this.#ids.add(readId);
    const wasUnsure = this.#isUnsure;
    this.#isUnsure = true;
    if (wasUnsure) await this.#writer.change(this.#dir, [retiredFile(this.#ids)]);
    else await this.#writer.append(this.#dir, RETIRED_FILE, Buffer.from(`${readId}\n`));
    this.#isUnsure = false;
  }
}

/** The file of read ids that nobody gets again. */
export function retiredFile(readIds: Iterable<ReadId>): Change {
  return textFile(RETIRED_FILE, [...readIds, ''].join('\n'));
}

/** The next place of a series that ended because a token was used twice. */
const ENDED = -1;
const LINE = /^([\w-]+) (-?\d+) (\d+)$/gm;

interface Series {
  /** The place of the next valid token. */
  readonly turn: number;
  /** Ms since the epoch. */
  readonly until: number;
}

/**
 * Series of tokens, one in each line of `.used-tokens` in the data folder: name, next place, end. The file is short, one
 * line for each assistant admitted within a month, so each change rewrites it.
 */
export class UsedTokens {
  readonly #dir: string;
  readonly #writer: FileWriter;
  #series: Map<string, Series> | undefined;

  constructor(dir: string, writer: FileWriter) {
    this.#dir = dir;
    this.#writer = writer;
  }

  /** See `TokenSeries.useToken`. Call it again only after it has settled. */
  async use(name: string, place: number, until: number): Promise<boolean> {
    const known = this.#series ?? seriesIn(await readText(this.#dir, TOKENS_FILE));
    const isTurn = (known.get(name)?.turn ?? 0) === place;
    const now = Date.now();
    const series = new Map([...known].filter(([, one]) => one.until > now));
    series.set(name, { turn: isTurn ? place + 1 : ENDED, until });
    const lines = [...series].map(([name, { turn, until }]) => `${name} ${turn} ${until}\n`);
    await this.#writer.change(this.#dir, [textFile(TOKENS_FILE, lines.join(''))]);
    this.#series = series;
    return isTurn;
  }
}

function seriesIn(text: string): Map<string, Series> {
  const lines = [...text.matchAll(LINE)];
  return new Map(lines.map(([, name, turn, until]) => [name!, { turn: Number(turn), until: Number(until) }]));
}
