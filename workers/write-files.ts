import { workerData } from 'node:worker_threads';
import { toFailure } from '../src/storage/failures.ts';
import { DurableWriter, type FileWriter, FolderSync } from '../src/storage/files/durable.ts';
import type { WriterData } from '../src/storage/files/writer-thread.ts';
import type { Call, Reply } from '../src/storage/thread-calls.ts';
import { post, serveCalls } from './serve-calls.ts';

const { dir, owner, tellsSyncs } = workerData as WriterData;

serveCalls(() => {
  let commits: number[] = [];
  const writer = new DurableWriter(
    dir,
    owner,
    new FolderSync(tellsSyncs ? (writes) => commits.push(writes) : undefined),
  );
  const answer = async ({ id, method, args }: Call) => {
    const called = writer[method as keyof FileWriter] as (...args: readonly unknown[]) => Promise<unknown>;
    const reply: Reply = await called.apply(writer, [...args]).then(
      (result) => ({ id, result }),
      (error) => ({ id, failure: toFailure(error) }),
    );
    post({ replies: [reply], stats: tellsSyncs ? { commits } : undefined });
    commits = [];
  };
  return { run: (calls) => calls.forEach(answer), close: () => {} };
});
