import { Refusal } from '../../refusals.ts';
import { errorCode } from '../../system-errors.ts';
import { isDiskFull, storageFull, storeUnavailable, withoutPath } from '../failures.ts';

const ABSENT = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'ENXIO', 'EACCES', 'EPERM', 'ENAMETOOLONG']);
/** Codes of a disk, a network file system or a system that may do the same later; `isDiskFull` has others. */
const PASSING = (
  'EIO EROFS ENODEV ENOTCONN ESTALE ETIMEDOUT EHOSTDOWN EHOSTUNREACH ENETDOWN ENETUNREACH ECONNREFUSED ' +
  'ECONNRESET ECONNABORTED EPIPE EREMOTEIO EBUSY EAGAIN ENOMEM EMFILE ENFILE'
).split(' ');
const UNAVAILABLE = new Set([...PASSING, 'EACCES', 'EPERM', 'ENOENT', 'ENOTDIR']);

/**
 * Nothing that may be read is there: no file, a link, a folder, or one that this process may not open. Nor can there be a file
 * if its name is too long, such as that of the metadata of a placed note.
 */
export function isAbsent(error: unknown): boolean {
  return ABSENT.has(errorCode(error) ?? '');
}

/** This process has no permission. */
export function isForbidden(error: unknown): boolean {
  const code = errorCode(error);
  return code === 'EACCES' || code === 'EPERM';
}

/** The path or a part of it is not there (any more). */
export function isGone(error: unknown): boolean {
  const code = errorCode(error);
  return code === 'ENOENT' || code === 'ENOTDIR';
}

/** Whether the disk may let the same be done later. */
export function isPassing(error: unknown): boolean {
  const code = errorCode(error) ?? '';
  return PASSING.includes(code) || isDiskFull(code);
}

export function unavailable(cause?: unknown): Refusal {
  return storeUnavailable(withoutPath(cause));
}

/** A failure of the disk as the refusal it means; anything else as it is, but without a path in its text. */
export function asRefusal(error: unknown): unknown {
  if (error instanceof Refusal) return error;
  const code = errorCode(error) ?? '';
  if (isDiskFull(code)) return storageFull(withoutPath(error));
  if (code === 'ENAMETOOLONG') return nameTooLong(withoutPath(error));
  return UNAVAILABLE.has(code) ? unavailable(error) : withoutPath(error);
}

function nameTooLong(cause: unknown): Refusal {
  const message =
    'The name of the file of this note leaves no room for that of its metadata: give it a shorter one.';
  return new Refusal('invalid_request', message, { cause });
}

/** Throws the refusal that a failure of the disk means, or the failure. */
export function refuse(error: unknown): never {
  throw asRefusal(error);
}
