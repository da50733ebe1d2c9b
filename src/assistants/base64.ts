import { Refusal } from '../refusals.ts';

/** The bytes that a tool was given, and how many they may be. */
export interface Base64Rules {
  /** How the refusal of anything else begins, for example `data`. */
  readonly field: string;
  readonly limit: number;
  tooLarge(): Refusal;
}

/** Of either alphabet (RFC 4648). */
const BASE64 = /^[\w+/-]*={0,2}$/;

/**
 * The bytes of a text in base64, in which there may be line breaks.
 * @throws Refusal `invalid_body`; what `tooLarge` makes
 */
export function fromBase64(text: string, { field, limit, tooLarge }: Base64Rules): Buffer {
  const dense = /\s/.test(text) ? text.replace(/\s+/g, '') : text;
  if (Buffer.byteLength(dense, 'base64') > limit) throw tooLarge();
  // The decoder leaves out what it does not know.
  if (!BASE64.test(dense)) throw new Refusal('invalid_body', `${field} must be bytes in base64.`);
  return Buffer.from(dense, 'base64');
}
