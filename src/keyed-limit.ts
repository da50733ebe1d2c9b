import pLimit, { type LimitFunction } from 'p-limit';

/** Limits the concurrent tasks of each key, for example a client; only its own tasks wait. See also `KeyedLock`. */
export class KeyedLimit {
  readonly #limit: number;
  readonly #limits = new Map<string, LimitFunction>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  async run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const own = this.#limits.get(key) ?? pLimit(this.#limit);
    this.#limits.set(key, own);
    try {
      return await own(task);
    } finally {
      // Two tasks may see that they are the last, and a new limit may be there by the second.
      const isIdle = own.activeCount + own.pendingCount === 0;
      if (isIdle && this.#limits.get(key) === own) this.#limits.delete(key);
    }
  }
}
