import { Worker } from 'node:worker_threads';
import type { FeedName } from '../../feeds/names.ts';
import { THREAD_HEAP } from '../thread-calls.ts';
import type { ListOrder, MarksNotice, MarksOrder } from './mark-keeper.ts';
import type { FileSeen, FolderSeen } from './reconciler.ts';

/** What a watch of the data folder is started with. */
export interface WatchTask {
  readonly dir: string;
  /** False: poll only, as if the kernel sent no events. */
  readonly events: boolean;
  /**
   * Set if this watch replaces one that died, ms since the epoch. The new watch reports all files, and reports a file as changed if it
   * has changed since this moment.
   */
  readonly changedSince?: number;
}

/** Asks the watch to look at the folders of feeds. */
export interface LookOrder {
  readonly feeds: readonly FeedName[];
  /** Forgets what it knows of them first. */
  readonly anew: boolean;
}

/**
 * What the watch tells. `root`: the data folder or its lock file came, went or was replaced. `record file`: one of
 * `WATCHED_RECORD_FILES` may have changed.
 */
export type WatchNotice =
  | { readonly kind: 'root' }
  | { readonly kind: 'record file'; readonly file: string }
  | MarksNotice
  | { readonly kind: 'no events'; readonly code: string }
  | { readonly kind: 'seen'; readonly seen: readonly (FileSeen | FolderSeen)[] };

/** The messages of the thread: once `ready`, then notices. */
export type WatchMessage = { readonly kind: 'ready' } | WatchNotice;

/** Receives what a watch of the data folder reports. */
interface WatchListener {
  onNotice(notice: WatchNotice): void;
  /** The watch has died, and is started again. */
  onDeath(cause: Error): void;
  /** A new watch has replaced the dead one. Orders that were sent in between are lost, so send them again. */
  onReplaced(cause: Error): void;
}

/** Watches the data folder. */
export interface FolderWatch {
  /** Settles when it watches: it tells of every later change. */
  start(task: WatchTask, listener: WatchListener): Promise<void>;
  order(order: LookOrder | ListOrder | MarksOrder): void;
  close(): Promise<void>;
}

const SCRIPT = new URL('../../../workers/watch-files.ts', import.meta.url);
/** How soon a thread that died is replaced, and how soon that is tried again, ms. */
const RESTART_MS = 1_000;
/** How late a thread may look at a changed file, plus how far clocks may differ, ms. */
const LATE_MS = 120_000;

/** Watches on a thread of its own, so that its rounds hold up no request. */
export class WatchThread implements FolderWatch {
  #worker: Worker | undefined;
  /** A thread that dies is replaced: from the first start, if it succeeds, until `close`. */
  #isKept = false;

  async start(task: WatchTask, listener: WatchListener): Promise<void> {
    await this.#start(task, listener);
    this.#isKept = true;
  }

  order(order: LookOrder | ListOrder | MarksOrder): void {
    this.#worker?.postMessage(order);
  }

  async close(): Promise<void> {
    this.#isKept = false;
    await this.#worker?.terminate();
  }

  /** Settles when the thread watches. Throws at once if no thread can be made. */
  #start(workerData: WatchTask, listener: WatchListener): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const worker = new Worker(SCRIPT, { workerData, resourceLimits: THREAD_HEAP });
    this.#worker = worker;
    const startedAt = Date.now();
    let cause = new Error('the thread has ended');
    worker.on('message', (message: WatchMessage) => {
      if (message.kind === 'ready') resolve();
      else listener.onNotice(message);
    });
    worker.on('error', (error) => {
      cause = error;
    });
    worker.on('exit', () => {
      reject(cause);
      if (!this.#isKept) return;
      listener.onDeath(cause);
      const now = Date.now();
      // One that did not live for long may not have looked at all that had changed before it.
      const before = now - startedAt < LATE_MS ? workerData.changedSince : undefined;
      this.#replaceLater({ ...workerData, changedSince: before ?? now - LATE_MS }, listener, cause);
    });
    return promise;
  }

  #replaceLater(task: WatchTask, listener: WatchListener, cause: Error): void {
    setTimeout(() => {
      if (!this.#isKept) return;
      try {
        // The exit of this one, too, starts another.
        this.#start(task, listener).catch(() => {});
      } catch {
        // There may be memory for a thread later.
        this.#replaceLater(task, listener, cause);
        return;
      }
      listener.onReplaced(cause);
    }, RESTART_MS).unref();
  }
}
