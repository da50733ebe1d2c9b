import { createHmac } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { keyFor } from '../signed.ts';

const MAX_CAUSES = 5;

interface ErrorFields {
  readonly type: string;
  readonly message: string;
  readonly code?: string;
  /** Frames only. */
  readonly stack?: string;
  readonly cause?: ErrorFields;
}

/**
 * The loggable fields of a thrown value and its causes (at most 5 deep). Without paths, because file system errors name
 * their file, and a feed's folder has the feed's name, which is a secret.
 */
export function errorFields(thrown: unknown, depth = 0): ErrorFields {
  if (!(thrown instanceof Error)) return { type: typeof thrown, message: String(thrown) };
  const { code, path, dest } = thrown as NodeJS.ErrnoException & { dest?: string };
  let { message } = thrown;
  for (const name of [path, dest])
    if (typeof name === 'string' && name !== '') message = message.replaceAll(name, '<path>');
  const frames = (thrown.stack ?? '').split('\n').filter((line) => line.startsWith('    at '));
  return {
    type: thrown.name,
    message,
    ...(typeof code === 'string' && { code }),
    ...(frames.length > 0 && { stack: frames.join('\n') }),
    ...(thrown.cause !== undefined && depth < MAX_CAUSES && { cause: errorFields(thrown.cause, depth + 1) }),
  };
}

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
