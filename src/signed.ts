import { createHash, createHmac, hash, hkdfSync, timingSafeEqual } from 'node:crypto';

/** Longer than any value that we sign; a client may send anything. */
const MAX_LENGTH = 4096;

/**
 * A key for one purpose, derived from the server secret (HKDF, RFC 5869), so it is the same in every container and after
 * a restart. If any of `voidedBy` changes, the key changes and old signatures become invalid.
 */
export function keyFor(purpose: string, secret: Uint8Array, voidedBy: readonly string[] = []): Uint8Array {
  const salt = sha256(JSON.stringify(voidedBy));
  return new Uint8Array(hkdfSync('sha256', secret, salt, purpose, 32));
}

/**
 * A text with its signature (HMAC-SHA256), as a cookie value. Only we read it and there is one algorithm, so a JWT would
 * only add a header to check.
 * @param context signed with the text but not sent; the signature is valid only for this context
 */
export function sign(key: Uint8Array, text: string, context = ''): string {
  return `${Buffer.from(text).toString('base64url')}.${signature(key, text, context)}`;
}

/** The text of a value that `sign` made with the same key and context; undefined for anything else. */
export function verify(key: Uint8Array, value = '', context = ''): string | undefined {
  if (value.length > MAX_LENGTH) return undefined;
  const [encoded = '', sent = ''] = value.split('.');
  const text = Buffer.from(encoded, 'base64url').toString();
  const right = Buffer.from(signature(key, text, context));
  const claimed = Buffer.from(sent);
  return claimed.length === right.length && timingSafeEqual(claimed, right) ? text : undefined;
}

/** Compares texts with a secret by digests, so that the time reveals neither its characters nor its length. */
export function secretMatcher(secret: string): (text: string) => boolean {
  const digest = (text: string) => hash('sha256', text, 'buffer');
  const expected = digest(secret);
  return (text) => timingSafeEqual(digest(text), expected);
}

function signature(key: Uint8Array, text: string, context: string): string {
  return createHmac('sha256', key)
    .update(JSON.stringify([context, text]))
    .digest('base64url');
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
