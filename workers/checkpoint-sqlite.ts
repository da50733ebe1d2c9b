import { workerData } from 'node:worker_threads';
import { Connection } from '../src/storage/sqlite/connection.ts';
import { asRefusal } from '../src/storage/sqlite/failures.ts';
import type { Call } from '../src/storage/thread-calls.ts';
import { callMethod, post, serveCalls } from './serve-calls.ts';

/** What the thread is started with. */
export interface SqliteCheckpointData {
  readonly path: string;
}

/** What the thread serves. */
export interface Checkpoints {
  /** Copies what the write-ahead log holds into the database file, without keeping anybody from writing. */
  checkpoint(): void;
}

serveCalls(() => {
  const connection = Connection.forCheckpoints((workerData as SqliteCheckpointData).path);
  const checkpoints: Checkpoints = {
    checkpoint() {
      connection.db.pragma('wal_checkpoint(PASSIVE)');
    },
  };
  const run = (calls: readonly Call[]) =>
    post({ replies: calls.map((call) => callMethod(checkpoints, call, asRefusal)) });
  return { run, close: () => connection.db.close() };
});
