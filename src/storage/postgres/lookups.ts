interface Waiting<V> {
  resolve(value: V | undefined): void;
  reject(error: unknown): void;
}

/** Looks up values by key, one lookup at a time: whatever is asked for meanwhile is one lookup together. */
export class Lookups<K, V> {
  readonly #find: (keys: readonly K[]) => Promise<ReadonlyMap<K, V>>;
  #waiting = new Map<K, Waiting<V>[]>();
  #isRunning = false;

  /** @param find gives a value for each key that has one */
  constructor(find: (keys: readonly K[]) => Promise<ReadonlyMap<K, V>>) {
    this.#find = find;
  }

  /** The value as it is at some moment after the call. */
  get(key: K): Promise<V | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<V | undefined>();
    const waiting = this.#waiting.get(key);
    if (waiting) waiting.push({ resolve, reject });
    else this.#waiting.set(key, [{ resolve, reject }]);
    if (!this.#isRunning) this.#run();
    return promise;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.size > 0) {
      const asked = this.#waiting;
      this.#waiting = new Map();
      try {
        const found = await this.#find([...asked.keys()]);
        for (const [key, waiting] of asked) for (const { resolve } of waiting) resolve(found.get(key));
      } catch (error) {
        for (const waiting of asked.values()) for (const { reject } of waiting) reject(error);
      }
    }
    this.#isRunning = false;
  }
}
