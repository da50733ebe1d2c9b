import {
  chmodSync,
  chownSync,
  constants,
  copyFileSync,
  linkSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import Database from 'better-sqlite3';
import type { Owner } from '../../privileges.ts';
import { indexOfDatabase, removeIndex } from '../index-place.ts';
import { BackupError, codeOf, copyDatabase, givenUp, sync } from './backup.ts';
import { DatabaseFile, LOG_END, removeLog } from './database-file.ts';
import { mustBeKnown } from './schema.ts';

/**
 * Puts a backup in the place of a database that no service uses. The database appears whole, and synced to the disk, or the
 * one that was there stays. That one is kept, with its log, under a name of its own.
 * @param owner of the restored file; the process's own user unless given
 * @param mayGoOn asked after each step and before anything is replaced; false gives it up
 * @returns the path of the database that was there; undefined if there was none
 * @throws an error with a sentence for the operator
 */
export async function restore(
  backup: string,
  database: string,
  { owner, mayGoOn }: { readonly owner: Owner | undefined; readonly mayGoOn: () => boolean },
): Promise<string | undefined> {
  const found = statSync(backup, { throwIfNoEntry: false });
  if (!found?.isFile()) throw new BackupError(`There is no file ${JSON.stringify(backup)}.`);
  const file = DatabaseFile.take(database, owner);
  try {
    const current = statSync(file.path);
    if (current.ino === found.ino && current.dev === found.dev)
      throw new BackupError('The backup is the database itself.');
    const part = mkdtempSync(`${file.path}.part-`);
    try {
      const copy = join(part, 'copy');
      await copyDatabase(backup, copy, mayGoOn);
      check(copy);
      // No signal is heard during the check, which takes minutes if the database is large.
      await turn();
      if (!mayGoOn()) throw givenUp();
      chmodSync(copy, 0o600);
      if (owner) chownSync(copy, owner.uid, owner.gid);
      sync(copy);
      if (!file.isLocked) throw new BackupError('The lock on the database was lost; nothing was changed.');
      const aside = current.size > 0 ? setAside(file.path) : undefined;
      renameSync(copy, file.path);
      removeLog(file.path);
      removeIndex(indexOfDatabase(file.path));
      sync(dirname(file.path));
      return aside;
    } finally {
      rmSync(part, { recursive: true, force: true });
    }
  } catch (error) {
    throw asRestoreError(error);
  } finally {
    file.release();
  }
}

/** What a database of every version has, and an index of the search has not. */
const OWN = 'SELECT feeds.read_id, notes.content FROM feeds, notes';

/**
 * @throws BackupError if a copy is damaged or of something else; an error with a sentence for the operator if it is of a newer
 * version
 */
function check(copy: string): void {
  const db = new Database(copy, { readonly: true });
  try {
    mustBeKnown(Number(db.pragma('user_version', { simple: true })));
    if (!canPrepare(db, OWN))
      throw new BackupError('The file is no backup of this service, so nothing was changed.');
    if (db.pragma('integrity_check(1)', { simple: true }) !== 'ok') throw damaged();
  } finally {
    db.close();
  }
}

/** Whether the tables and columns of a statement are there. */
function canPrepare(db: Database.Database, sql: string): boolean {
  try {
    db.prepare(sql);
    return true;
  } catch (error) {
    if (codeOf(error) === 'SQLITE_ERROR') return false;
    throw error;
  }
}

/**
 * Gives a database and its log second names, so that it is at its place until the backup replaces it, however the process
 * ends.
 */
function setAside(database: string): string {
  // With milliseconds, because a restore that is put right at once may come within the same second.
  const aside = `${database}.before-${new Date().toISOString().replace(/[-:.]/g, '')}`;
  keep(database, aside);
  try {
    if (statSync(database + LOG_END, { throwIfNoEntry: false })) keep(database + LOG_END, aside + LOG_END);
  } catch (error) {
    // Without its log it is of no use, and each attempt would leave another copy.
    rmSync(aside);
    throw error;
  }
  return aside;
}

/** Gives a file a second name, or makes a copy on file systems without links. */
function keep(path: string, aside: string): void {
  try {
    linkSync(path, aside);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw error;
    copyAside(path, aside);
  }
}

function copyAside(path: string, aside: string): void {
  const { uid, gid } = statSync(path);
  try {
    copyFileSync(path, aside, constants.COPYFILE_EXCL);
    if (process.getuid?.() === 0) chownSync(aside, uid, gid);
    sync(aside);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') rmSync(aside, { force: true });
    throw error;
  }
}

function damaged(): BackupError {
  return new BackupError('The backup is damaged, so nothing was changed.');
}

function asRestoreError(error: unknown): unknown {
  const code = codeOf(error);
  if (code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB') return damaged();
  if (code === 'SQLITE_FULL' || code === 'ENOSPC')
    return new BackupError('The disk of the database is full.');
  if (/^(E[A-Z\d]+|SQLITE_\w+)$/.test(code))
    return new BackupError(`The backup cannot be restored (${code}).`, { cause: error });
  return error;
}
