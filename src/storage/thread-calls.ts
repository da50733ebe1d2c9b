import { once } from 'node:events';
import { type ResourceLimits, Worker } from 'node:worker_threads';
import { Batcher } from './batcher.ts';
import { type Failure, fromFailure, storeUnavailable, withoutPath } from './failures.ts';

/** Sent to a thread instead of calls: it releases what it holds and ends. */
export const CLOSE = 'close';

/** A call of one of the methods that a thread serves (`workers/serve-calls.ts`). */
export interface Call {
  readonly id: number;
  readonly method: string;
  readonly args: readonly unknown[];
}

/** The result of the method, or its failure. */
export type Reply = { readonly id: number } & (
  | { readonly result: unknown; readonly failure?: undefined }
  | { readonly result?: undefined; readonly failure: Failure }
);

/** What a thread reports about its commits besides its replies. */
export interface WriterStats {
  /** How many writes each commit since the last message was for. */
  readonly commits: readonly number[];
  /** The log of a database is long enough to be copied into it. */
  readonly wantsCheckpoint?: boolean;
}

/** The messages of a thread: first whether it has started, then replies. */
export type WorkerMessage =
  | { readonly started: true }
  | { readonly refused: string }
  | { readonly replies: readonly Reply[]; readonly stats?: WriterStats | undefined };

/**
 * A value as it may be sent to another thread: shared memory is shared; of other memory exactly these bytes are
 * copied, not the buffer they are a part of.
 */
export function sendable<P extends { readonly bytes: Uint8Array | undefined }>(part: P): P {
  const { bytes } = part;
  if (!bytes || bytes.byteLength === bytes.buffer.byteLength || bytes.buffer instanceof SharedArrayBuffer)
    return part;
  return { ...part, bytes: new Uint8Array(bytes) };
}

/** For each method its parameters, and its result once it is awaited. */
type Methods<T> = { [M in keyof T]: T[M] extends (...args: infer A) => infer R ? [A, Awaited<R>] : never };

/**
 * Limits for the heap of every thread of a storage. Without them V8 takes up to 48 MB for new objects and keeps them as long as the thread
 * has work: after an hour the writer of plain files had a heap of 47 MB, with 5 MB in use.
 */
export const THREAD_HEAP: ResourceLimits = { maxYoungGenerationSizeMb: 4 };

export interface ThreadOptions {
  /** Beyond them a call fails, and its thread ends; by default those of the process. */
  readonly limits?: ResourceLimits;
  onStats?(stats: WriterStats): void;
  /** The thread has died. Calls that it had may still take effect until `ended` settles. */
  onDeath?(ended: Promise<unknown>): void;
}

/**
 * Calls methods of something that lives on a thread of its own. The calls of one turn of the event loop go there
 * together, because a message costs the loop more than a call. A thread that dies fails only the calls it has.
 */
export class ThreadCalls<T> {
  readonly #script: URL;
  readonly #data: unknown;
  readonly #options: ThreadOptions;
  readonly #pending = new Map<number, PromiseWithResolvers<never>>();
  readonly #unsent = new Batcher<Call>((calls) => this.#send(calls));
  #worker: Worker | undefined;
  #lastId = 0;
  #isClosed = false;

  /**
   * @param script its name in `workers/`, or any by URL
   * @param data its `workerData`
   */
  constructor(script: string | URL, data: unknown, options: ThreadOptions = {}) {
    this.#script =
      typeof script === 'string' ? new URL(`../../workers/${script}.ts`, import.meta.url) : script;
    this.#data = data;
    this.#options = options;
  }

  /**
   * Starts the thread, as its first call would. Throws an error with a sentence for the operator when it cannot do
   * its work.
   */
  async start(): Promise<this> {
    const started = Promise.withResolvers<void>();
    this.#worker ??= this.#start(started);
    await started.promise;
    return this;
  }

  call<M extends keyof T & string>(method: M, ...args: Methods<T>[M][0]): Promise<Methods<T>[M][1]> {
    if (this.#isClosed) return Promise.reject(storeUnavailable(new Error('the storage is closed')));
    this.#lastId += 1;
    const reply = Promise.withResolvers<never>();
    this.#pending.set(this.#lastId, reply);
    this.#unsent.add({ id: this.#lastId, method, args });
    return reply.promise;
  }

  /** Undefined until a call starts one. */
  get thread(): Worker | undefined {
    return this.#worker;
  }

  /** Ends the thread at once: its calls fail with `cause`. The next call starts another one. */
  async end(cause: Error): Promise<void> {
    const worker = this.#worker;
    if (!worker) return;
    this.#fail(worker, cause);
    await worker.terminate();
  }

  /** Waits for the calls made, then ends the thread. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled([...this.#pending.values()].map(({ promise }) => promise));
    const worker = this.#worker;
    this.#worker = undefined;
    if (!worker) return;
    // A thread that ends with an error has ended as well.
    const ended = once(worker, 'exit').catch(() => {});
    worker.postMessage(CLOSE);
    await ended;
  }

  /** Calls that a dead thread has failed meanwhile are not made. */
  #send(calls: readonly Call[]): void {
    const waiting = calls.filter(({ id }) => this.#pending.has(id));
    if (waiting.length === 0) return;
    try {
      this.#worker ??= this.#start();
    } catch (error) {
      // There may be memory for a thread later.
      this.#rejectCalls(error as Error);
      return;
    }
    try {
      this.#worker.postMessage(waiting);
    } catch {
      for (const call of waiting) this.#sendAlone(this.#worker, call);
    }
  }

  /** Sends one call. It fails if it has what no message can hold, such as values that are nested too deeply. */
  #sendAlone(worker: Worker, call: Call): void {
    try {
      worker.postMessage([call]);
    } catch (error) {
      this.#pending.get(call.id)?.reject(error);
      this.#pending.delete(call.id);
    }
  }

  #start(started?: PromiseWithResolvers<void>): Worker {
    const worker = new Worker(this.#script, {
      workerData: this.#data,
      resourceLimits: { ...THREAD_HEAP, ...this.#options.limits },
    });
    const fail = (cause: Error) => {
      started?.reject(cause);
      this.#fail(worker, cause);
    };
    worker.on('message', (message: WorkerMessage) => {
      if ('started' in message) started?.resolve();
      else if ('refused' in message) fail(new Error(message.refused));
      else this.#settle(message);
    });
    worker.on('error', fail);
    worker.on('messageerror', fail);
    worker.on('exit', () => fail(new Error('the thread has ended')));
    return worker;
  }

  #settle({ replies, stats }: Extract<WorkerMessage, { replies: unknown }>): void {
    if (stats) this.#options.onStats?.(stats);
    for (const { id, result, failure } of replies) {
      const waiting = this.#pending.get(id);
      this.#pending.delete(id);
      if (failure === undefined) waiting?.resolve(result as never);
      else waiting?.reject(fromFailure(failure));
    }
  }

  /** The next call starts another thread. */
  #fail(worker: Worker, cause: Error): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.#rejectCalls(cause);
    const ended = worker.terminate();
    this.#options.onDeath?.(ended);
  }

  #rejectCalls(cause: Error): void {
    for (const { reject } of this.#pending.values()) reject(storeUnavailable(withoutPath(cause)));
    this.#pending.clear();
  }
}
