import { openSqlite, type SqliteOptions } from '../../src/storage/sqlite/sqlite.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { PUBLIC_KEY } from '../support/licenses.ts';
import { databaseIn } from '../support/open-backend.ts';
import type { Backend } from './contract.ts';
import { dataFolder, keptLog } from './files-support.ts';

interface Teardown {
  teardown(work: () => unknown): void;
}

/** Opens the storage in a folder; closed when the test ends. */
export async function opened(
  t: Teardown,
  dir: string,
  options: Partial<SqliteOptions> = {},
): Promise<Storage> {
  const storage = await openSqlite({
    file: databaseIn(dir),
    maxFeeds: 0,
    maxBytes: 0,
    keepDays: 0,
    log: keptLog(),
    ...options,
  });
  t.teardown(() => storage.close());
  return storage;
}

/** The storage on SQLite, for the contract suite. */
export const sqliteBackend: Backend = {
  name: 'sqlite',
  create: async (t, maxFeeds, maxBytes) => {
    const dir = await dataFolder(t);
    const licenseKeys = [PUBLIC_KEY];
    return {
      open: () =>
        openSqlite({
          file: databaseIn(dir),
          maxFeeds,
          maxBytes,
          keepDays: 0,
          licenseKeys,
          log: keptLog(),
        }),
    };
  },
};

/** The same with an index. */
export const searchedSqlite: Backend = {
  name: 'sqlite',
  create: async (t, maxFeeds) => {
    const file = databaseIn(await dataFolder(t));
    return {
      open: () => openSqlite({ file, maxFeeds, maxBytes: 0, keepDays: 0, search: true, log: keptLog() }),
    };
  },
};
