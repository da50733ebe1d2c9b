import type { AdmittedFeed, Feed } from '../feeds/feed.ts';
import type { ImageKey } from '../feeds/ids.ts';
import type { FeedName, NoteFile, NoteId, ReadId } from '../feeds/names.ts';
import type { Note } from '../feeds/note.ts';
import type { FeedOrder, Position } from '../feeds/order.ts';
import type { SearchQuery } from '../search/query.ts';
import type { Command } from '../writing/command.ts';
import type { ImportOutcome } from '../writing/decide.ts';
import type { Arrival, Arrivals, ChangedNotes } from './arrivals.ts';
import type { OperatorRecords } from './operator-records.ts';

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

/** Notes that a query may find. */
export interface NoteSearch extends PageQuery {
  readonly query: SearchQuery;
  /** Only notes of this moment or later, ms since the epoch. */
  readonly from?: number | undefined;
  /** Only notes of this moment or earlier. */
  readonly to?: number | undefined;
}

/** A page of notes that an index found. */
export interface FoundPage extends Page {
  /** False if changes that were stored before the call are not in the index yet, so that the same search may soon find other notes. */
  readonly isCurrent: boolean;
}

/** The most tags that `Storage.tags` returns. */
export const MAX_LISTED_TAGS = 1_000;

/** A tag of a feed, and how many of its notes have it. */
export interface TagCount {
  readonly tag: string;
  /** Without notes that have expired. */
  readonly count: number;
}

/** A page, and the feed that it is of. */
export interface FeedPage extends Page {
  readonly feed: Feed;
}

/** The notes next to a place in a feed's order; undefined at its ends. */
export interface Neighbours {
  readonly older: NoteId | undefined;
  readonly newer: NoteId | undefined;
  /** The first moment at which one of them expires, ms since the epoch; infinite if none does. */
  readonly expires: number;
}

/** A note's file as it was at one moment, without its bytes. */
export interface StoredFile {
  readonly size: number;
  /** Last change of the bytes, ms since the epoch. */
  readonly modifiedAt: number;
  /** SHA-256 of the bytes in base64url, if the storage knows it. */
  readonly sha256: string | undefined;
  /** The bytes are in an image store, under this key: the storage itself cannot read them. */
  readonly key?: ImageKey | undefined;
  /** When the note expires, ms since the epoch; infinite or undefined for never. */
  readonly expires?: number | undefined;
  /**
   * Bytes `start` (inclusive) to `end` (exclusive), in pieces of bounded size; those outside are not loaded.
   * @throws `FileReplaced` if the note has other bytes by then, or none
   */
  read(start: number, end: number): AsyncIterable<Uint8Array>;
}

/** The result of a write. */
export interface Written {
  /** As it is now; of a deleted feed, as it was. */
  readonly feed: Feed;
  /** `Effects.note` */
  readonly note: Note | undefined;
  /** Nothing had to be stored, so none of the command's bytes are. */
  readonly isUnchanged?: boolean;
  /** What became of each note of an `Import`. */
  readonly outcomes?: readonly ImportOutcome[] | undefined;
}

/** A feed to read from: the one that was admitted, or whichever has the read id. */
export type FeedRef = AdmittedFeed | Pick<Feed, 'readId'>;

/** A change that is visible from now on; every view of these read ids is out of date. */
export interface FeedChange extends ChangedNotes {
  /** The read id before and, when it changed, after. */
  readonly readIds: readonly ReadId[];
  /** Another process made it, and tells whoever has to be told once. */
  readonly isForeign?: boolean | undefined;
}

/**
 * Is told whether changes arrive.
 * @param heardUntil when this is false: no change before this time was lost (`performance.now()` time); 0 if that is unknown
 */
export type FreshnessListener = (isFresh: boolean, heardUntil: number) => void;

/** Sums over all feeds, notes that have expired and are not removed yet included. */
export interface Totals {
  readonly feeds: number;
  /** Pictures included. */
  readonly notes: number;
  readonly pictures: number;
  /** Of the notes, without what is kept beside them. */
  readonly bytes: number;
}

export interface FeedListQuery {
  readonly order: FeedOrder;
  /** Only names that begin so; all if empty. */
  readonly start: string;
  /** 1 to 1,000. */
  readonly limit: number;
  /** `FeedListPage.next` of the page before. */
  readonly after?: FeedPlace | undefined;
}

/** A place in a list of feeds: what it is ordered by, and the name, which tells equals apart. */
export interface FeedPlace {
  /** By the order: bytes, notes, or ms since the epoch; 0 for names. For `created`, databases use the id of the row. */
  readonly value: number;
  readonly name: FeedName;
}

