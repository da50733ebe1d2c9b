import { Generations } from './generations.ts';
import { RateLimit, type RateLimitOptions } from './rate-limit.ts';

/** The span of the limit, in ms. */
const WINDOW = 60_000;
/** Clients that are kept in any case, mostly of 200 bytes each; up to twice as many are. */
const CLIENTS = 50_000;
/** Of the limit, what all containers together may let a client do beyond it. */
const TOLERANCE = 0.1;

/** What a container tells of a client, and asks for. */
export interface Told {
  /** What it let the client do and has not told before. */
  readonly done: number;
  /** How much more it would let the client do: 0 or 1. */
  readonly wanted: number;
}

/** What all containers let a client do within the last minute, what was just told or granted included. */
export interface Counted {
  readonly total: number;
  /** Whether what was wanted was within the limit and is counted. */
  readonly isGranted: boolean;
  /** Until the oldest of it leaves the minute, in ms. */
  readonly waitMs: number;
}

/** Where several containers count together. */
export interface SharedCounts {
  /** How many count, or did within the last minute, this one included. */
  readonly containers: number;
  /** @throws Refusal `store_unavailable` */
  count(client: string, told: Told): Promise<Counted>;
}

export interface SharedRateLimitOptions extends RateLimitOptions {
  readonly counts: SharedCounts;
  /** Tells this limit's clients from those of others. */
  readonly kind: string;
}

/** What is known of a client. */
interface Client {
  /** Counted here since the others were last told; some of it may have left the window. */
  untold: number;
  /** By all, when that was last asked. */
  total: number;
  /** Ms. */
  refusedUntil: number;
  asking: number;
}

/**
 * A rate limit over several containers: together they let a client do at most a tenth more than the limit. Each tells
 * the others only what goes beyond its part of that tenth, so a client that does little costs nothing, and waits for
 * the answer only then. Where there is no answer, and for what was done before there was a second container, each
 * container's own limit holds.
 */
export class SharedRateLimit {
  readonly #limit: number;
  readonly #counts: SharedCounts;
  readonly #kind: string;
  readonly #now: () => number;
  readonly #own: RateLimit;
  readonly #clients = new Generations<Client>(CLIENTS, WINDOW);

  constructor({ perMinute, counts, kind, now = () => performance.now() }: SharedRateLimitOptions) {
    this.#limit = perMinute;
    this.#counts = counts;
    this.#kind = kind;
    this.#now = now;
    this.#own = new RateLimit({ perMinute, now });
  }

  /** As `RateLimit.take`; a promise where the other containers have to be asked. */
  take(client: string): number | undefined | Promise<number | undefined> {
    const seconds = this.#refusal(client);
    if (this.#limit === 0 || seconds !== undefined) return seconds;
    if (this.#isAlone) return this.#own.take(client);
    const known = this.#known(client);
    if (this.#mustAsk(client, known)) return this.#ask(client, known, 1);
    return this.#takeOwn(client, known);
  }

  /** As `take`, but counts nothing. The others are asked about every client that this container has counted. */
  peek(client: string): number | undefined | Promise<number | undefined> {
    const seconds = this.#refusal(client);
    if (this.#limit === 0 || seconds !== undefined || this.#isAlone) return seconds;
    const known = this.#known(client);
    const isCounted = known.untold + known.total > 0;
    return isCounted || this.#mustAsk(client, known) ? this.#ask(client, known, 0) : undefined;
  }

  get #isAlone(): boolean {
    return this.#counts.containers === 1;
  }

  #known(client: string): Client {
    return this.#clients.get(client) ?? { untold: 0, total: 0, refusedUntil: 0, asking: 0 };
  }

  /** The whole seconds to wait, as far as this container knows by itself. */
  #refusal(client: string): number | undefined {
    const left = (this.#clients.get(client)?.refusedUntil ?? 0) - this.#now();
    return left > 0 ? secondsOf(left) : this.#own.peek(client);
  }

  /** What of the last minute the others do not know: all that they were told came before it. */
  #untold(client: string, { untold }: Client): number {
    return Math.min(untold, this.#own.counted(client));
  }

  #mustAsk(client: string, known: Client): boolean {
    const part = Math.floor((this.#limit * TOLERANCE) / (this.#counts.containers - 1));
    const untold = this.#untold(client, known);
    return known.asking > 0 || untold >= part || known.total + untold >= this.#limit;
  }

  async #ask(client: string, known: Client, wanted: number): Promise<number | undefined> {
    this.#clients.set(client, known, this.#now());
    const done = this.#untold(client, known);
    known.untold = 0;
    known.asking += 1;
    try {
      const counted = await this.#counts.count(`${this.#kind} ${client}`, { done, wanted });
      known.total = counted.total;
      const isWithin = wanted > 0 ? counted.isGranted : counted.total < this.#limit;
      if (!isWithin) {
        known.refusedUntil = this.#now() + counted.waitMs;
        return secondsOf(counted.waitMs);
      }
    } catch {
      known.untold += done;
      return wanted > 0 ? this.#takeOwn(client, known) : this.#own.peek(client);
    } finally {
      known.asking -= 1;
    }
    return wanted > 0 ? this.#own.take(client) : this.#own.peek(client);
  }

  /** Counts one that the others do not know. */
  #takeOwn(client: string, known: Client): number | undefined {
    const seconds = this.#own.take(client);
    if (seconds === undefined) known.untold += 1;
    this.#clients.set(client, known, this.#now());
    return seconds;
  }
}

/** From 1 to 60. */
function secondsOf(ms: number): number {
  return Math.min(WINDOW / 1_000, Math.max(1, Math.ceil(ms / 1_000)));
}
