import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { Batcher } from '../../batcher.ts';
import { storeUnavailable } from '../refused-writes.ts';
import { fromFailure } from './failures.ts';
import { CLOSE, type News, type Order, type Told } from './orders.ts';

/** The name of a method, what it takes and what it returns. */
type Called<T> = { [M in keyof T]: T[M] extends (...args: infer A) => infer R ? [A, R] : never };

/** What a thread has to say beside its answers. */
export interface ThreadEvents {
  onNews?(news: News): void;
  /** It has died. What it was told to do may be done all the same, until `ended` settles. */
  onDeath?(ended: Promise<unknown>): void;
}

/**
 * Calls methods of something that lives on a thread of its own. Calls of one turn of the event loop go there together,
 * for a message costs the loop more than a call. A thread that dies takes only the calls it has with it.
 */
export class OrderThread<T> {
  readonly #script: URL;
  readonly #data: unknown;
  readonly #events: ThreadEvents;
  readonly #pending = new Map<number, PromiseWithResolvers<never>>();
  readonly #unsent = new Batcher<Order>((orders) => this.#send(orders));
  #worker: Worker | undefined;
  #lastId = 0;

  /** @param data what the script is given as its `workerData` */
  constructor(script: URL, data: unknown, events: ThreadEvents = {}) {
    this.#script = script;
    this.#data = data;
    this.#events = events;
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

  call<M extends keyof T & string>(method: M, ...args: Called<T>[M][0]): Promise<Called<T>[M][1]> {
    this.#lastId += 1;
    const answer = Promise.withResolvers<never>();
    this.#pending.set(this.#lastId, answer);
    this.#unsent.add({ id: this.#lastId, method, args });
    return answer.promise;
  }

  /** Waits for the calls made, then ends the thread. */
  async close(): Promise<void> {
    await Promise.allSettled([...this.#pending.values()].map(({ promise }) => promise));
    const worker = this.#worker;
    this.#worker = undefined;
    if (!worker) return;
    const ended = once(worker, 'exit');
    worker.postMessage(CLOSE);
    await ended;
  }

  #send(orders: readonly Order[]): void {
    this.#worker ??= this.#start();
    this.#worker.postMessage(orders);
  }

  #start(started?: PromiseWithResolvers<void>): Worker {
    const worker = new Worker(this.#script, { workerData: this.#data });
    const fail = (cause: Error) => {
      started?.reject(cause);
      this.#fail(worker, cause);
    };
    worker.on('message', (told: Told) => {
      if ('started' in told) started?.resolve();
      else if ('refused' in told) fail(new Error(told.refused));
      else this.#settle(told);
    });
    worker.on('error', fail);
    worker.on('exit', () => fail(new Error('the thread has ended')));
    return worker;
  }

  #settle({ answers, news }: Extract<Told, { answers: unknown }>): void {
    if (news) this.#events.onNews?.(news);
    for (const { id, result, failure } of answers) {
      const answer = this.#pending.get(id);
      this.#pending.delete(id);
      if (failure === undefined) answer?.resolve(result as never);
      else answer?.reject(fromFailure(failure));
    }
  }

  /** Whoever waits is told that it failed; the next call starts another thread. */
  #fail(worker: Worker, cause: Error): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    for (const answer of this.#pending.values()) answer.reject(storeUnavailable(cause));
    this.#pending.clear();
    const ended = worker.terminate();
    this.#events.onDeath?.(ended);
  }
}
