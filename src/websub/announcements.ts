import type { ReadId } from '../feeds/names.ts';

/** The most feeds with a change that a hub has not been told of. */
const MAX_PENDING = 10_000;
/** The most announcements to a hub at a time. */
const MAX_RUNNING = 4;
/** Age of a change, ms, from which every container answers the hub with it (contract §7). */
const SETTLED_MS = 1_000;
/** From the first change to its announcement, ms: longer than `SETTLED_MS`, and notes posted together are told together. */
const FIRST_MS = 1_200;
/** Shortest time between two announcements of a feed, and the first pause after a failure, ms. */
const REST_MS = 10_000;
/** Pauses double with each failure up to this, ms. */
const MAX_PAUSE_MS = 10 * 60_000;
/** A change that could not be announced for this time, ms, is given up. */
const LIFETIME_MS = 60 * 60_000;
/** How long a stop waits for the hub, ms. */
const STOP_MS = 1_000;

interface AnnouncementsParts {
  /** Tells the hub that a feed has changed; false if that failed. Never rejects. */
  readonly tell: (readId: ReadId) => Promise<boolean>;
  /** Called when a change is not told any more: its hour is over, or too many wait. */
  readonly onLost: (reason: 'given_up' | 'dropped') => void;
  /** A monotonic clock, ms. */
  readonly now?: () => number;
}

/** Changes of a feed that the hub was not told. */
interface Pending {
  /** Time of the last one, ms of the monotonic clock. */
  readonly at: number;
  /** Failed attempts in a row. */
  readonly failures: number;
}

/** Decides when one hub is told of which feed: each at most once in 10 s, failures again for an hour. */
export class Announcements {
  readonly #parts: AnnouncementsParts;
  readonly #now: () => number;
  /** Oldest first. */
  readonly #pending = new Map<ReadId, Pending>();
  /** Timers of feeds that rest after an announcement, or wait for one. */
  readonly #pauses = new Map<ReadId, NodeJS.Timeout>();
  /** Feeds to tell as soon as others are told. */
  readonly #ready = new Set<ReadId>();
  readonly #running = new Set<ReadId>();
  #stopped: PromiseWithResolvers<void> | undefined;

  constructor(parts: AnnouncementsParts) {
    this.#parts = parts;
    this.#now = parts.now ?? (() => performance.now());
  }

  /** Announces a change of a feed soon. Returns at once. */
  add(readId: ReadId): void {
    if (this.#stopped !== undefined) return;
    this.#pending.set(readId, { at: this.#now(), failures: this.#pending.get(readId)?.failures ?? 0 });
    const isHeld = this.#pauses.has(readId) || this.#ready.has(readId) || this.#running.has(readId);
    if (!isHeld) this.#pause(readId, FIRST_MS);
    if (this.#pending.size > MAX_PENDING) this.#dropOldest();
  }

  /** Announces at once what has not failed yet. Settles when that is done, after a second at most. */
  async stop(): Promise<void> {
    this.#stopped = Promise.withResolvers();
    for (const timer of this.#pauses.values()) clearTimeout(timer);
    for (const [readId, { failures }] of this.#pending) if (failures === 0) this.#ready.add(readId);
    const timer = setTimeout(this.#stopped.resolve, STOP_MS);
    this.#work();
    await this.#stopped.promise;
    clearTimeout(timer);
    this.#ready.clear();
  }

  #pause(readId: ReadId, ms: number): void {
    const end = () => {
      this.#pauses.delete(readId);
      if (!this.#pending.has(readId)) return;
      this.#ready.add(readId);
      this.#work();
    };
    this.#pauses.set(readId, setTimeout(end, ms).unref());
  }

  #work(): void {
    for (const readId of this.#ready) {
      if (this.#running.size === MAX_RUNNING) return;
      // At a stop, a feed that is being told may have changed again.
      if (this.#running.has(readId)) continue;
      this.#ready.delete(readId);
      void this.#tell(readId);
    }
    if (this.#running.size === 0) this.#stopped?.resolve();
  }

  async #tell(readId: ReadId): Promise<void> {
    const change = this.#pending.get(readId)!;
    // The hub may get a newer change from this container alone, so it is told of that one later.
    if (this.#now() - change.at >= SETTLED_MS) this.#pending.delete(readId);
    this.#running.add(readId);
    const isTold = await this.#parts.tell(readId);
    this.#running.delete(readId);
    const pause = isTold ? this.#recordSuccess(readId) : this.#recordFailure(readId, change);
    if (this.#stopped === undefined) this.#pause(readId, pause);
    this.#work();
  }

  /** Ends a row of failures, also of a change that is told again; returns the pause before the next announcement, ms. */
  #recordSuccess(readId: ReadId): number {
    const left = this.#pending.get(readId);
    if (left !== undefined) this.#pending.set(readId, { ...left, failures: 0 });
    return REST_MS;
  }

  /** Records that a hub could not be told; returns the pause before the next attempt, ms. */
  #recordFailure(readId: ReadId, { at: triedAt, failures }: Pending): number {
    this.#ready.delete(readId);
    const { at } = this.#pending.get(readId) ?? { at: triedAt };
    if (this.#now() - at < LIFETIME_MS) this.#pending.set(readId, { at, failures: failures + 1 });
    else this.#parts.onLost('given_up');
    return Math.min(REST_MS * 2 ** failures, MAX_PAUSE_MS);
  }

  /** Its pause goes on, because the next change must not be announced before it ends. */
  #dropOldest(): void {
    const readId = this.#pending.keys().next().value!;
    this.#pending.delete(readId);
    this.#ready.delete(readId);
    this.#parts.onLost('dropped');
  }
}
