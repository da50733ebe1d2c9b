import { LRUCache } from 'lru-cache';
import type { ReadId } from '../feeds/names.ts';
import type { Representation } from '../http/representation.ts';
import { inTurns } from '../in-turns.ts';

/** Memory of an entry besides its bodies: keys, headers and bookkeeping, in bytes. */
const ENTRY_OVERHEAD = 2048;
/** One entry may take at most 1/this of the cache. */
const LARGEST_PART = 4;
/** Guests together may take at most 1/this of the cache. */
const GUEST_PART = 8;
/** While the cache is disabled, a request joins a running build only if it started less than this many ms ago. */
const MAX_SHARED_AGE_MS = 500;
/** Outdated entries removed in one turn of the event loop: about 1 ms. */
const REMOVED_AT_ONCE = 1_000;

interface Entry {
  readonly representation: Representation;
  /** See `CacheableView`. */
  readonly until: number | undefined;
  /** The same in `performance.now()` time, as of when it was built: the clock may be set back. */
  readonly endsAt: number | undefined;
  readonly views: FeedViews;
}

/** The views of one feed at one version. A change replaces it, so running builds of it are not cached. */
interface FeedViews {
  readonly readId: ReadId;
  /** Of the cached views. */
  readonly keys: Set<string>;
  /** Running builds by key. */
  readonly building: Map<string, Promise<CacheableView>>;
}

export interface CacheableView {
  readonly representation: Representation;
  /** False if it must not take room in the cache. */
  readonly isCacheable: boolean;
  /** A client may have made it up, so it takes room from others of its kind only. */
  readonly isGuest?: boolean;
  /** From this moment on it is out of date, ms since the epoch, because a note in it expires. */
  readonly until?: number | undefined;
}

/** What the cache holds now, and counts since the start. */
interface CacheCounts {
  readonly hits: number;
  /** Includes requests that join a running build. */
  readonly misses: number;
  /** Entries removed to make room, not outdated ones. */
  readonly evictions: number;
  readonly entries: number;
  readonly bytes: number;
}

/** Answers by view, bounded by bytes, until their feed changes. */
export class ReadCache {
  #entries: LRUCache<string, Entry>;
  /** Those of the entries that are guests; the oldest leave first. */
  #guests: LRUCache<string, Entry>;
  readonly #maxBytes: number;
  readonly #feeds = new Map<ReadId, FeedViews>();
  #isEnabled = true;
  #abandoning: NodeJS.Timeout | undefined;
  #hits = 0;
  #misses = 0;
  #evictions = 0;

