import { Generations } from './generations.ts';
import { RateLimit, type RateLimitOptions, WINDOW_MS } from './rate-limit.ts';

/** Clients, 200 bytes each; up to twice as many are kept. */
const CLIENTS = 50_000;
/** Part of the limit by which all containers together may exceed it. */
const TOLERANCE = 0.1;

/** What a container reports about a client, and asks for. */
export interface UsageReport {
  /** Requests that it granted and has not reported. */
  readonly done: number;
  /** Requests to grant now: 0 or 1. */
  readonly wanted: number;
}

/** Requests that all containers granted this client in the last minute, including this report's. */
export interface SharedUsage {
  readonly total: number;
  /** What was wanted is within the limit, and counted. */
  readonly isGranted: boolean;
  /** Until the oldest request leaves the minute. */
  readonly waitMs: number;
}

export interface SharedCounts {
  /** Number of containers that count, or did within the last minute, including this one. */
  readonly containers: number;
  /** @throws Refusal `store_unavailable` */
  count(client: string, report: UsageReport): Promise<SharedUsage>;
}

interface SharedRateLimitOptions extends RateLimitOptions {
  readonly counts: SharedCounts;
  /** Separates this limit's counts from others. */
  readonly kind: string;
}

interface Client {
  /** Counted here and not reported; some of it may have left the window. */
  unreported: number;
  /** Count of all containers at the last report. */
  total: number;
  /** Ms. */
  refusedUntil: number;
  reporting: number;
}

/**
 * A rate limit over several containers: together they exceed the limit by at most a tenth. A container reports a client
 * only after it used its share of that tenth, so light clients cost no round trip. Without an answer, and for requests
 * before there was a second container, each container's own limit applies.
 */
export class SharedRateLimit {
  readonly #limit: number;
  readonly #counts: SharedCounts;
  readonly #kind: string;
  readonly #now: () => number;
  readonly #own: RateLimit;
  readonly #clients = new Generations<Client>(CLIENTS, WINDOW_MS);

  constructor({ perMinute, counts, kind, now = () => performance.now() }: SharedRateLimitOptions) {
    this.#limit = perMinute;
    this.#counts = counts;
    this.#kind = kind;
    this.#now = now;
    this.#own = new RateLimit({ perMinute, now });
  }

  /** Like `RateLimit.take`; a promise if the other containers must be asked. */
  take(client: string): number | undefined | Promise<number | undefined> {
    const seconds = this.#refusal(client);
    if (this.#limit === 0 || seconds !== undefined) return seconds;
    if (this.#isAlone) return this.#own.take(client);
    const known = this.#known(client);
    if (this.#mustReport(client, known)) return this.#report(client, known, 1);
    return this.#takeOwn(client, known);
  }

  /** Like `take`, but counts nothing. Asks the others about every client that this container has counted. */
  peek(client: string): number | undefined | Promise<number | undefined> {
    const seconds = this.#refusal(client);
    if (this.#limit === 0 || seconds !== undefined || this.#isAlone) return seconds;
    const known = this.#known(client);
    const isCounted = known.unreported + known.total > 0;
    return isCounted || this.#mustReport(client, known) ? this.#report(client, known, 0) : undefined;
  }

  get #isAlone(): boolean {
    return this.#counts.containers === 1;
  }

  #known(client: string): Client {
    return this.#clients.get(client) ?? { unreported: 0, total: 0, refusedUntil: 0, reporting: 0 };
  }

  /** The seconds to wait, as far as this container knows. */
  #refusal(client: string): number | undefined {
    const left = (this.#clients.get(client)?.refusedUntil ?? 0) - this.#now();
    return left > 0 ? secondsOf(left) : this.#own.peek(client);
  }

  /** Requests of the last minute that were not reported yet. Reports are made in order, so these are the newest. */
  #unreported(client: string, { unreported }: Client): number {
    return Math.min(unreported, this.#own.currentCount(client));
  }

  #mustReport(client: string, known: Client): boolean {
    const part = Math.floor((this.#limit * TOLERANCE) / (this.#counts.containers - 1));
    const unreported = this.#unreported(client, known);
    return known.reporting > 0 || unreported >= part || known.total + unreported >= this.#limit;
  }

  async #report(client: string, known: Client, wanted: number): Promise<number | undefined> {
    this.#clients.set(client, known, this.#now());
    const done = this.#unreported(client, known);
    known.unreported = 0;
    known.reporting += 1;
    try {
      const usage = await this.#counts.count(`${this.#kind} ${client}`, { done, wanted });
      known.total = usage.total;
      const isWithin = wanted > 0 ? usage.isGranted : usage.total < this.#limit;
      if (!isWithin) {
        known.refusedUntil = this.#now() + usage.waitMs;
        return secondsOf(usage.waitMs);
      }
    } catch {
      known.unreported += done;
      return wanted > 0 ? this.#takeOwn(client, known) : this.#own.peek(client);
    } finally {
      known.reporting -= 1;
    }
    return wanted > 0 ? this.#own.take(client) : this.#own.peek(client);
  }

  /** Counts one without a report. */
  #takeOwn(client: string, known: Client): number | undefined {
    const seconds = this.#own.take(client);
    if (seconds === undefined) known.unreported += 1;
    this.#clients.set(client, known, this.#now());
    return seconds;
  }
}

/** From 1 to 60. */
function secondsOf(ms: number): number {
  return Math.min(WINDOW_MS / 1_000, Math.max(1, Math.ceil(ms / 1_000)));
}
