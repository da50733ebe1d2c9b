/**
 * Whether a locked instance tells a client without its password which feeds there are: by status, by body, by headers
 * or by time. Asks for existing and for absent names in random order and compares the times with the Mann-Whitney
 * test. A statistical answer: one run in a hundred finds a difference where there is none.
 *
 * `node bench/locked.ts --samples 20000 --dir /srv/bench`: answers per kind of request, and where the data folder is
 * made. Takes half a minute.
 */
import { randomInt } from 'node:crypto';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { tmpdir } from 'node:os';
import { buffer } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { ServerProcess } from './server-process.ts';
import { mannWhitney, median, shifted } from './statistics.ts';
import { temporaryFolder } from './temporary-folder.ts';

const PASSWORD = 'the password of the locked instance';
const NAMES = 20;
/** Chance of finding a difference in time where there is none, over all kinds of requests together. */
const ERROR_CHANCE = 0.01;
const WARM_UP = 2_000;
/** Delays in µs of which the smallest that would be seen is told. */
const DELAYS = [0.5, 1, 2, 5, 10, 20, 50, 100];

/** A kind of request to a feed, without the instance's password. */
interface Probe {
  readonly name: string;
  readonly method: string;
  readonly path: (feed: string) => string;
  readonly headers: Record<string, string>;
  readonly body?: string;
}

interface Reply {
  readonly us: number;
  /** All that an answer says, but for the date. */
  readonly said: string;
}

const wrong = { authorization: 'Bearer a wrong password' };
const markdown = { 'content-type': 'text/markdown' };
const record = (feed: string) => `/api/v1/feeds/${feed}`;
const PROBES: readonly Probe[] = [
  { name: 'settings, no password', method: 'GET', path: record, headers: {} },
  { name: 'settings, wrong password', method: 'GET', path: record, headers: wrong },
  {
    name: 'settings, right feed password alone',
    method: 'GET',
    path: record,
    headers: { 'x-feed-password': 'of the feed' },
  },
  { name: 'list, wrong password', method: 'GET', path: (feed) => `${record(feed)}/notes`, headers: wrong },
  {
    name: 'post, wrong password',
    method: 'POST',
    path: (feed) => `/${feed}`,
    headers: { ...wrong, ...markdown },
    body: 'A note.',
  },
  { name: 'delete, wrong password', method: 'DELETE', path: record, headers: wrong },
];

const { values: options } = parseArgs({
  options: { samples: { type: 'string', default: '20000' }, dir: { type: 'string', default: tmpdir() } },
});
const dir = temporaryFolder('locked', options.dir);

const server = await ServerProcess.startService(dir, {
  SERVICE_PASSWORD: PASSWORD,
  SERVICE_LOG_REQUESTS: '0',
});
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
try {
  await seed();
  console.log(`${options.samples} answers each, existing and absent names in random order; times in µs.\n`);
  let isSilent = true;
  for (const probe of PROBES) isSilent = (await examine(probe)) && isSilent;
  console.log(isSilent ? '\nExisting and absent names cannot be told apart.' : '\nNAMES CAN BE TOLD APART.');
  process.exitCode = isSilent ? 0 : 1;
} finally {
  agent.destroy();
  await server.stop();
}

/** Feeds with many notes and few, with a password and without. */
async function seed(): Promise<void> {
  for (let n = 0; n < NAMES; n++)
    for (let note = 0; note <= n; note++) {
      const password: Record<string, string> = n % 2 ? { 'x-feed-password': 'of the feed' } : {};
      const headers = { authorization: `Bearer ${PASSWORD}`, ...markdown, ...password };
      const path = `/${nameOf(true, n)}`;
      const { said } = await ask(
        { name: '', method: 'POST', path: () => path, headers, body: 'A note.' },
        '',
      );
      if (!said.startsWith('201')) throw new Error(`a post was answered ${said}`);
    }
}

/** Names of one length. */
function nameOf(exists: boolean, number: number): string {
  return `${exists ? 'here' : 'gone'}-${String(number).padStart(2, '0')}`;
}

/** Prints what tells the names apart; true when nothing does. */
async function examine(probe: Probe): Promise<boolean> {
  const times = { existing: [] as number[], absent: [] as number[] };
  const said = { existing: new Set<string>(), absent: new Set<string>() };
  for (let n = 0; n < Number(options.samples) + WARM_UP; n++) {
    const kind = randomInt(2) ? 'existing' : 'absent';
    const reply = await ask(probe, nameOf(kind === 'existing', randomInt(NAMES)));
    if (n < WARM_UP) continue;
    times[kind].push(reply.us);
    said[kind].add(reply.said);
  }
  const limit = ERROR_CHANCE / PROBES.length;
  const { p, chance } = mannWhitney(times.existing, times.absent);
  const seen = DELAYS.find((us) => mannWhitney(shifted(times.existing, us), times.absent).p < limit);
  const sameWords = new Set([...said.existing, ...said.absent]).size === 1;
  const medians = [times.existing, times.absent].map((all) => median(all).toFixed(1));
  console.log(
    `${probe.name.padEnd(38)} existing ${medians[0]}, absent ${medians[1]}, p ${p.toFixed(3)}, ` +
      `existing slower in ${(chance * 100).toFixed(1)} %, a delay of ${seen ?? 'more than 100'} would be seen; ` +
      (sameWords ? 'same answer' : 'DIFFERENT ANSWERS'),
  );
  return sameWords && p >= limit;
}

/** Asks on the one connection and takes the time to the head of the answer. */
function ask({ method, path, headers, body }: Probe, feed: string): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const start = performance.now();
    const sent = request(server.url + path(feed), { agent, method, headers }, (response) => {
      const us = (performance.now() - start) * 1000;
      buffer(response).then((bytes) => {
        resolve({ us, said: `${response.statusCode} ${told(response.headers)} ${bytes}` });
      }, reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

function told({ date: _, ...headers }: IncomingHttpHeaders): string {
  return JSON.stringify(headers);
}
