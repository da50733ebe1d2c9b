import { LRUCache } from 'lru-cache';
import type { FeedName } from '../../feeds/names.ts';
import type { Feed } from '../storage.ts';

/** How many are kept: a few hundred bytes each. */
const KEPT = 1_000;

/**
 * Feeds as the last settled write left them, those last posted to: the way to a thread and back, only to learn who may
 * post, costs more than most of a short post. Every write must be told of before its caller is.
 */
export class KnownFeeds {
  readonly #feeds = new LRUCache<FeedName, Feed>({ max: KEPT });
  #writes = 0;

  /** The feed; read by `read` where it is not known. */
  async get(name: FeedName, read: () => Promise<Feed | undefined>): Promise<Feed | undefined> {
    const known = this.#feeds.get(name);
    if (known !== undefined) return known;
    const writes = this.#writes;
    const feed = await read();
    // It may have been read before a write that has settled since.
    if (feed !== undefined && writes === this.#writes) this.#feeds.set(name, feed);
    return feed;
  }

  /** A write of the feed is over; it is now this, where that is known. */
  written(name: FeedName, feed: Feed | undefined): void {
    this.#writes += 1;
    if (feed === undefined) this.#feeds.delete(name);
    else this.#feeds.set(name, feed);
  }

  /** Nobody knows what was written. */
  forget(): void {
    this.#writes += 1;
    this.#feeds.clear();
  }
}
