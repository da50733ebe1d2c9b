import { workerData } from 'node:worker_threads';
import { Connection } from '../src/storage/sqlite/connection.ts';
import type { Order } from '../src/storage/sqlite/orders.ts';
import { answerOf, serve, tell } from './serve-orders.ts';

/** What the thread is started with. */
export interface SqliteCheckpointData {
  readonly path: string;
}

/** What the thread serves. */
export interface Checkpoints {
  /** Copies what the write-ahead log holds into the database file, without keeping anybody from writing. */
  checkpoint(): void;
}

serve(() => {
  const connection = Connection.forCheckpoints((workerData as SqliteCheckpointData).path);
  const checkpoints: Checkpoints = {
    checkpoint() {
      connection.db.pragma('wal_checkpoint(PASSIVE)');
    },
  };
  const work = (orders: readonly Order[]) =>
    tell({ answers: orders.map((order) => answerOf(checkpoints, order)) });
  return { connection, work };
});
