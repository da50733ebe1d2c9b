import type { Feed } from '../feeds/feed.ts';
import type { ImageKey } from '../feeds/ids.ts';
import type { FeedName, ReadId } from '../feeds/names.ts';
import type { NoteMeta } from '../feeds/note.ts';
import type { Ordered } from '../feeds/order.ts';
import type { JsonObject } from './metadata.ts';
import type { OperatorRecord } from './operator-records.ts';

/** Everything of a feed but its notes. */
export type ArchivedFeed = Omit<Feed, 'key' | 'version' | 'byteCount' | 'isBlocked'>;

/** A note with its bytes. */
export interface ArchivedNote extends Ordered {
  /** Last change of the bytes, whole ms since the epoch. */
  readonly modifiedAt: number;
  readonly meta: NoteMeta;
  /** Members of its metadata for other programs; undefined if there are none. */
  readonly others?: JsonObject | undefined;
  readonly bytes: Uint8Array;
}

/** The image store of pictures whose rows have a key. */
export interface ImageSource {
  get(key: ImageKey, start: number, end: number): AsyncIterable<Uint8Array>;
}

/**
 * A whole instance as it is moved from one backend to another: read in an order that is the same on each, and written
 * in that order. To be opened only in a locked place, so that nothing else changes it.
 */
export interface Archive {
  /** All feeds, in the order of their names. */
  feeds(): AsyncIterable<ArchivedFeed>;
  /** The notes of a feed after one of them, by date, then by id in the order of its UTF-8 bytes, then by type. */
  notes(name: FeedName, after?: Ordered): AsyncIterable<ArchivedNote>;
  /** Read ids that deleted feeds had and that no feed has now, in the order of their bytes. */
  retiredReadIds(): AsyncIterable<ReadId>;
  /** What operators and readers left, by kind, then by key, both in the order of their bytes. */
  records(): AsyncIterable<OperatorRecord>;
  /** What is no part of the instance, and so is not moved: names of files, folders and links, and members of settings. */
  strays(): Promise<readonly string[]>;

  /** The argument of `begin` of an unfinished move into this archive; undefined without one. */
  mark(): Promise<string | undefined>;
  /** Marks an empty instance as being moved into: from now on no service starts on it. */
  begin(mark: string): Promise<void>;
  /** Makes a feed without notes. If a stopped move made it already, returns its newest note. */
  addFeed(feed: ArchivedFeed): Promise<Ordered | undefined>;
  /** Adds notes, newer than all present ones. After a crash a prefix of them is stored, each whole. */
  addNotes(feed: ArchivedFeed, notes: readonly ArchivedNote[]): Promise<void>;
  /** Keeps read ids from being given again. */
  addRetiredReadIds(readIds: readonly ReadId[]): Promise<void>;
  /** Adds records, of which some may be there; all feeds are. Those of names close the feeds that have them. */
  addRecords(records: readonly OperatorRecord[]): Promise<void>;
  /** Removes the mark; all that was written is durable. */
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
