import type { NewNote } from '../feeds/note.ts';
import type { NoteType } from '../feeds/note-types.ts';
import type { LicenseCheck } from '../licenses/licenses.ts';
import { Refusal } from '../refusals.ts';
import type { FeedLimits } from './storage.ts';

/** Numbers of markdown notes and of pictures. */
export interface Counts {
  notes: number;
  images: number;
}

/** The counts in the row of a feed. */
export function countedIn(row: { readonly note_count: number; readonly image_count: number }): Counts {
  return { notes: row.note_count - row.image_count, images: row.image_count };
}

/**
 * The limits that apply to a feed now. Call it in the step or transaction that decides the write.
 * @param isLicenseValid undefined if no license is needed
 */
export function limitsNow(
  limits: FeedLimits,
  license: string | null | undefined,
  isLicenseValid: LicenseCheck | undefined,
): FeedLimits {
  if (limits.free === undefined) return limits;
  return license && isLicenseValid?.(license) ? limits : limits.free;
}

/** Notes that a feed must have room for, and what it may hold. */
export interface Room<Note = Pick<NewNote, 'type'>> {
  readonly notes: readonly Note[];
  readonly limits: FeedLimits;
}

/** The two kinds of notes that are counted. */
export const KINDS = ['notes', 'images'] as const;
export const NO_NOTES: Readonly<Counts> = { notes: 0, images: 0 };

export function countOf(notes: readonly Pick<NewNote, 'type'>[]): Counts {
  const counts = { ...NO_NOTES };
  for (const { type } of notes) counts[kindOf(type)] += 1;
  return counts;
}

/**
 * Refuses notes that a feed has no room for. A feed that is full of one kind, or beyond a limit that was lowered,
 * still takes the other kind.
 * @throws Refusal `images_off`, `license_required`, `note_limit`, `image_limit` with the position of the first note
 * that does not fit
 * @returns the numbers of the notes
 */
export function refuseBeyond({ notes, limits }: Room, taken: Readonly<Counts>): Counts {
  for (const [position, { type }] of notes.entries()) refusePicture(type, limits, position);
  const counts = { ...NO_NOTES };
  for (const [position, { type }] of notes.entries()) {
    const kind = kindOf(type);
    counts[kind] += 1;
    if (limits[kind] > 0 && taken[kind] + counts[kind] > limits[kind]) throw fullFeed(kind, limits, position);
  }
  return counts;
}

/**
 * Refuses a note that is a picture, new or replaced, of a feed that takes none.
 * @throws Refusal `images_off`, `license_required`
 */
export function refusePicture(type: NoteType, limits: FeedLimits, position?: number): void {
  const refusal = type === 'md' ? undefined : pictureRefusal(limits, position);
  if (refusal) throw refusal;
}

/** The refusal of a picture, if the feed takes none. */
export function pictureRefusal({ picturesRefused }: FeedLimits, position?: number): Refusal | undefined {
  if (picturesRefused === undefined) return undefined;
  const sentence =
    picturesRefused === 'images_off'
      ? 'This instance takes no pictures.'
      : 'This feed takes no pictures without a license.';
  return new Refusal(picturesRefused, sentence, { position });
}

/** The kind by which a note counts. */
export function kindOf(type: NoteType): keyof Counts {
  return type === 'md' ? 'notes' : 'images';
}

function fullFeed(kind: keyof Counts, { isFree }: FeedLimits, position: number): Refusal {
  if (kind === 'images')
    return new Refusal('image_limit', 'This feed has as many pictures as it may have.', { position });
  const without = isFree ? ' without a license' : '';
  return new Refusal('note_limit', `This feed has as many text notes as it may have${without}.`, {
    position,
  });
}

/** The refusal of one feed more than there may be. */
export function tooManyFeeds(): Refusal {
  return new Refusal('feed_limit', 'This instance has as many feeds as it may have.');
}

/** The refusal of a license that serves as many feeds as it may. */
export function licenseTaken(feeds: number): Refusal {
  const used = feeds === 1 ? 'another feed' : `${feeds} other feeds`;
  return new Refusal('taken', `This license is in use by ${used}: detach it there first.`);
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
