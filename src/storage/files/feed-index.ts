import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AdmittedFeed, Feed } from '../../feeds/feed.ts';
import { type Derivation, derivedReadId, noReadId } from '../../feeds/ids.ts';
import type { FeedName, NoteFile, ReadId } from '../../feeds/names.ts';
import type { ChangedNotes } from '../arrivals.ts';
import type { FeedChange, FeedRef, Totals } from '../storage.ts';
import type { IndexChange, IndexedFeed } from './indexed-feed.ts';
import { UNREADABLE_READ_ID } from './read-metadata.ts';

/** Feeds that are looked at in one turn of the event loop. */
const FEEDS_AT_ONCE = 1_000;
/** The most notes of a feed that came whose files are named one by one. */
const MAX_NAMED = 100;

/**
 * All feeds, by name and by read id. Reports every change to the listeners.
 *
 * Two feeds never share a read id: if the id in a feed's `.readid` is in use, the feed uses the one derived from its name
 * until the stored one becomes free.
 */
export class FeedIndex {
  /** Feeds being made, which count towards the limit. */
  making = 0;
  /** Bytes being stored, which count towards the limit. */
  storing = 0;
  readonly #sums = { notes: 0, pictures: 0, bytes: 0 };
  readonly #secret: Uint8Array;
  readonly #derivation: Derivation;
  readonly #feeds = new Map<FeedName, IndexedFeed>();
  readonly #holders = new Map<ReadId, FeedName>();
  /** Names that take no posts, whether there is such a feed or not. */
  readonly #closed = new Set<FeedName>();
  /** Feeds whose `.readid` names an id that another one has. */
  readonly #waiting = new Set<IndexedFeed>();
  readonly #listeners: ((change: FeedChange) => void)[] = [];
  /** Called with a feed that is new, or has changed. */
  onApplied: (feed: IndexedFeed) => void = () => {};
  /** Called with the files of notes that came, changed or went; without them if any of the feed may have. */
  onNotes: (feed: FeedName, files?: readonly NoteFile[]) => void = () => {};

  constructor(secret: Uint8Array, derivation: Derivation = 'own') {
    this.#secret = secret;
    this.#derivation = derivation;
  }

  onChange(listener: (change: FeedChange) => void): void {
    this.#listeners.push(listener);
  }

