/**
 * Measures what a view costs that nothing is kept for: CPU time of the service per RSS, JSON Feed and JSON list of 50
 * notes of 1 KB, of 30 feeds in turn, with a cache that holds few of them. Prints medians in ms.
 *
 * `node bench/cold-views.ts --rounds 5 --storage postgres --coding br --against ../other-checkout`: the number of rounds, the
 * storage (fs, sqlite or postgres), the coding of the answers, and another checkout of this project (with its modules
 * installed) whose service is measured in turn with this one. Needs Linux (/proc).
 */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { startServer } from './backends-under-test.ts';
import { seedFeed } from './seeded-feed.ts';
import { program, ServerProcess } from './server-process.ts';
import { median } from './statistics.ts';
import { temporaryFolder } from './temporary-folder.ts';

const FEEDS = 30;
const NOTES_PER_FEED = 50;
const VIEWS = ['RSS', 'JSON Feed', 'JSON list'] as const;

type View = (typeof VIEWS)[number];

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    storage: { type: 'string', default: 'fs' },
    coding: { type: 'string', default: 'identity' },
    against: { type: 'string' },
  },
});

const dir = temporaryFolder('cold-views');
const database = options.storage === 'postgres' ? await startServer() : undefined;
const mains = { 'this checkout': program('../src/main.cjs') };
if (options.against !== undefined)
  Object.assign(mains, { [options.against]: resolve(options.against, 'src/main.cjs') });
const services = await Promise.all(Object.entries(mains).map(([name, main], n) => start(name, main, n)));
for (let round = 0; round < Number(options.rounds); round++)
  for (const service of services) await readAll(service);
for (const { name, costs, server } of services) {
  const columns = VIEWS.map((view) => `${view} ${median(costs[view]).toFixed(2)} ms`);
  console.log(`${name}: ${columns.join(', ')}`);
  await server.stop();
}
await database?.stop();

interface Measured {
  readonly name: string;
  readonly server: ServerProcess;
  readonly readIds: readonly string[];
  /** CPU ms for each answer, by round. */
  readonly costs: Record<View, number[]>;
}

async function start(name: string, main: string, index: number): Promise<Measured> {
  const server = await ServerProcess.start([main], {
    DATA_DIR: join(dir, String(index)),
    HOST: '127.0.0.1',
    PORT: '0',
    PUID: '0',
    SERVICE_RATE_LIMIT: '0',
    SERVICE_LOG_REQUESTS: '0',
    SERVICE_CACHE_BYTES: String(1024 * 1024),
    SERVICE_STORAGE: options.storage,
    ...(options.storage !== 'fs' && { SERVICE_SECRET: 'a secret that is long enough for this' }),
    ...(database && { SERVICE_DATABASE_URL: await database.server.database() }),
  });
  const readIds: string[] = [];
  for (let feed = 0; feed < FEEDS; feed++)
    readIds.push((await seedFeed(`${server.url}/cold-${feed}`, NOTES_PER_FEED)).readId);
  const measured = { name, server, readIds, costs: { RSS: [], 'JSON Feed': [], 'JSON list': [] } };
  await readAll(measured);
  for (const view of VIEWS) measured.costs[view].length = 0;
  return measured;
}

/** Reads each view of each feed once. */
async function readAll({ server, readIds, costs }: Measured): Promise<void> {
  const paths: Record<View, (readId: string) => string> = {
    RSS: (readId) => `/r/${readId}/feed.xml`,
    'JSON Feed': (readId) => `/r/${readId}/feed.json`,
    'JSON list': (readId) => `/api/v1/read/${readId}/notes`,
  };
  for (const view of VIEWS) {
    const before = server.cpuMicros();
    for (const readId of readIds) {
      const response = await fetch(server.url + paths[view](readId), {
        headers: { 'accept-encoding': options.coding },
      });
      if (response.status !== 200) throw new Error(`${view} was answered ${response.status}`);
      await response.arrayBuffer();
    }
    costs[view].push((server.cpuMicros() - before) / 1000 / readIds.length);
  }
}
