import type { NoteType } from '../../feeds/note-types.ts';
import { Refusal } from '../../refusals.ts';
import type { Caps } from '../storage.ts';
import type { IndexedFeed } from './indexed-feed.ts';

/**
 * Keeps a place for a note in a feed while `work` stores it: what is stored and what is being stored never pass
 * the cap, however many posts come at once.
 * @throws Refusal `note_limit`, `image_limit`
 */
export async function withinCaps<T>(
  caps: Caps,
  feed: IndexedFeed,
  type: NoteType,
  work: () => Promise<T>,
): Promise<T> {
  const kind = type === 'md' ? 'notes' : 'images';
  if (caps[kind] > 0 && feed.stored[kind] + feed.posting[kind] >= caps[kind]) throw fullFeed(kind);
  feed.posting[kind] += 1;
  try {
    return await work();
  } finally {
    feed.posting[kind] -= 1;
  }
}

function fullFeed(kind: 'notes' | 'images'): Refusal {
  return kind === 'notes'
    ? new Refusal('note_limit', 'This feed has as many text notes as it may have.')
    : new Refusal('image_limit', 'This feed has as many pictures as it may have.');
}

/** The refusal of one feed more than there may be. */
export function tooManyFeeds(): Refusal {
  return new Refusal('feed_limit', 'This instance has as many feeds as it may have.');
}
