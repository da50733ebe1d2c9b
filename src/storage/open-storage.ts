import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import { makeDataFolder, modeReadByOthers, type Owner } from '../privileges.ts';
import { cannotBeUsed } from '../system-errors.ts';
import type { Log } from '../telemetry/log.ts';
import type { CommitObserver } from './commit-observer.ts';
import { filesOfIndex, indexOfDatabase } from './index-place.ts';
import type { PictureRows } from './picture-rows.ts';
import type { SharedCounts, Storage } from './storage.ts';

/** The default name of the database file in DATA_DIR. */
const DATABASE_FILE = 'notefeed.db';

type StorageSettings = Pick<
  Config,
  | 'rateLimit'
  | 'storage'
  | 'dataDir'
  | 'database'
  | 'databaseListen'
  | 'secret'
  | 'derivedReadIds'
  | 'maxFeeds'
  | 'maxBytes'
  | 'keepDays'
  | 'search'
  | 'licenseKeys'
>;

export interface OpenedStorage {
  readonly storage: Storage;
  /** The picture rows of a database; undefined for plain files. */
  readonly pictures?: PictureRows;
  /** The server secret: that of the settings, else the one in the data folder. */
  readonly secret: Uint8Array;
  /** Counts of clients shared by several containers; undefined for a single one. */
  readonly counts?: SharedCounts;
}

/**
 * Opens the storage that the settings name, and loads only its code. Makes DATA_DIR, unless the storage is PostgreSQL. Throws an
 * error with a sentence for the operator if the storage cannot be opened.
 */
export async function openStorage(
  settings: StorageSettings,
  log: Log,
  { owner, commits }: { readonly owner: Owner | undefined; readonly commits: CommitObserver | undefined },
): Promise<OpenedStorage> {
  const { storage, dataDir, database, secret, maxFeeds, maxBytes, keepDays, search, licenseKeys } = settings;
  const parts = { owner, maxFeeds, maxBytes, keepDays, search, log, commits };
  const isLicenseValid = licenseKeys && (await import('../licenses/licenses.ts')).licenseCheck(licenseKeys);
  if (storage !== 'postgres') await inDataDir(dataDir, async () => makeDataFolder(dataDir));
  if (storage === 'fs') {
    const { openFiles } = await import('./files/files.ts');
    const { loadSecret, markFolder } = await import('./files/secret.ts');
    return inDataDir(dataDir, async () => {
      warnOfReaders(dataDir, log);
      // A link in its place would count as a data folder that is away, as links to folders are ignored everywhere.
      const dir = realpathSync(dataDir);
      const folderSecret = await loadSecret(dir, settings, owner);
      const { key, derivation } = folderSecret;
      log.hashFeedsWith(key);
      const files = await openFiles({ ...parts, isLicenseValid, dir, secret: key, derivation });
      await markFolder(dir, folderSecret, { owner, log });
      return { storage: files, secret: key };
    });
  }
  if (secret === undefined) throw new TypeError('Settings that were checked have a secret for a database');
  log.hashFeedsWith(secret);
  if (storage === 'sqlite') {
    const { openSqlite } = await import('./sqlite/sqlite.ts');
    const opened = await openSqlite({ ...parts, licenseKeys, file: databasePath(settings) });
    return { storage: opened, pictures: opened.pictureRows, secret };
  }
  if (database?.kind !== 'server') throw new TypeError('Settings that were checked name the database server');
  const { openPostgres } = await import('./postgres/postgres.ts');
  const opened = await openPostgres({
    ...parts,
    isLicenseValid,
    url: database.url,
    isListening: settings.databaseListen,
  });
  return {
    storage: opened,
    pictures: opened.pictureRows,
    secret,
    counts: opened.clientCounts({ secret, perMinute: settings.rateLimit }),
  };
}

/** The path of the database file, by the settings. */
export function databasePath({ database, dataDir }: Pick<Config, 'database' | 'dataDir'>): string {
  return database?.kind === 'file' ? database.path : join(dataDir, DATABASE_FILE);
}

/** A database file, and what the service and SQLite keep beside it. */
export function filesOfDatabase(path: string): string[] {
  return [...['', '-wal', '-shm', '.lock'].map((end) => path + end), ...filesOfIndex(indexOfDatabase(path))];
}

async function inDataDir<T>(dataDir: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw cannotBeUsed(`DATA_DIR=${dataDir}`, error);
  }
}

function warnOfReaders(dataDir: string, log: Log): void {
  const mode = modeReadByOthers(dataDir);
  if (mode === undefined) return;
  log.warn(
    `DATA_DIR=${dataDir} can be read by others than its owner (mode ${mode}), and the folders in it have the names of ` +
      'feeds, which are keys: chmod 700 keeps them secret',
  );
}
