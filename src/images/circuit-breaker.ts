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
/** Failed attempts in a row that open the breaker. */
const FAILURES = 5;
/** Interval for probing a store that is down, ms. */
const PROBE_MS = 2_000;
/** Calls that may wait for a slot, and for how long, ms. */
const WAITING = 200;
const WAIT_MS = 10_000;

export interface BreakerOptions {
  /** Calls at once. */
  readonly slots: number;
  /** Whether an attempt failed because of the store: it is retried, and counts. */
  readonly isTransient: (error: unknown) => boolean;
  /** What to throw for the failure of the last attempt. */
  readonly toRefusal: (error: unknown) => unknown;
  /** Succeeds if the store is back. */
  readonly probe: (signal: AbortSignal) => Promise<unknown>;
  readonly probeMs?: number | undefined;
}

export interface Slot {
  release(): void;
}

/**
 * Retries with a circuit breaker. While it is open, every call fails at once, also calls in flight, and only a background
 * probe closes it: no request serves as the probe.
 */
export class CircuitBreaker {
  readonly #options: BreakerOptions;
  readonly #breaker;
  readonly #policy: IPolicy;
  readonly #waiting: (() => void)[] = [];
  #running = 0;
  #opened = new AbortController();
  #probing: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(options: BreakerOptions) {
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
      this.#opened.abort(new Error('the store is down'));
      this.#opened = new AbortController();
      if (!this.#isStopped) this.#probing ??= setInterval(() => this.#probe(), probeMs).unref();
    });
    this.#breaker.onReset(() => {
      clearInterval(this.#probing);
      this.#probing = undefined;
    });
  }

  get isDown(): boolean {
    return this.#breaker.state !== CircuitState.Closed;
  }

  /** Takes a slot for `attempt`. */
  async run<T>(call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const slot = await this.takeSlot();
    try {
      return await this.attempt(call);
    } finally {
      slot.release();
    }
  }

  /**
   * Takes a slot, which may be kept for any time.
   * @throws Refusal `store_unavailable` if the store is down; `busy` if too many wait, or for too long
   */
  async takeSlot(): Promise<Slot> {
    this.#refuseIfDown();
    if (this.#running >= this.#options.slots) await this.#wait();
    else this.#running += 1;
    return { release: () => this.#passSlotOn() };
  }

  /** Calls until it succeeds or a retry cannot help. The signal aborts when the breaker opens. */
  async attempt<T>(call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.#refuseIfDown();
    const { signal } = this.#opened;
    try {
      return await this.#policy.execute(() => {
        // The breaker may have opened during the back-off.
        this.#refuseIfDown();
        return call(signal);
      });
    } catch (error) {
      throw this.isDown ? this.#toDown(error) : this.#options.toRefusal(error);
    }
  }

  close(): void {
    this.#isStopped = true;
    clearInterval(this.#probing);
  }

  #refuseIfDown(): void {
    if (this.isDown) throw unavailable();
  }

  /** Passes on specific failures such as "not found". */
  #toDown(error: unknown): unknown {
    return this.#options.isTransient(error) ? unavailable() : this.#options.toRefusal(error);
  }

  async #probe(): Promise<void> {
    try {
      if (this.isDown) await this.#breaker.execute(() => this.#options.probe(AbortSignal.timeout(WAIT_MS)));
    } catch {
      // The next probe comes.
    }
  }

  #passSlotOn(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#running -= 1;
  }

  #wait(): Promise<void> {
    if (this.#waiting.length >= WAITING) throw busy();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const { signal } = this.#opened;
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
