import { Refusal } from '../refusals.ts';
import { storageFull } from '../storage/refused-writes.ts';
import { imagesUnavailable } from './image-store.ts';

/** A body is shorter or longer than it should be. */
export class ShortBody extends Error {}

/** Members used of what the client throws. */
interface S3Error {
  readonly name?: string;
  readonly code?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

/** No object has that key. After HEAD there is no body, so a missing key and a missing bucket look alike. */
export function isAbsent(error: unknown): boolean {
  const { name, $metadata } = error as S3Error;
  return $metadata?.httpStatusCode === 404 && name !== 'NoSuchBucket';
}

/** The store failed, not the request: a retry may succeed. */
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
 * The refusal for a failure; "no such object" stays as it is. Messages of the client hold keys and addresses, so only their
 * codes are kept.
 */
export function s3Failure(error: unknown): unknown {
  if (error instanceof Refusal || isAbsent(error)) return error;
  const { name = 'Error', code, $metadata } = error as S3Error;
  const status = $metadata?.httpStatusCode;
  const said = [name, code, status].filter((part) => part !== undefined).join(' ');
  const cause = Object.assign(new Error(`S3: ${said}`), { code: code ?? name });
  return status === 507 ? storageFull(cause) : imagesUnavailable(cause);
}
