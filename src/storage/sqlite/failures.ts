import { Refusal, type RefusalCode } from '../../refusals.ts';
import { errorCode } from '../../system-errors.ts';
import { storageFull, storeUnavailable } from '../refused-writes.ts';

/** An error as plain data: an `Error` would lose its code on the way between threads. */
export interface Failure {
  /** Of a refusal; undefined for what should not happen. */
  readonly refusal: RefusalCode | undefined;
  readonly message: string;
  /** See `RefusalOptions`. */
  readonly position: number | undefined;
  readonly cause: { readonly message: string; readonly code: string | undefined } | undefined;
}

/** What went wrong with the medium. `BUSY`: another program has locked the database for too long. */
const UNAVAILABLE = /^SQLITE_(IOERR|CANTOPEN|READONLY|CORRUPT|NOTADB|BUSY|PROTOCOL|PERM|AUTH|NOLFS)/;

/** A failure of SQLite or of the disk as the refusal it means; anything else as it is. */
export function asRefusal(error: unknown): unknown {
  if (error instanceof Refusal) return error;
  const code = errorCode(error) ?? '';
  if (code === 'SQLITE_FULL' || code === 'ENOSPC') return storageFull(error);
  return UNAVAILABLE.test(code) || /^E[A-Z]+$/.test(code) ? storeUnavailable(error) : error;
}

export function toFailure(error: unknown): Failure {
  const meant = asRefusal(error);
  const { message } = meant as Error;
  const cause = (meant as Error).cause as Error | undefined;
  return {
    refusal: meant instanceof Refusal ? meant.code : undefined,
    message: `${message}`,
    position: meant instanceof Refusal ? meant.position : undefined,
    cause: cause && { message: withoutPath(cause), code: errorCode(cause) },
  };
}

export function fromFailure({ refusal, message, position, cause }: Failure): Error {
  const reason = cause && Object.assign(new Error(cause.message), { code: cause.code });
  return refusal
    ? new Refusal(refusal, message, { cause: reason, position })
    : new Error(message, { cause: reason });
}

/** System errors name the path of the file. */
function withoutPath(error: Error): string {
  return 'syscall' in error ? `${errorCode(error)} from ${error.syscall}` : error.message;
}
