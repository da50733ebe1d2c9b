import { workerData } from 'node:worker_threads';
import { Connection } from '../src/storage/sqlite/connection.ts';
import { asRefusal } from '../src/storage/sqlite/failures.ts';
import type { Checkpoints } from '../src/storage/sqlite/sqlite.ts';
import { callMethod, post, serveCalls } from './serve-calls.ts';

serveCalls(() => {
  const { db } = Connection.forCheckpoints((workerData as { readonly path: string }).path);
  const checkpoints: Checkpoints = { checkpoint: () => db.pragma('wal_checkpoint(PASSIVE)') };
  return {
    run: (calls) => post({ replies: calls.map((call) => callMethod(checkpoints, call, asRefusal)) }),
    close: () => db.close(),
  };
});
