import { Refusal, type RefusalCode } from '../refusals.ts';
import type { SharedCounts } from '../storage/storage.ts';

const MINUTE_MS = 60_000;
/** Counts within one bucket share an entry. */
const BUCKET_MS = 1_000;
/** Clients below half their limit, 300 bytes each; up to twice as many are kept. */
const LIGHT_CLIENTS = 50_000;
/** Clients at half their limit or above, at most 1.7 KB each; up to twice as many are kept. */
const HEAVY_CLIENTS = 10_000;
/** Part of the limit by which all containers together may exceed it. */
const TOLERANCE = 0.1;

interface RateLimitOptions {
  /** 0 turns the limit off. */
  readonly perWindow: number;
  /** A minute unless given; containers share counts of a minute only. */
  readonly windowMs?: number;
  readonly code: RefusalCode;
  /** What is counted, in the plural: `Too many <what>` in the refusal. It also separates the shared counts of different limits. */
  readonly what: string;
  /** Counts of all containers. Without it, this process counts alone. */
  readonly shared?: SharedCounts | undefined;
  /** A monotonic clock, ms. */
  readonly now?: (() => number) | undefined;
}

/** What one client did in the window, per bucket, so that a high limit takes no more memory. */
interface Usage {
  total: number;
  /** The last time in each bucket, ms, ascending. */
  times: number[];
  counts: number[];
  /** Counted here and not reported; some of it may have left the window. */
  unreported: number;
  /** Count of all containers at the last report. */
  reported: number;
  /** Reports on their way. */
  reporting: number;
  /** By the counts of all containers, ms. */
  refusedUntil: number;
}

/** Seconds to wait, at least 1; undefined if within the limit. */
type Wait = number | undefined;

/**
 * A sliding-window limit per client: never more than the limit in any window. A bucket expires as a whole, so a client may
 * wait up to a second too long. Methods return a promise only if other containers must be asked.
 *
 * Several containers together exceed the limit by at most a tenth: each reports a client only after it used its share of
 * that tenth, so light clients cost no round trip. Without an answer, and for requests before there was a second container,
 * each container's own limit applies.
 *
 * Memory is bounded by evicting the least recently counted clients. Clients at half their limit or more are evicted only
 * by others like them, so resetting one client's count costs an attacker half the limit from 10,000 addresses.
 */
export class RateLimit {
  readonly #options: RateLimitOptions;
  readonly #now: () => number;
  readonly #windowMs: number;
  readonly #light: Generations<Usage>;
  readonly #heavy: Generations<Usage>;

  constructor(options: RateLimitOptions) {
    this.#options = options;
    this.#windowMs = options.windowMs ?? MINUTE_MS;
    this.#light = new Generations(LIGHT_CLIENTS, this.#windowMs);
    this.#heavy = new Generations(HEAVY_CLIENTS, this.#windowMs);
    this.#now = options.now ?? (() => performance.now());
  }

  /** @throws Refusal if the client is over the limit; then nothing is counted */
  count(client: string): void | Promise<void> {
    return whenKnown(this.#use(client, 1), this.#refuse);
  }

  /** Like `count`, but counts nothing. Asks other containers about every client that this one has counted. */
  check(client: string): void | Promise<void> {
    return whenKnown(this.#use(client, 0), this.#refuse);
  }

  /**
   * Refuses a wrong credential and counts it. If parallel checks pass the limit, a right one is refused too, because
   * otherwise guessing in parallel would bypass the limit.
   * @throws Refusal `auth` with the message; as `count`
   */
  countIfWrong(client: string, isRight: boolean, message: string): void | Promise<void> {
    if (isRight) return this.check(client);
    return whenKnown(this.count(client), () => {
      throw new Refusal('auth', message);
    });
  }

  /** Number of clients kept; one may count several times. */
  get size(): number {
    return this.#light.size + this.#heavy.size;
  }

  readonly #refuse = (seconds: Wait): void => {
    if (seconds === undefined) return;
    const { code, what } = this.#options;
    const unit = seconds === 1 ? 'second' : 'seconds';
    throw new Refusal(code, `Too many ${what}: please wait ${seconds} ${unit}.`, { retryAfter: seconds });
  };

  /** @param wanted 1 to count a request, 0 to ask only */
  #use(client: string, wanted: 0 | 1): Wait | Promise<Wait> {
    const { perWindow, shared } = this.#options;
    if (perWindow === 0) return undefined;
    const usage = this.#light.get(client) ?? this.#heavy.get(client) ?? newUsage();
    const now = this.#now();
    const seconds = this.#wait(usage, now);
    if (seconds !== undefined) return seconds;
    const others = (shared?.containers ?? 1) - 1;
    if (others > 0 && this.#mustReport(usage, wanted, others)) return this.#report(client, usage, wanted);
    if (wanted > 0) this.#add(client, usage, now, others > 0);
    return undefined;
  }

  #wait(usage: Usage, now: number): Wait {
    while (usage.times.length > 0 && now - usage.times[0]! >= this.#windowMs) {
      usage.times.shift();
      usage.total -= usage.counts.shift()!;
    }
    const ownMs = usage.total < this.#options.perWindow ? 0 : this.#windowMs - (now - usage.times[0]!);
    const ms = Math.max(ownMs, usage.refusedUntil - now);
    return ms > 0 ? Math.min(Math.ceil(ms / 1_000), this.#windowMs / 1_000) : undefined;
  }

  #add(client: string, usage: Usage, now: number, isUnreported: boolean): void {
    const last = usage.times.length - 1;
    if (last >= 0 && Math.floor(usage.times[last]! / BUCKET_MS) === Math.floor(now / BUCKET_MS)) {
      usage.times[last] = now;
      usage.counts[last]! += 1;
    } else {
      // Not `push`, which would reserve room for 17 numbers.
      usage.times = [...usage.times, now];
      usage.counts = [...usage.counts, 1];
    }
    usage.total += 1;
    if (isUnreported) usage.unreported += 1;
    this.#keep(client, usage, now);
  }

