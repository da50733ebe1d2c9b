import { LRUCache } from 'lru-cache';
import type { ReadId } from '../feeds/names.ts';

/** Feeds whose last changes are remembered; of any other it is not known what its second holds. */
const REMEMBERED = 100_000;

/** When a feed was said to have changed, ms since the epoch. */
interface Changes {
  readonly latest: number;
  readonly before: number;
  /** The latest date that the feed was shown with since, where that is still to come. */
  ahead: number;
}

/**
 * `Last-Modified` counts seconds, so of two changes within one second it tells the later one from nothing.
 * This knows when that is the case.
 */
export class ChangeSeconds {
  readonly #changes = new LRUCache<ReadId, Changes>({ max: REMEMBERED });
  /** Of changes before this time nothing is known. */
  #since = Number.NEGATIVE_INFINITY;

  /** Notes a change of the feed, when it is visible. */
  note(readId: ReadId, now = Date.now()): void {
    const known = this.#changes.get(readId);
    const before = known === undefined ? this.#since : Math.max(known.latest, known.ahead);
    this.#changes.set(readId, { latest: now, before, ahead: Number.NEGATIVE_INFINITY });
  }

  /** To be called when changes may have been missed. */
  forget(now = Date.now()): void {
    this.#changes.clear();
    this.#since = now;
  }

  /** Whether the feed may have had another version dated in the second of this time, its last change. */
  isShared(readId: ReadId, changedAt: number): boolean {
    const changes = this.#changes.get(readId);
    // Its last changes may have been two, before the start of the process, with readers between them.
    if (changes === undefined) return true;
    const second = Math.floor(changedAt / 1000) * 1000;
    // A date later than its notice comes from another clock, or this one went back, or there were many changes at once: the
    // next change may have the same second.
    const isAhead = changedAt > changes.latest;
    if (isAhead) changes.ahead = Math.max(changes.ahead, changedAt);
    return changes.before >= second || isAhead;
  }
}
