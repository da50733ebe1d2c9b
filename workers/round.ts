/** Runs through `steps` repeatedly, in slices, at most once per period. */
export class Round {
  readonly #steps: () => Generator<void>;
  readonly #periodMs: number;
  #running: Generator<void> | undefined;
  #startedAt = Number.NEGATIVE_INFINITY;

  /** Each `yield` of `steps` is a unit of work done. */
  constructor(steps: () => Generator<void>, periodMs: number) {
    this.#steps = steps;
    this.#periodMs = periodMs;
  }

  /** When the next call of `advance` has work, by its clock. */
  get dueAt(): number {
    return this.#running ? Number.NEGATIVE_INFINITY : this.#startedAt + this.#periodMs;
  }

  /** Does at most `budget` units of work and returns how many it did. `now` in ms of a monotonic clock. */
  advance(budget: number, now: number): number {
    if (!this.#running) {
      if (now < this.dueAt) return 0;
      this.#startedAt = now;
      this.#running = this.#steps();
    }
    for (let done = 0; done < budget; done += 1) {
      if (!this.#running.next().done) continue;
      this.#running = undefined;
      return done;
    }
    return budget;
  }
}
