/**
 * Flush early at this many items. Otherwise clients that post together stay in lockstep: the loop reads all of them, then
 * the writer commits all of them, and each thread idles while the other works.
 */
const FLUSH_AT = 32;

/** The most that one batch takes, because what comes later must not wait for ever, nor a log grow without end. */
const MAX_ITEMS = 500;
const MAX_BYTES = 8 * 1024 * 1024;

/**
 * Batches the items of one turn of the event loop, because one message or statement for many costs less than many. If a
 * flush returns a promise, what comes until it settles is the next batch.
 */
export class Batcher<T> {
  readonly #flush: (items: readonly T[]) => Promise<void> | void;
  readonly #sizeOf: (item: T) => number;
  #waiting: T[] = [];
  #isScheduled = false;
  #isFlushing = false;

  /**
   * @param flush must not fail
   * @param sizeOf about how many bytes an item brings
   */
  constructor(flush: (items: readonly T[]) => Promise<void> | void, sizeOf: (item: T) => number = () => 0) {
    this.#flush = flush;
    this.#sizeOf = sizeOf;
  }

  add(item: T): void {
    const count = this.#waiting.push(item);
    if (this.#isFlushing) return;
    if (count >= FLUSH_AT) this.#flushAll();
    else if (!this.#isScheduled) {
      this.#isScheduled = true;
      setImmediate(() => {
        this.#isScheduled = false;
        this.#flushAll();
      });
    }
  }

  #flushAll(): void {
    while (this.#waiting.length > 0 && !this.#isFlushing) {
      const flushing = this.#flush(this.#waiting.splice(0, batchLength(this.#waiting, this.#sizeOf)));
      if (!flushing) continue;
      this.#isFlushing = true;
      flushing.then(() => {
        this.#isFlushing = false;
        this.#flushAll();
      });
    }
  }
}

interface Call<I, R> {
  readonly input: I;
  resolve(result: R): void;
  reject(error: unknown): void;
}

/** Does many calls as one, one batch after the other. */
export class BatchedCalls<I, R> {
  readonly #batcher: Batcher<Call<I, R>>;

  /**
   * @param run gives a result for each input, or the error that its call fails with; if it throws, all of them fail
   * @param sizeOf about how many bytes an input brings
   */
  constructor(
    run: (inputs: readonly I[]) => Promise<readonly (R | Error)[]>,
    sizeOf: (input: I) => number = () => 0,
  ) {
    this.#batcher = new Batcher(
      (calls) => settle(calls, run),
      ({ input }) => sizeOf(input),
    );
  }

  /** Its batch begins after the call. */
  call(input: I): Promise<R> {
    const { promise, resolve, reject } = Promise.withResolvers<R>();
    this.#batcher.add({ input, resolve, reject });
    return promise;
  }
}

async function settle<I, R>(
  calls: readonly Call<I, R>[],
  run: (inputs: readonly I[]) => Promise<readonly (R | Error)[]>,
): Promise<void> {
  try {
    const results = await run(calls.map(({ input }) => input));
    for (const [n, { resolve, reject }] of calls.entries()) {
      const result = results[n] as R | Error;
      if (result instanceof Error) reject(result);
      else resolve(result);
    }
  } catch (error) {
    for (const { reject } of calls) reject(error);
  }
}

/** How many of the first items one batch takes, at least one. */
export function batchLength<T>(items: readonly T[], sizeOf: (item: T) => number): number {
  let bytes = 0;
  let count = 0;
  for (const item of items) {
    bytes += sizeOf(item);
    if (count === MAX_ITEMS || (count > 0 && bytes > MAX_BYTES)) break;
    count += 1;
  }
  return count;
}
