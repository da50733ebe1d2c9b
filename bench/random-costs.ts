/**
 * Measures how much CPU time of the event loop requests take that have one very large value (swollen.ts). After a post of such a
 * value it measures the reads of the note, too. It prints each request that takes more than a bound, with the times of two
 * repetitions. The kernel's scheduler counts the CPU time, so other work of the machine hardly shows. Needs Linux (/proc).
 *
 * `node bench/random-costs.ts --minutes 10 --bound 40 --seed 1`: how long, from how many ms on, and what repeats a run.
 */
import { randomInt } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { FuzzClient } from '../test/support/fuzz/client.ts';
import { Known } from '../test/support/fuzz/known.ts';
import { FIRST, type FuzzRequest, requestMaker } from '../test/support/fuzz/requests.ts';
import {
  INSTANCE_PASSWORD,
  OPERATOR_TOKEN,
  RESERVED_FEED,
  RESERVED_PASSWORD,
} from '../test/support/fuzz/values.ts';
import { isWhole } from '../test/support/fuzz/wire.ts';
import { Random } from '../test/support/random.ts';
import type { RawResponse } from '../test/support/raw-connection.ts';
import { ServerProcess } from './server-process.ts';
import { median } from './statistics.ts';
import { Swelling } from './swollen.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** CPU time of all threads that is printed, in times of the bound for the loop. */
const THREADS = 25;
/** What the loop takes if nobody asks for anything, of the time that passes. */
const IDLE = 0.01;

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    bound: { type: 'string', default: '40' },
    seed: { type: 'string', default: `${randomInt(2 ** 31)}` },
  },
});
const bound = Number(options.bound);
const seed = Number(options.seed);

const server = await ServerProcess.startService(join(temporaryFolder('random-costs'), 'data'), {
  SERVICE_PASSWORD: INSTANCE_PASSWORD,
  SERVICE_RESERVED_FEEDS: RESERVED_FEED,
  SERVICE_RESERVED_PASSWORD: RESERVED_PASSWORD,
  SERVICE_TRUST_PROXY: '1',
  SERVICE_METRICS: '1',
  SERVICE_OPERATOR_TOKEN: OPERATOR_TOKEN,
  SERVICE_REPORT_URL: 'builtin',
  SERVICE_LOG_REQUESTS: '0',
});
const client = new FuzzClient(Number(new URL(server.url).port));
const known = new Known();
const swelling = new Swelling(new Random(seed));
const next = requestMaker(seed);

interface Cost {
  /** CPU time of the event loop, and of all threads with it, ms. */
  readonly loop: number;
  readonly all: number;
  /** Until the answer, ms. */
  readonly passed: number;
}

const loops: number[] = [];
console.log(`seed ${seed}, bound ${bound} ms`);
for (let n = 0; n < FIRST; n += 1) await send(known.fill(next()));
const end = performance.now() + Number(options.minutes) * 60_000;
while (performance.now() < end) {
  const request = known.fill(next());
  if (!isWhole(request)) continue;
  const swollen = swelling.of(request);
  const { method, path } = swollen.request;
  const response = await judge(swollen.request, swollen.what);
  if (response?.status !== 201) continue;
  for (const read of readsOf(response))
    await judge(get(read), `after ${method} ${path.slice(0, 60)}: ${swollen.what}`);
  await forget(response);
}
await client.close();
await server.stop();
const sorted = loops.toSorted((a, b) => b - a);
console.log(
  `${loops.length} requests; of the loop: median ${median(loops).toFixed(1)} ms, longest ${sorted
    .slice(0, 5)
    .map((ms) => ms.toFixed(1))
    .join(', ')}`,
);

/** Sends a request, and prints it if it costs too much. */
async function judge(request: FuzzRequest, what: string): Promise<RawResponse | undefined> {
  const { cost, response } = await measured(request);
  loops.push(cost.loop);
  if (!isDear(cost)) return response;
  const costs = [cost, (await measured(request)).cost, (await measured(request)).cost];
  const columns = (['loop', 'all', 'passed'] as const).map((what) => {
    const [first, ...again] = costs.map((one) => one[what].toFixed(0));
    return `${what} ${first} (${again.join(', ')})`;
  });
  const sent = `${response?.status} ${request.method} ${request.path.slice(0, 80)} ${request.body.length} bytes`;
  console.log(`${columns.join(', ')} ms: ${sent}; ${what.slice(0, 300)}`);
  return response;
}

function isDear({ loop, all, passed }: Cost): boolean {
  return loop - IDLE * passed > bound || all > THREADS * bound;
}

async function measured(request: FuzzRequest) {
  const before = cpu();
  const response = await send(request);
  const after = cpu();
  const [loop, all, passed] = (['loop', 'all', 'passed'] as const).map((what) => after[what] - before[what]);
  return { cost: { loop: loop!, all: all!, passed: passed! }, response };
}

async function send(request: FuzzRequest): Promise<RawResponse | undefined> {
  const [response] = await client.send(request).catch(() => []);
  if (response !== undefined && request.method !== 'HEAD') known.learn(request, response);
  return response;
}

/** What the scheduler has counted so far (sched-stats.rst), ms. */
function cpu(): Cost {
  const tasks = `/proc/${server.pid}/task`;
  let loop = 0;
  let all = 0;
  for (const task of readdirSync(tasks)) {
    try {
      const ms = Number(readFileSync(`${tasks}/${task}/schedstat`, 'latin1').split(' ')[0]) / 1e6;
      all += ms;
      if (task === String(server.pid)) loop = ms;
    } catch {
      // The thread has ended since its folder was listed.
    }
  }
  return { loop, all, passed: performance.now() };
}

function get(path: string): FuzzRequest {
  const headers = [['Authorization', `Bearer ${INSTANCE_PASSWORD}`]] as const;
  return { method: 'GET', path, headers, body: Buffer.alloc(0), framing: 'length', at: 0 };
}

/** The paths of all views that show a posted note. */
function readsOf({ body }: RawResponse): string[] {
  const { url, id, file, read_url } = JSON.parse(body.toString()) as Record<string, string | null>;
  if (!url || !id) return [];
  const [, feed] = new URL(url).pathname.split('/');
  const read = read_url ? new URL(read_url).pathname.split('/')[2] : undefined;
  const own = [`/${feed}`, `/${feed}/${id}`, `/${feed}/settings`];
  const api = [
    `/api/v1/feeds/${feed}/notes`,
    `/api/v1/feeds/${feed}/tags`,
    `/api/v1/feeds/${feed}/notes?q=a`,
  ];
  const shared = ['', '/feed.xml', '/feed.json', `/${file}`, `/${id}`, '?q=aa'].map(
    (path) => `/r/${read}${path}`,
  );
  return [...own, ...api, ...(read === undefined ? [] : shared)];
}

/** Deletes the feed, so that later reads cost what one note does. */
async function forget({ body }: RawResponse): Promise<void> {
  const { url } = JSON.parse(body.toString()) as { url?: string };
  if (url === undefined) return;
  const path = `/api/operator/feeds/${new URL(url).pathname.split('/')[1]}`;
  const headers = [['Authorization', `Bearer ${OPERATOR_TOKEN}`]] as const;
  await send({ ...get(path), method: 'DELETE', headers });
}
