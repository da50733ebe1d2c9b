import type { Worker } from 'node:worker_threads';
import { cpuMsBetween, cpuMsOf } from './cpu-time.ts';

/**
 * Default nice increment of worker threads (`nice(2)`), so that on few cores neither checking and writing pictures nor
 * parsing strangers' texts delays readers, nor do these texts delay posts (p99 in `bench/main.ts`).
 */
export const BACKGROUND_NICE = 10;
/** For storage threads, because a request waits for each. */
export const STORAGE_NICE = 5;
/** For threads that parse strangers' texts, for seconds each. */
export const TEXT_NICE = 19;

/** After this time a task counts as started, in ms. */
const THREAD_START_MS = 30_000;

/** Limit of a task, counted from its start on a thread; waiting and the start of a thread do not count. */
export interface TaskLimit {
  readonly ms: number;
  /** Wall time if a client waits; CPU time to detect expensive tasks on a busy machine. */
  readonly counts: 'time' | 'cpu time';
}

/**
 * Memory that a task shares with the thread that waits for it. The worker thread writes the CPU time that it has used before the
 * task, in ms, then its id, and notifies. The waiting thread sets `GIVEN_UP` to 1 when nobody waits any more.
 */
type TaskState = Int32Array<SharedArrayBuffer>;
export const [START_CPU_MS, THREAD_ID, GIVEN_UP] = [0, 1, 2];

/** A task with a limit, which counts from when the thread writes its id. */
export interface LimitedTask {
  /** URL of the file whose default function is run. */
  readonly work: string;
  readonly task: unknown;
  /** Nice increment that the thread needs, relative to the process. */
  readonly nice: number;
  readonly state: TaskState;
}

/** Watches one task until `stop`. */
export class LimitWatch {
  readonly state: TaskState = new Int32Array(new SharedArrayBuffer(12));
  readonly #limit: TaskLimit;
  readonly #threads: () => readonly Worker[];
  readonly #onReached: () => void;
  #startedAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  /** @param threads those that may run the task */
  constructor(limit: TaskLimit, threads: () => readonly Worker[], onReached: () => void) {
    this.#limit = limit;
    this.#threads = threads;
    this.#onReached = onReached;
    Promise.resolve(Atomics.waitAsync(this.state, THREAD_ID, 0, THREAD_START_MS).value).then(() => {
      this.#startedAt = performance.now();
      this.#checkIn(limit.ms);
    });
  }

  stop(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  /** Tells the task, which may ask, that nobody waits for it. */
  giveUp(): void {
    Atomics.store(this.state, GIVEN_UP, 1);
  }

  #checkIn(ms: number): void {
    if (!this.#isOver) this.#timer = setTimeout(() => this.#check(), Math.ceil(ms));
  }

  async #check(): Promise<void> {
    const left = this.#limit.ms - (await this.#usedMs());
    if (this.#isOver) return;
    if (left > 0) this.#checkIn(left);
    else this.#onReached();
  }

  /** Wall time if the thread is unknown. */
  async #usedMs(): Promise<number> {
    const thread = this.#threads().find(({ threadId }) => threadId === this.state[THREAD_ID]);
    if (thread === undefined || this.#limit.counts === 'time') return performance.now() - this.#startedAt;
    const usedMs = await cpuMsOf(thread);
    return usedMs === undefined ? 0 : cpuMsBetween(this.state[START_CPU_MS]!, usedMs);
  }
}
