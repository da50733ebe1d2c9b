import { createHmac } from 'node:crypto';
import { keyFor } from '../access/signed.ts';

/** Stands for a feed in the log. */
export type FeedHash = (name: string) => string;

/**
 * Names feeds by 12 hexadecimal digits of an HMAC-SHA256 of their names, under a key derived from the server secret. So the
 * lines of one feed can be found in the logs of all containers, and without the secret no guessed name can be checked.
 */
export function feedHash(secret: Uint8Array): FeedHash {
  const key = keyFor('feed-in-log', secret);
  return (name) => createHmac('sha256', key).update(name).digest('hex').slice(0, 12);
}
