import {
  closeSync,
  constants,
  fchownSync,
  fstatSync,
  openSync,
  readSync,
  realpathSync,
  rmSync,
  type Stats,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { tryLock } from 'fs-native-extensions';
import type { Owner } from '../../privileges.ts';
import { errorCode } from '../../system-errors.ts';
import { mustNotBeNamedAsIndex } from '../index-place.ts';

const { O_RDWR, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;

/** What follows the name of a database in that of its write-ahead log, which holds notes that are not yet in the file. */
export const LOG_END = '-wal';

/**
 * The database file, which this process alone uses. The lock is the kernel's, on a file of its own beside it
 * (`<file>.lock`), so it dies with its process. It cannot be on the database file: when a program closes that file,
 * the locks of SQLite in the same process are gone.
 */
export class DatabaseFile {
  /** The path with links resolved. */
  readonly path: string;
  readonly #lock: number;

  private constructor(path: string, lock: number) {
    this.path = path;
    this.#lock = lock;
  }

  /**
   * Takes the lock, and creates an empty file if there is none. New files get the given owner, or that of an existing
   * database; SQLite gives the files beside it to the same.
   * @throws an error with a sentence for the operator if another process uses the file; the system's error
   */
  static take(file: string, owner: Owner | undefined): DatabaseFile {
    const path = realPath(file);
    mustNotBeNamedAsIndex(path);
    const there = statSync(path, { throwIfNoEntry: false });
    const lock = openOrCreate(`${path}.lock`, owner && (there ?? owner));
    try {
      if (!tryLock(lock))
        throw new Error('The database file is in use by another process of this service; stop it first.');
      closeSync(openOrCreate(path, owner));
      removeForeignLog(path);
      return new DatabaseFile(path, lock);
    } catch (error) {
      closeSync(lock);
      throw error;
    }
  }

  /** The lock file is still the one that was locked: else another process could have the lock too. */
  get isLocked(): boolean {
    const held = fstatSync(this.#lock);
    const now: Stats | undefined = statSync(`${this.path}.lock`, { throwIfNoEntry: false });
    return now?.ino === held.ino && now.dev === held.dev;
  }

  release(): void {
    closeSync(this.#lock);
  }
}

/** Byte of the header that is 2 of a database with a write-ahead log, and 1 of a backup (https://sqlite.org/fileformat.html §1.3). */
const READ_VERSION_AT = 19;

/**
 * Removes a write-ahead log that is not of this database, but of one whose place it took: a restored backup. SQLite would
 * write that log into it, because a log does not say which database it is of.
 */
function removeForeignLog(path: string): void {
  const header = Buffer.alloc(READ_VERSION_AT + 1);
  const fd = openSync(path, constants.O_RDONLY);
  try {
    if (readSync(fd, header, 0, header.length, 0) < header.length || header[READ_VERSION_AT] !== 1) return;
  } finally {
    closeSync(fd);
  }
  removeLog(path);
}

/** Removes the log beside a database file that another one has replaced. */
export function removeLog(path: string): void {
  for (const end of [LOG_END, '-shm']) rmSync(path + end, { force: true });
}

/** A path with all links resolved, because two names of one file must mean one lock; its end may not exist. */
export function realPath(path: string): string {
  const isThere = statSync(path, { throwIfNoEntry: false }) !== undefined;
  return isThere ? realpathSync(path) : join(realPath(dirname(path)), basename(path));
}

/** Opens a file, or makes one that only its owner can read, because it holds the names of feeds. */
function openOrCreate(path: string, owner: Owner | undefined): number {
  try {
    const fd = openSync(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    if (owner) fchownSync(fd, owner.uid, owner.gid);
    return fd;
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
    return openSync(path, O_RDWR | O_NOFOLLOW);
  }
}
