import { Refusal } from '../../refusals.ts';
import { errorCode } from '../../system-errors.ts';
import { isDiskFull, storageFull, storeUnavailable, withoutPath } from '../failures.ts';

const ABSENT = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'ENXIO', 'EACCES', 'EPERM', 'ENAMETOOLONG']);
const UNAVAILABLE = new Set(
  'EROFS EACCES EPERM EIO ENOENT ENOTDIR ENODEV ENOTCONN ESTALE ETIMEDOUT EMFILE ENFILE'.split(' '),
);

/** Nothing that may be read is there: no file, a link, a folder, or one that this process may not open. Nor is what has too long a name, as the metadata of a note whose own name fits. */
export function isAbsent(error: unknown): boolean {
  return ABSENT.has(errorCode(error) ?? '');
}

/** The path or a part of it is not there (any more). */
export function isGone(error: unknown): boolean {
  const code = errorCode(error);
  return code === 'ENOENT' || code === 'ENOTDIR';
}

export function unavailable(cause?: unknown): Refusal {
  return storeUnavailable(withoutPath(cause));
}

/** A failure of the disk as the refusal it means; anything else as it is, but without a path in its text. */
export function asRefusal(error: unknown): unknown {
  if (error instanceof Refusal) return error;
  const code = errorCode(error) ?? '';
  if (isDiskFull(code)) return storageFull(withoutPath(error));
  return UNAVAILABLE.has(code) ? unavailable(error) : withoutPath(error);
}

/** Throws the refusal that a failure of the disk means, or the failure. */
export function refuse(error: unknown): never {
  throw asRefusal(error);
}
