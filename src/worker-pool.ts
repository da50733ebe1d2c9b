import { Piscina } from 'piscina';
import type { LimitedTask } from '../workers/limited-task.ts';
import { BACKGROUND_NICE } from './background.ts';
import { Refusal } from './refusals.ts';
import { LimitWatch, type TaskLimit } from './task-limit.ts';

const WORKERS = new URL('../workers/', import.meta.url).href;
const LIMITED_TASK = fileOf('limited-task');
/** What a thread's JavaScript values may take; a task that needs more fails, and only its thread with it. */
const HEAP_LIMIT_MB = 256;
/** A thread takes 10 to 25 MB, so one that has had no task for so long ends, in ms. */
const IDLE_MS = 30_000;

export interface WorkerPoolOptions {
  /** Threads at most; one starts when a task finds none idle. */
  readonly threads: number;
  /** Tasks that may wait for a thread; one more is refused with `busy`. */
  readonly maxQueue: number;
  /** After so many ms without a task a thread ends. */
  readonly idleMs?: number;
  /**
   * How nice its threads become with their first task that has a limit. Until then they are as nice as all in the
   * background, for one that takes the place of an ended one is waited for.
   */
  readonly nice?: number;
  /**
   * Told of every task that a thread has taken, when it is over: what was run, and for how many ms. Waiting in the
   * queue does not count.
   */
  readonly observe?: ((work: string, ms: number) => void) | undefined;
}

export interface RunOptions {
  /** Ends the task beyond it, and its thread. */
  readonly limit?: TaskLimit;
}

/** A task ran into its limit and was ended. */
export class TaskTimeout extends Error {
  constructor({ ms, counts }: TaskLimit) {
    super(`A task took more than ${ms} ms of ${counts}`);
    this.name = 'TaskTimeout';
  }
}

/** Whether a task failed for want of memory: its thread's heap, or the stack. */
export function ranOutOfMemory(error: unknown): boolean {
  if (error instanceof RangeError) return true;
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
}

/**
 * Runs the functions of `workers/` on threads. The queue is bounded; a thread that dies takes only its own tasks
 * with it, and another takes its place.
 */
export class WorkerPool {
  readonly #threads: number;
  readonly #maxQueue: number;
  readonly #idleMs: number;
  readonly #nice: number;
  readonly #observe: WorkerPoolOptions['observe'];
  #piscina: Piscina | undefined;
  /** Tasks that have a thread. */
  #running = 0;
  /** Starts of the tasks that wait for one. Piscina's own queue has no bound for tasks with a signal. */
  readonly #waiting: (() => void)[] = [];
  #drained: PromiseWithResolvers<void> | undefined;

  constructor({ threads, maxQueue, idleMs = IDLE_MS, nice = BACKGROUND_NICE, observe }: WorkerPoolOptions) {
    this.#threads = threads;
    this.#maxQueue = maxQueue;
    this.#idleMs = idleMs;
    this.#nice = nice;
    this.#observe = observe;
  }

  /**
   * Runs the default function of a file with `task`: one of `workers/`, named without its extension, or any by URL.
   *
   * Fails with what the function threw, with `TaskTimeout`, with the reason of its thread's death, or with the
   * refusal `busy` when the queue is full or the pool is being drained.
   */
  async run(work: string | URL, task: unknown, options: RunOptions = {}): Promise<unknown> {
    if (this.#drained) throw busy('The service is stopping, please try again in a moment.');
    if (this.#running < this.#threads) this.#running += 1;
    else await this.#threadOfAnother();
    const begunAt = this.#observe === undefined ? 0 : performance.now();
    try {
      return await this.#execute(fileOf(work), task, options);
    } finally {
      this.#observe?.(typeof work === 'string' ? work : 'other', performance.now() - begunAt);
      this.#passThreadOn();
    }
  }

  /** Tasks that wait for a thread. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Tasks that have a thread. */
  get running(): number {
    return this.#running;
  }

  /** Takes no more tasks; when all it has are done, or after so many ms, ends the threads. */
  async drain(patienceMs?: number): Promise<void> {
    this.#drained ??= Promise.withResolvers();
    const { promise, resolve } = this.#drained;
    if (this.#running === 0) resolve();
    const timer = patienceMs === undefined ? undefined : setTimeout(resolve, patienceMs);
    await promise;
    clearTimeout(timer);
    // Not close(): it waits by a count of its own, which is wrong when some threads are idle.
    await this.#piscina?.destroy();
  }

  #start(): Piscina {
    const piscina = new Piscina({
      // Piscina starts a thread for a task that finds none, and gets no more tasks than it may have threads: so none
      // waits for a thread that has died.
      minThreads: 0,
      maxThreads: this.#threads,
      idleTimeout: this.#idleMs,
      niceIncrement: BACKGROUND_NICE,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_LIMIT_MB },
      recordTiming: false,
    });
    // A thread that dies without a task harms nobody and is replaced: no reason to end the process.
    piscina.on('error', (error) => process.emitWarning(error));
    return piscina;
  }

  #threadOfAnother(): Promise<void> {
    if (this.#waiting.length >= this.#maxQueue) {
      throw busy('The service is busy, please try again in a moment.');
    }
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  #passThreadOn(): void {
    const startNext = this.#waiting.shift();
    if (startNext) {
      startNext();
      return;
    }
    this.#running -= 1;
    if (this.#running === 0) this.#drained?.resolve();
  }

  async #execute(filename: string, task: unknown, { limit }: RunOptions): Promise<unknown> {
    this.#piscina ??= this.#start();
    if (limit === undefined) return this.#piscina.run(task, { filename });
    const abort = new AbortController();
    const watch = new LimitWatch(
      limit,
      () => this.#piscina?.threads ?? [],
      () => abort.abort(),
    );
    const limited: LimitedTask = { work: filename, task, nice: this.#nice, taken: watch.taken };
    try {
      return await this.#piscina.run(limited, { filename: LIMITED_TASK, signal: abort.signal });
    } catch (error) {
      throw abort.signal.aborted ? new TaskTimeout(limit) : error;
    } finally {
      watch.stop();
    }
  }
}

/** The file of a kind of work, as Piscina wants it. */
function fileOf(work: string | URL): string {
  return typeof work === 'string' ? `${WORKERS}${work}.ts` : work.href;
}

function busy(message: string): Refusal {
  return new Refusal('busy', message, { headers: { 'retry-after': '1' } });
}
