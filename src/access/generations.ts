/**
 * A map that forgets old entries: they live for 1 to 2 times `maxSize` insertions, or 1 to 2 times `maxAge` ms. It has two
 * generations and drops the old one as a whole, so that every operation is O(1). Deleting a Map's oldest entries one by
 * one is slower, because iteration skips deleted slots.
 */
export class Generations<Value> {
  readonly #maxSize: number;
  readonly #maxAge: number;
  #young = new Map<string, Value>();
  #old = new Map<string, Value>();
  #bornAt = Number.NEGATIVE_INFINITY;

  constructor(maxSize: number, maxAge: number) {
    this.#maxSize = maxSize;
    this.#maxAge = maxAge;
  }

  get(key: string): Value | undefined {
    return this.#young.get(key) ?? this.#old.get(key);
  }

  /** `now` in ms of a monotonic clock. */
  set(key: string, value: Value, now: number): void {
    const age = now - this.#bornAt;
    if (this.#young.size >= this.#maxSize || age >= this.#maxAge) {
      this.#old = age >= 2 * this.#maxAge ? new Map() : this.#young;
      this.#young = new Map();
      this.#bornAt = now;
    }
    this.#young.set(key, value);
  }

  /** Number of entries; one that was set again may count twice. */
  get size(): number {
    return this.#young.size + this.#old.size;
  }
}
