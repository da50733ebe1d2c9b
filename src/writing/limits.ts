import type { Feed } from '../feeds/feed.ts';
import { contentSize, type NewNote } from '../feeds/note.ts';
import type { NoteType } from '../feeds/note-types.ts';
import type { LicenseCheck } from '../licenses/licenses.ts';
import { Refusal } from '../refusals.ts';

/** The limits of a feed at the time of a write. */
export interface FeedLimits {
  /** Markdown notes; 0 is no limit. */
  readonly texts: number;
  /** Picture notes; 0 is no limit. */
  readonly images: number;
  /** Bytes of all notes; 0 is no limit. */
  readonly bytes?: number | undefined;
  /** Why no picture may be added or replaced; undefined if pictures may be. */
  readonly picturesRefused?: 'images_off' | 'license_required' | undefined;
  /** A license would let the feed hold more. */
  readonly isFree?: boolean | undefined;
  /** The limits of a feed without a valid license; undefined if no license is needed. */
  readonly free?: Omit<FeedLimits, 'free'> | undefined;
}

export const NO_LIMITS: FeedLimits = { texts: 0, images: 0 };

/** The limits of a feed at this moment, because a license may end at any: those of the free tier unless it has a valid license. */
export function limitsOf(
  limits: FeedLimits,
  feed: Pick<Feed, 'license'> | undefined,
  isLicenseValid: LicenseCheck | undefined,
): FeedLimits {
  const license = feed?.license;
  return license && isLicenseValid?.(license.text) ? limits : (limits.free ?? limits);
}

/** Numbers of markdown notes and of pictures. */
interface Counts {
  texts: number;
  images: number;
}

/** The limits of a feed, and how many bytes the instance still has room for; infinite for no limit. */
export type Room = FeedLimits & { readonly instanceBytes: number };

/**
 * Refuses notes that a feed, or the instance, has no room for. A feed that is full of one kind, or beyond a limit that was
 * lowered, still takes the other kind.
 * @throws Refusal `images_off`, `license_required`, `note_limit`, `image_limit`, `byte_limit` with the position of the first
 * note that does not fit
 */
export function refuseBeyond(
  limits: Room,
  feed: Pick<Feed, 'noteCount' | 'imageCount' | 'byteCount'>,
  notes: readonly NewNote[],
): void {
  const { noteCount, imageCount } = feed;
  for (const [position, { type }] of notes.entries()) refusePicture(type, limits, position);
  const counts: Counts = { texts: noteCount - imageCount, images: imageCount };
  for (const [position, { type }] of notes.entries()) {
    const kind = type === 'md' ? 'texts' : 'images';
    counts[kind] += 1;
    if (limits[kind] > 0 && counts[kind] > limits[kind]) throw fullFeed(kind, limits, position);
  }
  let added = 0;
  for (const [position, note] of notes.entries()) {
    added += contentSize(note);
    refuseBytes(limits, feed, added, position);
  }
}

/**
 * Refuses more bytes than a feed, or the instance, has room for. Fewer than before always fit.
 * @param position of the note that brings them, if it is one of several
 * @throws Refusal `byte_limit`
 */
export function refuseBytes(
  { bytes = 0, instanceBytes }: Pick<Room, 'bytes' | 'instanceBytes'>,
  { byteCount }: Pick<Feed, 'byteCount'>,
  added: number,
  position?: number,
): void {
  if (added <= 0) return;
  if (bytes > 0 && byteCount + added > bytes)
    throw new Refusal('byte_limit', 'This feed has no room for so many bytes.', { position });
  if (added > instanceBytes)
    throw new Refusal('byte_limit', 'This instance has no room for so many bytes.', { position });
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

function fullFeed(kind: keyof Counts, { isFree }: FeedLimits, position: number): Refusal {
  if (kind === 'images')
    return new Refusal('image_limit', 'This feed has as many pictures as it may have.', { position });
  const without = isFree ? ' without a license' : '';
  return new Refusal('note_limit', `This feed has as many text notes as it may have${without}.`, {
    position,
  });
}
