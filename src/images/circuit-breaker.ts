import {
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  ExponentialBackoff,
  handleWhen,
  type IPolicy,
  retry,
} from 'cockatiel';
import pLimit, { type LimitFunction } from 'p-limit';
import { Refusal } from '../refusals.ts';
import { storageFull } from '../storage/failures.ts';
import { imagesUnavailable } from './image-store.ts';

/** Attempts after the first. */
const RETRIES = 2;
const BACKOFF = { initialDelay: 100, maxDelay: 1_000 };
/** Failed attempts in a row that open the breaker. */
const FAILURES = 5;
/** Interval for probing a store that is down, ms. */
const PROBE_MS = 2_000;
/** The most calls that wait for a slot. */
const MAX_WAITING = 200;
/** How long a call waits for a slot, ms. */
const WAIT_MS = 10_000;

/** A request with these options. */
type Call<T> = (options: { readonly abortSignal: AbortSignal }) => Promise<T>;

/**
 * Retries with a circuit breaker. While it is open, every call fails at once, also calls in flight, and only a background
 * probe closes it: no request serves as the probe.
 */
export class CircuitBreaker {
  readonly #slots: LimitFunction;
  readonly #probe: Call<unknown>;
  readonly #breaker;
  readonly #retrying: IPolicy;
  #opened = new AbortController();
  #probing: NodeJS.Timeout | undefined;
  #isClosed = false;

  /**
   * @param slots calls at once
   * @param probe succeeds if the store is back
   */
  constructor(slots: number, probe: Call<unknown>, probeMs = PROBE_MS) {
    this.#slots = pLimit({ concurrency: slots, rejectOnClear: true });
    this.#probe = probe;
    const transient = handleWhen(isTransient);
    this.#breaker = circuitBreaker(transient, {
      // `#probing` decides when to probe. The library would measure the pause by the clock, which may be set back.
      halfOpenAfter: Number.NEGATIVE_INFINITY,
      breaker: new ConsecutiveBreaker(FAILURES),
    });
    const backoff = new ExponentialBackoff(BACKOFF);
    this.#retrying = retry(transient, { maxAttempts: RETRIES, backoff });
    this.#breaker.onBreak(() => {
      this.#opened.abort(new Error('the store is down'));
      this.#opened = new AbortController();
      this.#slots.clearQueue();
      if (!this.#isClosed) this.#probing ??= setInterval(() => this.#tryProbe(), probeMs).unref();
    });
    this.#breaker.onReset(() => this.#stopProbing());
  }

  get isDown(): boolean {
    return this.#breaker.state !== CircuitState.Closed;
  }

  /** Takes a slot for `attempt`. */
  async run<T>(call: Call<T>): Promise<T> {
    const release = await this.takeSlot();
    try {
      return await this.attempt(call);
    } finally {
      release();
    }
  }

  /**
   * Takes a slot, which may be kept for any time.
   * @returns what releases it
   * @throws Refusal `store_unavailable` if the store is down; `busy` if too many wait, or for too long
   */
  async takeSlot(): Promise<() => void> {
    this.#refuseIfDown();
    if (this.#slots.pendingCount >= MAX_WAITING) throw busy();
    const slot = Promise.withResolvers<() => void>();
    let isWaiting = true;
    const timer = setTimeout(() => {
      isWaiting = false;
      slot.reject(busy());
    }, WAIT_MS);
    const hold = async () => {
      if (isWaiting) await new Promise<void>((release) => slot.resolve(release));
    };
    this.#slots(hold).catch(() => slot.reject(unavailable()));
    return slot.promise.finally(() => clearTimeout(timer));
  }

  /** Calls until it succeeds or a retry cannot help. The signal aborts when the breaker opens. */
  async attempt<T>(call: Call<T>): Promise<T> {
    this.#refuseIfDown();
    const { signal: abortSignal } = this.#opened;
    try {
      return await this.#retrying.execute(() => {
        // The breaker may have opened during the back-off. This must not be asked inside its call, because it would take the refusal
        // for an answer of the store and close.
        this.#refuseIfDown();
        return this.#breaker.execute(() => call({ abortSignal }));
      });
    } catch (error) {
      // Specific failures such as "not found" are passed on.
      throw this.isDown && isTransient(error) ? unavailable() : s3Failure(error);
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#stopProbing();
  }

  #stopProbing(): void {
    clearInterval(this.#probing);
    this.#probing = undefined;
  }

  #refuseIfDown(): void {
    if (this.isDown) throw unavailable();
  }

  async #tryProbe(): Promise<void> {
    try {
      // While a probe runs the circuit is half open, and no second one is needed.
      if (this.#breaker.state === CircuitState.Open)
        await this.#breaker.execute(() => this.#probe({ abortSignal: AbortSignal.timeout(WAIT_MS) }));
    } catch {
      // The next probe comes.
    }
  }
}

function unavailable(): Refusal {
  return imagesUnavailable(new Error('the image store is down'));
}

function busy(): Refusal {
  return new Refusal('busy', 'Too many pictures are being read or stored at once.');
}

/** Members used of what the client throws. */
interface S3Error {
  readonly name?: string;
  readonly code?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

/** No object has that key. After HEAD there is no body, so a missing key and a missing bucket look alike. */
export function isAbsent(error: unknown): boolean {
  const { name, $metadata } = error as S3Error;
  return $metadata?.httpStatusCode === 404 && name !== 'NoSuchBucket';
}

/** The store failed, not the request: a retry may succeed. */
function isTransient(error: unknown): boolean {
  if (error instanceof Refusal) return false;
  const { name, $metadata } = error as S3Error;
  const status = $metadata?.httpStatusCode;
  if (status === undefined) return true;
  return (
    (status >= 500 && status !== 507) || status === 429 || status === 408 || name === 'RequestTimeTooSkewed'
  );
}

/**
 * The refusal for a failure; "no such object" stays as it is. Messages of the client hold keys and addresses, so only their
 * codes are kept.
 */
export function s3Failure(error: unknown): unknown {
  if (error instanceof Refusal || isAbsent(error)) return error;
  const { name = 'Error', code, $metadata } = error as S3Error;
  const status = $metadata?.httpStatusCode;
  const said = [name, code, status].filter((part) => part !== undefined).join(' ');
  const cause = Object.assign(new Error(`S3: ${said}`), { code: code ?? name });
  return status === 507 ? storageFull(cause) : imagesUnavailable(cause);
}
