/** The limit of a `CpuLimit` is reached. */
export class CpuLimitReached extends Error {}

/** A limit of the CPU time that this thread takes from now on. The work has to ask, but no thread has to be ended. */
export class CpuLimit {
  readonly #ms: number;
  readonly #isGivenUp: () => boolean;
  readonly #begunAt = cpuMs();
  /** CPU time is expensive to ask for, and never more than the time that has passed. */
  #nextCheck: number;

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
    const left = this.#ms - (cpuMs() - this.#begunAt);
    this.#nextCheck = now + left;
    return left <= 0;
  }

  /** @throws CpuLimitReached */
  check(): void {
    if (this.isReached) throw new CpuLimitReached();
  }
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
