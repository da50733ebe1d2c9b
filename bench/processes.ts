/**
 * What 1, 2 and 4 processes of one service (`SERVICE_PROCESSES`), 3 containers, and a bare server that only commits do beside
 * each other, each on a PostgreSQL server of its own: durable posts of 1 KB to many feeds and to one, whose row in the
 * database they wait for, and polls of an unchanged RSS feed (304). Prints answers a second, p50 and p99 (ms), CPU time of
 * all processes per answer (µs), commits of posts and syncs of the log a second (of the index of the search, too, unless
 * SERVICE_SEARCH=0), and memory just started and at the end. The databases and the client that loads are on the same
 * machine and need CPU as well: with few cores, look at the CPU per answer. Needs Linux (/proc).
 *
 * `node bench/processes.ts --seconds 3 --rounds 3 --processes 1,2,4 --containers 3 --connections 64`
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Client } from 'pg';
import { PostgresServer } from '../test/support/postgres.ts';
import { load, type Round } from './child.ts';
import type { Order } from './raw-load.ts';
import { writeBodies } from './samples.ts';
import { program, ServerProcess } from './server-process.ts';
import { columns, medians, row, size } from './table.ts';
import { temporaryFolder } from './temporary-folder.ts';

const SETTLE_MS = 3_000;
/** PostgreSQL counts what an idle connection has done after 10 s at most. */
const COUNTED_MS = 11_000;
const FEEDS = 500;
/** Tests go without. */
const SYNCED = ['fsync=on'];
const SYNCS = `SELECT sum(fsyncs)::integer AS count FROM pg_stat_io WHERE object = 'wal'`;
/** Of transactions that only read, too. */
const COMMITS = 'SELECT sum(xact_commit)::integer AS count FROM pg_stat_database';
const WRITES = /^service_storage_commit_writes_count (\d+)$/m;

/** What is measured: servers that share a database and the load. */
interface Setup {
  readonly name: string;
  readonly servers: readonly ServerProcess[];
  /** To the database server, for its counts. */
  readonly client: Client;
  readonly isBare: boolean;
}

/** Since the start. */
interface Counts {
  /** Transactions that store notes. */
  readonly commits: number;
  readonly syncs: number;
}

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '3' },
    processes: { type: 'string', default: '1,2,4' },
    containers: { type: 'string', default: '3' },
    connections: { type: 'string', default: '64' },
  },
});
const [seconds, rounds] = [Number(options.seconds), Number(options.rounds)];
const dir = temporaryFolder('processes');
const { text: bodyFile } = writeBodies(dir);
const pathsFile = join(dir, 'paths.json');
writeFileSync(pathsFile, JSON.stringify(Array.from({ length: FEEDS }, (_, n) => `/load-${n}`)));

const endings: (() => unknown)[] = [];
try {
  const services: Setup[] = [];
  for (const count of options.processes.split(',').map(Number))
    services.push(await start(`${count} ${count === 1 ? 'process' : 'processes'}`, [count]));
  const containers = Number(options.containers);
  if (containers > 0)
    services.push(await start(`${containers} containers`, Array<number>(containers).fill(1)));
  const all = [...services, await startBare()];
  await wait(SETTLE_MS);
  const fresh = services.map(memoryOf);
  row('', ['a second', 'p50', 'p99', 'CPU', 'commits/s', 'syncs/s']);
  await compare(`posts to ${FEEDS} feeds`, all, async ({ url }) => ({ url, bodyFile, pathsFile }));
  await compare('posts to one feed', all, async ({ url }) => ({ url: `${url}/load`, bodyFile }));
  await compare('polls of an unchanged feed', services, pollOf);
  for (const [i, setup] of services.entries())
    row(`memory of ${setup.name}`, [size(fresh[i]!), size(memoryOf(setup))]);
} finally {
  for (const end of endings) await end();
}

/** Starts services on one database, each with so many processes. */
async function start(name: string, processes: readonly number[]): Promise<Setup> {
  const { server, client } = await startDatabase();
  const databaseUrl = await server.database();
  const servers: ServerProcess[] = [];
  for (const [i, count] of processes.entries()) {
    const service = await startService(join(dir, `${name} ${i}`), databaseUrl, count);
    servers.push(service);
    endings.unshift(() => service.stop());
  }
  return { name, servers, client, isBare: false };
}

