import { join } from 'node:path';
import { openFiles } from '../../src/storage/files/files.ts';
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { NO_CAPS } from './storing.ts';

/** The database file of a test's folder. */
export const databaseIn = (dir: string) => join(dir, 'notes.db');

/** Opens a folder of a test, which has plain files in it or a database. */
export function openBackend(dir: string, name = 'files'): Promise<Storage> {
  const options = { caps: NO_CAPS, log: console };
  return name === 'sqlite'
    ? openSqlite({ ...options, file: databaseIn(dir) })
    : openFiles({ ...options, dir, secret: Buffer.alloc(32) });
}
