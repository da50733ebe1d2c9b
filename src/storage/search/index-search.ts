import type { Database } from 'better-sqlite3';
import { ownCpuMs } from '../../cpu-time.ts';
import type { FeedName } from '../../feeds/names.ts';
import type { Position } from '../../feeds/order.ts';
import { Refusal } from '../../refusals.ts';
import { preparer } from '../sqlite/connection.ts';
import type { NoteSearch } from '../storage.ts';
import { byAge, type Chunk } from './chunks.ts';
import { CHUNK_ROWS } from './index-file.ts';
import { toChunk } from './note-index.ts';
import { type PackedFile, unpackFile } from './packed-file.ts';
import { matchExpression } from './tokens.ts';

/** CPU time of a search, in ms. */
const MAX_CPU_MS = 50;

/** A page of the index. */
export interface IndexPage {
  /** Newest first. */
  readonly positions: readonly Position[];
  /** Where the next page starts, or undefined at the end. */
  readonly next: Position | undefined;
}

interface FoundRow {
  readonly row: number;
  readonly file: PackedFile;
  readonly created_at: number;
}

/** Searches an index. */
export class IndexSearch {
  readonly #sql: ReturnType<typeof prepareStatements>;
  readonly #atOneMoment: <T>(work: () => T) => T;

  constructor(db: Database) {
    this.#sql = prepareStatements(db);
    this.#atOneMoment = (work) => db.transaction(work)();
  }

  /** The run in which a feed was compared with its notes last (`NoteIndex`); undefined if the index does not know it. */
  comparedIn(name: FeedName): number | undefined {
    return this.#sql.compared.get(name);
  }

  /**
   * The notes of a feed in the index that match a query, newest first. It goes through the chunks one by one, because the engine cannot be interrupted.
   * @throws Refusal `busy` if it takes more than 50 ms
   */
  search(name: FeedName, search: NoteSearch): IndexPage {
    return this.#atOneMoment(() => this.#search(name, search));
  }

  #search(name: FeedName, search: NoteSearch): IndexPage {
    const stop = cpuLimit();
    const most = search.limit + 1;
    let found: Position[] = [];
    const chunks = this.#sql.chunks.all(name).map(toChunk);
    for (const chunk of chunks.sort((a, b) => byAge(b.last, a.last))) {
      // No later chunk has a newer note either.
      if (found.length === most && byAge(found.at(-1)!, chunk.last) > 0) break;
      if (!isWithin(chunk, search)) continue;
      if (stop()) throw new Refusal('busy', 'The search takes too long: make it more exact.');
      const merged = [...found, ...this.#inChunk(chunk, search, most)];
      found = merged.sort((a, b) => byAge(b, a)).slice(0, most);
    }
    const positions = found.slice(0, search.limit);
    return { positions, next: found.length === most ? positions.at(-1) : undefined };
  }

  /** The newest notes of a chunk that the query finds, at most `most`. */
  #inChunk({ id, rows, lag }: Chunk, search: NoteSearch, most: number): Position[] {
    const { from = -Infinity, before } = search;
    const upTo = Math.min(search.to ?? Infinity, before?.createdAt ?? Infinity);
    const start = id * CHUNK_ROWS;
    const end = start + rows - 1;
    // No row before `first` or after `last` is within the dates, whatever the order of the rows.
    const first = from === -Infinity ? start : this.#sql.firstSince.get(start, end, from);
    const last = upTo === Infinity ? end : this.#sql.lastUntil.get(start, end, upTo);
    if (first === undefined || last === undefined) return [];
    const found: (Position & { row: number })[] = [];
    let enough = -1;
    const expression = matchExpression(id, search.query, search.tag);
    for (const { row, file, created_at } of this.#sql.match.iterate(expression, first, last)) {
      if (row < enough) break;
      if (created_at < from || created_at > upTo) continue;
      const note = { row, createdAt: created_at, file: unpackFile(file) };
      if (before && byAge(note, before) >= 0) continue;
      // A later row can only be newer than one of these if it is at most `lag` rows further on.
      if (found.push(note) === most) enough = row - lag;
    }
    if (lag > 0) found.sort((a, b) => byAge(b, a));
    return found.slice(0, most).map(({ createdAt, file }) => ({ createdAt, file }));
  }
}

/** Whether a chunk may have notes of the range. */
function isWithin({ first, last }: Chunk, { from, to, before }: NoteSearch): boolean {
  if (from !== undefined && last.createdAt < from) return false;
  if (to !== undefined && first.createdAt > to) return false;
  return before === undefined || byAge(first, before) < 0;
}

/** Tells whether this thread has worked for too long since now. */
function cpuLimit(): () => boolean {
  const begunAt = performance.now();
  const before = ownCpuMs();
  // CPU time is expensive to ask for, and never more than the time that has passed.
  return () => performance.now() - begunAt > MAX_CPU_MS && ownCpuMs() - before > MAX_CPU_MS;
}

function prepareStatements(db: Database) {
  const prepare = preparer(db);
  return {
    compared: prepare<[FeedName], number>`SELECT compared FROM feeds WHERE name = ?`.pluck(),
    chunks: prepare<[FeedName], Parameters<typeof toChunk>[0]>`
      SELECT id, first_at, first_file, last_at, last_file, notes, rows, words, lag FROM chunks
      WHERE feed = (SELECT id FROM feeds WHERE name = ?)`,
    firstSince: prepare<[number, number, number], number>`
      SELECT row FROM notes WHERE row BETWEEN ? AND ? AND created_at >= ? ORDER BY row LIMIT 1`.pluck(),
    lastUntil: prepare<[number, number, number], number>`
      SELECT row FROM notes WHERE row BETWEEN ? AND ? AND created_at <= ? ORDER BY row DESC LIMIT 1`.pluck(),
    match: prepare<[string, number, number], FoundRow>`
      SELECT notes.row, file, created_at FROM texts CROSS JOIN notes ON notes.row = texts.rowid
      WHERE texts MATCH ? AND texts.rowid BETWEEN ? AND ? ORDER BY texts.rowid DESC`,
  };
}
