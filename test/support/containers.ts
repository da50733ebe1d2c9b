import { setTimeout as wait } from 'node:timers/promises';
import type { Test } from 'tap';
import type { PostgresServer } from './postgres.ts';
import { ask, type Reply } from './service.ts';
import { type ProcessOptions, ServiceProcess } from './service-process.ts';

/** As a proxy in front of them says: links are then the same in every container, and so are ETags. */
const PROXIED = { 'x-forwarded-host': 'notes.example' };

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
  const sql = `SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'note-feed-listener'`;
  return (await server.sql(databaseUrl, sql)).map(({ pid }) => Number(pid));
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

/** Asks until an answer is as it should be, and says how long after the call it was asked for, in ms; gives up after 10 s. */
export async function timeUntil(isSo: () => Promise<boolean>): Promise<number> {
  const begunAt = performance.now();
  for (let waited = 0; waited < 10_000; waited = performance.now() - begunAt) {
    if (await isSo()) return waited;
    await wait(5);
  }
  return Number.POSITIVE_INFINITY;
}
