import type { AdmittedFeed, AllowedFeed, Feed, FeedSettings } from '../feeds/feed.ts';
import type { ImageKey } from '../feeds/ids.ts';
import type { FeedName, NoteFile, NoteId, ReadId } from '../feeds/names.ts';
import type { NewNote, Note, NoteMeta } from '../feeds/note.ts';
import type { NoteType } from '../feeds/note-types.ts';
import type { Position } from '../feeds/order.ts';

/** What a note becomes. If its id now means a note of another type, there is no such note. */
export interface Replacement extends Pick<NewNote, 'type' | 'bytes' | 'sha256' | 'image'> {
  /** New notes of the same feed that come with it: the change is made with all of them or not at all. */
  readonly added?: readonly NewNote[] | undefined;
}

/** A feed to be made. */
export interface FeedCreation {
  /** The chosen read id, or undefined for a random one. */
  readonly readId: ReadId | undefined;
  readonly passwordHash: string | undefined;
}

/**
 * The feed that a write was allowed for: one with this password, or a new one. A write checks it at the last moment, so
 * that no race lets it into somebody else's feed.
 */
export type Target =
  | { readonly kind: 'existing'; readonly passwordHash: string | undefined }
  | ({ readonly kind: 'new' } & FeedCreation);

/** The limits of a feed at the time of a write. */
export interface FeedLimits {
  /** Markdown notes; 0 is no limit. */
  readonly notes: number;
  /** Picture notes; 0 is no limit. */
  readonly images: number;
  /** Why no picture may be added or replaced; undefined if pictures may be. */
  readonly picturesRefused?: 'images_off' | 'license_required' | undefined;
  /** A license would let the feed hold more. */
  readonly isFree?: boolean | undefined;
  /** The limits of a feed without a valid license; undefined if no license is needed. */
  readonly free?: Omit<FeedLimits, 'free'> | undefined;
}

/** A license to be attached to a feed. */
export interface NewLicense {
  readonly text: string;
  /** Its id, by which feeds are counted. */
  readonly id: string;
  /** How many feeds may have a license of this id at once. */
  readonly feeds: number;
}

/** Limit of the texts of a page, bytes. A view of it can be several times as large, and is still cached. */
export const PAGE_TEXT_BYTES = 1024 * 1024;

export interface PageQuery {
  /** 1 to 100. */
  readonly limit: number;
  readonly before?: Position | undefined;
  /** Only notes that have this tag. */
  readonly tag?: string | undefined;
}

export interface Page {
  /** Newest first. */
  readonly notes: readonly Note[];
  /** Where the next page starts, or undefined at the end. */
  readonly next: Position | undefined;
}

/** The notes next to a place in a feed's order; undefined at its ends. */
export interface Neighbours {
  readonly older: NoteId | undefined;
  readonly newer: NoteId | undefined;
}

/** The bytes of one note, to be read in whole or in part. */
export interface StoredFile {
  readonly size: number;
  /** Last change of the bytes, ms since the epoch. */
  readonly modifiedAt: number;
  /** SHA-256 of the bytes in base64url, if the storage knows it. */
  readonly sha256: string | undefined;
  /** The bytes are in an image store, under this key: the storage itself cannot read them. */
  readonly key?: ImageKey | undefined;
  /** Bytes `start` (inclusive) to `end` (exclusive), in pieces of bounded size. */
  read(start: number, end: number): AsyncIterable<Uint8Array>;
  /** Must be called once, when nothing more is read. */
  close(): Promise<void>;
}

/** A change that is visible from now on; every view of these read ids is out of date. */
export interface FeedChange {
  /** The read id before and, when it changed, after. */
  readonly readIds: readonly ReadId[];
}

/** Series of single-use tokens, in all processes that use the storage and across restarts. */
export interface TokenSeries {
  /**
   * Uses the token at a place of a series, the first being 0. True, once durable, if it is the next one. Any other is
   * replayed or unknown: false, and the whole series is revoked.
   * @param until when the last token of the series ends, ms since the epoch; then it may be forgotten
   */
  useToken(series: string, place: number, until: number): Promise<boolean>;
}

/**
 * One storage backend. It says what is stored; the rules of texts, limits and who may do what live above it.
 *
 * A promise of a write settles when the change is durable (contract §7) and visible to every later call.
 * Failures of the medium are thrown as `Refusal` (`storage_full`, `store_unavailable`) with their cause.
 */
