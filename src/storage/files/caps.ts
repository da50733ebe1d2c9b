import { countOf, KINDS, refuseBeyond } from '../refused-writes.ts';
import type { Caps, NewNote } from '../storage.ts';
import type { IndexedFeed } from './indexed-feed.ts';

/**
 * Keeps places for notes in a feed while `work` stores them: what is stored and what is being stored never pass
 * the caps, however many posts come at once.
 * @throws Refusal `note_limit`, `image_limit`
 */
export async function withinCaps<T>(
  caps: Caps,
  feed: IndexedFeed,
  notes: readonly Pick<NewNote, 'type'>[],
  work: () => Promise<T>,
): Promise<T> {
  const { stored, posting } = feed;
  const wanted = countOf(notes);
  refuseBeyond(caps, wanted, {
    notes: stored.notes + posting.notes,
    images: stored.images + posting.images,
  });
  for (const kind of KINDS) posting[kind] += wanted[kind];
  try {
    return await work();
  } finally {
    for (const kind of KINDS) posting[kind] -= wanted[kind];
  }
}

/**
 * Refuses notes that no feed could hold, not even an empty one.
 * @throws Refusal `note_limit`, `image_limit`
 */
export function fitIntoNewFeed(caps: Caps, notes: readonly Pick<NewNote, 'type'>[]): void {
  refuseBeyond(caps, countOf(notes), { notes: 0, images: 0 });
}
