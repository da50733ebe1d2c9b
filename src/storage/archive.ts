import type { ImageKey } from '../feeds/image-keys.ts';
import type { FeedName, ReadId } from '../feeds/names.ts';
import type { Ordered } from '../feeds/order.ts';
import { Refusal } from '../refusals.ts';
import type { OtherMembers } from './metadata.ts';
import type { Feed, NoteMeta } from './storage.ts';

/** Everything of a feed but its notes. */
export type ArchivedFeed = Omit<Feed, 'key' | 'version'>;

/** A note with its bytes. */
export interface ArchivedNote extends Ordered {
  /** Last change of the bytes, whole ms since the epoch. */
  readonly modifiedAt: number;
  readonly meta: NoteMeta;
  /** What its metadata holds for other programs; undefined when that is nothing. */
  readonly others?: OtherMembers | undefined;
  readonly bytes: Uint8Array;
}

/** Where the pictures are whose rows have a key. */
export interface ImageSource {
  get(key: ImageKey, start: number, end: number): AsyncIterable<Uint8Array>;
}

/** A row with the bytes of a note in it, or with the key of a picture. */
interface ArchivedRow {
  readonly content: Uint8Array;
  readonly size: number;
  readonly image_key: ImageKey | null;
}

/** The bytes of a note, wherever they are. Throws an error with a sentence for the operator when they cannot be had. */
export async function wholePicture(row: ArchivedRow, images: ImageSource | undefined): Promise<Uint8Array> {
  const { content, size, image_key: key } = row;
  if (key === null) return content;
  if (!images)
    throw new Error(
      'It has pictures in an image store: run the move with the SERVICE_IMAGES settings of the service.',
    );
  const bytes = Buffer.alloc(size);
  let at = 0;
  try {
    for await (const piece of images.get(key, 0, size)) {
      bytes.set(piece, at);
      at += piece.byteLength;
    }
  } catch (cause) {
    const why =
      cause instanceof Refusal && cause.code === 'not_found' ? 'is gone from' : 'cannot be read from';
    throw new Error(`A picture ${why} its image store (SERVICE_IMAGES).`, { cause });
  }
  return bytes;
}

/**
 * A whole instance as it is moved from one backend to another: read in an order that is the same on each, and written
 * in that order. Only to be opened in a place that is locked, so nobody else changes it.
 */
export interface Archive {
  /** All feeds, in the order of their names. */
  feeds(): AsyncIterable<ArchivedFeed>;
  /** The notes of a feed after one of them, by date, then by id in the order of its UTF-8 bytes, then by type. */
  notes(name: FeedName, after?: Ordered): AsyncIterable<ArchivedNote>;
  /** Read ids that deleted feeds had and that no feed has now, in the order of their bytes. */
  retiredReadIds(): AsyncIterable<ReadId>;
  /** How many files, folders and links are there that are no part of the instance, and so are not moved. */
  countStrays(): Promise<number>;

  /** What the move that writes here, and has not ended, gave to `begin`; undefined without one. */
  mark(): Promise<string | undefined>;
  /** Marks an empty instance as being moved into: from now on no service starts on it. */
  begin(mark: string): Promise<void>;
  /**
   * Makes a feed without notes. Where a move that was stopped has made it already, its newest note is returned.
   */
  addFeed(feed: ArchivedFeed): Promise<Ordered | undefined>;
  /** Adds notes, newer than all that are there: after a crash the first so many of them are there, each whole. */
  addNotes(feed: ArchivedFeed, notes: readonly ArchivedNote[]): Promise<void>;
  /** Keeps read ids from being given again. */
  addRetiredReadIds(readIds: readonly ReadId[]): Promise<void>;
  /** Takes the mark away; all that was written is durable. */
  end(): Promise<void>;

  close(): Promise<void>;
}

/** A place where an instance is or will be, which this process alone uses until it is released. */
export interface LockedPlace {
  /** Looks at what is there now. */
  open(): Promise<Archive>;
  /** Whether this process alone has used it until now. */
  isLocked(): Promise<boolean>;
  release(): Promise<void>;
}
