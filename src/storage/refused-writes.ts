import { Refusal } from '../refusals.ts';
import type { Caps, NewNote } from './storage.ts';

/** Numbers of markdown notes and of pictures. */
export interface Counts {
  notes: number;
  images: number;
}

/** The two kinds of notes that are counted. */
export const KINDS = ['notes', 'images'] as const;

export function countOf(notes: readonly Pick<NewNote, 'type'>[]): Counts {
  const counts = { notes: 0, images: 0 };
  for (const { type } of notes) counts[type === 'md' ? 'notes' : 'images'] += 1;
  return counts;
}

/**
 * Refuses notes that a feed has no place for. One that is full of one kind, or over a cap that was lowered, still
 * takes the other.
 * @throws Refusal `note_limit`, `image_limit`
 */
export function refuseBeyond(caps: Caps, wanted: Readonly<Counts>, taken: Readonly<Counts>): void {
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

/** The refusal of a read id that is not free. */
export function readIdTaken(): Refusal {
  return new Refusal('taken', 'This read id belongs, or once belonged, to another feed.');
}

/** The medium has no room. The cause must hold no path. */
export function storageFull(cause: unknown): Refusal {
  return new Refusal('storage_full', 'The storage is full.', { cause });
}

/** The medium cannot be used. The cause must hold no path. */
export function storeUnavailable(cause: unknown): Refusal {
  return new Refusal('store_unavailable', 'The storage cannot be used at the moment.', { cause });
}
