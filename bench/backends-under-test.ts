import { join } from 'node:path';
import { PostgresServer } from '../test/support/postgres.ts';
import type { CommitPlace } from './commits.ts';

/** A storage that is measured, and a place of the same kind for bare commits. */
export interface BackendUnderTest {
  /** Settings that have the service use it. */
  readonly settings: Record<string, string>;
  /** Settings of another empty instance of the same kind. */
  readonly spare: Record<string, string>;
  /** Undefined for files. */
  readonly bare: CommitPlace | undefined;
  stop(): Promise<void>;
}

/** How each is opened, in a folder. PostgreSQL is a server of its own, its data in the system's folder for temporary files. */
export const BACKENDS: Record<string, (dir: string) => BackendUnderTest | Promise<BackendUnderTest>> = {
  files: (dir) => ({
    settings: {},
    spare: { DATA_DIR: join(dir, 'spare') },
    bare: undefined,
    stop: async () => {},
  }),
  sqlite: (dir) => ({
    settings: { SERVICE_STORAGE: 'sqlite' },
    spare: { SERVICE_STORAGE: 'sqlite', DATA_DIR: join(dir, 'spare') },
    bare: { file: join(dir, 'bare.db') },
    stop: async () => {},
  }),
  postgres: async () => {
    const { server, stop } = await startServer();
    const using = (url: string) => ({ SERVICE_STORAGE: 'postgres', SERVICE_DATABASE_URL: url });
    return {
      settings: using(await server.database()),
      spare: using(await server.database()),
      bare: { url: await server.database() },
      stop,
    };
  },
};

/** Starts a PostgreSQL server that is gone, with its data, when it is stopped. */
export async function startServer(): Promise<{ server: PostgresServer; stop(): Promise<void> }> {
  const endings: (() => unknown)[] = [];
  // Tests go without.
  const server = await PostgresServer.start({ teardown: (end) => endings.push(end) }, ['fsync=on']);
  return {
    server,
    stop: async () => {
      for (const end of endings) await end();
    },
  };
}
