import { parentPort, workerData } from 'node:worker_threads';
import { nice } from '@napi-rs/nice';
import { CpuLimit } from '../src/read/cpu-limit.ts';
import { READING_MS, searchedAsWritten, searchedNote } from '../src/read/searched-note.ts';
import { NoteInWork } from '../src/storage/note-in-work.ts';
import { knownHosts } from '../src/storage/postgres/connection-options.ts';
import { Database } from '../src/storage/postgres/database.ts';
import { NO_TABLES } from '../src/storage/postgres/failures.ts';
import { tokensOf } from '../src/storage/postgres/note-tokens.ts';
import { ensureSearch, ensureWordIndex } from '../src/storage/postgres/search-schema.ts';
import { type MakeTokens, SearchEmptied, WordMaker } from '../src/storage/postgres/word-maker.ts';
import type { WordThreadData, WordThreadMessage } from '../src/storage/postgres/word-thread.ts';
import { CLOSE } from '../src/storage/thread-calls.ts';
import { errorCode } from '../src/system-errors.ts';
import { TEXT_NICE } from '../src/task-limit.ts';

/** How long a statement may take, ms: the words of large notes are many. */
const STEP_MS = 60_000;
/** Interval for finding changes without a notice, ms. */
const POLL_MS = 500;
/** Pause after a failure, and interval for checking whether the process that makes words has ended, ms. */
const PAUSE_MS = 1_000;

nice(TEXT_NICE);
const { url, isPooled, timeline, inWork: shared, asWritten } = workerData as WordThreadData;
knownHosts(url)?.learn(timeline);
const inWork = new NoteInWork(shared);
const slow = new Set(asWritten);
const database = new Database(url, { connections: 1, limits: { statementMs: STEP_MS }, isPooled });
let isClosed = false;
let isAwake = false;
let wake = () => {};

const makeTokens: MakeTokens = ({ feed, id, type }, { content, meta }) => {
  const key = `${feed} ${type} ${id}`;
  const note = { content, meta };
  inWork.begin(key);
  try {
    return tokensOf(slow.has(key) ? searchedAsWritten(note) : searchedNote(note, new CpuLimit(READING_MS)));
  } finally {
    inWork.end();
  }
};
const maker = new WordMaker(database, { tokensOf: makeTokens, ensureIndex: () => ensureWordIndex(url) });

parentPort!.on('message', (message) => {
  isClosed ||= message === CLOSE;
  // What another process makes is nothing to wake up for.
  if (!isClosed && !maker.isLeading) return;
  isAwake = true;
  wake();
});
let hasFailed = false;
while (!isClosed) {
  try {
    isAwake = false;
    while (!isClosed && (await maker.step()));
    hasFailed = false;
    await pause(maker.isLeading ? POLL_MS : PAUSE_MS);
  } catch (error) {
    await mend(error as Error).catch(() => {});
    await pause(PAUSE_MS);
  }
}
await maker.leave().catch(() => {});
await database.close();
process.exit();

/** Tells of the first failure; makes tables that somebody has dropped. */
async function mend(error: Error): Promise<void> {
  const code = errorCode(error.cause) ?? errorCode(error) ?? error.message;
  if (!hasFailed) parentPort!.postMessage({ failure: code } satisfies WordThreadMessage);
  hasFailed = true;
  if (NO_TABLES.test(code) || error instanceof SearchEmptied) await ensureSearch(url);
}

async function pause(ms: number): Promise<void> {
  if (isAwake || isClosed) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    wake = () => {
      clearTimeout(timer);
      resolve();
    };
  });
}
