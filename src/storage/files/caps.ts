import { Refusal } from '../../refusals.ts';
import type { Caps, NewNote } from '../storage.ts';
import type { IndexedFeed } from './indexed-feed.ts';

/** Numbers of markdown notes and of pictures. */
interface Counts {
  notes: number;
  images: number;
}

const KINDS = ['notes', 'images'] as const;
const NONE: Readonly<Counts> = { notes: 0, images: 0 };

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
  refuseBeyond(caps, countOf(notes), NONE);
}

function countOf(notes: readonly Pick<NewNote, 'type'>[]): Counts {
  const counts = { notes: 0, images: 0 };
  for (const { type } of notes) counts[type === 'md' ? 'notes' : 'images'] += 1;
  return counts;
}

/** A feed that is full of one kind, or over a cap that was lowered, still takes the other. */
function refuseBeyond(caps: Caps, wanted: Counts, taken: Counts): void {
  for (const kind of KINDS) {
    const isFull = caps[kind] > 0 && wanted[kind] > 0 && taken[kind] + wanted[kind] > caps[kind];
    if (isFull) throw fullFeed(kind);
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
