import Database, { type Statement } from 'better-sqlite3';
import { LOCK_WAIT_MS } from './connection.ts';

/** From this many pages that are not yet in the database file (8 MiB) on, they are to be copied there. */
const LONG_PAGES = 1_024;
/** The log never grows much beyond this many pages (64 MiB), but while somebody reads for long. */
const MAX_PAGES = 8_192;
/** Wait of the writer for readers of the pages to overwrite, ms. */
const READERS_WAIT_MS = 20;

/** How long the log is. */
interface LogState {
  /** Pages in the log. */
  readonly log: number;
  /** Pages of it that are in the database file, too. */
  readonly checkpointed: number;
}

/** The length of the write-ahead log, as the writer keeps it in bounds. */
export class WriteLog {
  readonly #db: Database.Database;
  readonly #length: Statement<[], LogState>;
  /** The length at which readers were last waited for. */
  #waitedAt = 0;

  constructor(db: Database.Database) {
    this.#db = db;
    this.#length = db.prepare('PRAGMA wal_checkpoint(NOOP)');
  }

  look(): LogState {
    return this.#length.get()!;
  }

  /**
   * If writes come faster than checkpoints, the writer waits for one, and the log restarts. It cannot restart during a long
   * read such as a backup, so the writer waits for readers only now and then.
   */
  bound({ log } = this.look()): void {
    if (log <= MAX_PAGES) return;
    const waits = Math.abs(log - this.#waitedAt) > LONG_PAGES;
    if (waits) this.#waitedAt = log;
    this.#db.pragma(`busy_timeout = ${waits ? READERS_WAIT_MS : 0}`);
    this.#copy('RESTART');
    this.#db.pragma(`busy_timeout = ${LOCK_WAIT_MS}`);
  }

  /** A rolled-back transaction leaves a long log. It is truncated if all of it can be checkpointed. */
  empty(): void {
    this.#copy('TRUNCATE');
  }

  /** On a full disk the rest stays in the log, and nothing is lost. */
  #copy(mode: 'RESTART' | 'TRUNCATE'): void {
    try {
      this.#db.pragma(`wal_checkpoint(${mode})`);
    } catch (error) {
      if (!isFull(error)) throw error;
    }
  }
}

export function isFull(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code === 'SQLITE_FULL';
}

/** There is enough for the checkpoint thread to copy. */
export function isLong({ log, checkpointed }: LogState): boolean {
  return log - checkpointed > LONG_PAGES;
}
