import { createHash } from 'node:crypto';
import { closeSync, constants, fchownSync, openSync, type Stats, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import type { Owner } from '../../privileges.ts';
import { errorCode } from '../../system-errors.ts';
import { INDEX_BROKEN, indexBroken } from '../failures.ts';
import { removeIndex } from '../index-place.ts';
import { TOKENIZER } from './tokens.ts';

/** Another number for every change of the schema or of what is written: an index of another one is made again. */
const SCHEMA = 2;
/** Tells the index from other databases: "NFSi". */
const APPLICATION = 0x4e_46_53_69;
const PAGE_BYTES = 8192;
/** Of each thread, in KiB. */
const CACHE_KIB = 2048;
/** Size to which the log file is truncated when the log restarts. */
const MAX_LOG_BYTES = 16 * 1024 * 1024;
/** Free pages that are given back in one step. */
const FREED_AT_ONCE = 200;
/** Rows of the engine's tables in a step of the digest: about 1 MiB. */
const ROWS_AT_ONCE = 256;

/**
 * Notes are rows by chunk: `row` is the chunk times `CHUNK_ROWS` and a number within. The engine's rows have the same numbers, dense within a
 * chunk, which keeps them small.
 */
const TABLES = `
  CREATE TABLE feeds (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, compared INTEGER NOT NULL DEFAULT 0);
  CREATE TABLE chunks (
    id INTEGER PRIMARY KEY, feed INTEGER NOT NULL, first_at INTEGER NOT NULL, first_file TEXT NOT NULL,
    last_at INTEGER NOT NULL, last_file TEXT NOT NULL,
    notes INTEGER NOT NULL, rows INTEGER NOT NULL, words INTEGER NOT NULL, lag INTEGER NOT NULL
  );
  CREATE INDEX chunks_by_feed ON chunks (feed);
  CREATE TABLE notes (
    row INTEGER PRIMARY KEY, feed INTEGER NOT NULL, file NOT NULL, created_at INTEGER NOT NULL, version INTEGER NOT NULL
  );
  CREATE UNIQUE INDEX notes_by_file ON notes (feed, file);
  CREATE TABLE seal (digest BLOB NOT NULL);
  CREATE VIRTUAL TABLE texts USING fts5(words, content='', contentless_delete=1, detail=full, tokenize="${TOKENIZER}");
`;

/** Rows of a chunk. */
export const CHUNK_ROWS = 8192;

/** Errors after which the file is of no use. */
const BROKEN =
  /^SQLITE_(CORRUPT|NOTADB|FORMAT)|^no such (table|column)|has no column|malformed|^fts5: |^invalid fts5 file format/;

/** An error of the engine that says the file is broken as one with `INDEX_BROKEN`; any other as it is. */
export function asBroken(error: unknown): unknown {
  const code = errorCode(error) ?? '';
  const isBroken = BROKEN.test(code) || (error instanceof Database.SqliteError && BROKEN.test(error.message));
  return isBroken ? indexBroken(`is broken (${code})`) : error;
}

/** The file of the index, opened. */
export class IndexFile {
  readonly db: Database.Database;
  readonly #path: string;
  readonly #opened: Stats;

  private constructor(path: string, options: Database.Options) {
    this.#path = path;
    this.db = new Database(path, { fileMustExist: true, ...options });
    this.#opened = statSync(path);
    this.db.pragma(`cache_size = -${CACHE_KIB}`);
  }

  /**
   * For the one thread that writes. A file that is not there, not an index of this schema, or not as it was sealed, is made anew.
   * @throws what the engine or the system throws if it cannot be made
   */
  static forWriting(path: string, owner: Owner | undefined): IndexFile {
    try {
      if (statSync(path, { throwIfNoEntry: false })?.isFile()) {
        const there = new IndexFile(path, {});
        if (there.#isIndex() && there.#isAsSealed()) return there.#prepared();
        there.db.close();
      }
    } catch (error) {
      if (errorCode(asBroken(error)) !== INDEX_BROKEN) throw error;
    }
    removeIndex(path);
    makeFile(path, owner);
    const made = new IndexFile(path, {});
    made.db.pragma(`page_size = ${PAGE_BYTES}`);
    made.db.pragma('auto_vacuum = INCREMENTAL');
    made.db.pragma('journal_mode = WAL');
    made.db.transaction(() => {
      made.db.exec(TABLES);
      made.db.pragma(`application_id = ${APPLICATION}`);
      made.db.pragma(`user_version = ${SCHEMA}`);
    })();
    return made.#prepared();
  }

  /** Opens the file for writing again after another thread did; it is never made anew. @throws with `INDEX_BROKEN` for a file that is gone or no index */
  static forWritingAgain(path: string): IndexFile {
    return IndexFile.#there(path, {}).#prepared();
  }

  /** For a thread that searches. @throws with `INDEX_BROKEN` for a file that is gone or no index */
  static forReading(path: string): IndexFile {
    return IndexFile.#there(path, { readonly: true });
  }

  static #there(path: string, options: Database.Options): IndexFile {
    if (!statSync(path, { throwIfNoEntry: false })) throw indexBroken('is gone');
    try {
      const file = new IndexFile(path, options);
      if (file.#isIndex()) return file;
      file.db.close();
    } catch (error) {
      throw asBroken(error);
    }
    throw indexBroken('is another one');
  }

  /** Whether the file at the path is still the one that was opened. */
  get isThere(): boolean {
    const now = statSync(this.#path, { throwIfNoEntry: false });
    return now?.ino === this.#opened.ino && now.dev === this.#opened.dev;
  }

  /**
   * Looks at the whole file, which takes seconds if it is large.
   * @throws with `INDEX_BROKEN` if something is wrong with it
   */
  check(): void {
    const said: unknown = this.db.pragma('integrity_check(1)', { simple: true });
    if (said !== 'ok') throw indexBroken('fails its check');
    const counts = this.db.prepare(
      'SELECT (SELECT count(*) FROM notes) = (SELECT count(*) FROM texts_docsize) AND (SELECT count(*) FROM notes) = (SELECT ifnull(sum(notes), 0) FROM chunks)',
    );
    if (counts.pluck().get() !== 1) throw indexBroken('lacks notes');
  }

  /**
   * Makes the file small, and seals it. Changes may come between two steps if nothing of it is used after them.
   * @throws what the engine throws
   */
  *tidy(): Generator<void> {
    while (this.db.pragma('freelist_count', { simple: true }) !== 0) {
      this.db.pragma(`incremental_vacuum(${FREED_AT_ONCE})`);
      yield;
    }
    yield* this.seal();
    this.db.pragma('wal_checkpoint(TRUNCATE)');
  }

  /** Stores a digest of the words and row numbers, because the engine's checks do not notice when these are damaged. `UNSEAL` removes it. */
  *seal(): Generator<void> {
    if (this.#sealed() !== undefined) return;
    const digest = yield* this.#digest();
    this.db.prepare('INSERT INTO seal VALUES (?)').run(digest);
  }

  #sealed(): Buffer | undefined {
    return this.db.prepare<[], Buffer>('SELECT digest FROM seal').pluck().get();
  }

  /** Whether the content still has the digest of the seal; true without a seal, as after a kill. */
  #isAsSealed(): boolean {
    const sealed = this.#sealed();
    return sealed === undefined || toEnd(this.#digest()).equals(sealed);
  }

  *#digest(): Generator<void, Buffer> {
    const sum = createHash('sha1');
    const blocks = this.db
      .prepare<[number, number], [number, unknown]>(
        'SELECT id, block FROM texts_data WHERE id > ? ORDER BY id LIMIT ?',
      )
      .raw();
    for (let after = -1; ; ) {
      const some = blocks.all(after, ROWS_AT_ONCE);
      for (const [id, block] of some)
        sum.update(`${id} `).update(block instanceof Buffer ? block : String(block));
      if (some.length < ROWS_AT_ONCE) break;
      after = some.at(-1)![0];
      yield;
    }
    for (const table of ['texts_idx', 'chunks'])
      for (const row of this.db.prepare<[], unknown[]>(`SELECT * FROM ${table}`).raw().iterate())
        sum.update(row.map(String).join(' '));
    return sum.digest();
  }

  #isIndex(): boolean {
    const { db } = this;
    return (
      db.pragma('application_id', { simple: true }) === APPLICATION &&
      db.pragma('user_version', { simple: true }) === SCHEMA
    );
  }

  #prepared(): this {
    // After a crash of the machine the last commits may be missing, which the comparison at the start finds.
    this.db.pragma('synchronous = NORMAL');
    this.db.pragma(`journal_size_limit = ${MAX_LOG_BYTES}`);
    return this;
  }
}

/** A statement to be made with every change of the texts. */
export const UNSEAL = 'DELETE FROM seal';

/** Takes all steps; returns what the last one does. */
export function toEnd<T>(steps: Generator<void, T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Makes an empty file that only its owner can read, because it holds the names of feeds. The engine gives the files beside it to the same. */
function makeFile(path: string, owner: Owner | undefined): void {
  const { O_RDWR, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  const fd = openSync(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    if (owner) fchownSync(fd, owner.uid, owner.gid);
  } finally {
    closeSync(fd);
  }
}
