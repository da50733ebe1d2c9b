import { LRUCache } from 'lru-cache';
import type { FeedName } from '../../feeds/names.ts';
import type { Feed } from '../storage.ts';

/** How many are kept: a few hundred bytes each. */
const KEPT = 1_000;

/**
 * Feeds as the last settled write left them, because a round trip to a thread only to learn who may post costs more than
 * most of a short post. Every write must be reported here before its caller learns of it.
 */
export class KnownFeeds {
  readonly #feeds = new LRUCache<FeedName, Feed>({ max: KEPT });
  #writes = 0;

  /** The feed, from `read` if it is not known. */
  async get(name: FeedName, read: () => Promise<Feed | undefined>): Promise<Feed | undefined> {
    const known = this.#feeds.get(name);
    if (known !== undefined) return known;
    const writes = this.#writes;
    const feed = await read();
    // A write may have settled since it was read.
    if (feed !== undefined && writes === this.#writes) this.#feeds.set(name, feed);
    return feed;
  }

  /** A write settled; `feed` is its result, if known. */
  written(name: FeedName, feed: Feed | undefined): void {
    this.#writes += 1;
    if (feed === undefined) this.#feeds.delete(name);
    else this.#feeds.set(name, feed);
  }

  /** What was written is unknown. */
  forget(): void {
    this.#writes += 1;
    this.#feeds.clear();
  }
}
