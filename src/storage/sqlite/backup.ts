import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdtempSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statfsSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import Database from 'better-sqlite3';
import { errorCode } from '../../system-errors.ts';
import { Connection } from './connection.ts';

/** Pages copied in one step, 8 MiB: between two, the caller may stop it. */
const STEP_PAGES = 1_024;
/** Below this the disk of the database counts as full. */
const MIN_FREE_BYTES = 64 * 1024 * 1024;

/** A backup that cannot be made. The message is a sentence for the operator. */
export class BackupError extends Error {}

/**
 * Copies a database into a new file, which only the caller can read, while the service goes on: everything that was
 * stored before the call is in it. The file appears whole, and synced to the disk, or not at all.
 *
 * All is read in one transaction, because otherwise each write restarts the copy. Meanwhile the log of the database grows,
 * so the copy is given up if that could fill the disk.
 * @param mayGoOn asked after each step; false gives it up
 * @throws BackupError
 */
export async function backUp(database: string, target: string, mayGoOn: () => boolean): Promise<void> {
  const folder = dirname(resolve(target));
  try {
    if (existsSync(target)) throw thereAlready();
    // A folder of its own, because SQLite makes other files beside the copy.
    const part = mkdtempSync(`${target}.part-`);
    try {
      const copy = join(part, 'copy');
      await copyDatabase(database, copy, () => {
        const { bavail, bsize } = statfsSync(dirname(realpathSync(database)));
        if (bavail * bsize < MIN_FREE_BYTES)
          throw new BackupError('The disk of the database is nearly full, so the backup was given up.');
        return mayGoOn();
      });
      chmodSync(copy, 0o600);
      sync(copy);
      publish(copy, target);
      sync(folder);
    } finally {
      rmSync(part, { recursive: true, force: true });
    }
  } catch (error) {
    throw asBackupError(error);
  }
}

/**
 * Copies a database with what is in its write-ahead log into a new file, all in one transaction.
 * @param mayGoOn asked after each step; false gives it up
 * @throws BackupError; an error of SQLite
 */
export async function copyDatabase(database: string, copy: string, mayGoOn: () => boolean): Promise<void> {
  const { db } = opened(database);
  try {
    db.exec('BEGIN');
    if (db.pragma('user_version', { simple: true }) === 0)
      throw new BackupError('The database is not one of this service, or nothing was ever stored in it.');
    await db.backup(copy, {
      progress: () => {
        if (!mayGoOn()) throw givenUp();
        return STEP_PAGES;
      },
    });
  } finally {
    db.close();
  }
  detachFromLogs(copy);
}

/**
 * Takes the copy out of the mode of write-ahead logs, which the service enters again. A log beside a database that is not in this
 * mode is that of the database that the copy replaced, so the service removes it.
 */
function detachFromLogs(copy: string): void {
  const db = new Database(copy);
  db.pragma('journal_mode = DELETE');
  db.close();
}

function opened(database: string): Connection {
  try {
    return Connection.forReading(database);
  } catch (error) {
    throw new BackupError(`The database cannot be opened (${codeOf(error)}).`);
  }
}

/** Makes a file, or the entries of a folder, durable. */
export function sync(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** A link never replaces what came meanwhile; a rename is for file systems without links. */
function publish(copy: string, target: string): void {
  try {
    linkSync(copy, target);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw error;
    renameSync(copy, target);
  }
}

function asBackupError(error: unknown): Error {
  if (error instanceof BackupError) return error;
  const code = codeOf(error);
  if (code === 'EEXIST') return thereAlready();
  if (code === 'SQLITE_FULL' || code === 'ENOSPC') return new BackupError('The disk of the backup is full.');
  return new BackupError(`The backup cannot be made (${code}).`, { cause: error });
}

/** For a copy that was asked to stop. */
export function givenUp(): BackupError {
  return new BackupError('The copying was given up.');
}

function thereAlready(): BackupError {
  return new BackupError('The file for the backup is there already; it is left as it is.');
}

/** The code of SQLite or of the system. */
export function codeOf(error: unknown): string {
  return errorCode(error) ?? (error as Error).message;
}
