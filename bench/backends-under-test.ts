import { join } from 'node:path';
import { PostgresServer } from '../test/support/postgres.ts';
import { type Committed, postgresCommits, sqliteCommits } from './child.ts';

/** A database that notes are posted to, and what it can do without the service. */
export interface DatabaseUnderTest {
  readonly name: string;
  /** Settings that have the service use it. */
  readonly settings: Record<string, string>;
  /** Commits groups of notes of 1 KB, one after the other, for some seconds. */
  bareLoop(order: { readonly group: number; readonly seconds: number }): Promise<Committed>;
  stop(): Promise<void>;
}

/** A SQLite file in a folder. */
export function sqliteIn(dir: string): DatabaseUnderTest {
  return {
    name: 'sqlite',
    settings: { SERVICE_STORAGE: 'sqlite' },
    bareLoop: (order) => sqliteCommits({ ...order, file: join(dir, 'bare.db') }),
    stop: async () => {},
  };
}

/** A PostgreSQL server of its own, with its data in the system's folder for temporary files. */
export async function postgres(): Promise<DatabaseUnderTest> {
  const { server, stop } = await startServer();
  const [ours, bare] = [await server.database(), await server.database()];
  return {
    name: 'postgres',
    settings: { SERVICE_STORAGE: 'postgres', SERVICE_DATABASE_URL: ours },
    bareLoop: (order) => postgresCommits({ ...order, url: bare }),
    stop,
  };
}

/** Starts a PostgreSQL server that is gone, with its data, when it is stopped. */
export async function startServer(): Promise<{ server: PostgresServer; stop(): Promise<void> }> {
  const endings: (() => unknown)[] = [];
  const server = await PostgresServer.start({ teardown: (end) => endings.push(end) });
  return {
    server,
    stop: async () => {
      for (const end of endings) await end();
    },
  };
}
