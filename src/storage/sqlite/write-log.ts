import type { Database } from 'better-sqlite3';

/** From this many pages that are not yet in the database file (8 MiB) on, they are to be copied there. */
const LONG_PAGES = 1_024;
/** The log never grows much beyond this many pages (64 MiB). */
const MAX_PAGES = 8_192;

interface LogState {
  /** Pages in the log. */
  readonly log: number;
  /** Those that are in the database file too. */
  readonly checkpointed: number;
}

/** The length of the write-ahead log, as the writer keeps it in bounds. */
export class WriteLog {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** There is enough to copy, which the thread for that does while the writing goes on. */
  isLong(): boolean {
    const { log, checkpointed } = this.#state();
    return log - checkpointed > LONG_PAGES;
  }

  /** Where writes come faster than they are copied, the writing waits for it, and the log begins anew. */
  bound(): void {
    if (this.#state().log > MAX_PAGES) this.#db.pragma('wal_checkpoint(RESTART)');
  }

  #state(): LogState {
    return (this.#db.pragma('wal_checkpoint(NOOP)') as [LogState])[0];
  }
}
