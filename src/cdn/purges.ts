import type { ReadId } from '../feeds/names.ts';

/** The most feeds with a change that the CDN has not been told of. */
const MAX_PENDING = 10_000;
/** The most feeds of one request, so that its header fits everywhere: 100 tags have 7 KB. */
const MAX_AT_ONCE = 100;
/** Shortest time between two requests, ms. */
const REST_MS = 50;
/**
 * Delays of the second and the third purge after a change, ms. After the first purge the CDN may still get an older view: from a
 * request that was running then, or from a container that learns of the change up to a second later (contract §7).
 */
const AGAIN_MS = [300, 1_200];
/** The pause after the first failure, ms; each further failure doubles it, up to the second value. */
const [FIRST_PAUSE_MS, MAX_PAUSE_MS] = [1_000, 15_000];
/** A change that could not be told for this time, ms, is given up: longer than any cache may keep a view. */
const LIFETIME_MS = 10 * 60_000;
/** How long a stop waits for the CDN, ms. */
const STOP_MS = 1_000;

interface PurgesParts {
  /** Tells the CDN to drop what it has of these feeds; false if that failed. Never rejects. */
  readonly purge: (readIds: readonly ReadId[]) => Promise<boolean>;
  /** Called when a change is not told any more: its time is over, or too many wait. */
  readonly onLost: (reason: 'given_up' | 'dropped') => void;
  /** A monotonic clock, ms. */
  readonly now?: () => number;
}

/** A feed that changed; times in ms of the monotonic clock. */
interface Pending {
  readonly changedAt: number;
  /** When its next purge is due. */
  readonly dueAt: number;
}

/** Decides which feeds are purged when: each change at once and twice more, in one request at a time. */
export class Purges {
  readonly #parts: PurgesParts;
  readonly #now: () => number;
  /** In the order of their turn: feeds of the last request stand last. */
  readonly #pending = new Map<ReadId, Pending>();
  #timer: NodeJS.Timeout | undefined;
  /** When the timer ends, ms of the monotonic clock. */
  #endsAt = Number.POSITIVE_INFINITY;
  /** No request before this time, ms of the monotonic clock. */
  #restsUntil = 0;
  #failures = 0;
  #running: Promise<void> | undefined;
  #isStopped = false;

  constructor(parts: PurgesParts) {
    this.#parts = parts;
    this.#now = parts.now ?? (() => performance.now());
  }

  /** Purges a feed soon, because it changed. Returns at once. */
  add(readId: ReadId): void {
    if (this.#isStopped) return;
    const now = this.#now();
    this.#pending.set(readId, { changedAt: now, dueAt: now });
    if (this.#pending.size > MAX_PENDING) this.#lose(this.#pending.keys().next().value!, 'dropped');
    this.#plan(now);
  }

  /** Purges the feeds that wait, unless the CDN fails. Settles after a second at most. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    const limit = Promise.withResolvers<void>();
    const timer = setTimeout(limit.resolve, STOP_MS);
    await Promise.race([limit.promise, this.#tellRest()]);
    clearTimeout(timer);
  }

  async #tellRest(): Promise<void> {
    await this.#running;
    while (this.#failures === 0 && this.#pending.size > 0)
      await this.#tell(this.#next(Number.POSITIVE_INFINITY));
  }

  /** Has the next request begin at that time, or earlier. */
  #plan(time: number): void {
    if (this.#running !== undefined || this.#isStopped || time >= this.#endsAt) return;
    clearTimeout(this.#timer);
    this.#endsAt = time;
    const wait = Math.max(time, this.#restsUntil) - this.#now();
    this.#timer = setTimeout(() => this.#run(), wait).unref();
  }

  #run(): void {
    this.#endsAt = Number.POSITIVE_INFINITY;
    const due = this.#next(this.#now());
    // A timer counts whole milliseconds, so it may end just before the time.
    if (due.length === 0) this.#planFirst();
    else
      this.#running = this.#tell(due).finally(() => {
        this.#running = undefined;
        this.#planFirst();
      });
  }

  #planFirst(): void {
    let first = Number.POSITIVE_INFINITY;
    for (const { dueAt } of this.#pending.values()) first = Math.min(first, dueAt);
    this.#plan(first);
  }

  /** Feeds whose purge is due at a time. */
  #next(time: number): ReadId[] {
    const due: ReadId[] = [];
    for (const [readId, { dueAt }] of this.#pending) {
      if (due.length === MAX_AT_ONCE) break;
      if (dueAt <= time) due.push(readId);
    }
    return due;
  }

  async #tell(readIds: readonly ReadId[]): Promise<void> {
    const sentAt = this.#now();
    const isTold = await this.#parts.purge(readIds);
    this.#failures = isTold ? 0 : this.#failures + 1;
    const pause = isTold ? REST_MS : Math.min(FIRST_PAUSE_MS * 2 ** (this.#failures - 1), MAX_PAUSE_MS);
    this.#restsUntil = this.#now() + pause;
    if (!isTold) return this.#giveUp();
    for (const readId of readIds) this.#told(readId, sentAt);
  }

  #told(readId: ReadId, sentAt: number): void {
    const pending = this.#pending.get(readId);
    if (pending === undefined) return;
    this.#pending.delete(readId);
    const { changedAt, dueAt } = pending;
    // The feed changed again since the request was sent.
    if (changedAt > sentAt) this.#pending.set(readId, { changedAt, dueAt });
    else {
      const again = this.#isStopped ? undefined : AGAIN_MS.find((ms) => changedAt + ms > sentAt);
      if (again !== undefined) this.#pending.set(readId, { changedAt, dueAt: changedAt + again });
    }
  }

  #giveUp(): void {
    const oldest = this.#now() - LIFETIME_MS;
    for (const [readId, { changedAt }] of this.#pending)
      if (changedAt < oldest) this.#lose(readId, 'given_up');
  }

  #lose(readId: ReadId, reason: 'given_up' | 'dropped'): void {
    this.#pending.delete(readId);
    this.#parts.onLost(reason);
  }
}
