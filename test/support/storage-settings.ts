import { PostgresServer } from './postgres.ts';

/** The server of this test process, and the database that belongs to each data folder. */
let server: Promise<PostgresServer> | undefined;
const databases = new Map<string, Promise<string>>();

/**
 * The settings that have a service of a test keep its notes where SERVICE_STORAGE says, so that one test can be run
 * on every backend: `SERVICE_STORAGE=sqlite node test/routes/caps.test.ts`. On `postgres` there is a database for
 * each data folder.
 */
export async function storageSettings(dataDir: string): Promise<Record<string, string>> {
  const { SERVICE_STORAGE = 'fs' } = process.env;
  if (SERVICE_STORAGE === 'fs') return {};
  return {
    SERVICE_STORAGE,
    SERVICE_SECRET: 'a secret of tests that is long enough',
    ...(SERVICE_STORAGE === 'postgres' && { SERVICE_DATABASE_URL: await databaseOf(dataDir) }),
  };
}

function databaseOf(dataDir: string): Promise<string> {
  server ??= startServer();
  const url = databases.get(dataDir) ?? server.then((started) => started.database());
  databases.set(dataDir, url);
  return url;
}

/** Loads the test runner only here: it ends a process after 30 s, and benchmarks import what tests share. */
async function startServer(): Promise<PostgresServer> {
  const { default: t } = await import('tap');
  return PostgresServer.start(t);
}
