import { workerData } from 'node:worker_threads';
import type { Owner } from '../src/privileges.ts';
import { toFailure } from '../src/storage/failures.ts';
import { DurableWriter, type FileWriter } from '../src/storage/files/durable.ts';
import { FolderSync } from '../src/storage/files/folder-sync.ts';
import type { Call, Reply } from '../src/storage/thread-calls.ts';
import { post, serveCalls } from './serve-calls.ts';

/** What the thread is started with. */
export interface WriterData {
  readonly owner: Owner | undefined;
  /** Replies are to tell of the folder syncs made. */
  readonly tellsSyncs: boolean;
}

const { owner, tellsSyncs } = workerData as WriterData;

serveCalls(() => {
  let commits: number[] = [];
  const noteSync = (writes: number) => {
    commits.push(writes);
  };
  const writer = new DurableWriter(owner, new FolderSync(tellsSyncs ? noteSync : undefined));
  const write = async ({ id, method, args }: Call): Promise<Reply> => {
    try {
      const called = writer[method as keyof FileWriter] as (...args: readonly unknown[]) => Promise<unknown>;
      return { id, result: await called.apply(writer, [...args]) };
    } catch (error) {
      return { id, failure: toFailure(error) };
    }
  };
  const run = (calls: readonly Call[]) => {
    for (const call of calls)
      write(call).then((reply) => {
        post({ replies: [reply], stats: tellsSyncs ? { commits } : undefined });
        commits = [];
      });
  };
  return { run, close: () => {} };
});
