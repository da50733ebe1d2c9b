import { workerData } from 'node:worker_threads';
import { Connection } from '../src/storage/sqlite/connection.ts';
import type { Answer, Order } from '../src/storage/sqlite/orders.ts';
import { PictureReads } from '../src/storage/sqlite/picture-reads.ts';
import { Reads } from '../src/storage/sqlite/reads.ts';
import { answerOf, serve, tell } from './serve-orders.ts';

/** What the thread is started with. */
export interface SqliteReaderData {
  readonly path: string;
  /** What the thread is asked for. */
  readonly serves: 'notes' | 'pictures';
}

serve(() => {
  const { path, serves } = workerData as SqliteReaderData;
  const connection = Connection.forReading(path);
  const reads = serves === 'notes' ? new Reads(connection) : new PictureReads(connection);
  const work = (orders: readonly Order[]) => {
    const answers = orders.map((order) => answerOf(reads, order));
    tell({ answers }, answers.flatMap(buffersOf));
  };
  return { connection, work };
});

/** The memory of contents, which is passed on rather than copied. */
function buffersOf({ result }: Answer): ArrayBuffer[] {
  const { content, notes = [] } = (result ?? {}) as {
    content?: Uint8Array<ArrayBuffer>;
    notes?: readonly { content?: Uint8Array<ArrayBuffer> }[];
  };
  const contents = [content, ...notes.map((note) => note.content)];
  return contents
    .filter((bytes) => bytes !== undefined && bytes.byteLength > 0)
    .map((bytes) => bytes!.buffer)
    .filter((buffer, i, all) => all.indexOf(buffer) === i);
}
