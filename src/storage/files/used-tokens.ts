import { join } from 'node:path';
import type { TokenSeries } from '../storage.ts';
import type { FileWriter } from './durable.ts';
import { TOKENS_FILE } from './names.ts';
import { readWhole } from './read-file.ts';

/** The turn of a series of which a token was used twice. */
const ENDED = -1;
const LINE = /^([\w-]+) (-?\d+) (\d+)$/;

interface Series {
  /** The place of the token whose turn it is. */
  readonly turn: number;
  /** Ms since the epoch. */
  readonly until: number;
}

/**
 * Series of tokens in the lines of `.used-tokens` in the data folder: name, turn, end. The file is as long as there are
 * series, one for each assistant that somebody let in within a month, so it is written anew for each change.
 */
export class UsedTokens implements TokenSeries {
  readonly #dir: string;
  readonly #writer: Pick<FileWriter, 'change'>;
  #series: Map<string, Series> | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(dir: string, writer: Pick<FileWriter, 'change'>) {
    this.#dir = dir;
    this.#writer = writer;
  }

  useToken(series: string, place: number, until: number): Promise<boolean> {
    const using = this.#last.then(() => this.#use(series, place, until));
    this.#last = using.catch(() => undefined);
    return using;
  }

  async #use(name: string, place: number, until: number): Promise<boolean> {
    const known = this.#series ?? (await readSeries(this.#dir));
    const isTurn = (known.get(name)?.turn ?? 0) === place;
    const now = Date.now();
    const series = new Map([...known].filter((one) => one[1].until > now));
    series.set(name, { turn: isTurn ? place + 1 : ENDED, until });
    const lines = [...series].map(([name, { turn, until }]) => `${name} ${turn} ${until}\n`);
    await this.#writer.change(this.#dir, [{ name: TOKENS_FILE, bytes: Buffer.from(lines.join('')) }]);
    this.#series = series;
    return isTurn;
  }
}

async function readSeries(dir: string): Promise<Map<string, Series>> {
  const file = await readWhole(join(dir, TOKENS_FILE));
  const text = file ? new TextDecoder().decode(file.bytes) : '';
  const found = text.split('\n').flatMap((line) => {
    const [, name, turn, until] = LINE.exec(line) ?? [];
    return name === undefined ? [] : [[name, { turn: Number(turn), until: Number(until) }] as const];
  });
  return new Map(found);
}
