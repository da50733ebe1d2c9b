/** Numbers from 0 to below 1, the same ones for the same seed (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Choices that a seed repeats; much faster than those of fast-check, which keep what is needed for shrinking. Its methods
 * need no `this`.
 */
export class Random {
  readonly next: () => number;

  constructor(seed: number) {
    this.next = randomNumbers(seed);
  }

  /** An integer from 0 up to but not including `limit`. */
  readonly below = (limit: number): number => Math.floor(this.next() * limit);

  /** One of a list that is not empty. */
  readonly oneOf = <T>(values: readonly T[]): T => values[this.below(values.length)]!;

  /** Whether an event happens whose probability is 1 in `n`. */
  readonly oneIn = (n: number): boolean => this.below(n) === 0;

  readonly chance = (probability: number): boolean => this.next() < probability;

  readonly bytes = (count: number): Buffer =>
    Buffer.from(Array.from({ length: count }, () => this.below(256)));
}
