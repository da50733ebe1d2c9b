/**
 * How soon the service shows what was changed by hand in its data folder: median, p99 and maximum from the end of the
 * change to the answer that shows it, in ms, of notes that come, change and go. What is asked for is kept ready.
 *
 * `node bench/by-hand.ts --feeds 200 --rounds 100 --dir /srv/bench`: how many feeds of a note each there are, how often
 * each change is made, and where the data folder is.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ServerProcess } from './server-process.ts';
import { spread } from './statistics.ts';
import { temporaryFolder } from './temporary-folder.ts';

const POLL_PAUSE = 2;
/** Between two changes, in ms: what is seen of one must not tell of the next. */
const PAUSE = 30;

const { values: options } = parseArgs({
  options: {
    feeds: { type: 'string', default: '200' },
    rounds: { type: 'string', default: '100' },
    dir: { type: 'string', default: tmpdir() },
  },
});

const dir = temporaryFolder('by-hand', options.dir);
const service = await ServerProcess.startService(dir, { SERVICE_LOG_REQUESTS: '0' });
try {
  const feeds = Array.from({ length: Number(options.feeds) }, (_, n) => `feed-${n}`);
  for (const feed of feeds) placeFeed(feed);
  // The service takes in one change after the other, and so many at once take their time.
  for (const feed of feeds) while (!(await list(feed)).includes('first')) await wait(POLL_PAUSE);
  await measure(feeds[0]!, Number(options.rounds));
} finally {
  await service.stop();
}

function placeFeed(name: string): void {
  mkdirSync(join(dir, name));
  writeFileSync(join(dir, name, 'first.md'), 'the first note');
}

async function measure(feed: string, rounds: number): Promise<void> {
  const path = join(dir, feed, 'by-hand.md');
  const shows = async (text: string) => (await list(feed)).includes(text);
  const delays: Record<string, number[]> = { comes: [], changes: [], goes: [] };
  for (let n = 0; n < rounds; n += 1) {
    writeFileSync(path, `came ${n}.`);
    delays.comes!.push(await untilSo(() => shows(`came ${n}.`)));
    writeFileSync(path, `changed ${n}.`);
    delays.changes!.push(await untilSo(() => shows(`changed ${n}.`)));
    rmSync(path);
    delays.goes!.push(await untilSo(async () => !(await shows(`changed ${n}.`))));
  }
  for (const [what, taken] of Object.entries(delays))
    console.log(`a note ${what}: shown after ${spread(taken)}`);
}

async function untilSo(isSo: () => Promise<boolean>): Promise<number> {
  const begunAt = performance.now();
  while (!(await isSo())) await wait(POLL_PAUSE);
  const taken = performance.now() - begunAt;
  await wait(PAUSE);
  return taken;
}

async function list(feed: string): Promise<string> {
  return (await fetch(`${service.url}/api/v1/feeds/${feed}/notes`)).text();
}
