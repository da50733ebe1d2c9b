import { createHash, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/** No value that we sign is longer; a client may send anything. */
const MAX_LENGTH = 4096;

/**
 * A key for one purpose, derived from the server secret (HKDF, RFC 5869), so it is the same in every container and after
 * a restart. Where one of `voidedBy` changes, it is another key, and nothing that was signed counts any more.
 */
export function keyFor(purpose: string, secret: Uint8Array, voidedBy: readonly string[] = []): Uint8Array {
  const salt = createHash('sha256').update(JSON.stringify(voidedBy)).digest();
  return new Uint8Array(hkdfSync('sha256', secret, salt, purpose, 32));
}

/**
 * A text and its signature (HMAC-SHA256), as a cookie can hold them. Only we read it and there is one algorithm, so a JWT
 * would add a header to check and nothing else.
 * @param about signed with the text, but not part of the value: what it is valid for
 */
export function signed(key: Uint8Array, text: string, about = ''): string {
  return `${Buffer.from(text).toString('base64url')}.${signature(key, text, about)}`;
}

/** The text of a value that `signed` made with the same key about the same; undefined for anything else. */
export function verified(key: Uint8Array, value: string, about = ''): string | undefined {
  if (value.length > MAX_LENGTH) return undefined;
  const [encoded = '', sent = ''] = value.split('.');
  const text = Buffer.from(encoded, 'base64url').toString();
  const right = Buffer.from(signature(key, text, about));
  const claimed = Buffer.from(sent);
  return claimed.length === right.length && timingSafeEqual(claimed, right) ? text : undefined;
}

function signature(key: Uint8Array, text: string, about: string): string {
  return createHmac('sha256', key)
    .update(JSON.stringify([about, text]))
    .digest('base64url');
}
