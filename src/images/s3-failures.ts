import { Refusal } from '../refusals.ts';
import { storageFull } from '../storage/refused-writes.ts';
import { imagesUnavailable } from './image-store.ts';

/** A body that is not as long as it should be. */
export class ShortBody extends Error {}

/** What the client throws, as far as it is of use. */
interface S3Error {
  readonly name?: string;
  readonly code?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

/** No object has that key. Without a body, as after HEAD, nobody can tell that from a bucket that is not there. */
export function isAbsent(error: unknown): boolean {
  const { name, $metadata } = error as S3Error;
  return $metadata?.httpStatusCode === 404 && name !== 'NoSuchBucket';
}

/** The store, not the request, is the trouble: another attempt may do. */
export function isTransient(error: unknown): boolean {
  if (error instanceof Refusal) return false;
  const { name, $metadata } = error as S3Error;
  const status = $metadata?.httpStatusCode;
  if (status === undefined) return true;
  return (
    (status >= 500 && status !== 507) || status === 429 || status === 408 || name === 'RequestTimeTooSkewed'
  );
}

/**
 * A failure as the refusal it means; that there is no object as it is. Messages of the client name keys and addresses,
 * so only codes are kept of them.
 */
export function s3Failure(error: unknown): unknown {
  if (error instanceof Refusal || isAbsent(error)) return error;
  const { name = 'Error', code, $metadata } = error as S3Error;
  const status = $metadata?.httpStatusCode;
  const said = [name, code, status].filter((part) => part !== undefined).join(' ');
  const cause = Object.assign(new Error(`S3: ${said}`), { code: code ?? name });
  return status === 507 ? storageFull(cause) : imagesUnavailable(cause);
}
