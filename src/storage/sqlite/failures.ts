import { SqliteError } from 'better-sqlite3';
import { Refusal } from '../../refusals.ts';
import { errorCode } from '../../system-errors.ts';
import { isDiskFull, storageFull, storeUnavailable, toFailure, withoutPath } from '../failures.ts';
import type { Call, Reply } from '../thread-calls.ts';

/** Error codes of a failed disk or database file. `BUSY`: another program holds the lock for too long. */
const UNAVAILABLE = /^SQLITE_(IOERR|CANTOPEN|READONLY|CORRUPT|NOTADB|BUSY|PROTOCOL|PERM|AUTH|NOLFS)/;

/** There are no tables, or the file is no database any more. */
const LOST = /^SQLITE_(CORRUPT|NOTADB)|^no such (table|column): /;

/** Whether what a thread has prepared is of no use after this error: it must open the database anew. */
export function losesDatabase(error: unknown): boolean {
  return LOST.test(errorCode(error) ?? '') || (error instanceof SqliteError && LOST.test(error.message));
}

/**
 * A failure of SQLite or of the disk as the refusal it means; anything else as it is. SQLite reports only `ENOSPC` as a full disk: a
 * used-up quota or the largest size of a file is a `SQLITE_IOERR_WRITE` like a broken disk, without the code of the system.
 */
export function asRefusal(error: unknown): unknown {
  if (error instanceof Refusal) return error;
  const code = errorCode(error) ?? '';
  const cause = withoutPath(error);
  if (code === 'SQLITE_FULL' || isDiskFull(code)) return storageFull(cause);
  const isUnavailable = UNAVAILABLE.test(code) || /^E[A-Z]+$/.test(code) || losesDatabase(error);
  return isUnavailable ? storeUnavailable(cause) : error;
}

/** A refusal changed nothing. Any other failure may have, so it is thrown. */
export function onlyRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  throw error;
}

/** The replies to calls none of which was done. */
export function allFailed(calls: readonly Call[], error: unknown): Reply[] {
  const failure = toFailure(asRefusal(error));
  return calls.map(({ id }) => ({ id, failure }));
}
