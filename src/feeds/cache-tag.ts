import type { ReadId } from './names.ts';

/**
 * Names all public answers of a read id to a cache in front, which can be told to drop them. People choose read ids, and a
 * CDN has tags of other sites beside ours: hence the first word.
 */
export function cacheTag(readId: ReadId): string {
  return `feed-${readId}`;
}
