import { workerData } from 'node:worker_threads';
import { Connection } from '../src/storage/sqlite/connection.ts';
import { allFailed } from '../src/storage/sqlite/failures.ts';
import { Overview } from '../src/storage/sqlite/overview.ts';
import { Pictures } from '../src/storage/sqlite/pictures.ts';
import { Reads } from '../src/storage/sqlite/reads.ts';
import type { SqliteReaderData } from '../src/storage/sqlite/sqlite.ts';
import type { Call, Reply } from '../src/storage/thread-calls.ts';
import { callMethod, endIfLost, post, serveCalls } from './serve-calls.ts';

const readsOf = {
  notes: (connection: Connection) => new Reads(connection),
  pictures: ({ db }: Connection) => new Pictures(db),
  overview: ({ db }: Connection) => new Overview(db),
};

serveCalls(() => {
  const { path, serves } = workerData as SqliteReaderData;
  const connection = Connection.forReading(path);
  const reads = readsOf[serves](connection);
  const run = (calls: readonly Call[]) => {
    try {
      connection.mustBeThere();
    } catch (error) {
      return post({ replies: allFailed(calls, error) });
    }
    const replies = calls.map((call) => callMethod(reads, call, connection.asRefusal));
    post({ replies }, serves === 'notes' ? replies.flatMap(buffersOf) : []);
    endIfLost(connection);
  };
  return { run, close: () => connection.db.close() };
});

/** The memory of contents, which is passed on rather than copied. */
function buffersOf({ result }: Reply): ArrayBuffer[] {
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