async function startBare(): Promise<Setup> {
  const { server, client } = await startDatabase();
  const place = JSON.stringify({ url: await server.database() });
  const bare = await ServerProcess.start([program('./commit-server.ts'), place]);
  endings.unshift(() => bare.stop());
  return { name: 'bare commits', servers: [bare], client, isBare: true };
}

async function startDatabase(): Promise<{ server: PostgresServer; client: Client }> {
  const server = await PostgresServer.start({ teardown: (end) => endings.push(end) }, SYNCED);
  const client = new Client(server.url('postgres'));
  await client.connect();
  endings.unshift(() => client.end());
  return { server, client };
}

async function startService(folder: string, databaseUrl: string, processes: number): Promise<ServerProcess> {
  const service = await ServerProcess.startService(folder, {
    SERVICE_STORAGE: 'postgres',
    SERVICE_DATABASE_URL: databaseUrl,
    SERVICE_SECRET: 'a secret that is long enough for this',
    SERVICE_LOG_REQUESTS: '0',
    SERVICE_METRICS: '1',
    SERVICE_MAX_CONNECTIONS_PER_CLIENT: '0',
    SERVICE_PROCESSES: String(processes),
    PUBLIC_URL: 'http://notes.example',
  });
  // The first process has said its address; the supervisor says how many there are when all take requests.
  if (processes > 1) await service.nextLine('processes');
  return service;
}

/** Loads all in turn, several times, and prints the medians. */
async function compare(
  what: string,
  setups: readonly Setup[],
  orderOf: (server: ServerProcess) => Promise<Omit<Order, 'connections'>>,
): Promise<void> {
  const before = await Promise.all(setups.map(countsOf));
  const results = setups.map((): Round[] => []);
  for (let round = 0; round < rounds; round += 1)
    for (const [i, { servers }] of setups.entries()) results[i]!.push(await loadAll(servers, orderOf));
  await wait(COUNTED_MS);
  for (const [i, setup] of setups.entries()) {
    const { commits, syncs } = await countsOf(setup);
    const counted = [commits - before[i]!.commits, syncs - before[i]!.syncs];
    const perSecond = counted.map((count) => (count / seconds / rounds).toFixed(0));
    row(`${what}, ${setup.name}`, [...columns(medians(results[i]!)), ...perSecond]);
  }
}

/** Loads servers at once, each by its share of the connections; the waits are those of the slowest. */
async function loadAll(
  servers: readonly ServerProcess[],
  orderOf: (server: ServerProcess) => Promise<Omit<Order, 'connections'>>,
): Promise<Round> {
  const connections = Math.ceil(Number(options.connections) / servers.length);
  const loads = servers.map(async (server) =>
    load(server, { ...(await orderOf(server)), connections, duration: seconds }),
  );
  const parts = await Promise.all(loads);
  const sum = (of: (part: Round) => number) => parts.reduce((total, part) => total + of(part), 0);
  const answers = sum((part) => part.answers);
  return {
    answers,
    perSecond: sum((part) => part.perSecond),
    p50: Math.max(...parts.map(({ p50 }) => p50)),
    p99: Math.max(...parts.map(({ p99 }) => p99)),
    cpu: sum((part) => part.cpu * part.answers) / answers,
  };
}

async function countsOf({ servers, client, isBare }: Setup): Promise<Counts> {
  const counted = async (text: string) => (await client.query<{ count: number }>(text)).rows[0]!.count;
  const commits = isBare ? counted(COMMITS) : writesOf(servers);
  return { commits: await commits, syncs: await counted(SYNCS) };
}

async function writesOf(servers: readonly ServerProcess[]): Promise<number> {
  const pages = await Promise.all(servers.map(async ({ url }) => (await fetch(`${url}/metrics`)).text()));
  return pages.reduce((sum, page) => sum + Number(WRITES.exec(page)?.[1] ?? 0), 0);
}

function memoryOf({ servers }: Setup): number {
  return servers.reduce((sum, server) => sum + server.residentBytes(), 0);
}

/** To a feed of its own, because a post to it by another server would change the answer. */
async function pollOf({ url }: ServerProcess): Promise<Pick<Order, 'url' | 'headers'>> {
  const posted = await fetch(`${url}/polled-${new URL(url).port}`, { method: 'POST', body: 'x' });
  const { read_url: path } = (await posted.json()) as { read_url: string };
  const feed = url + new URL(path).pathname;
  const etag = (await fetch(feed)).headers.get('etag')!;
  return { url: feed, headers: { 'if-none-match': etag } };
}
