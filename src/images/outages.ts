import {
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  ExponentialBackoff,
  handleWhen,
  type IPolicy,
  retry,
  wrap,
} from 'cockatiel';
import { Refusal } from '../refusals.ts';
import { imagesUnavailable } from './image-store.ts';

/** Attempts after the first. */
const RETRIES = 2;
const BACKOFF = { initialDelay: 100, maxDelay: 1_000 };
/** So many attempts in a row that failed say that the store is down. */
const FAILURES = 5;
/** How often a store that is down is asked whether it is back, in ms. */
const PROBE_MS = 2_000;
/** How many may wait for their turn, and how long, in ms. */
const WAITING = 200;
const WAIT_MS = 10_000;

export interface OutageOptions {
  /** Works at once. */
  readonly atOnce: number;
  /** Whether a failure is the store's: it is tried again, and counts. */
  readonly isTransient: (error: unknown) => boolean;
  /** What is thrown for a failure in the end. */
  readonly failure: (error: unknown) => unknown;
  /** Finds out whether the store is back. */
  readonly probe: (signal: AbortSignal) => Promise<unknown>;
  readonly probeMs?: number | undefined;
}

/** A place among the works that run at once. */
export interface Turn {
  end(): void;
}

/**
 * Tries works again, and knows when the store is down: from then on every work fails at once, those that wait for an
 * answer too, and only a probe finds out whether it is back. So nobody waits in a queue for what does not come, and
 * nobody's request is the one that tries.
 */
export class Outages {
  readonly #options: OutageOptions;
  readonly #breaker;
  readonly #policy: IPolicy;
  readonly #waiting: (() => void)[] = [];
  #running = 0;
  #goingDown = new AbortController();
  #probing: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: OutageOptions) {
    const { isTransient, probeMs = PROBE_MS } = options;
    this.#options = options;
    const transient = handleWhen(isTransient);
    this.#breaker = circuitBreaker(transient, {
      halfOpenAfter: Math.floor(probeMs / 2),
      breaker: new ConsecutiveBreaker(FAILURES),
    });
    this.#policy = wrap(
      retry(transient, { maxAttempts: RETRIES, backoff: new ExponentialBackoff(BACKOFF) }),
      this.#breaker,
    );
    this.#breaker.onBreak(() => {
      this.#goingDown.abort(new Error('the store is down'));
      this.#goingDown = new AbortController();
      if (!this.#isClosed) this.#probing ??= setInterval(() => this.#probe(), probeMs).unref();
    });
    this.#breaker.onReset(() => {
      clearInterval(this.#probing);
      this.#probing = undefined;
    });
  }

  get isDown(): boolean {
    return this.#breaker.state !== CircuitState.Closed;
  }

  /** Waits for a turn, then does as `attempt`. */
  async run<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const turn = await this.turn();
    try {
      return await this.attempt(work);
    } finally {
      turn.end();
    }
  }

  /**
   * A turn for a work of any length.
   * @throws Refusal `store_unavailable` where the store is down; `busy` where too many wait, or for too long
   */
  async turn(): Promise<Turn> {
    this.#refuseIfDown();
    if (this.#running >= this.#options.atOnce) await this.#wait();
    else this.#running += 1;
    return { end: () => this.#next() };
  }

  /** Does a work that has a turn, again where that may help. Its signal ends it when the store is found to be down. */
  async attempt<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.#refuseIfDown();
    const { signal } = this.#goingDown;
    try {
      return await this.#policy.execute(() => {
        // While it waited for another attempt others may have found out.
        this.#refuseIfDown();
        return work(signal);
      });
    } catch (error) {
      throw this.isDown ? this.#down(error) : this.#options.failure(error);
    }
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#probing);
  }

  #refuseIfDown(): void {
    if (this.isDown) throw this.#down(undefined);
  }

  /** Where a failure has a meaning of its own, such as that the object is gone, that counts. */
  #down(cause: unknown): unknown {
    const meant =
      cause === undefined || this.#options.isTransient(cause) ? undefined : this.#options.failure(cause);
    return meant ?? unavailable();
  }

  async #probe(): Promise<void> {
    try {
      if (this.isDown) await this.#breaker.execute(() => this.#options.probe(AbortSignal.timeout(WAIT_MS)));
    } catch {
      // It is asked again.
    }
  }

  /** The turn of the one who ends is passed on. */
  #next(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#running -= 1;
  }

  #wait(): Promise<void> {
    if (this.#waiting.length >= WAITING) throw busy();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const { signal } = this.#goingDown;
    const leave = (refusal: unknown) => {
      this.#waiting.splice(this.#waiting.indexOf(start), 1);
      over();
      reject(refusal);
    };
    const onDown = () => leave(unavailable());
    const timer = setTimeout(() => leave(busy()), WAIT_MS);
    const over = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onDown);
    };
    const start = () => {
      over();
      resolve();
    };
    signal.addEventListener('abort', onDown);
    this.#waiting.push(start);
    return promise;
  }
}

function unavailable(): Refusal {
  return imagesUnavailable(new Error('the image store is down'));
}

function busy(): Refusal {
  return new Refusal('busy', 'Too many pictures are being read or stored at once.', {
    headers: { 'Retry-After': '1' },
  });
}
