import type { Worker } from 'node:worker_threads';
import pLimit, { type LimitFunction } from 'p-limit';
import { Piscina } from 'piscina';
import { Refusal } from './refusals.ts';
import { BACKGROUND_NICE, type LimitedTask, LimitWatch, type TaskLimit } from './task-limit.ts';

const WORKERS = new URL('../workers/', import.meta.url).href;
const LIMITED_TASK = fileOf('limited-task');
/** Heap limit of a thread; a task that needs more fails and ends only its thread. */
const HEAP_LIMIT_MB = 256;
/** The error of Piscina for a task whose thread has ended by itself. */
const EXITED = /^worker exited with code/;
/** A thread takes 10 to 25 MB, so it ends after this time without a task, in ms. */
const IDLE_MS = 30_000;

export interface WorkerPoolOptions {
  /** The most threads; one starts if a task finds none idle. */
  readonly threads: number;
  /** The most tasks that wait for a thread; the next is refused with `busy`. */
  readonly maxQueue: number;
  readonly idleMs?: number;
  /**
   * Nice increment of a thread from its first task with a limit on. It starts with `BACKGROUND_NICE`, because a client may
   * wait for the thread that replaces an ended one.
   */
  readonly nice?: number;
  /** Called at the end of every task that got a thread: what ran, and for how many ms without waiting. */
  readonly observe?: ((work: string, ms: number) => void) | undefined;
}

export interface RunOptions {
  /** When the task reaches it, the task and its thread are ended. */
  readonly limit?: TaskLimit;
  /** Aborted when nobody waits any more: a waiting task is not begun, and a running one with a limit is told. */
  readonly signal?: AbortSignal | undefined;
}

/** A task was ended because it reached its limit. */
export class TaskTimeout extends Error {
  constructor({ ms, counts }: TaskLimit) {
    super(`A task took more than ${ms} ms of ${counts}`);
    this.name = 'TaskTimeout';
  }
}

/** Whether a task failed because the heap of its thread or the stack was full. */
export function ranOutOfMemory(error: unknown): boolean {
  if (error instanceof RangeError) return true;
  if (error instanceof Refusal) return ranOutOfMemory(error.cause);
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
}

/** Runs the functions of `workers/` on threads, with a bounded queue. A thread that dies is replaced; only its task fails. */
export class WorkerPool {
  readonly #options: WorkerPoolOptions & Required<Pick<WorkerPoolOptions, 'idleMs' | 'nice'>>;
  /** Piscina's own queue has no bound for tasks with a signal. */
  readonly #atOnce: LimitFunction;
  /** Tasks refused since the start because the queue was full. */
  refused = 0;
  /**
   * Each has at most one thread and one task. A Piscina that cannot make a thread keeps the task and would run it later, so it is
   * dropped, which ends no other task.
   */
  readonly #piscinas = new Set<Piscina>();
  /** Those without a task. The one that was used last is used next, so that threads that are not needed are idle and end. */
  readonly #idle: Piscina[] = [];
  readonly #watched = new WeakSet<Worker>();
  /** Errors that nobody caught in a thread: these ended it, and not only its task. */
  readonly #fatal = new WeakSet<Error>();
  #drained: PromiseWithResolvers<void> | undefined;

  constructor(options: WorkerPoolOptions) {
    this.#options = { idleMs: IDLE_MS, nice: BACKGROUND_NICE, ...options };
    this.#atOnce = pLimit(options.threads);
  }

