import { join } from 'node:path';
import { openFiles } from '../../src/storage/files/files.ts';
import { openPostgres } from '../../src/storage/postgres/postgres.ts';
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts';
import type { Storage } from '../../src/storage/storage.ts';

/** The database file of a test's folder. */
export const databaseIn = (dir: string) => join(dir, 'notes.db');

/** The backends by what a test's place is to them: a folder, or the address of a database. */
export type BackendName = 'files' | 'sqlite' | 'postgres';

/** Opens a place of a test. */
export function openBackend(place: string, name: BackendName = 'files'): Promise<Storage> {
  const options = { maxFeeds: 0, maxBytes: 0, keepDays: 0, log: console };
  if (name === 'sqlite') return openSqlite({ ...options, file: databaseIn(place) });
  if (name === 'postgres') return openPostgres({ ...options, url: place });
  return openFiles({ ...options, dir: place, secret: Buffer.alloc(32) });
}
