import type { Database } from 'better-sqlite3';
import type { FeedName, NoteFile } from '../../feeds/names.ts';
import type { Position } from '../../feeds/order.ts';
import { indexBroken } from '../failures.ts';
import { preparer } from '../sqlite/connection.ts';
import { byAge, type Chunk, type ChunkLimits, chunkFor } from './chunks.ts';
import { CHUNK_ROWS, UNSEAL } from './index-file.ts';
import type { ListedNote, NoteSource, SourceNote } from './note-source.ts';
import { type PackedFile, packFile, unpackFile } from './packed-file.ts';
import { tokenText } from './tokens.ts';

/** The number of notes keeps a step of a search cheap; where notes are long, the number of words does. */
const LIMITS: ChunkLimits = { notes: 4096, words: 1_000_000, rows: CHUNK_ROWS };

export interface NoteIndexOptions {
  readonly source: NoteSource;
  /** The texts of a note that are searched, each by itself. */
  readonly textsOf: (feed: FeedName, note: SourceNote) => readonly string[];
  /** Tells this comparison of all feeds from earlier ones; not 0. */
  readonly run: number;
  readonly limits?: ChunkLimits;
}

interface ChunkRow {
  readonly id: number;
  readonly first_at: number;
  readonly first_file: NoteFile;
  readonly last_at: number;
  readonly last_file: NoteFile;
  readonly notes: number;
  readonly rows: number;
  readonly words: number;
  readonly lag: number;
}

interface NoteRow {
  readonly row: number;
  readonly created_at: number;
  readonly version: number;
}

/** The chunks of the feed that was changed last, as they are in this transaction. */
interface OpenFeed {
  readonly name: FeedName;
  readonly id: number;
  /** By their numbers. */
  readonly chunks: Map<number, Chunk>;
  readonly changed: Set<Chunk>;
}

/** Brings the index up to the notes of a source. Call `begin` before changes and `commit` after them. */
export class NoteIndex {
  readonly #db: Database;
  readonly #options: NoteIndexOptions;
  readonly #limits: ChunkLimits;
  readonly #sql: ReturnType<typeof prepareStatements>;
  #open: OpenFeed | undefined;
  /** How many notes were removed from the index so far, in all feeds. */
  #removed = 0;

  constructor(db: Database, options: NoteIndexOptions) {
    this.#db = db;
    this.#options = options;
    this.#limits = options.limits ?? LIMITS;
    this.#sql = prepareStatements(db);
  }