  names(): FeedName[] {
    return [...this.#feeds.keys()];
  }

  /** The names of feeds whose `.readid` names an id that another one has, each with the name of that. */
  waiting(): (readonly [waiting: FeedName, holder: FeedName])[] {
    return [...this.#waiting].map(({ name, files }) => [name, this.#holders.get(files.storedReadId!)!]);
  }

  /** The number of feeds, including those being made. */
  get size(): number {
    return this.#feeds.size + this.making;
  }

  /** All feeds, some in each turn of the event loop: without some of those that come or go meanwhile, or with both of one name. */
  async *inTurns(): AsyncGenerator<readonly IndexedFeed[]> {
    let some: IndexedFeed[] = [];
    for (const feed of this.#feeds.values()) {
      some.push(feed);
      if (some.length < FEEDS_AT_ONCE) continue;
      yield some;
      some = [];
      await nextTurn();
    }
    yield some;
  }

  totals(): Totals {
    return { feeds: this.#feeds.size, ...this.#sums };
  }

  /** Bytes of the notes of all feeds, including those being stored. */
  get bytes(): number {
    return this.#sums.bytes + this.storing;
  }

  get(name: FeedName): IndexedFeed | undefined {
    return this.#feeds.get(name);
  }

  /** The feed that a read was admitted to, if it is still there. */
  admitted({ name, key }: AdmittedFeed): IndexedFeed | undefined {
    const feed = this.#feeds.get(name);
    return feed?.key === key ? feed : undefined;
  }

  referred(ref: FeedRef): IndexedFeed | undefined {
    return 'key' in ref ? this.admitted(ref) : this.byReadId(ref.readId);
  }

  isClosed(name: FeedName): boolean {
    return this.#closed.has(name);
  }

  /** Closes the feed of a name, be there one now or later, or opens it again. */
  setClosed(name: FeedName, isClosed: boolean): void {
    if (isClosed) this.#closed.add(name);
    else this.#closed.delete(name);
    const feed = this.#feeds.get(name);
    if (!feed || feed.isBlocked === isClosed) return;
    feed.isBlocked = isClosed;
    this.#tell([feed.readId]);
  }

  /** How many other feeds have a license of that id. */
  countLicensed(id: string, except: FeedName): number {
    let count = 0;
    for (const { name, files } of this.#feeds.values())
      if (name !== except && files.license?.id === id) count += 1;
    return count;
  }

  /** The feed that readers find under a read id: none that is blocked. */
  byReadId(readId: ReadId): IndexedFeed | undefined {
    const feed = this.anyByReadId(readId);
    return feed?.isBlocked ? undefined : feed;
  }

  anyByReadId(readId: ReadId): IndexedFeed | undefined {
    const feed = this.#feeds.get(this.#holders.get(readId)!);
    return feed?.readId === readId ? feed : undefined;
  }

  /** The feed that has a read id, or that it is kept for. */
  holderOf(readId: ReadId): FeedName | undefined {
    return this.#holders.get(readId);
  }

  /** Keeps a read id for a feed; false when another feed has it. */
  reserve(name: FeedName, readId: ReadId): boolean {
    const holder = this.#holders.get(readId);
    if (holder === undefined) this.#holders.set(readId, name);
    return holder === undefined || holder === name;
  }

  /** Releases a read id that is reserved for the feed, unless the feed uses it now. */
  unreserve(name: FeedName, readId: ReadId): void {
    if (this.#holders.get(readId) !== name || this.#feeds.get(name)?.readId === readId) return;
    this.#holders.delete(readId);
    this.#claimFreed(this.#waitingFor(readId));
  }

  /** Adds the feeds found at start: derived read ids first, then stored ones in the order of the names. */
  addAll(feeds: readonly IndexedFeed[]): void {
    const sorted = feeds.toSorted(byName);
    for (const feed of sorted) if (feed.files.storedReadId === undefined) this.add(feed);
    for (const feed of sorted) if (feed.files.storedReadId !== undefined) this.add(feed);
  }

  add(feed: IndexedFeed): void {
    this.#claim(feed);
    feed.isBlocked = this.#closed.has(feed.name);
    this.#feeds.set(feed.name, feed);
    this.#count(feed, 1);
    this.onApplied(feed);
    this.onNotes(feed.name, feed.notes.size > MAX_NAMED ? undefined : [...feed.notes.files()]);
    this.#tell([feed.readId]);
  }

  /** Forgets a feed whose folder is gone. */
  drop(feed: IndexedFeed): void {
    if (this.#feeds.get(feed.name) !== feed) return;
    this.#feeds.delete(feed.name);
    this.#count(feed, -1);
    const waiting = this.#release(feed);
    this.onNotes(feed.name);
    this.#tell([feed.readId]);
    this.#claimFreed(waiting);
  }

  /** Ends a step: applies its change to a feed and reports it. Returns the changed feed. */
  apply(feed: IndexedFeed, change: IndexChange): Feed {
    const storedBefore = feed.files.storedReadId;
    // A step may end after its feed is gone.
    const isCounted = this.#feeds.get(feed.name) === feed;
    if (isCounted) this.#count(feed, -1);
    const notes = feed.apply(change);
    if (isCounted) this.#count(feed, 1);
    this.onApplied(feed);
    const { put = [], gone = [] } = change;
    if (put.length + gone.length > 0) this.onNotes(feed.name, [...put.map(({ file }) => file), ...gone]);
    if (feed.files.storedReadId === storedBefore) this.#tell([feed.readId], notes);
    else this.#claimAgain(feed, notes);
    return feed.record();
  }

  #count({ notes }: IndexedFeed, each: 1 | -1): void {
    this.#sums.notes += each * notes.size;
    this.#sums.pictures += each * notes.imageCount;
    this.#sums.bytes += each * notes.byteCount;
  }

  /** Assigns a read id to a feed without one: the stored one if it is free. */
  #claim(feed: IndexedFeed): void {
    feed.readId = this.#claimed(feed);
    this.#holders.set(feed.readId, feed.name);
  }

  #claimed(feed: IndexedFeed): ReadId {
    const { storedReadId } = feed.files;
    if (storedReadId === UNREADABLE_READ_ID) return noReadId();
    if (storedReadId !== undefined && this.reserve(feed.name, storedReadId)) return storedReadId;
    if (storedReadId !== undefined) this.#waiting.add(feed);
    return this.#derived(feed.name);
  }

  /** Releases a read id. Returns the first feed by name that waits for it and must claim again. */
  #release(feed: IndexedFeed): IndexedFeed | undefined {
    this.#waiting.delete(feed);
    this.#holders.delete(feed.readId);
    return this.#waitingFor(feed.readId);
  }

  /** Of the feeds that wait for a read id, the first by name. */
  #waitingFor(readId: ReadId): IndexedFeed | undefined {
    const waiting = [...this.#waiting].filter(({ files }) => files.storedReadId === readId);
    return waiting.sort(byName)[0];
  }

  /** Assigns a feed's read id again, because its `.readid` changed. */
  #claimAgain(feed: IndexedFeed, notes?: ChangedNotes): void {
    const before = feed.readId;
    const waiting = this.#release(feed);
    this.#claim(feed);
    this.#tell([before, feed.readId], notes);
    this.#claimFreed(waiting);
  }

  #claimFreed(waiting: IndexedFeed | undefined): void {
    // If two feeds store each other's derived ids, claiming again would never end.
    if (!waiting || this.#holders.has(waiting.files.storedReadId!)) return;
    waiting.apply({});
    this.#claimAgain(waiting);
  }

  #derived(name: FeedName): ReadId {
    let readId = derivedReadId(this.#secret, name, this.#derivation);
    // Only somebody who wrote a derived id into another feed's .readid gets here; "/" is in no feed's name.
    for (let n = 2; this.#holders.has(readId); n += 1) {
      readId = derivedReadId(this.#secret, `${name}/${n}` as FeedName, this.#derivation);
    }
    return readId;
  }

  #tell(readIds: readonly ReadId[], notes?: ChangedNotes): void {
    for (const listener of this.#listeners) listener({ readIds, ...notes });
  }
}

function byName(a: IndexedFeed, b: IndexedFeed): number {
  return a.name < b.name ? -1 : 1;
}
