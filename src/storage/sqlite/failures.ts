import { Refusal } from '../../refusals.ts';
import { errorCode } from '../../system-errors.ts';
import { toFailure, withoutPath } from '../failures.ts';
import { storageFull, storeUnavailable } from '../refused-writes.ts';
import type { Call, Reply } from '../thread-calls.ts';

/** Error codes of a failed disk or database file. `BUSY`: another program holds the lock for too long. */
const UNAVAILABLE = /^SQLITE_(IOERR|CANTOPEN|READONLY|CORRUPT|NOTADB|BUSY|PROTOCOL|PERM|AUTH|NOLFS)/;

/** A failure of SQLite or of the disk as the refusal it means; anything else as it is. */
export function asRefusal(error: unknown): unknown {
  if (error instanceof Refusal) return error;
  const code = errorCode(error) ?? '';
  const cause = withoutPath(error);
  if (code === 'SQLITE_FULL' || code === 'ENOSPC') return storageFull(cause);
  return UNAVAILABLE.test(code) || /^E[A-Z]+$/.test(code) ? storeUnavailable(cause) : error;
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
