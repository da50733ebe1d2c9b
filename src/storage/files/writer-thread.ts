import { Worker } from 'node:worker_threads';
import type { WriteAnswer, WriteOrder, WriterData } from '../../../workers/write-files.ts';
import type { Owner } from '../../privileges.ts';
import type { CommitObserver } from '../commit-observer.ts';
import { sendable } from '../sendable.ts';
import type { Change, FileWriter, Part, PlacedFolder } from './durable.ts';
import { unavailable } from './failures.ts';
import type { Stamp } from './stamp.ts';

/** Who waits for a write. */
interface Pending extends PromiseWithResolvers<never> {
  /** In ms of `performance.now()`; 0 where nobody measures. */
  readonly begunAt: number;
}

/** Writes on a thread of its own, so that no post holds up the event loop. */
export class WriterThread implements FileWriter {
  readonly #owner: Owner | undefined;
  readonly #observer: CommitObserver | undefined;
  readonly #pending = new Map<number, Pending>();
  #worker: Worker | undefined;
  #lastId = 0;

  /** @param observer told of every write and of every sync of a folder */
  constructor(owner: Owner | undefined, observer?: CommitObserver) {
    this.#owner = owner;
    this.#observer = observer;
  }

  place(folder: string, parts: readonly Part[]): Promise<Stamp[]> {
    return this.#order('place', folder, parts.map(sendable));
  }

  placeFolder(parent: string, name: string, parts: readonly Part[]): Promise<PlacedFolder> {
    return this.#order('placeFolder', parent, name, parts.map(sendable));
  }

  change(
    folder: string,
    changes: readonly Change[],
    added: readonly Part[] = [],
  ): Promise<(Stamp | undefined)[]> {
    return this.#order('change', folder, changes.map(sendable), added.map(sendable));
  }

  moveAway(parent: string, name: string): Promise<string> {
    return this.#order('moveAway', parent, name);
  }

  append(folder: string, name: string, bytes: Uint8Array): Promise<void> {
    return this.#order('append', folder, name, bytes);
  }

  /** To be called when nothing is being written. */
  async close(): Promise<void> {
    await this.#worker?.terminate();
  }

  #order<M extends keyof FileWriter>(
    method: M,
    ...args: Parameters<FileWriter[M]>
  ): ReturnType<FileWriter[M]> {
    this.#worker ??= this.#start();
    this.#lastId += 1;
    const answer = Promise.withResolvers<never>();
    const begunAt = this.#observer ? performance.now() : 0;
    this.#pending.set(this.#lastId, { ...answer, begunAt });
    this.#worker.postMessage({ id: this.#lastId, method, args } as WriteOrder);
    return answer.promise as ReturnType<FileWriter[M]>;
  }

  #start(): Worker {
    const worker = new Worker(new URL('../../../workers/write-files.ts', import.meta.url), {
      workerData: { owner: this.#owner, tellsSyncs: this.#observer !== undefined } satisfies WriterData,
    });
    worker.on('message', ({ id, result, failure, syncs }: WriteAnswer) => {
      const answer = this.#pending.get(id);
      this.#pending.delete(id);
      if (this.#observer && answer) observe(this.#observer, answer, syncs);
      if (failure === undefined) answer?.resolve(result as never);
      else answer?.reject(Object.assign(new Error(failure.message), failure));
    });
    // It may have written some of what is pending, but nobody was told so: those files are never acknowledged.
    worker.on('error', (cause) => {
      this.#worker = undefined;
      for (const answer of this.#pending.values()) answer.reject(unavailable(cause));
      this.#pending.clear();
    });
    return worker;
  }
}

function observe(observer: CommitObserver, { begunAt }: Pending, syncs: readonly number[] = []): void {
  observer.wrote(performance.now() - begunAt);
  for (const writes of syncs) observer.committed(writes);
}
