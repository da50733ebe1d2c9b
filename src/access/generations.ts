/**
 * A map that forgets what was not set for long. It has a young and an old generation; when the young one is
 * full or has reached its age, it becomes the old one, and the old one goes. So every step takes the same
 * short time, which a map that drops its first entries one by one does not: it steps over all those it
 * dropped before.
 */
export class Generations<Value> {
  readonly #maxSize: number;
  readonly #maxAge: number;
  #young = new Map<string, Value>();
  #old = new Map<string, Value>();
  #bornAt = Number.NEGATIVE_INFINITY;

  /**
   * An entry stays until as many others as `maxSize` were set after it, or for `maxAge` ms; it goes before
   * twice as many were, and at the next `set` after twice that time.
   */
  constructor(maxSize: number, maxAge: number) {
    this.#maxSize = maxSize;
    this.#maxAge = maxAge;
  }

  get(key: string): Value | undefined {
    return this.#young.get(key) ?? this.#old.get(key);
  }

  /** `now` in ms of a clock that never goes back. */
  set(key: string, value: Value, now: number): void {
    const age = now - this.#bornAt;
    if (this.#young.size >= this.#maxSize || age >= this.#maxAge) {
      this.#old = age >= 2 * this.#maxAge ? new Map() : this.#young;
      this.#young = new Map();
      this.#bornAt = now;
    }
    this.#young.set(key, value);
  }

  /** Entries kept now; one that was set again may count twice. */
  get size(): number {
    return this.#young.size + this.#old.size;
  }
}
