import type { FeedName, ReadId } from '../../feeds/names.ts';
import type { AllowedFeed, FeedChange } from '../storage.ts';
import type { Changes, IndexedFeed } from './indexed-feed.ts';
import { ReadIdClaims } from './read-id-claims.ts';

/** All feeds, by name and by read id. Every change of it is told to the listeners. */
export class FeedIndex {
  readonly #feeds = new Map<FeedName, IndexedFeed>();
  readonly #claims: ReadIdClaims;
  readonly #listeners: ((change: FeedChange) => void)[] = [];

  constructor(secret: Uint8Array) {
    this.#claims = new ReadIdClaims(secret);
  }

  /** Calls the listener after every change. */
  onChange(listener: (change: FeedChange) => void): void {
    this.#listeners.push(listener);
  }

  /** How many feeds there are. */
  get size(): number {
    return this.#feeds.size;
  }

  /** The names of all feeds. */
  names(): FeedName[] {
    return [...this.#feeds.keys()];
  }

  get(name: FeedName): IndexedFeed | undefined {
    return this.#feeds.get(name);
  }

  /** The feed that a change was allowed for, if it is still there. */
  find({ name, key, passwordHash }: AllowedFeed): IndexedFeed | undefined {
    const feed = this.#feeds.get(name);
    return feed?.key === key && feed.files.passwordHash === passwordHash ? feed : undefined;
  }

  /** How many other feeds have a license of that id. */
  countLicensed(id: string, except: IndexedFeed): number {
    let count = 0;
    for (const feed of this.#feeds.values()) if (feed !== except && feed.files.license?.id === id) count += 1;
    return count;
  }

  byReadId(readId: ReadId): IndexedFeed | undefined {
    const name = this.#claims.holder(readId);
    const feed = name === undefined ? undefined : this.#feeds.get(name);
    return feed?.readId === readId ? feed : undefined;
  }

  /** Keeps a read id for a feed about to be made; false when another feed has it. */
  reserve(name: FeedName, readId: ReadId): boolean {
    return this.#claims.reserve(name, readId);
  }

  /** Lets go of a reserved read id unless the feed has come to hold it. */
  unreserve(name: FeedName, readId: ReadId): void {
    if (this.#feeds.get(name)?.readId !== readId) this.#claims.unreserve(readId);
  }

  /** Adds the feeds found at start: derived read ids first, then stored ones in the order of the names. */
  addAll(feeds: readonly IndexedFeed[]): void {
    const sorted = feeds.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    for (const feed of sorted) if (feed.files.storedReadId === undefined) this.add(feed);
    for (const feed of sorted) if (feed.files.storedReadId !== undefined) this.add(feed);
  }

  add(feed: IndexedFeed): void {
    feed.readId = this.#claims.claim(feed.name, feed.files.storedReadId);
    this.#feeds.set(feed.name, feed);
    this.#tell([feed.readId]);
  }

  /** Forgets a feed whose folder is gone. */
  drop(feed: IndexedFeed): void {
    if (this.#feeds.get(feed.name) !== feed) return;
    this.#feeds.delete(feed.name);
    const heir = this.#claims.release(feed.name, feed.files.storedReadId, feed.readId);
    this.#tell([feed.readId]);
    this.#inherit(heir);
  }

  /** Ends a step: makes its changes of a feed and tells of them. */
  apply(feed: IndexedFeed, changes: Changes): void {
    const storedBefore = feed.files.storedReadId;
    feed.apply(changes);
    if (feed.files.storedReadId === storedBefore) this.#tell([feed.readId]);
    else this.#inherit(this.#claimAnew(feed, storedBefore));
  }

  /** Gives a feed another read id, of which it may want another one now. Returns the feed that should get the one before. */
  #claimAnew(feed: IndexedFeed, storedBefore: ReadId | undefined): FeedName | undefined {
    const before = feed.readId;
    const heir = this.#claims.release(feed.name, storedBefore, before);
    feed.readId = this.#claims.claim(feed.name, feed.files.storedReadId);
    this.#tell([before, feed.readId]);
    return heir;
  }

  #inherit(heir: FeedName | undefined): void {
    const feed = heir === undefined ? undefined : this.#feeds.get(heir);
    if (!feed) return;
    feed.apply({});
    this.#claimAnew(feed, feed.files.storedReadId);
  }

  #tell(readIds: readonly ReadId[]): void {
    for (const listener of this.#listeners) listener({ readIds });
  }
}
