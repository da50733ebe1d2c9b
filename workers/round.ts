/** Goes through everything again and again, in slices, at most once per period. */
export class Round {
  readonly #steps: () => Generator<void>;
  readonly #periodMs: number;
  #running: Generator<void> | undefined;
  #begunAt = Number.NEGATIVE_INFINITY;

  /** `steps` is one time through everything; each `yield` is a unit of work done. */
  constructor(steps: () => Generator<void>, periodMs: number) {
    this.#steps = steps;
    this.#periodMs = periodMs;
  }

  /** When there is something to do, of the clock that `advance` is told. */
  get dueAt(): number {
    return this.#running ? Number.NEGATIVE_INFINITY : this.#begunAt + this.#periodMs;
  }

  /** Does at most `budget` units of work; returns how many it did. `now` in ms of a clock that never jumps. */
  advance(budget: number, now: number): number {
    if (!this.#running) {
      if (now < this.dueAt) return 0;
      this.#begunAt = now;
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
