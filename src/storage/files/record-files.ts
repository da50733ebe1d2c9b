import type { FeedName } from '../../feeds/names.ts';
import { Refusal } from '../../refusals.ts';
import type { Log } from '../../telemetry/log.ts';
import type { KeyedLock } from '../keyed-lock.ts';
import type { OperatorRecord, OperatorRecordKind, OperatorRecords } from '../operator-records.ts';
import { type FileWriter, textFile } from './durable.ts';
import { asRefusal } from './failures.ts';
import type { FeedIndex } from './feed-index.ts';
import { readText } from './line-files.ts';
import { parseRecords, RECORD_KINDS, RECORD_LINES } from './record-lines.ts';

/** How soon a file that could not be read after a change by hand is read again, ms. */
const RETRY_MS = 500;

interface RecordParts {
  readonly dir: string;
  readonly index: FeedIndex;
  readonly writer: FileWriter;
  readonly locks: KeyedLock<string>;
  readonly log: Pick<Log, 'warn' | 'error'>;
}

/** The operator's records, in memory and in a file of the data folder for each kind. Lines that cannot be read stay in it. */
export class RecordFiles implements OperatorRecords {
  readonly #parts: RecordParts;
  readonly #records = new Map<OperatorRecordKind, Map<string, OperatorRecord>>();
  /** How many lines of a file could not be read. */
  readonly #unread = new Map<OperatorRecordKind, number>();
  /** Files that could not be read, and what reads them again. */
  readonly #failed = new Map<string, NodeJS.Timeout>();
  /** The last line of the reports may lack its end. */
  #isTorn = false;

  constructor(parts: RecordParts) {
    this.#parts = parts;
  }

  /** Reads all files at the start, before the feeds are known. */
  async load(): Promise<void> {
    for (const kind of RECORD_KINDS) await this.#read(kind);
    for (const name of this.#of('name').keys()) this.#parts.index.setClosed(name as FeedName, true);
  }

  /** All records, by kind, then by key. */
  *all(): Generator<OperatorRecord> {
    for (const kind of RECORD_KINDS.toSorted()) {
      const records = this.#of(kind);
      for (const key of [...records.keys()].sort()) yield records.get(key)!;
    }
  }

  /** Adds records that are not there, while nothing else is done, and closes no feed. */
  async addAll(added: readonly OperatorRecord[]): Promise<void> {
    for (const [kind, ofKind] of Map.groupBy(added, (one) => one.kind)) {
      const records = this.#of(kind);
      const absent = ofKind.filter(({ key }) => !records.has(key));
      if (absent.length === 0) continue;
      await this.#rewrite(kind, (lines) => [...lines, ...absent.map(RECORD_LINES[kind].lineOf)]);
      for (const one of absent) records.set(one.key, one);
    }
  }

  /** Reads the file of that name again, which somebody has changed by hand. The watch reports a change once, so a failure is retried. */
  async reload(file: string): Promise<void> {
    const { index, locks, log } = this.#parts;
    const kind = RECORD_KINDS.find((one) => RECORD_LINES[one].file === file);
    try {
      if (kind === undefined) return;
      const before = this.#of(kind);
      await locks.exclusive(file, () => this.#read(kind));
      this.#failed.delete(file);
      if (kind !== 'name') return;
      const names = new Set([...before.keys(), ...this.#of(kind).keys()]) as Set<FeedName>;
      for (const name of names) {
        if (index.isClosed(name) === this.#of(kind).has(name)) continue;
        // Asked again, because it may have changed before the lock.
        await locks.exclusive(name, async () => index.setClosed(name, this.#of(kind).has(name)));
      }
    } catch (error) {
      const err = asRefusal(error);
      if (!this.#failed.has(file)) log.error('a change by hand could not be taken in', { file, err });
      if (!(err instanceof Refusal)) return;
      clearTimeout(this.#failed.get(file));
      this.#failed.set(file, setTimeout(() => void this.reload(file), RETRY_MS).unref());
    }
  }

  add(record: OperatorRecord): Promise<boolean> {
    const { kind, key } = record;
    return this.#alone(kind, key, async (records) => {
      if (records.has(key)) return false;
      if (kind === 'report') await this.#append(record);
      else await this.#rewrite(kind, (lines) => [...lines, RECORD_LINES[kind].lineOf(record)]);
      records.set(key, record);
      return true;
    });
  }

  remove(kind: OperatorRecordKind, key: string): Promise<boolean> {
    const { parse } = RECORD_LINES[kind];
    return this.#alone(kind, key, async (records) => {
      if (!records.has(key)) return false;
      await this.#rewrite(kind, (lines) => lines.filter((line) => parse(line)?.key !== key));
      records.delete(key);
      return true;
    });
  }

  async find(kind: OperatorRecordKind, keys: readonly string[]): Promise<readonly OperatorRecord[]> {
    return keys.flatMap((key) => this.#of(kind).get(key) ?? []);
  }

  readonly list: OperatorRecords['list'] = async (kind, { after, limit }) => {
    const keys = [...this.#of(kind).keys()].filter((key) => key > after).sort();
    return this.find(kind, keys.slice(0, limit));
  };

  async count(kind: OperatorRecordKind): Promise<number> {
    return this.#of(kind).size;
  }

  #of(kind: OperatorRecordKind): Map<string, OperatorRecord> {
    return this.#records.get(kind)!;
  }

  /** Changes records alone; those of a name while nothing else is done to its feed. */
  #alone(
    kind: OperatorRecordKind,
    key: string,
    change: (records: Map<string, OperatorRecord>) => Promise<boolean>,
  ): Promise<boolean> {
    const { locks } = this.#parts;
    const run = () => locks.exclusive(RECORD_LINES[kind].file, () => change(this.#of(kind)));
    if (kind !== 'name') return run();
    return locks.exclusive(key, async () => {
      const isChanged = await run();
      this.#parts.index.setClosed(key as FeedName, this.#of(kind).has(key));
      return isChanged;
    });
  }

  async #read(kind: OperatorRecordKind): Promise<void> {
    const { file } = RECORD_LINES[kind];
    const text = await readText(this.#parts.dir, file);
    if (kind === 'report') this.#isTorn = text !== '' && !text.endsWith('\n');
    const { records, unread } = parseRecords(kind, text);
    this.#records.set(kind, records);
    // Not the lines, because they may hold the name of a feed.
    if (unread > 0 && unread !== this.#unread.get(kind))
      this.#parts.log.warn('lines of a file in the data folder cannot be read and are ignored', {
        file,
        lines: unread,
      });
    this.#unread.set(kind, unread);
  }

  /** Rewrites the file as a whole, because a part of a line could be another record. */
  async #rewrite(
    kind: OperatorRecordKind,
    change: (lines: readonly string[]) => readonly string[],
  ): Promise<void> {
    const { dir, writer } = this.#parts;
    const { file } = RECORD_LINES[kind];
    const text = await readText(dir, file);
    const lines = text.split('\n').map((line) => `${line}\n`);
    // Behind the last line end there is no line, unless text follows it.
    if (lines.at(-1) === '\n') lines.pop();
    await writer.change(dir, [textFile(file, change(lines).join('') || undefined)]);
  }

  /** Reports are many, and people who are no operators add them: rewriting all for each would be too much. */
  async #append(record: OperatorRecord): Promise<void> {
    const { dir, writer } = this.#parts;
    const { file, lineOf } = RECORD_LINES[record.kind];
    const start = this.#isTorn ? '\n' : '';
    this.#isTorn = true;
    await writer.append(dir, file, Buffer.from(start + lineOf(record)));
    this.#isTorn = false;
  }
}
