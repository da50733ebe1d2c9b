import type { ImageKey } from '../feeds/ids.ts';
import type { NoteId } from '../feeds/names.ts';
import type { InsertedNote } from './rows.ts';

/** The position of a picture among all of an instance, newest first. */
export interface PicturePlace {
  readonly createdAt: number;
  /** The row of its feed. */
  readonly feed: number;
  readonly id: NoteId;
  /** As databases hold it. */
  readonly type: number;
}

/** A picture as the database knows it: its bytes are in the row, or in an image store under its key. */
export interface PictureRow extends PicturePlace {
  /** Last change of its bytes. */
  readonly modifiedAt: number;
  readonly size: number;
  /** Tells versions with the same date apart: a note that is removed can be imported again with that. */
  readonly sha256: string | undefined;
  readonly key: ImageKey | undefined;
}

/** Pictures from a place on. */
export interface PicturePage {
  readonly pictures: readonly PictureRow[];
  /** The number of pictures after them. */
  readonly left: number;
}

/**
 * The pictures of a database, and its freed keys: those that no note refers to any more. The change that frees a key records it, and
 * it stays recorded until its object is removed. A freed key is never used again.
 */
export interface PictureRows {
  /** At most `limit` pictures, newest first, after a place. */
  pictures(after: PicturePlace | undefined, limit: number): Promise<PicturePage>;
  /** Those of the keys that notes refer to. */
  referenced(keys: readonly ImageKey[]): Promise<readonly ImageKey[]>;
  /** Up to `limit` referenced keys in (`after`, `upTo`], ascending. */
  keysBetween(after: string, upTo: string, limit: number): Promise<readonly ImageKey[]>;
  /** The bytes of a picture in its row; undefined when it is not that version any more, or has a key. */
  bytes(picture: PictureRow): Promise<Uint8Array | undefined>;

  /**
   * Replaces the bytes in the row by `key`, whose object was uploaded under a reservation (`free`). False if the picture
   * changed; the key then stays reserved for deletion.
   */
  point(picture: PictureRow, key: ImageKey): Promise<boolean>;
  /** Puts the bytes of a picture's object into its row, and frees the key as one of another store. False as `point`. */
  fill(picture: PictureRow, bytes: Uint8Array): Promise<boolean>;

  /**
   * Marks a key whose object is about to be in two stores. If its note is removed or replaced, the key is freed as one of another
   * store, so that a move removes both objects. False when no note refers to the key.
   */
  beginCopy(key: ImageKey): Promise<boolean>;
  /** The object is in the store of the settings only. False when no note refers to the key any more. */
  endCopy(key: ImageKey): Promise<boolean>;
  /** Frees keys that no note refers to. Their objects may be removed after this time, ms. */
  free(keys: readonly ImageKey[], inMs: number): Promise<void>;
  /**
   * Takes keys whose objects are to be removed now, at most `limit`; none while another process does that. Each comes
   * back later, and later each time, unless `forget` or `markElsewhere` gets it.
   * @param keptMs how long objects stay after they could be removed, ms
   */
  claim(limit: number, keptMs: number): Promise<readonly ImageKey[]>;
  /** The objects of these keys are gone. */
  forget(keys: readonly ImageKey[]): Promise<void>;
  /** The objects of these keys are not in the store of the settings; a former store may hold them. */
  markElsewhere(keys: readonly ImageKey[]): Promise<void>;
  /** At most `limit` of the keys that `markElsewhere` got, in their order, after a key. */
  elsewhere(after: string, limit: number): Promise<readonly ImageKey[]>;
  /** How many keys wait for their objects to be removed. */
  countFreed(): Promise<number>;
}

/** How long the objects of a move may take to be referred to, in ms. */
export const RESERVED_MS = 3_600_000;
/** How long a claimed key waits until it may be claimed again, at first and at most, ms. */
export const CLAIM_MS = 2_000;
export const MAX_CLAIM_MS = 600_000;

/** The columns of `PictureColumns`. */
export const PICTURE_COLUMNS = 'feed, id, type, created_at, modified_at, size, sha256, image_key';

export type PictureColumns = Omit<InsertedNote, 'metadata' | 'key' | 'expires_at' | 'content'>;

export function pictureOf(row: PictureColumns): PictureRow {
  const { feed, id, type, created_at, modified_at, size, sha256, image_key } = row;
  return {
    ...{ feed, id, type, createdAt: created_at, modifiedAt: modified_at, size },
    sha256: sha256 ?? undefined,
    key: image_key ?? undefined,
  };
}

/** A place as the values of its columns, in their order; before every picture unless given. */
export function picturePlaceValues(place: PicturePlace | undefined): [number, number, string, number] {
  return place ? [place.createdAt, place.feed, place.id, place.type] : [Number.MAX_SAFE_INTEGER, 0, '', 0];
}
