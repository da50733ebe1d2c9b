import type { Worker } from 'node:worker_threads';

/** A thread that has not begun by then counts as if it had, in ms. */
const THREAD_START_MS = 30_000;

/** What a task may take, counted from when a ready thread has taken it: no waiting, and no start of a thread, counts. */
export interface TaskLimit {
  readonly ms: number;
  /** Time is for a task that somebody waits for. One that runs into CPU time is heavy, however busy the machine is. */
  readonly counts: 'time' | 'cpu time';
}

/** Written by the thread that takes a task: first the CPU time it has used so far, in ms, then its id; notified of the id. */
export type Taken = Int32Array<SharedArrayBuffer>;
export const [TAKEN_CPU_MS, TAKEN_BY] = [0, 1];

/** Watches one task, until it is stopped. */
export class LimitWatch {
  /** For the thread to write into. */
  readonly taken: Taken = new Int32Array(new SharedArrayBuffer(8));
  readonly #limit: TaskLimit;
  readonly #threads: () => readonly Worker[];
  readonly #onReached: () => void;
  #begunAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  /** @param threads those that may take the task */
  constructor(limit: TaskLimit, threads: () => readonly Worker[], onReached: () => void) {
    this.#limit = limit;
    this.#threads = threads;
    this.#onReached = onReached;
    Promise.resolve(Atomics.waitAsync(this.taken, TAKEN_BY, 0, THREAD_START_MS).value).then(() => {
      this.#begunAt = performance.now();
      this.#lookIn(limit.ms);
    });
  }

  stop(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  #lookIn(ms: number): void {
    if (!this.#isOver) this.#timer = setTimeout(() => this.#look(), Math.ceil(ms));
  }

  async #look(): Promise<void> {
    const left = this.#limit.ms - (await this.#used());
    if (this.#isOver) return;
    if (left > 0) this.#lookIn(left);
    else this.#onReached();
  }

  /** A thread that is not there, or not there yet, uses time. */
  async #used(): Promise<number> {
    const thread = this.#threads().find(({ threadId }) => threadId === this.taken[TAKEN_BY]);
    if (thread === undefined || this.#limit.counts === 'time') return performance.now() - this.#begunAt;
    const usage = await thread.cpuUsage().catch(() => undefined);
    return usage === undefined ? 0 : (usage.user + usage.system) / 1000 - this.taken[TAKEN_CPU_MS]!;
  }
}
