import { Worker } from 'node:worker_threads';
import type { FolderSeen, LookOrder, WatchNotice, WatchTask } from '../../../workers/watch-files.ts';
import type { FileSeen } from '../../../workers/watched-folder.ts';
import type { FeedName } from '../../feeds/names.ts';

/** The thread that watches the data folder. */
export interface Watch {
  /** The service knows these feeds: what is gone before the watch has seen it must be told too. */
  expect(feeds: readonly FeedName[]): void;
  /** What was seen of the feed's folder could not be found: it is to be told anew whether it is there. */
  lookAnew(feed: FeedName): void;
  close(): Promise<void>;
}

/** Who hears what of the watch. */
export interface WatchListener {
  seen(seen: readonly (FileSeen | FolderSeen)[]): void;
  /** The data folder or the lock file in it came, went or was replaced. */
  rootChanged(): void;
  /** The system refused to send (more) events; `code` is its error, for example `ENOSPC`. */
  noEvents(code: string): void;
  /** The thread has died: nothing is watched any more. */
  failed(error: Error): void;
}

/** Starts the watching. When the promise settles, every change from then on will be told. */
export async function startWatch(task: WatchTask, listener: WatchListener): Promise<Watch> {
  const ready = Promise.withResolvers<void>();
  const worker = new Worker(new URL('../../../workers/watch-files.ts', import.meta.url), {
    workerData: task,
  });
  worker.on('message', (notice: WatchNotice) => {
    if (notice.kind === 'ready') ready.resolve();
    if (notice.kind === 'seen') listener.seen(notice.seen);
    if (notice.kind === 'root') listener.rootChanged();
    if (notice.kind === 'no events') listener.noEvents(notice.code);
  });
  worker.on('error', (error) => {
    ready.reject(error);
    listener.failed(error);
  });
  await ready.promise;
  const order = (one: LookOrder) => worker.postMessage(one);
  return {
    expect: (feeds) => order({ feeds, anew: false }),
    lookAnew: (feed) => order({ feeds: [feed], anew: true }),
    close: async () => {
      await worker.terminate();
    },
  };
}
