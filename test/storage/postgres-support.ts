import { openPostgres, type PostgresOptions } from '../../src/storage/postgres/postgres.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { keptLog } from './files-support.ts';

interface Teardown {
  teardown(work: () => unknown): void;
}

/** Opens the storage in a database; closed when the test ends. */
export async function opened(
  t: Teardown,
  url: string,
  options: Partial<PostgresOptions> = {},
): Promise<Storage> {
  const storage = await openPostgres({
    url,
    maxFeeds: 0,
    maxBytes: 0,
    keepDays: 0,
    log: keptLog(),
    ...options,
  });
  t.teardown(() => storage.close());
  return storage;
}
