import { Generations } from './generations.ts';

/** The span of the limit, in ms. */
const WINDOW = 60_000;
/** What a client does within one such part of the window is kept as one number, in ms. */
const GRAIN = 1_000;
/**
 * Clients below half their limit that are kept in any case; up to twice as many are, mostly of 300 bytes
 * each.
 */
const LIGHT_CLIENTS = 50_000;
/** The same of clients at half their limit or above, of 1.7 KB each at most. */
const HEAVY_CLIENTS = 10_000;

export interface RateLimitOptions {
  /** How much a client may do in any minute; 0 turns the limit off. */
  readonly perMinute: number;
  /** A clock in ms that never goes back. */
  readonly now?: () => number;
}

/** What one client did within the window: by second at most, so that a high limit takes no more memory. */
interface Client {
  total: number;
  /** The last time in each second in which something was counted, ms, in order. */
  readonly times: number[];
  /** How much was counted in that second. */
  readonly counts: number[];
}

/**
 * How much each client may do per minute: never more than the limit in any 60 s. What was done within one
 * second is forgotten together, so a client may wait up to a second more than it had to.
 *
 * Memory is bounded. When there are too many clients, those give way that were counted last the longest ago,
 * but new ones never push out one that has used half its limit: to free a client that is over it takes half
 * the limit from each of 10,000 others, who could as well do that work themselves.
 */
export class RateLimit {
  readonly #limit: number;
  readonly #now: () => number;
  readonly #light = new Generations<Client>(LIGHT_CLIENTS, WINDOW);
  readonly #heavy = new Generations<Client>(HEAVY_CLIENTS, WINDOW);

  constructor({ perMinute, now = () => performance.now() }: RateLimitOptions) {
    this.#limit = perMinute;
    this.#now = now;
  }

  /**
   * Counts one for a client; if it is over the limit, counts nothing and returns the whole seconds to wait, 1
   * to 60.
   */
  take(client: string): number | undefined {
    if (this.#limit === 0) return undefined;
    const now = this.#now();
    const known = this.#find(client);
    if (known !== undefined) {
      forget(known, now);
      if (known.total >= this.#limit) return secondsToWait(known, now);
      count(known, now);
    }
    // An array that starts out empty would take room for 17 numbers with its first.
    const record = known ?? { total: 1, times: [now], counts: [1] };
    const isHeavy = 2 * record.total >= this.#limit;
    (isHeavy ? this.#heavy : this.#light).set(client, record, now);
    return undefined;
  }

  /** As `take`, but counts nothing. */
  peek(client: string): number | undefined {
    const record = this.#find(client);
    if (record === undefined) return undefined;
    const now = this.#now();
    forget(record, now);
    return record.total >= this.#limit ? secondsToWait(record, now) : undefined;
  }

  /** How much was counted for a client within the window. */
  counted(client: string): number {
    const record = this.#find(client);
    if (record === undefined) return 0;
    forget(record, this.#now());
    return record.total;
  }

  /** Clients kept now; one may count several times. */
  get size(): number {
    return this.#light.size + this.#heavy.size;
  }

  #find(client: string): Client | undefined {
    return this.#light.get(client) ?? this.#heavy.get(client);
  }
}

/** Forgets what has left the window. */
function forget(record: Client, now: number): void {
  let gone = 0;
  while (gone < record.times.length && now - record.times[gone]! >= WINDOW) {
    record.total -= record.counts[gone]!;
    gone += 1;
  }
  record.times.splice(0, gone);
  record.counts.splice(0, gone);
}

function count(record: Client, now: number): void {
  const last = record.times.length - 1;
  record.total += 1;
  if (last >= 0 && Math.floor(record.times[last]! / GRAIN) === Math.floor(now / GRAIN)) {
    record.times[last] = now;
    record.counts[last]! += 1;
  } else {
    record.times.push(now);
    record.counts.push(1);
  }
}

/** Until the oldest of what was counted leaves the window. */
function secondsToWait(record: Client, now: number): number {
  return Math.ceil((WINDOW - (now - record.times[0]!)) / 1_000);
}