  /** @param maxBytes 0 caches nothing, but concurrent requests still share a build */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#entries = this.#noEntries();
    this.#guests = this.#noGuests();
  }

  /** The largest body that can be cached, in bytes. */
  get largestEntry(): number {
    return this.#entries.maxEntrySize - ENTRY_OVERHEAD;
  }

  /** Bytes held now. */
  get size(): number {
    return this.#entries.calculatedSize;
  }

  get isEnabled(): boolean {
    return this.#isEnabled;
  }

  get counts(): CacheCounts {
    return {
      hits: this.#hits,
      misses: this.#misses,
      evictions: this.#evictions,
      entries: this.#entries.size,
      bytes: this.size,
    };
  }

  get(key: string): Representation | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || !this.#isCurrent(entry.views) || isOver(entry, Date.now) || hasEnded(entry)) {
      this.#entries.delete(key);
      this.#misses += 1;
      return undefined;
    }
    this.#hits += 1;
    entry.representation.confirm();
    return entry.representation;
  }

  /**
   * The view of that key: that of a running build, or else of `build`. If the feed changes during a build, only requests
   * from before the change get its view, and it is not cached.
   */
  async load(readId: ReadId, key: string, build: () => Promise<CacheableView>): Promise<Representation> {
    const askedAt = Date.now();
    const views = this.#feeds.get(readId) ?? { readId, keys: new Set(), building: new Map() };
    this.#feeds.set(readId, views);
    const building = views.building.get(key);
    if (building !== undefined) {
      const view = await building;
      return isOver(view, () => askedAt) ? this.load(readId, key, build) : view.representation;
    }
    const promise = this.#build(views, key, build).finally(() => {
      views.building.delete(key);
      this.#forgetIfEmpty(views);
    });
    views.building.set(key, promise);
    return (await promise).representation;
  }

  /** Forgets all views of a feed because it changed. */
  drop(readId: ReadId): void {
    const views = this.#feeds.get(readId);
    if (views === undefined) return;
    this.#feeds.delete(readId);
    void this.#remove(views);
  }

  /**
   * Enables or disables the cache, and clears it. Disable it while changes of feeds may be missed: nothing is cached
   * then, and a build is shared for at most 500 ms.
   */
  setEnabled(isEnabled: boolean): void {
    this.#isEnabled = isEnabled;
    this.#feeds.clear();
    // No entry is removed by itself, because a large cache has millions. None is released: while the storage fails, running answers
    // keep their bytes, because they could not read the rest.
    this.#entries = this.#noEntries();
    this.#guests = this.#noGuests();
    clearInterval(this.#abandoning);
    if (!isEnabled) this.#abandoning = setInterval(() => this.#feeds.clear(), MAX_SHARED_AGE_MS).unref();
  }

  #noEntries(): LRUCache<string, Entry> {
    return new LRUCache<string, Entry>({
      maxSize: Math.max(1, this.#maxBytes),
      maxEntrySize: Math.max(1, Math.floor(this.#maxBytes / LARGEST_PART)),
      sizeCalculation,
      noDisposeOnSet: true,
      dispose: ({ representation, views }, key, reason) => {
        if (reason === 'evict') this.#evictions += 1;
        representation.release();
        this.#guests.delete(key);
        views.keys.delete(key);
        this.#forgetIfEmpty(views);
      },
    });
  }

  #noGuests(): LRUCache<string, Entry> {
    return new LRUCache<string, Entry>({
      maxSize: Math.max(1, Math.floor(this.#maxBytes / GUEST_PART)),
      sizeCalculation,
      // After, because deleting the entry deletes the guest.
      disposeAfter: (_, key, reason) => {
        if (reason === 'evict') this.#entries.delete(key);
      },
    });
  }

  /** Frees the room of outdated views. Nobody gets them meanwhile. */
  async #remove(views: FeedViews): Promise<void> {
    await inTurns(views.keys, REMOVED_AT_ONCE, (key) => {
      if (this.#entries.peek(key)?.views === views) this.#entries.delete(key);
    });
  }

  async #build(views: FeedViews, key: string, build: () => Promise<CacheableView>): Promise<CacheableView> {
    const begunAt = Date.now();
    const view = await build();
    const { representation, isCacheable, isGuest = false, until } = view;
    // Not as of now: a change since then makes this another version.
    representation.confirm(begunAt);
    if (isCacheable && this.#isEnabled && this.#isCurrent(views))
      this.#keep(key, isGuest, { representation, views, until, endsAt: monotonic(until) });
    if (!this.#holds(key, representation)) representation.release();
    return view;
  }

  #keep(key: string, isGuest: boolean, entry: Entry): void {
    const { representation, views } = entry;
    // The entry of an outdated view may still be there, because these are removed some at a time.
    if (this.#entries.peek(key)?.views !== views) this.#entries.delete(key);
    this.#entries.set(key, entry);
    if (isGuest && !this.#guests.set(key, entry).has(key)) this.#entries.delete(key);
    if (!this.#holds(key, representation)) return;
    views.keys.add(key);
    // A compressed form adds to the entry's size, which the cache asks of another entry only.
    representation.onGrow = () => {
      if (this.#holds(key, representation)) this.#keep(key, isGuest, { ...entry });
    };
  }

  #holds(key: string, representation: Representation): boolean {
    return this.#entries.peek(key)?.representation === representation;
  }

  #isCurrent(views: FeedViews): boolean {
    return this.#feeds.get(views.readId) === views;
  }

  #forgetIfEmpty(views: FeedViews): void {
    if (views.keys.size === 0 && views.building.size === 0 && this.#isCurrent(views))
      this.#feeds.delete(views.readId);
  }
}

function sizeCalculation({ representation }: Entry): number {
  return representation.size + ENTRY_OVERHEAD;
}

/** @param now is asked only for a view that ends */
function isOver({ until }: Pick<CacheableView, 'until'>, now: () => number): boolean {
  return until !== undefined && until <= now();
}

function hasEnded({ endsAt }: Entry): boolean {
  return endsAt !== undefined && endsAt <= performance.now();
}

/** A time by the clock, as it is set now, in `performance.now()` time. */
function monotonic(time: number | undefined): number | undefined {
  return time === undefined ? undefined : performance.now() + time - Date.now();
}

/** Bases with a slot at once. */
const SLOTS = 8;
/** An idle base loses its slot after this time, in ms. */
const IDLE_MS = 60_000;

/**
 * The bases whose views may fill the cache. Without `PUBLIC_URL` a base comes from the Host header, which clients choose
 * freely, so only the first few get a slot. The views of all others are guests.
 */
export class KnownBases {
  readonly #slots = new Map<string, { usedAt: number }>();

  /** Records a request for this base, so that it is not idle. */
  use(base: string): void {
    const slot = this.#slots.get(base);
    if (slot !== undefined) slot.usedAt = performance.now();
  }

  /** Whether this base has a slot, so that its views are not guests. Takes a free slot if it has none. */
  admit(base: string, now = performance.now()): boolean {
    if (!this.#slots.has(base) && this.#slots.size >= SLOTS && !this.#freeSlot(now)) return false;
    this.#slots.set(base, { usedAt: now });
    return true;
  }

  #freeSlot(now: number): boolean {
    for (const [base, { usedAt }] of this.#slots) if (now - usedAt > IDLE_MS) return this.#slots.delete(base);
    return false;
  }
}
