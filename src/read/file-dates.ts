import { LRUCache } from 'lru-cache';

/** Files whose versions are remembered; a forgotten one is taken for served for the first time. */
const REMEMBERED = 10_000;

/** The version of a file that was last served, and what came before it. */
interface Served {
  readonly etag: string;
  /** Ms since the epoch. */
  readonly modifiedAt: number;
  /** The latest modification time of the versions served before. */
  readonly latestOfOthers: number;
}

/**
 * A file edited twice within a second, or replaced by one with an older date, has a `Last-Modified` that does not
 * tell it from what was served before. This knows when that is the case.
 */
export class FileDates {
  readonly #served = new LRUCache<string, Served>({ max: REMEMBERED });

  /**
   * Notes a version that is about to be served, and says whether another one was served whose date, in whole
   * seconds, is the same or later.
   * @param modifiedAt ms since the epoch
   */
  isShared(file: string, etag: string, modifiedAt: number): boolean {
    const last = this.#served.get(file);
    const others = last?.latestOfOthers ?? Number.NEGATIVE_INFINITY;
    const isOther = last !== undefined && last.etag !== etag;
    const latestOfOthers = isOther ? Math.max(others, last.modifiedAt) : others;
    this.#served.set(file, { etag, modifiedAt, latestOfOthers });
    return latestOfOthers >= Math.floor(modifiedAt / 1000) * 1000;
  }
}
