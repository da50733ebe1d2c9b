import { Gathering } from '../gathering.ts';

interface Waiting<K, V> {
  readonly key: K;
  resolve(value: V | undefined): void;
  reject(error: unknown): void;
}

/** Looks up values by key, one lookup at a time: whatever is asked for meanwhile is one lookup together. */
export class Lookups<K, V> {
  readonly #find: (keys: readonly K[]) => Promise<ReadonlyMap<K, V>>;
  readonly #asked = new Gathering<Waiting<K, V>>((waiting) => this.#take(waiting));
  #waiting: Waiting<K, V>[] = [];
  #isRunning = false;

  /** @param find gives a value for each key that has one */
  constructor(find: (keys: readonly K[]) => Promise<ReadonlyMap<K, V>>) {
    this.#find = find;
  }

  /** The value as it is at some moment after the call. */
  get(key: K): Promise<V | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<V | undefined>();
    this.#asked.add({ key, resolve, reject });
    return promise;
  }

  #take(waiting: readonly Waiting<K, V>[]): void {
    this.#waiting.push(...waiting);
    if (!this.#isRunning) this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) {
      const asked = this.#waiting;
      this.#waiting = [];
      try {
        const found = await this.#find([...new Set(asked.map(({ key }) => key))]);
        for (const { key, resolve } of asked) resolve(found.get(key));
      } catch (error) {
        for (const { reject } of asked) reject(error);
      }
    }
    this.#isRunning = false;
  }
}
