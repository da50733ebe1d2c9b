import { Worker } from 'node:worker_threads';
import type { FeedName } from '../../feeds/names.ts';
import type { MarksNotice, MarksOrder } from './mark-keeper.ts';
import type { FileSeen, FolderSeen } from './reconciler.ts';

/** What a watch of the data folder is started with. */
export interface WatchTask {
  readonly dir: string;
  /** False: poll only, as if the kernel sent no events. */
  readonly events: boolean;
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

/** Whoever is told by a watch. */
export interface Watcher {
  onNotice(notice: WatchNotice): void;
  /** The watch has died. */
  onDeath(err: unknown): void;
}

/** Watches the data folder. */
export interface FolderWatch {
  /** Settles when it watches: it tells of every later change. */
  start(task: WatchTask, watcher: Watcher): Promise<void>;
  order(order: LookOrder | MarksOrder): void;
  close(): Promise<void>;
}

/** Watches on a thread of its own, so that its rounds hold up no request. */
export class WatchThread implements FolderWatch {
  #worker: Worker | undefined;

  async start(workerData: WatchTask, { onNotice, onDeath }: Watcher): Promise<void> {
    const watching = Promise.withResolvers<void>();
    this.#worker = new Worker(new URL('../../../workers/watch-files.ts', import.meta.url), { workerData });
    this.#worker.on('message', (message: WatchMessage) => {
      if (message.kind === 'ready') watching.resolve();
      else onNotice(message);
    });
    this.#worker.on('error', (err) => {
      watching.reject(err);
      onDeath(err);
    });
    await watching.promise;
  }

  order(order: LookOrder | MarksOrder): void {
    this.#worker?.postMessage(order);
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
  }
}
