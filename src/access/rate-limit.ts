import { Generations } from './generations.ts';

export const WINDOW_MS = 60_000;
/** Counts within one bucket share an entry. */
const BUCKET_MS = 1_000;
/** Clients below half their limit, 300 bytes each; up to twice as many are kept. */
const LIGHT_CLIENTS = 50_000;
/** Clients at half their limit or above, at most 1.7 KB each; up to twice as many are kept. */
const HEAVY_CLIENTS = 10_000;

export interface RateLimitOptions {
  /** 0 turns the limit off. */
  readonly perMinute: number;
  /** A monotonic clock, ms. */
  readonly now?: () => number;
}

/** The counts of one client in the window, per bucket, so that a high limit takes no more memory. */
interface Client {
  total: number;
  /** The last time in each bucket, ms, ascending. */
  readonly times: number[];
  readonly counts: number[];
}

/**
 * A sliding-window limit per client: never more than the limit in any 60 s. A bucket expires as a whole, so a client may
 * wait up to a second too long.
 *
 * Memory is bounded by evicting the least recently counted clients. Clients at half their limit or more are evicted only
 * by others like them, so resetting one client's count costs an attacker half the limit from 10,000 addresses.
 */
export class RateLimit {
  readonly #limit: number;
  readonly #now: () => number;
  readonly #light = new Generations<Client>(LIGHT_CLIENTS, WINDOW_MS);
  readonly #heavy = new Generations<Client>(HEAVY_CLIENTS, WINDOW_MS);

  constructor({ perMinute, now = () => performance.now() }: RateLimitOptions) {
    this.#limit = perMinute;
    this.#now = now;
  }

  /** Counts one; if the client is over the limit, counts nothing and returns the seconds to wait, 1 to 60. */
  take(client: string): number | undefined {
    if (this.#limit === 0) return undefined;
    const now = this.#now();
    const known = this.#clientOf(client);
    if (known !== undefined) {
      dropExpired(known, now);
      if (known.total >= this.#limit) return secondsToWait(known, now);
      addOne(known, now);
    }
    // An array literal, because the first push to an empty array reserves room for 17 numbers.
    const record = known ?? { total: 1, times: [now], counts: [1] };
    const isHeavy = 2 * record.total >= this.#limit;
    (isHeavy ? this.#heavy : this.#light).set(client, record, now);
    return undefined;
  }

  /** Like `take`, but counts nothing. */
  peek(client: string): number | undefined {
    const record = this.#clientOf(client);
    if (record === undefined) return undefined;
    const now = this.#now();
    dropExpired(record, now);
    return record.total >= this.#limit ? secondsToWait(record, now) : undefined;
  }

  currentCount(client: string): number {
    const record = this.#clientOf(client);
    if (record === undefined) return 0;
    dropExpired(record, this.#now());
    return record.total;
  }

  /** Number of clients kept; one may count several times. */
  get size(): number {
    return this.#light.size + this.#heavy.size;
  }

  #clientOf(client: string): Client | undefined {
    return this.#light.get(client) ?? this.#heavy.get(client);
  }
}

function dropExpired(record: Client, now: number): void {
  let expired = 0;
  while (expired < record.times.length && now - record.times[expired]! >= WINDOW_MS) {
    record.total -= record.counts[expired]!;
    expired += 1;
  }
  record.times.splice(0, expired);
  record.counts.splice(0, expired);
}

function addOne(record: Client, now: number): void {
  const last = record.times.length - 1;
  record.total += 1;
  if (last >= 0 && Math.floor(record.times[last]! / BUCKET_MS) === Math.floor(now / BUCKET_MS)) {
    record.times[last] = now;
    record.counts[last]! += 1;
  } else {
    record.times.push(now);
    record.counts.push(1);
  }
}

/** Until the oldest bucket expires. */
function secondsToWait(record: Client, now: number): number {
  return Math.ceil((WINDOW_MS - (now - record.times[0]!)) / 1_000);
}
