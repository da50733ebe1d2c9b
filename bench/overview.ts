/**
 * How long the operator waits for the sums and for pages of the list of feeds, in each order, of a large instance; and how
 * many 304s readers get meanwhile, with and without an operator who asks for both once a second.
 *
 * `SERVICE_STORAGE=sqlite node bench/overview.ts --feeds 100000 --notes 1000000 --times 50 --rounds 5`: `fs`, `sqlite` or
 * `postgres`. The notes are filled in without the service, which takes some minutes.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { NoteIds } from '../src/feeds/ids.ts';
import { FEED_ORDERS } from '../src/feeds/order.ts';
import { BACKENDS } from './backends-under-test.ts';
import { load } from './child.ts';
import { openFilling } from './filling.ts';
import { ServerProcess } from './server-process.ts';
import { median, spread } from './statistics.ts';
import { temporaryFolder } from './temporary-folder.ts';

const TOKEN = 'the token of the operator of the bench';
const CONNECTIONS = 16;
const ROUND_S = 3;
/** Feeds that are filled at once. */
const AT_ONCE = 8;
const TEXT = Buffer.from('A note of the bench, of which there are many.\n\n'.repeat(4));
const READ_FEED = '/r/read-0/feed.xml';
const LONG_LIST = '/api/operator/feeds?limit=1000';

const { values: options } = parseArgs({
  options: {
    feeds: { type: 'string', default: '100000' },
    notes: { type: 'string', default: '1000000' },
    times: { type: 'string', default: '50' },
    rounds: { type: 'string', default: '5' },
  },
});
const [feeds, notes] = [Number(options.feeds), Number(options.notes)];
const [times, rounds] = [Number(options.times), Number(options.rounds)];
const kind = process.env.SERVICE_STORAGE ?? 'fs';
const dir = temporaryFolder('overview');
const backend = await BACKENDS[kind === 'fs' ? 'files' : kind]!(dir);

try {
  await fill();
  const service = await ServerProcess.startService(dir, {
    SERVICE_LOG_REQUESTS: '0',
    SERVICE_MAX_CONNECTIONS_PER_CLIENT: '0',
    SERVICE_SECRET: 'a secret that is long enough for the bench',
    SERVICE_OPERATOR_TOKEN: TOKEN,
    ...backend.settings,
  });
  await showWaits(service);
  await showReaders(service);
  await service.stop();
} finally {
  await backend.stop();
}

/** Makes the feeds: many are alike, some have twice as many notes as others. */
async function fill(): Promise<void> {
  const begun = performance.now();
  const filling = await openFilling(kind, dir, backend.settings.SERVICE_DATABASE_URL ?? '', new NoteIds());
  const most = Math.ceil((2 * notes) / feeds) - 1;
  const add = (n: number) => {
    const count = 1 + ((n * 7_919) % most);
    return filling.addFeed(
      `feed-${n}`,
      `read-${n}`,
      Array.from({ length: count }, () => ({ text: TEXT })),
    );
  };
  for (let first = 0; first < feeds; first += AT_ONCE) {
    const count = Math.min(AT_ONCE, feeds - first);
    await Promise.all(Array.from({ length: count }, (_, n) => add(first + n)));
  }
  await filling.close();
  const seconds = ((performance.now() - begun) / 1000).toFixed(0);
  console.log(`${kind}: ${feeds} feeds, about ${notes} notes, filled in ${seconds} s`);
}

/** Prints how long each request takes, one at a time. */
async function showWaits(service: ServerProcess): Promise<void> {
  const show = async (name: string, path: string) => {
    const waits: number[] = [];
    await ask(service, path);
    for (let n = 0; n < times; n += 1) {
      const begun = performance.now();
      await ask(service, path);
      waits.push(performance.now() - begun);
    }
    console.log(`${name.padEnd(36)} ${spread(waits)}`);
  };
  await show('sums', '/api/operator/stats');
  for (const order of FEED_ORDERS) {
    const path = `${LONG_LIST}&sort=${order}`;
    await show(`1,000 feeds by ${order}`, path);
    const { next } = (await ask(service, path)) as { next: string | null };
    if (next) await show(`1,000 feeds by ${order}, a later page`, `${path}&after=${next}`);
  }
  await show('those whose names begin so', `${LONG_LIST}&q=feed-99`);
}

/** Prints how many 304s a second readers get, by turns alone and beside an operator. */
async function showReaders(service: ServerProcess): Promise<void> {
  const found = await fetch(service.url + READ_FEED);
  const headers = { 'if-none-match': found.headers.get('etag') ?? '' };
  const order = { url: service.url + READ_FEED, connections: CONNECTIONS, duration: ROUND_S, headers };
  const [alone, beside]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    alone.push((await load(service, order)).perSecond);
    let isOver = false;
    const operator = askNowAndThen(service, () => isOver);
    beside.push((await load(service, order)).perSecond);
    isOver = true;
    await operator;
  }
  const ratio = (median(beside) / median(alone)).toFixed(2);
  console.log(
    `304s a second: ${median(alone).toFixed(0)}, beside an operator ${median(beside).toFixed(0)}, ratio ${ratio}`,
  );
}

async function askNowAndThen(service: ServerProcess, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    await ask(service, '/api/operator/stats');
    await ask(service, LONG_LIST);
    await wait(1_000);
  }
}

async function ask(service: ServerProcess, path: string): Promise<unknown> {
  const answer = await fetch(service.url + path, { headers: { authorization: `Bearer ${TOKEN}` } });
  if (answer.status !== 200) throw new Error(`GET ${path} was answered with ${answer.status}`);
  return answer.json();
}