  #keep(client: string, usage: Usage, now: number): void {
    const isHeavy = 2 * usage.total >= this.#options.perWindow;
    (isHeavy ? this.#heavy : this.#light).set(client, usage, now);
  }

  #mustReport(usage: Usage, wanted: number, others: number): boolean {
    const { perWindow } = this.#options;
    const share = Math.floor((perWindow * TOLERANCE) / others);
    const unreported = unreportedOf(usage);
    const count = usage.reported + unreported;
    return usage.reporting > 0 || unreported >= share || count >= perWindow || (wanted === 0 && count > 0);
  }

  async #report(client: string, usage: Usage, wanted: number): Promise<Wait> {
    const { perWindow, shared, what } = this.#options;
    const done = unreportedOf(usage);
    usage.unreported = 0;
    usage.reporting += 1;
    this.#keep(client, usage, this.#now());
    let isReported = false;
    try {
      const { total, isGranted, waitMs } = await shared!.count(`${what} ${client}`, { done, wanted });
      isReported = true;
      usage.reported = total;
      const isWithin = wanted > 0 ? isGranted : total < perWindow;
      if (!isWithin) usage.refusedUntil = this.#now() + Math.max(1, waitMs);
    } catch {
      usage.unreported += done;
    } finally {
      usage.reporting -= 1;
    }
    const now = this.#now();
    const seconds = this.#wait(usage, now);
    if (seconds === undefined && wanted > 0) this.#add(client, usage, now, !isReported);
    return seconds;
  }
}

function newUsage(): Usage {
  return { total: 0, times: [], counts: [], unreported: 0, reported: 0, reporting: 0, refusedUntil: 0 };
}

/** Requests of the window that were not reported yet. Reports are made in order, so these are the newest. */
function unreportedOf({ unreported, total }: Usage): number {
  return Math.min(unreported, total);
}

/** Calls `next` with the value; synchronous if the value is. */
function whenKnown<T>(value: T | Promise<T>, next: (value: T) => void): void | Promise<void> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/**
 * A map that forgets old entries: they live for 1 to 2 times `maxSize` insertions, or 1 to 2 windows. It has two
 * generations and drops the old one as a whole, because deleting a Map's oldest entries one by one is slower.
 */
class Generations<Value> {
  readonly #maxSize: number;
  readonly #windowMs: number;
  #young = new Map<string, Value>();
  #old = new Map<string, Value>();
  #bornAt = Number.NEGATIVE_INFINITY;

  constructor(maxSize: number, windowMs: number) {
    this.#maxSize = maxSize;
    this.#windowMs = windowMs;
  }

  get(key: string): Value | undefined {
    return this.#young.get(key) ?? this.#old.get(key);
  }

  set(key: string, value: Value, now: number): void {
    const age = now - this.#bornAt;
    if (this.#young.size >= this.#maxSize || age >= this.#windowMs) {
      this.#old = age >= 2 * this.#windowMs ? new Map() : this.#young;
      this.#young = new Map();
      this.#bornAt = now;
    }
    this.#young.set(key, value);
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }
}