export interface Storage extends TokenSeries {
  feed(name: FeedName): Promise<Feed | undefined>;
  /** As `feed`, but may miss changes that have not settled, because the post checks again (see `Target`). */
  feedToPost(name: FeedName): Promise<Feed | undefined>;
  feedByReadId(readId: ReadId): Promise<Feed | undefined>;

  /**
   * A page of a feed; empty for a feed that does not exist. Where texts are long, more than `PAGE_TEXT_BYTES` together,
   * it may end before its limit.
   */
  page(feed: AdmittedFeed, query: PageQuery): Promise<Page>;
  /** The note of that id; of several files with one base name the first of md, png, jpg, gif, webp. */
  note(feed: AdmittedFeed, id: NoteId): Promise<Note | undefined>;
  /** The notes before and after that one; none for a feed that does not exist. */
  neighbours(feed: AdmittedFeed, position: Position): Promise<Neighbours>;
  /** The bytes of a note's file. */
  open(feed: AdmittedFeed, file: NoteFile): Promise<StoredFile | undefined>;

  /**
   * Stores notes, at least one, in the feed of the target: all of them or, after a failure or a crash at any moment,
   * none. Undefined, and none is stored, if the feed is not what the target says: look again. Limits hold exactly under
   * any concurrency, and what is stored stays. A new feed is made with its one note; for several it is made first, and
   * stays, without notes, if they cannot be stored.
   * @param notes in the order in which they are written: pictures, then the text that shows them
   * @throws Refusal `taken` when the chosen read id belongs to another feed, or ever did to a deleted one;
   * `feed_limit`; `images_off`, `license_required`, `note_limit`, `image_limit` with the `position` of the first note
   * that does not fit
   */
  post(
    name: FeedName,
    notes: readonly NewNote[],
    target: Target,
    limits: FeedLimits,
  ): Promise<Feed | undefined>;
  /**
   * Gives a note other bytes; everything else of it stays. Undefined when there is no such note.
   * @throws Refusal `images_off`, `license_required` for a picture; as `post` for notes that come with it, with the
   * `position` in `added`
   */
  replace(
    feed: AllowedFeed,
    id: NoteId,
    replacement: Replacement,
    limits: FeedLimits,
  ): Promise<Note | undefined>;
  /** Changes what is kept beside a note's bytes. Undefined when there is no such note. */
  setMeta(feed: AllowedFeed, id: NoteId, change: (meta: NoteMeta) => NoteMeta): Promise<Note | undefined>;
  /**
   * Removes a note with its metadata; it is the title image no more. False when there is no such note.
   * @param type of several files with one base name the one of this type; the first unless given
   */
  remove(feed: AllowedFeed, id: NoteId, type?: NoteType): Promise<boolean>;

  /**
   * Sets what the owner may set. Undefined when there is no such feed. `change` gets the feed as it is, and may
   * throw to leave it so.
   * @throws Refusal `taken` for a read id of another feed, or of a deleted one
   */
  configure(feed: AllowedFeed, change: (feed: Feed) => FeedSettings): Promise<Feed | undefined>;
  /** Replaces (or, undefined, removes) the password of a feed. False when there is no such feed. */
  setPassword(feed: AllowedFeed, passwordHash: string | undefined): Promise<boolean>;
  /**
   * Gives a feed a license in place of the one it has, or takes that away. Undefined when there is no such feed. However
   * many do so at once, in however many processes, a license never comes to more feeds than it serves.
   * @throws Refusal `taken` when it serves that many other feeds already
   */
  setLicense(feed: AllowedFeed, license: NewLicense | undefined): Promise<Feed | undefined>;
  /** Makes a feed without notes. Undefined when the name is in use. Throws as `post`. */
  create(name: FeedName, creation: FeedCreation): Promise<Feed | undefined>;
  /**
   * Deletes a feed for good: its name is free at once, its read id is never given again. False when there is
   * no such feed.
   * @throws Refusal `store_unavailable` also when the feed is deleted, but files of it are left; those are removed later
   */
  deleteFeed(feed: AllowedFeed): Promise<boolean>;

  /** Calls the listener for every change, before the promise of the write that caused it settles. */
  onChange(listener: (change: FeedChange) => void): void;
  /**
   * Calls the listener with false when changes may be lost (database unreachable, writer thread died), and with true when
   * they arrive again. After both calls everything read or being read is stale. A storage that never loses any lacks this.
   */
  onFreshness?(listener: (isFresh: boolean) => void): void;
  /** Throws `store_unavailable` while the storage cannot be used. */
  check(): Promise<void>;
  /** Waits for running calls and releases everything. */
  close(): Promise<void>;
}
