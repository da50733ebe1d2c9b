import { Refusal, type RefusalCode } from '../refusals.ts';
import { errorCode } from '../system-errors.ts';

/** System errors name the path, and with it perhaps a feed, which no log line may hold. */
export function withoutPath(error: unknown): unknown {
  const code = errorCode(error);
  if (code === undefined || !(error instanceof Error) || !('syscall' in error)) return error;
  return Object.assign(new Error(`${code} from ${error.syscall}`), { code, syscall: error.syscall });
}

/** An error as plain data, because an `Error` loses its code on the way between threads. */
export interface Failure {
  /** Of a refusal; undefined for other errors. */
  readonly refusal: RefusalCode | undefined;
  /** See `RefusalOptions`. */
  readonly position: number | undefined;
  readonly status: number | undefined;
  readonly message: string;
  readonly code: string | undefined;
  readonly syscall: string | undefined;
  readonly cause: Failure | undefined;
}

export function toFailure(error: unknown): Failure {
  const { message, code, syscall, cause } = error as NodeJS.ErrnoException;
  const refusal = error instanceof Refusal ? error : undefined;
  return {
    refusal: refusal?.code,
    position: refusal?.position,
    status: refusal?.status,
    message: `${message}`,
    code: refusal ? undefined : code,
    syscall,
    cause: cause === undefined ? undefined : toFailure(withoutPath(cause)),
  };
}

export function fromFailure({ refusal, message, code, syscall, cause: under, ...options }: Failure): Error {
  const cause = under && fromFailure(under);
  if (refusal) return new Refusal(refusal, message, { ...options, cause });
  return Object.assign(new Error(message, { cause }), { code, syscall });
}

/** Codes of the system for a disk, a quota or a file that takes no more bytes. */
const FULL: readonly (string | undefined)[] = ['ENOSPC', 'EDQUOT', 'EFBIG'];

/** Whether the system has no room for more bytes, by the code of its error. */
export function isDiskFull(code: string | undefined): boolean {
  return FULL.includes(code);
}

/** The medium has no room. The cause must hold no path. */
export function storageFull(cause: unknown): Refusal {
  return new Refusal('storage_full', 'The storage is full.', { cause });
}

/** The medium cannot be used. The cause must hold no path. */
export function storeUnavailable(cause: unknown): Refusal {
  return new Refusal('store_unavailable', 'The storage cannot be used at the moment.', { cause });
}

/** The error of a start on an unfinished copy of an instance; `what` begins the sentence for the operator. */
export function unfinishedMove(what: string): Error {
  return new Error(
    `${what} is the target of a move that has not been finished: run the same "npm run move" again, or remove what ` +
      'is there.',
  );
}

/** The error of a start on a database whose schema has a higher version than this program knows: a sentence for the operator. */
export function newerSchema(version: number, known: number): Error {
  return new Error(
    `The database was made by a newer version of this service (schema ${version}, this one knows ${known}): ` +
      'start that version.',
  );
}

/** The code of an error after which the index must be made again. */
export const INDEX_BROKEN = 'INDEX_BROKEN';

/** The index must be made again: it is gone, or broken. */
export function indexBroken(why: string): Error {
  return Object.assign(new Error(`the search index ${why}`), { code: INDEX_BROKEN });
}
