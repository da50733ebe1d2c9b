import { LRUCache } from 'lru-cache';
import type { ReadId } from '../feeds/names.ts';
import type { Representation } from '../http/representation.ts';

/** What an entry costs beside its bytes: keys, headers and bookkeeping, in bytes. */
const ENTRY_OVERHEAD = 2048;
/** One entry may take at most one part in this many of the cache. */
const LARGEST_PART = 4;
/** How old a view that is being made may be for those who ask for it while changes are not heard of, in ms. */
const MAX_UNHEARD_AGE = 500;

interface Entry {
  readonly representation: Representation;
  readonly views: FeedViews;
}

/** The views of one feed at one version. A change abandons it, and with it what is still being built. */
class FeedViews {
  readonly readId: ReadId;
  readonly keys = new Set<string>();
  readonly building = new Map<string, Promise<Representation>>();

  constructor(readId: ReadId) {
    this.readId = readId;
  }
}

/** A view that has been built. */
export interface Built {
  readonly representation: Representation;
  /** False for what must not take room: it is answered and forgotten. */
  readonly keep: boolean;
}

/** What the cache holds, and what it did since it was made. */
export interface CacheCounts {
  readonly hits: number;
  /** Includes requests that then share the making of a view with others. */
  readonly misses: number;
  /** Entries that made room for others, not those that were out of date. */
  readonly evictions: number;
  readonly entries: number;
  readonly bytes: number;
}

/** Ready answers, bounded by bytes, kept until their feed changes. */
export class ReadCache {
  readonly #entries: LRUCache<string, Entry>;
  readonly #feeds = new Map<ReadId, FeedViews>();
  #hearsChanges = true;
  #abandoning: NodeJS.Timeout | undefined;
  #hits = 0;
  #misses = 0;
  #evictions = 0;

  /** @param maxBytes 0 keeps nothing, though requests for one view at a time still share its making */
  constructor(maxBytes: number) {
    this.#entries = new LRUCache<string, Entry>({
      maxSize: Math.max(1, maxBytes),
      maxEntrySize: Math.max(1, Math.floor(maxBytes / LARGEST_PART)),
      sizeCalculation: ({ representation }) => representation.size + ENTRY_OVERHEAD,
      noDisposeOnSet: true,
      dispose: ({ views }, key, reason) => {
        if (reason === 'evict') this.#evictions += 1;
        views.keys.delete(key);
        this.#forgetIfEmpty(views);
      },
    });
  }

  /** The largest body worth handing to the cache, in bytes. */
  get largestEntry(): number {
    return this.#entries.maxEntrySize - ENTRY_OVERHEAD;
  }

  /** Bytes held now. */
  get size(): number {
    return this.#entries.calculatedSize;
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
    if (entry === undefined) this.#misses += 1;
    else this.#hits += 1;
    return entry?.representation;
  }

  /**
   * The view of that key, built by `build` unless somebody is building it already. What is built while its
   * feed changes is answered to those who asked before the change, and not kept.
   */
  load(readId: ReadId, key: string, build: () => Promise<Built>): Promise<Representation> {
    let views = this.#feeds.get(readId);
    if (views === undefined) {
      views = new FeedViews(readId);
      this.#feeds.set(readId, views);
    }
    const building = views.building.get(key);
    if (building !== undefined) return building;
    const promise = this.#build(views, key, build).finally(() => {
      views.building.delete(key);
      this.#forgetIfEmpty(views);
    });
    views.building.set(key, promise);
    return promise;
  }

  /** Everything that shows this feed is out of date. */
  drop(readId: ReadId): void {
    const views = this.#feeds.get(readId);
    if (views === undefined) return;
    this.#feeds.delete(readId);
    for (const key of [...views.keys]) this.#entries.delete(key);
  }

  /**
   * Says whether all changes are heard of. While they are not, nothing is kept, and nobody is given what others have
   * been waiting for since long before. Either way all that is kept or being made counts as out of date.
   */
  hearsChanges(hears: boolean): void {
    this.#hearsChanges = hears;
    this.#abandon();
    this.#entries.clear();
    clearInterval(this.#abandoning);
    if (!hears) this.#abandoning = setInterval(() => this.#abandon(), MAX_UNHEARD_AGE).unref();
  }

  /** Whoever asks from now on is not given what is being made. */
  #abandon(): void {
    this.#feeds.clear();
  }

  async #build(views: FeedViews, key: string, build: () => Promise<Built>): Promise<Representation> {
    const { representation, keep } = await build();
    if (keep && this.#hearsChanges && this.#isCurrent(views)) this.#keep(views, key, representation);
    return representation;
  }

  #keep(views: FeedViews, key: string, representation: Representation): void {
    this.#entries.set(key, { representation, views });
    if (!this.#holds(key, representation)) return;
    views.keys.add(key);
    // With a compressed form added, the entry has to be weighed again.
    representation.onGrow = () => {
      if (this.#holds(key, representation)) this.#entries.set(key, { representation, views });
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
