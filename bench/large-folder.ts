/**
 * What a large folder of plain files costs: how long a start takes and its memory, of this checkout and of another one by turns;
 * how long the operator's sums and lists take, and hold the event loop; how long `inspect` takes. Needs Linux (/proc).
 *
 * `node bench/large-folder.ts --feeds 100000 --notes 1000000 --rounds 5 --project ../other-checkout --dir /srv/bench`: the notes of all
 * feeds together; where the data folder is made. The files are in the page cache. A million take some minutes to make.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { NoteIds } from '../src/feeds/ids.ts';
import { FEED_ORDERS } from '../src/feeds/order.ts';
import { openFilling } from './filling.ts';
import { program, ServerProcess } from './server-process.ts';
import { median, spread } from './statistics.ts';
import { temporaryFolder } from './temporary-folder.ts';

const TOKEN = 'the token of the operator of the bench';
/** After a start, until what only the start needed is freed. */
const SETTLE_MS = 5_000;
const TEXT = Buffer.from('A note of the bench, of which there are many.\n');
const MAIN = program('../src/main.cjs');
const SETTINGS = { SERVICE_LOG_REQUESTS: '0', SERVICE_STORAGE: 'fs', SERVICE_OPERATOR_TOKEN: TOKEN };

const { values: options } = parseArgs({
  options: {
    feeds: { type: 'string', default: '100000' },
    notes: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '3' },
    project: { type: 'string' },
    dir: { type: 'string', default: tmpdir() },
  },
});
const [feeds, notes, rounds] = [options.feeds, options.notes, options.rounds].map(Number) as [
  number,
  number,
  number,
];

const dir = temporaryFolder('large-folder', options.dir);
await fill();
await compareStarts();
await measureOperator();
await measureInspect();

async function fill(): Promise<void> {
  const filling = await openFilling('fs', dir, '', new NoteIds());
  for (let n = 0; n < feeds; n += 1) {
    const count = Math.floor(((n + 1) * notes) / feeds) - Math.floor((n * notes) / feeds);
    await filling.addFeed(
      `feed-${n}`,
      `read-${n}`,
      Array.from({ length: count }, () => ({ text: TEXT })),
    );
  }
  await filling.close();
  console.log(`${feeds} feeds, ${notes} notes\n`);
}

/** Prints the medians of each checkout. */
async function compareStarts(): Promise<void> {
  const other = options.project === undefined ? [] : [resolve(options.project, 'src/main.cjs')];
  const starts = [MAIN, ...other].map((main) => ({ main, seconds: [0], settled: [0], peak: [0] }));
  for (let round = 0; round < rounds; round += 1)
    for (const { main, seconds, settled, peak } of starts) {
      const begun = performance.now();
      const service = await ServerProcess.startService(dir, SETTINGS, main);
      seconds[round] = (performance.now() - begun) / 1000;
      await wait(SETTLE_MS);
      settled[round] = service.residentBytes() / 1e6;
      peak[round] = service.peakBytes() / 1e6;
      await service.stop();
    }
  for (const { main, seconds, settled, peak } of starts) {
    const memory = `${median(settled).toFixed(0)} MB, at most ${median(peak).toFixed(0)} MB`;
    console.log(`start of ${main}: ${median(seconds).toFixed(2)} s, ${memory}`);
  }
}

/** Prints how long each request takes, one at a time, and the longest turn of the event loop of each. */
async function measureOperator(): Promise<void> {
  const watched = { ...SETTINGS, NODE_OPTIONS: `--import ${program('turn-watch.ts')}` };
  const service = await ServerProcess.startService(dir, watched);
  const lists = FEED_ORDERS.map((order) => `feeds?sort=${order}&limit=1000`);
  for (const path of ['stats', ...lists, 'feeds?q=feed-99&limit=1000']) {
    const [waits, turns] = [[], []] as [number[], number[]];
    // The first is slower, because its code is compiled.
    for (let n = -5; n < rounds * 10; n += 1) {
      await longestTurn(service);
      const begun = performance.now();
      await ask(service, path);
      const waited = performance.now() - begun;
      const turn = await longestTurn(service);
      if (n >= 0) {
        waits.push(waited);
        turns.push(turn);
      }
    }
    console.log(`${path.padEnd(30)} ${spread(waits)}; longest turn ${spread(turns)}`);
  }
  await service.stop();
}

/** The longest turn since it was last asked for, ms. */
async function longestTurn(service: ServerProcess): Promise<number> {
  const line = service.nextLine('longestTurn');
  service.signal();
  return (await line).longestTurn;
}

async function measureInspect(): Promise<void> {
  const env = { ...process.env, DATA_DIR: dir, SERVICE_STORAGE: 'fs', PUID: '0' };
  const begun = performance.now();
  const child = spawn(process.execPath, [MAIN, 'inspect'], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = await once(child, 'exit');
  console.log(`inspect: ${((performance.now() - begun) / 1000).toFixed(1)} s, exit code ${code}`);
}

async function ask(service: ServerProcess, path: string): Promise<void> {
  const headers = { authorization: `Bearer ${TOKEN}` };
  const answer = await fetch(`${service.url}/api/operator/${path}`, { headers });
  if (answer.status !== 200) throw new Error(`GET ${path} was answered with ${answer.status}`);
  await answer.arrayBuffer();
}