export interface FeedListPage {
  readonly feeds: readonly Feed[];
  /** Where the next page starts, or undefined at the end. */
  readonly next: FeedPlace | undefined;
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
 * One storage backend. No read gives a note that has expired. It has no rule of its own: values and callers are checked above it, and what depends on what is
 * stored is decided in `writing/`, which it asks.
 *
 * A promise of a write settles when the change is durable (contract §7) and visible to every later call.
 * Failures of the medium are thrown as `Refusal` (`storage_full`, `store_unavailable`) with their cause.
 */
export interface Storage extends TokenSeries {
  feed(name: FeedName): Promise<Feed | undefined>;
  /** As `feed`, but may miss changes that have not settled, because the post checks again (see `ExistingFeed`). */
  feedToPost(name: FeedName): Promise<Feed | undefined>;
  /** The feed of a read id; no read by it finds one that is blocked. */
  feedByReadId(readId: ReadId): Promise<Feed | undefined>;
  /** As `feedByReadId`, also if it is blocked. */
  anyFeedByReadId(readId: ReadId): Promise<Feed | undefined>;

  /**
   * A page of a feed; empty for a feed that does not exist. Where texts are long, more than `PAGE_TEXT_BYTES` together,
   * it may end before its limit.
   */
  page(feed: AdmittedFeed, query: PageQuery): Promise<Page>;
  /** The feed of a read id and a page of it, as of one moment. */
  pageByReadId(readId: ReadId, query: PageQuery): Promise<FeedPage | undefined>;
  /** The note of that id; of several files with one base name the first of md, png, jpg, gif, webp. */
  note(feed: AdmittedFeed, id: NoteId): Promise<Note | undefined>;
  /**
   * A page of the notes that the index has under a query, as they are now. One that changed since it was indexed may not match any more:
   * `findMatch` decides. The index is made of the notes, and made again when it is lost. A storage without one lacks this.
   * @throws Refusal `busy` while the index is made, and if the search takes more than 50 ms
   */
  search?(feed: AdmittedFeed, search: NoteSearch): Promise<FoundPage>;
  /** The tags that begin with a prefix, which may be empty: by count, then by name, at most `MAX_LISTED_TAGS`. None for a feed that does not exist. */
  tags(feed: AdmittedFeed, prefix: string): Promise<readonly TagCount[]>;
  /** The notes before and after that one; none for a feed that does not exist. */
  neighbours(feed: AdmittedFeed, position: Position): Promise<Neighbours>;
  /**
   * The last notes, at most `limit`, that came after a place, or after the note of an id. If that note is gone, the date in its
   * id counts. Undefined for an id of no note that has no date in it. Without `since` the last of all.
   */
  arrivals(
    feed: AdmittedFeed,
    since: Arrival | NoteId | undefined,
    limit: number,
  ): Promise<Arrivals | undefined>;
  /** What is stored as a note's file; loads none of its bytes. */
  stat(feed: FeedRef, file: NoteFile): Promise<StoredFile | undefined>;

  /**
   * Decides a command (`decide`) by what is stored, and stores what it does: all of it or, after a failure or a crash at any
   * moment, nothing. No other write comes between the two, in no process, so limits hold exactly. Undefined, and nothing is
   * stored, if the feed is not the one that the command is for, or there is no such note: look again.
   * @throws Refusal as `decide`; `store_unavailable` also if a feed is deleted, but some of its files are still to be removed
   */
  write(command: Command): Promise<Written | undefined>;

  /**
   * Names of some feeds that have notes to remove by now (`dueOf`), or may have: a `Sweep` of each removes some, or finds out when
   * there will be any. Empty also while another process does this, so that only one of many does.
   * @param now ms since the epoch
   */
  due(now: number): Promise<readonly FeedName[]>;

  totals(): Promise<Totals>;
  /** A page of all feeds, for the operator: also those that are blocked. */
  listFeeds(query: FeedListQuery): Promise<FeedListPage>;
  readonly records: OperatorRecords;

  /** Calls the listener for every change, before the promise of the write that caused it settles. */
  onChange(listener: (change: FeedChange) => void): void;
  /**
   * Calls the listener with false when changes may be lost (database unreachable, writer thread died), and with true when
   * they arrive again. After both calls everything read or being read is stale. A storage that never loses any lacks this.
   */
  onFreshness?(listener: FreshnessListener): void;
  /** Throws `store_unavailable` while the storage cannot be used. */
  check(): Promise<void>;
  /** Waits for running calls and releases everything. */
  close(): Promise<void>;
}

/** What a container reports about a client, and asks for. */
export interface UsageReport {
  /** Requests that it granted and has not reported. */
  readonly done: number;
  /** Requests to grant now: 0 or 1. */
  readonly wanted: number;
}

/** Requests that all containers granted this client in the last minute, including this report's. */
export interface SharedUsage {
  readonly total: number;
  /** What was wanted is within the limit, and counted. */
  readonly isGranted: boolean;
  /** Until the oldest request leaves the minute. */
  readonly waitMs: number;
}

/** Counts of clients that containers share. */
export interface SharedCounts {
  /** Number of containers that count, or did within the last minute, including this one. */
  readonly containers: number;
  /** @throws Refusal `store_unavailable` */
  count(client: string, report: UsageReport): Promise<SharedUsage>;
}
