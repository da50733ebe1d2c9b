import { createHmac, randomBytes } from 'node:crypto';
import type { FeedName, ReadId } from './names.ts';

/** A new read id: 128 random bits as 22 characters of base64url. */
export function randomReadId(): ReadId {
  return randomBytes(16).toString('base64url') as ReadId;
}

/** The read id of a feed without a stored one: 22 characters derived from its name and the server secret. */
export function derivedReadId(secret: Uint8Array, name: FeedName): ReadId {
  const digest = createHmac('sha256', secret).update(`read-id:${name}`).digest('base64url');
  return digest.slice(0, 22) as ReadId;
}