  /** Begins a transaction, unless one is open. */
  begin(): void {
    if (!this.#db.inTransaction) this.#db.exec('BEGIN IMMEDIATE');
  }

  /** Ends the transaction, if one is open: all changes in it are made, or, after an error, none. */
  commit(): void {
    if (!this.#db.inTransaction) return;
    this.#closeFeed();
    this.#db.exec('COMMIT');
  }

  /** Brings a note up to what it is now, even if its version is the same, or removes it if it is gone. */
  refresh(name: FeedName, file: NoteFile): void {
    const note = this.#options.source.read(name, file);
    const feed = this.#openFeed(name);
    const there = this.#sql.note.get(feed.id, packFile(file));
    if (!note) {
      if (there) this.#remove(feed, there);
    } else if (there?.created_at === note.createdAt) this.#replace(feed, there, note);
    else {
      if (there) this.#remove(feed, there);
      this.#add(feed, note);
    }
  }

  /** Whether a feed was compared in this run. */
  isCompared(name: FeedName): boolean {
    return this.#sql.compared.get(name) === this.#options.run;
  }

  /** Feeds of the index that were not compared in this run, after that name; some of them, in order. */
  uncompared(after: string): FeedName[] {
    return this.#sql.uncompared.all(this.#options.run, after);
  }

  forgetIfEmpty(name: FeedName): void {
    if (this.#openFeed(name).chunks.size > 0) return;
    this.#closeFeed();
    this.#sql.forget.run(name);
  }

  /** Removes the rows of feeds that were compared in this run and have no notes. */
  forgetEmpty(): void {
    this.#closeFeed();
    this.#sql.forgetEmpty.run(this.#options.run);
  }

  /** Finds notes that are missing, old or gone in the index of a feed, and mends it one by one. Other changes may come between two steps. */
  *compare(name: FeedName): Generator<void> {
    const { source, run } = this.#options;
    const behind: ListedNote[] = [];
    const removedBefore = this.#removed;
    let known = 0;
    let seen = 0;
    for (const note of source.list(name)) {
      const there = this.#row(name, note);
      if (there) known += 1;
      if (!isOf(there, note)) behind.push(note);
      seen += 1;
      if (seen % 64 === 0) yield;
    }
    // Counts removals since the listing, because they could hide a note that is gone.
    const removed = this.#removed - removedBefore;
    if (countNotes(this.#openFeed(name)) + removed > known) yield* this.#removeGone(name);
    for (const note of behind.sort(byAge)) {
      // Another change may have brought it.
      if (!isOf(this.#row(name, note), note)) this.refresh(name, note.file);
      yield;
    }
    this.#sql.mark.run(run, this.#openFeed(name).id);
  }

  #row(name: FeedName, { file }: ListedNote) {
    return this.#sql.note.get(this.#openFeed(name).id, packFile(file));
  }

  *#removeGone(name: FeedName): Generator<void> {
    const listed = new Set<NoteFile>();
    for (const { file } of this.#options.source.list(name)) {
      listed.add(file);
      if (listed.size % 64 === 0) yield;
    }
    for (const id of [...this.#openFeed(name).chunks.keys()]) {
      const files = this.#sql.files.all(id * CHUNK_ROWS, (id + 1) * CHUNK_ROWS - 1).map(unpackFile);
      for (const file of files) {
        if (listed.has(file)) continue;
        this.refresh(name, file);
        yield;
      }
    }
  }

  #add(feed: OpenFeed, note: SourceNote): void {
    const position: Position = { createdAt: note.createdAt, file: note.file };
    const chunk = chunkFor(feed.chunks.values(), position, this.#limits) ?? this.#makeChunk(feed, position);
    const row = chunk.id * CHUNK_ROWS + chunk.rows;
    chunk.rows += 1;
    if (byAge(position, chunk.last) < 0)
      chunk.lag = Math.max(chunk.lag, row - this.#firstSince(chunk, note.createdAt));
    if (byAge(position, chunk.first) < 0) chunk.first = position;
    if (byAge(position, chunk.last) > 0) chunk.last = position;
    chunk.notes += 1;
    this.#sql.addNote.run(row, feed.id, packFile(note.file), note.createdAt, note.version);
    this.#putWords(feed, chunk, row, note);
  }

  #replace(feed: OpenFeed, { row }: NoteRow, note: SourceNote): void {
    this.#sql.removeWords.run(row);
    this.#putWords(feed, chunkOf(feed, row), row, note);
    this.#sql.setVersion.run(note.version, row);
  }

  #remove(feed: OpenFeed, { row }: NoteRow): void {
    this.#removed += 1;
    this.#sql.unseal.run();
    this.#sql.removeWords.run(row);
    this.#sql.removeNote.run(row);
    const chunk = chunkOf(feed, row);
    chunk.notes -= 1;
    feed.changed.add(chunk);
    if (chunk.notes > 0) return;
    feed.chunks.delete(chunk.id);
    feed.changed.delete(chunk);
    this.#sql.removeChunk.run(chunk.id);
  }

  #putWords(feed: OpenFeed, chunk: Chunk, row: number, note: SourceNote): void {
    const { text, tokens } = tokenText(chunk.id, this.#options.textsOf(feed.name, note), note.meta.tags);
    this.#sql.unseal.run();
    this.#sql.addWords.run(row, text);
    chunk.words += tokens;
    feed.changed.add(chunk);
  }

  /** The first row of a chunk with a note of that moment or later. */
  #firstSince({ id, rows }: Chunk, moment: number): number {
    const start = id * CHUNK_ROWS;
    return this.#sql.firstSince.get(start, start + rows, moment) ?? start + rows;
  }

  #makeChunk(feed: OpenFeed, note: Position): Chunk {
    const { createdAt, file } = note;
    const id = Number(this.#sql.addChunk.run(feed.id, createdAt, file, createdAt, file).lastInsertRowid);
    const chunk: Chunk = { id, first: note, last: note, notes: 0, rows: 0, words: 0, lag: 0 };
    feed.chunks.set(id, chunk);
    return chunk;
  }

  #openFeed(name: FeedName): OpenFeed {
    if (this.#open?.name === name) return this.#open;
    this.#closeFeed();
    const id = this.#sql.feed.get(name) ?? Number(this.#sql.addFeed.run(name).lastInsertRowid);
    const chunks = this.#sql.chunks.all(id).map(toChunk);
    this.#open = { name, id, chunks: new Map(chunks.map((chunk) => [chunk.id, chunk])), changed: new Set() };
    return this.#open;
  }

  #closeFeed(): void {
    for (const { first, last, notes, rows, words, lag, id } of this.#open?.changed ?? []) {
      const ends = [first.createdAt, first.file, last.createdAt, last.file] as const;
      this.#sql.setChunk.run(...ends, notes, rows, words, lag, id);
    }
    this.#open = undefined;
  }
}

export function toChunk(row: ChunkRow): Chunk {
  const { first_at, first_file, last_at, last_file, ...numbers } = row;
  return {
    ...numbers,
    first: { createdAt: first_at, file: first_file },
    last: { createdAt: last_at, file: last_file },
  };
}

/** Whether a row is of the version that is listed. */
function isOf(row: NoteRow | undefined, { version, createdAt }: ListedNote): boolean {
  return row?.version === version && row.created_at === createdAt;
}

function chunkOf({ chunks }: OpenFeed, row: number): Chunk {
  const chunk = chunks.get(Math.floor(row / CHUNK_ROWS));
  if (!chunk) throw indexBroken('lacks a chunk');
  return chunk;
}

function countNotes({ chunks }: OpenFeed): number {
  let sum = 0;
  for (const { notes } of chunks.values()) sum += notes;
  return sum;
}

function prepareStatements(db: Database) {
  const prepare = preparer(db);
  return {
    feed: prepare<[FeedName], number>`SELECT id FROM feeds WHERE name = ?`.pluck(),
    addFeed: prepare<[FeedName]>`INSERT INTO feeds (name) VALUES (?)`,
    compared: prepare<[FeedName], number>`SELECT compared FROM feeds WHERE name = ?`.pluck(),
    uncompared: prepare<[number, string], FeedName>`
      SELECT name FROM feeds WHERE compared <> ? AND name > ? ORDER BY name LIMIT 1000`.pluck(),
    mark: prepare<[number, number]>`UPDATE feeds SET compared = ? WHERE id = ?`,
    forget: prepare<[FeedName]>`DELETE FROM feeds WHERE name = ?`,
    forgetEmpty: prepare<
      [number]
    >`DELETE FROM feeds WHERE compared = ? AND id NOT IN (SELECT feed FROM chunks)`,
    chunks: prepare<[number], ChunkRow>`
      SELECT id, first_at, first_file, last_at, last_file, notes, rows, words, lag FROM chunks WHERE feed = ?`,
    addChunk: prepare<[number, number, NoteFile, number, NoteFile]>`
      INSERT INTO chunks VALUES (NULL, ?, ?, ?, ?, ?, 0, 0, 0, 0)`,
    setChunk: prepare<[number, NoteFile, number, NoteFile, number, number, number, number, number]>`
      UPDATE chunks SET first_at = ?, first_file = ?, last_at = ?, last_file = ?, notes = ?, rows = ?, words = ?, lag = ? WHERE id = ?`,
    removeChunk: prepare<[number]>`DELETE FROM chunks WHERE id = ?`,
    note: prepare<[number, PackedFile], NoteRow>`
      SELECT row, created_at, version FROM notes WHERE feed = ? AND file = ?`,
    files: prepare<[number, number], PackedFile>`SELECT file FROM notes WHERE row BETWEEN ? AND ?`.pluck(),
    firstSince: prepare<[number, number, number], number>`
      SELECT row FROM notes WHERE row >= ? AND row < ? AND created_at >= ? ORDER BY row LIMIT 1`.pluck(),
    addNote: prepare<[number, number, PackedFile, number, number]>`INSERT INTO notes VALUES (?, ?, ?, ?, ?)`,
    setVersion: prepare<[number, number]>`UPDATE notes SET version = ? WHERE row = ?`,
    removeNote: prepare<[number]>`DELETE FROM notes WHERE row = ?`,
    unseal: db.prepare(UNSEAL),
    addWords: prepare<[number, string]>`INSERT INTO texts (rowid, words) VALUES (?, ?)`,
    removeWords: prepare<[number]>`DELETE FROM texts WHERE rowid = ?`,
  };
}
