import { accessSync, constants, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import Database, { type Statement } from 'better-sqlite3';
import { storeUnavailable } from '../failures.ts';
import { asRefusal, losesDatabase } from './failures.ts';

/** How long a connection waits for a lock that another program (a backup, a shell) holds, in ms. */
export const LOCK_WAIT_MS = 10_000;
const PAGE_BYTES = 8192;
/** Size to which the log file is truncated when the log restarts. */
const MAX_LOG_BYTES = 64 * 1024 * 1024;

/** A connection to the database file, and whether that is still the file at its path. */
export class Connection {
  readonly db: Database.Database;
  /** The database must be opened anew after an error, by another thread: one that opens a second file mixes up the logs of the two. */
  isLost = false;
  readonly #path: string;
  readonly #opened: Stats;

  private constructor(path: string, options: Database.Options) {
    this.#path = path;
    this.db = new Database(path, { timeout: LOCK_WAIT_MS, ...options });
    this.#opened = statSync(path);
  }

  /** For the one thread that writes; the file must be there, and may be empty. */
  static forWriting(path: string): Connection {
    const connection = new Connection(path, { fileMustExist: true });
    const { db } = connection;
    // Only an empty file takes it, and only before anything else.
    db.pragma(`page_size = ${PAGE_BYTES}`);
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = FULL');
    // Another thread checkpoints, so that no commit waits for it.
    db.pragma('wal_autocheckpoint = 0');
    db.pragma(`journal_size_limit = ${MAX_LOG_BYTES}`);
    return connection;
  }

  static forReading(path: string): Connection {
    return new Connection(path, { readonly: true });
  }

  /** For the thread that copies the log into the database file. */
  static forCheckpoints(path: string): Connection {
    return new Connection(path, { fileMustExist: true });
  }

  /** `asRefusal`, which sees whether the connection is lost. */
  readonly asRefusal = (error: unknown): unknown => {
    this.isLost ||= losesDatabase(error);
    return asRefusal(error);
  };

  /**
   * Writes to a file that was removed are lost without an error.
   * @throws Refusal `store_unavailable` when the file at the path is not the one that was opened
   */
  mustBeThere(): void {
    const now = statSync(this.#path, { throwIfNoEntry: false });
    if (now?.ino === this.#opened.ino && now.dev === this.#opened.dev) return;
    throw storeUnavailable(new Error('the database file is not the one that was opened'));
  }

  /** Throws the system's error when nothing can be written to the file or beside it. */
  mustBeWritable(): void {
    for (const path of [this.#path, dirname(this.#path)]) accessSync(path, constants.R_OK | constants.W_OK);
  }
}

/** Prepares statements; `P` are their parameters, or one object of them, and `R` is a row of their result. */
export function preparer(db: Database.Database) {
  return <P extends unknown[] | object, R = unknown>(parts: TemplateStringsArray, ...constants: string[]) => {
    const statement: unknown = db.prepare(String.raw({ raw: parts }, ...constants));
    return statement as Statement<P extends unknown[] ? P : [P], R>;
  };
}
