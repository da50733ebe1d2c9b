import { createHmac } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { keyFor } from '../access/signed.ts';

/** Names whose hashes are kept, because each takes a twentieth of a read by name. */
const KEPT = 1_000;

/** Stands for a feed in the log. */
export type FeedHash = (name: string) => string;

/**
 * Names feeds by 12 hexadecimal digits of an HMAC-SHA256 of their names, under a key derived from the server secret. So the
 * lines of one feed can be found in the logs of all containers, and without the secret no guessed name can be checked.
 */
export function feedHash(secret: Uint8Array): FeedHash {
  const key = keyFor('feed-in-log', secret);
  const kept = new LRUCache<string, string>({
    max: KEPT,
    memoMethod: (name) => createHmac('sha256', key).update(name).digest('hex').slice(0, 12),
  });
  return (name) => kept.memo(name);
}
