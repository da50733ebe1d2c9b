import { Refusal } from '../refusals.ts';
import { isUrlencoded } from './content-type.ts';
import type { BodyRequest } from './json-body.ts';

/** Largest form of a page, bytes. */
const MAX_FORM_BYTES = 16 * 1024;

/**
 * Reads the fields of a form without files (https://url.spec.whatwg.org/#application/x-www-form-urlencoded).
 * @throws Refusal `unsupported_type`, `too_large`; `invalid_body` if it is not UTF-8, because `URLSearchParams` would
 * silently replace the wrong bytes
 */
export async function formBody(request: BodyRequest): Promise<URLSearchParams> {
  if (!isUrlencoded(request.header('content-type')))
    throw new Refusal('unsupported_type', 'The Content-Type must be application/x-www-form-urlencoded.');
  const bytes = await request.body(MAX_FORM_BYTES);
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    decodeURIComponent(text);
    return new URLSearchParams(text);
  } catch (cause) {
    throw new Refusal('invalid_body', 'The form is not UTF-8.', { cause });
  }
}
