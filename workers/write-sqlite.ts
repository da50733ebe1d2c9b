import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { batchLength } from '../src/storage/batcher.ts';
import { unfinishedMove } from '../src/storage/failures.ts';
import { Connection } from '../src/storage/sqlite/connection.ts';
import { allFailed, onlyRefusal } from '../src/storage/sqlite/failures.ts';
import { Pictures } from '../src/storage/sqlite/pictures.ts';
import { migrate, readMoveMark } from '../src/storage/sqlite/schema.ts';
import type { SqliteWriterData } from '../src/storage/sqlite/sqlite.ts';
import { isFull, isLong, WriteLog } from '../src/storage/sqlite/write-log.ts';
import { Writes } from '../src/storage/sqlite/writes.ts';
import type { Call, Reply } from '../src/storage/thread-calls.ts';
import type { Command } from '../src/writing/command.ts';
import { callMethod, endIfLost, post, serveCalls } from './serve-calls.ts';

/** Retry interval of a failed clean-up, ms. */
const CLEAR_AGAIN_MS = 10_000;

const { path, maxFeeds, maxBytes, keepDays, licenseKeys, makesTables, lastRow } =
  workerData as SqliteWriterData;
// Loaded only if needed.
const isLicenseValid = licenseKeys && (await import('../src/licenses/licenses.ts')).licenseCheck(licenseKeys);

serveCalls(() => {
  const connection = Connection.forWriting(path);
  if (makesTables) migrate(connection.db, keepDays);
  if (readMoveMark(connection.db) !== undefined) throw unfinishedMove('The database (SERVICE_DATABASE_URL)');
  const pictures = new Pictures(connection.db);
  const rules = { maxFeeds, maxBytes, keepDays, isLicenseValid };
  const writes = new Writes(connection.db, pictures, rules, lastRow);
  const log = new WriteLog(connection.db);
  const commit = groupCommit(connection, writes, pictures, log);

  /** Reports commits, and keeps the log from growing. */
  const committed = (commits: readonly number[], replies: readonly Reply[]) => {
    const length = log.look();
    post({ replies, stats: { commits, wantsCheckpoint: isLong(length) } });
    log.bound(length);
  };
  const clearLater = clearer(() => {
    const [reply] = commit([{ id: 0, method: 'clearSome', args: [] }]) as [Reply];
    committed([], []);
    return reply;
  });
  clearLater();

  const run = (first: readonly Call[]) => {
    for (let rest = withQueued(first); rest.length > 0; ) {
      const count = batchLength(rest, ({ args }) => bytesIn(args));
      const calls = rest.slice(0, count);
      rest = rest.slice(count);
      const replies = commit(calls);
      committed([replies.filter(({ failure }) => !failure).length], replies);
      if (calls.some(({ args: [command] }) => (command as Partial<Command>)?.kind === 'delete')) clearLater();
      endIfLost(connection);
    }
  };
  return { run, close: () => connection.db.close() };
});

/**
 * Returns a function that runs all calls in one transaction; if that fails, each in one of its own, so that a bad one fails alone.
 * A call that is replied to without a failure is durable.
 */
function groupCommit(connection: Connection, writes: Writes, pictures: Pictures, log: WriteLog) {
  const { db } = connection;
  return function run(calls: readonly Call[]): Reply[] {
    try {
      connection.mustBeThere();
      db.exec('BEGIN IMMEDIATE');
      writes.begin();
    } catch (error) {
      return allFailed(calls, connection.asRefusal(error));
    }
    let replies: Reply[];
    try {
      replies = calls.map((call) =>
        callMethod(call.method in pictures ? pictures : writes, call, onlyRefusal),
      );
      writes.finish();
      db.exec('COMMIT');
    } catch (error) {
      // SQLite rolls back by itself after a full disk or a failed write.
      if (db.inTransaction) db.exec('ROLLBACK');
      const failure = connection.asRefusal(error);
      if (connection.isLost) return allFailed(calls, failure);
      writes.recount();
      if (isFull(error)) log.empty();
      return calls.length === 1 ? allFailed(calls, failure) : calls.flatMap((call) => run([call]));
    }
    try {
      connection.mustBeThere();
      return replies;
    } catch (error) {
      return allFailed(calls, error);
    }
  };
}

/** Removes notes of deleted feeds in small steps, whenever nothing else waits. Returns the function that starts it. */
function clearer(clearSome: () => Reply): () => void {
  let isClearing = false;
  const clear = () => {
    const { result, failure } = clearSome();
    isClearing = result === true || failure !== undefined;
    if (failure) setTimeout(clear, CLEAR_AGAIN_MS);
    else if (isClearing) setImmediate(clear);
  };
  return () => {
    if (!isClearing) setImmediate(clear);
    isClearing = true;
  };
}

/** Everything that came while the last commit ran. */
function withQueued(first: readonly Call[]): readonly Call[] {
  const calls = [...first];
  for (let more = receiveMessageOnPort(parentPort!); more; more = receiveMessageOnPort(parentPort!))
    calls.push(...(more.message as readonly Call[]));
  return calls;
}

/** The bytes of notes in the arguments of a call. */
function bytesIn(value: unknown): number {
  if (value instanceof Uint8Array) return value.byteLength;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce((sum: number, member) => sum + bytesIn(member), 0);
}
