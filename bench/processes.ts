/**
 * What 1, 2 and 4 processes of one service do beside each other (`SERVICE_PROCESSES`), each service on a database of its own:
 * durable posts of 1 KB to many feeds and to one, whose row in the database they wait for, and polls of an unchanged RSS feed
 * (304). Prints answers a second, p50 and p99 (ms), CPU time of all processes per answer (µs), and their memory when they have
 * just started and at the end. The database and the client that loads are on the same machine and need CPU as well: with few
 * cores, look at the CPU per answer. Needs Linux (/proc).
 *
 * `node bench/processes.ts --seconds 3 --rounds 3 --processes 1,2,4 --connections 64`
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { PostgresServer } from '../test/support/postgres.ts';
import { load, type Round } from './child.ts';
import type { Order } from './raw-load.ts';
import { writeBodies } from './samples.ts';
import { ServerProcess } from './server-process.ts';
import { columns, medians, row, size } from './table.ts';
import { temporaryFolder } from './temporary-folder.ts';

const SETTLE_MS = 3_000;
const FEEDS = 500;

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '3' },
    processes: { type: 'string', default: '1,2,4' },
    connections: { type: 'string', default: '64' },
  },
});
const counts = options.processes.split(',').map(Number);
const amount = { connections: Number(options.connections), duration: Number(options.seconds) };
const dir = temporaryFolder('processes');
const { text: bodyFile } = writeBodies(dir);
const pathsFile = join(dir, 'paths.json');
writeFileSync(pathsFile, JSON.stringify(Array.from({ length: FEEDS }, (_, n) => `/load-${n}`)));

const endings: (() => unknown)[] = [];
try {
  const server = await PostgresServer.start({ teardown: (end) => endings.push(end) });
  const services: ServerProcess[] = [];
  for (const count of counts) services.push(await start(await server.database(), count));
  for (const service of services) endings.unshift(() => service.stop());
  await wait(SETTLE_MS);
  const fresh = services.map((service) => service.residentBytes());
  row('', ['a second', 'p50', 'p99', 'CPU']);
  await compare(`posts to ${FEEDS} feeds`, services, async ({ url }) => ({ url, bodyFile, pathsFile }));
  await compare('posts to one feed', services, async ({ url }) => ({ url: `${url}/load`, bodyFile }));
  await compare('polls of an unchanged feed', services, pollOf);
  for (const [i, service] of services.entries())
    row(`memory of ${nameOf(counts[i]!)}`, [size(fresh[i]!), size(service.residentBytes())]);
} finally {
  for (const end of endings) await end();
}

async function start(databaseUrl: string, processes: number): Promise<ServerProcess> {
  const service = await ServerProcess.startService(join(dir, String(processes)), {
    SERVICE_STORAGE: 'postgres',
    SERVICE_DATABASE_URL: databaseUrl,
    SERVICE_SECRET: 'a secret that is long enough for this',
    SERVICE_LOG_REQUESTS: '0',
    SERVICE_MAX_CONNECTIONS_PER_CLIENT: '0',
    SERVICE_PROCESSES: String(processes),
    PUBLIC_URL: 'http://notes.example',
  });
  // The first process has said its address; the supervisor says how many there are when all take requests.
  if (processes > 1) await service.nextLine('processes');
  return service;
}

/** Loads all services in turn, several times, and prints the medians. */
async function compare(
  what: string,
  services: readonly ServerProcess[],
  orderOf: (service: ServerProcess) => Promise<Omit<Order, 'connections'>>,
): Promise<void> {
  const results = services.map((): Round[] => []);
  for (let round = 0; round < Number(options.rounds); round += 1)
    for (const [i, service] of services.entries())
      results[i]!.push(await load(service, { ...amount, ...(await orderOf(service)) }));
  for (const [i, rounds] of results.entries())
    row(`${what}, ${nameOf(counts[i]!)}`, columns(medians(rounds)));
}

async function pollOf({ url }: ServerProcess): Promise<Pick<Order, 'url' | 'headers'>> {
  const posted = await fetch(`${url}/polled`, { method: 'POST', body: 'x' });
  const { read_url: path } = (await posted.json()) as { read_url: string };
  const feed = url + new URL(path).pathname;
  const etag = (await fetch(feed)).headers.get('etag')!;
  return { url: feed, headers: { 'if-none-match': etag } };
}

function nameOf(count: number): string {
  return `${count} ${count === 1 ? 'process' : 'processes'}`;
}
