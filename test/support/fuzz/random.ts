import { randomNumbers } from '../random-numbers.ts';

/** Choices that a seed repeats; much faster than those of fast-check, which keep what is needed for shrinking. */
export interface Choices {
  /** An integer from 0 up to but not including `limit`. */
  below(limit: number): number;
  oneOf<T>(values: readonly T[]): T;
  /** Whether an event happens whose probability is 1 in `n`. */
  oneIn(n: number): boolean;
}

export function randomChoices(seed: number): Choices {
  const random = randomNumbers(seed);
  const below = (limit: number) => Math.floor(random() * limit);
  return { below, oneOf: (values) => values[below(values.length)]!, oneIn: (n) => below(n) === 0 };
}
