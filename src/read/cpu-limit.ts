import { ownCpuMs } from '../cpu-time.ts';

/** The limit of a `CpuLimit` is reached. */
export class CpuLimitReached extends Error {}

/** Parts of a text between two looks at the clock, because a look takes longer than a part. */
const CHECKS_PER_LOOK = 8;

/** A limit of the CPU time that this thread takes from now on. The work has to ask, but no thread has to be ended. */
export class CpuLimit {
  readonly #ms: number;
  readonly #isGivenUp: () => boolean;
  readonly #begunAt = ownCpuMs();
  /** CPU time is expensive to ask for, and never more than the time that has passed. */
  #nextCheck: number;
  #checks = 0;

  /** @param isGivenUp whether nobody waits for the work any more; cheap, because it is asked often */
  constructor(ms: number, isGivenUp = () => false) {
    this.#ms = ms;
    this.#isGivenUp = isGivenUp;
    this.#nextCheck = performance.now() + ms;
  }

  get isReached(): boolean {
    if (this.#isGivenUp()) return true;
    const now = performance.now();
    if (now < this.#nextCheck) return false;
    const left = this.#ms - (ownCpuMs() - this.#begunAt);
    this.#nextCheck = now + left;
    return left <= 0;
  }

  /** Looks now and then. Throws CpuLimitReached. */
  check(): void {
    this.#checks += 1;
    if (this.#checks % CHECKS_PER_LOOK === 0 && this.isReached) throw new CpuLimitReached();
  }
}
