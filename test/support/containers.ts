import type { Test } from 'tap';
import { eventually } from './eventually.ts';
import type { PostgresServer } from './postgres.ts';
import { ask, type Reply } from './service.ts';
import { type ProcessOptions, ServiceProcess } from './service-process.ts';

/** As a proxy in front of them says: links are then the same in every container, and so are ETags. */
const PROXIED = { 'x-forwarded-host': 'notes.example' };

const LISTENERS = `SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'note-feed-listener'`;

/** Settings that make a service one of several containers on a database. */
export function containerSettings(databaseUrl: string): Record<string, string> {
  return {
    SERVICE_STORAGE: 'postgres',
    SERVICE_DATABASE_URL: databaseUrl,
    SERVICE_SECRET: 'the same secret in all the containers',
    SERVICE_TRUST_PROXY: '1',
  };
}

/** Services, each a process of its own, that start at the same instant on one database. */
export function startContainers(
  t: Pick<Test, 'teardown'>,
  databaseUrl: string,
  options: readonly ProcessOptions[],
): Promise<ServiceProcess[]> {
  return Promise.all(
    options.map((option) =>
      ServiceProcess.start(t, { ...option, env: { ...containerSettings(databaseUrl), ...option.env } }),
    ),
  );
}

/** The process ids of the connections on which containers hear of changes. */
export async function listenersOf(server: PostgresServer, databaseUrl: string): Promise<number[]> {
  return (await server.sql(databaseUrl, LISTENERS)).map(({ pid }) => Number(pid));
}

/** Every public view of a feed, as paths. */
export function viewsOf(readId: string): string[] {
  const api = `/api/v1/read/${readId}`;
  return [`/r/${readId}/feed.xml`, `/r/${readId}/feed.json`, api, `${api}/notes`, `${api}/notes?limit=1`];
}

/** What every container answers at a path, with the tags it had before: 304 where it holds them to be current. */
export function askAll(
  services: readonly { readonly url: string }[],
  path: string,
  headers: Record<string, string> = {},
): Promise<Reply[]> {
  return Promise.all(services.map(({ url }) => ask(url + path, { headers: { ...PROXIED, ...headers } })));
}

/**
 * Looks until answers are fresh, and says how long after the call the last stale one was asked for, in ms: how long the
 * answers take says nothing of that.
 */
export async function lastStale(look: () => Promise<'fresh' | 'stale' | 'neither'>): Promise<number> {
  const begunAt = performance.now();
  let last = 0;
  const isFresh = await eventually(async () => {
    const askedAt = performance.now();
    const seen = await look();
    if (seen === 'stale') last = askedAt - begunAt;
    return seen === 'fresh';
  });
  return isFresh ? last : Number.POSITIVE_INFINITY;
}

/**
 * Waits until so many containers know of each other: when one counts them for the second time, it has taken in what it
 * counted first.
 */
export async function untilAllKnow(
  server: PostgresServer,
  databaseUrl: string,
  containers: number,
): Promise<void> {
  await eventually(async () => (await listenersOf(server, databaseUrl)).length >= containers);
  for (let counted = 0; counted < 2; counted += 1) {
    const [row] = await server.sql(databaseUrl, 'SELECT clock_timestamp()::text AS now');
    const idle = `${LISTENERS} AND state = 'idle' AND query_start > $1`;
    await eventually(async () => (await server.sql(databaseUrl, idle, [row!.now])).length >= containers);
  }
}