  /**
   * Runs the default function of a file with `task`: one of `workers/`, named without its extension, or any by URL.
   * @throws what the function threw; `TaskTimeout`; the reason of the signal; Refusal `busy` if the queue is full, the pool is
   * being drained, no thread can be made, or the thread died, such as for want of memory (`ranOutOfMemory`)
   */
  async run(work: string | URL, task: unknown, options: RunOptions = {}): Promise<unknown> {
    if (this.#drained) throw busy('The service is stopping, please try again in a moment.');
    const { threads, maxQueue } = this.#options;
    if (this.running === threads && this.waiting >= maxQueue) {
      this.refused += 1;
      throw busy('The service is busy, please try again in a moment.');
    }
    try {
      return await this.#atOnce(() => {
        options.signal?.throwIfAborted();
        return this.#runObserved(work, task, options);
      });
    } finally {
      this.#resolveIfIdle();
    }
  }

  /** Tasks that wait for a thread. */
  get waiting(): number {
    return this.#atOnce.pendingCount;
  }

  /** Tasks that have a thread. */
  get running(): number {
    return this.#atOnce.activeCount;
  }

  /** Takes no more tasks, and ends the threads when all tasks are done, at the latest after `patienceMs`. */
  async drain(patienceMs?: number): Promise<void> {
    this.#drained ??= Promise.withResolvers();
    const { promise, resolve } = this.#drained;
    this.#resolveIfIdle();
    const timer = patienceMs === undefined ? undefined : setTimeout(resolve, patienceMs);
    await promise;
    clearTimeout(timer);
    await Promise.all([...this.#piscinas].map((piscina) => piscina.destroy()));
  }

  get #threads(): Worker[] {
    return [...this.#piscinas].flatMap(({ threads }) => threads);
  }

  #resolveIfIdle(): void {
    if (this.running === 0) this.#drained?.resolve();
  }

  #start(): Piscina {
    const piscina = new Piscina({
      minThreads: 0,
      maxThreads: 1,
      idleTimeout: this.#options.idleMs,
      niceIncrement: BACKGROUND_NICE,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_LIMIT_MB },
      recordTiming: false,
    });
    // A thread that dies without a task is replaced, so the process goes on.
    piscina.on('error', (error) => process.emitWarning(error));
    this.#piscinas.add(piscina);
    return piscina;
  }

  async #runObserved(work: string | URL, task: unknown, options: RunOptions): Promise<unknown> {
    const startedAt = performance.now();
    try {
      return await this.#execute(fileOf(work), task, options);
    } finally {
      this.#options.observe?.(typeof work === 'string' ? work : 'other', performance.now() - startedAt);
    }
  }

  async #execute(filename: string, task: unknown, { limit, signal }: RunOptions): Promise<unknown> {
    if (limit === undefined) return this.#runOnThread(task, { filename });
    const abort = new AbortController();
    const watch = new LimitWatch(
      limit,
      () => this.#threads,
      () => abort.abort(),
    );
    const limited: LimitedTask = { work: filename, task, nice: this.#options.nice, state: watch.state };
    const giveUp = () => watch.giveUp();
    signal?.addEventListener('abort', giveUp);
    try {
      const result = await this.#runOnThread(limited, { filename: LIMITED_TASK, signal: abort.signal });
      signal?.throwIfAborted();
      return result;
    } catch (error) {
      throw abort.signal.aborted ? new TaskTimeout(limit) : error;
    } finally {
      signal?.removeEventListener('abort', giveUp);
      watch.stop();
    }
  }

  async #runOnThread(task: unknown, options: { filename: string; signal?: AbortSignal }): Promise<unknown> {
    const piscina = this.#idle.pop() ?? this.#start();
    const running = this.#begin(piscina, task, options);
    this.#watchThreads(piscina);
    try {
      return await running;
    } catch (error) {
      const isThreadDead = error instanceof Error && (this.#fatal.has(error) || EXITED.test(error.message));
      if (!isThreadDead && this.#piscinas.has(piscina)) throw error;
      throw busy('The service could not finish this, please try again in a moment.', error);
    } finally {
      if (this.#piscinas.has(piscina)) this.#idle.push(piscina);
    }
  }

  #begin(piscina: Piscina, task: unknown, options: Parameters<Piscina['run']>[1]): Promise<unknown> {
    try {
      return piscina.run(task, options);
    } catch (error) {
      // There may be memory for a thread later.
      this.#piscinas.delete(piscina);
      throw busy('The service is busy, please try again in a moment.', error);
    }
  }

  /**
   * Piscina does not tell an error that ended a thread from one that a task threw. It also keeps a task whose thread ended before it
   * was ready, until another task makes a thread; destroyed, it lets the task fail.
   */
  #watchThreads(piscina: Piscina): void {
    for (const thread of piscina.threads) {
      if (this.#watched.has(thread)) continue;
      this.#watched.add(thread);
      thread.prependListener('error', (error: Error) => this.#fatal.add(error));
      thread.once('exit', () => {
        if (piscina.queueSize === 0 || piscina.threads.length > 0) return;
        this.#piscinas.delete(piscina);
        void piscina.destroy();
      });
    }
  }
}

/** Limits the concurrent tasks of each key, for example a client; only its own tasks wait. See also `KeyedLock`. */
export class KeyedLimit {
  readonly #limit: number;
  readonly #limits = new Map<string, LimitFunction>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  async run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const own = this.#limits.get(key) ?? pLimit(this.#limit);
    this.#limits.set(key, own);
    try {
      return await own(task);
    } finally {
      // Two tasks may see that they are the last, and a new limit may be there by the second.
      const isIdle = own.activeCount + own.pendingCount === 0;
      if (isIdle && this.#limits.get(key) === own) this.#limits.delete(key);
    }
  }
}

function fileOf(work: string | URL): string {
  return typeof work === 'string' ? `${WORKERS}${work}.ts` : work.href;
}

function busy(message: string, cause?: unknown): Refusal {
  return new Refusal('busy', message, { cause });
}
