import {
  closeSync,
  constants,
  fchownSync,
  fstatSync,
  openSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { tryLock } from 'fs-native-extensions';
import type { Owner } from '../../privileges.ts';

const { O_RDWR, O_CREAT, O_NOFOLLOW } = constants;

/**
 * The database file, which this process alone uses. The lock is the kernel's, on a file of its own beside it
 * (`<file>.lock`), so it dies with its process. It cannot be on the database file: when a program closes that file,
 * the locks of SQLite in the same process are gone.
 */
export class DatabaseFile {
  /** Where it really is, links resolved. */
  readonly path: string;
  readonly #lock: number;

  private constructor(path: string, lock: number) {
    this.path = path;
    this.#lock = lock;
  }

  /**
   * Takes the lock, and makes an empty file where there is none; what is made belongs to the owner, and SQLite gives
   * its own files beside it to the same. Throws an error with a sentence for the operator when another process uses
   * the file.
   */
  static take(file: string, owner: Owner | undefined): DatabaseFile {
    try {
      const path = resolved(file);
      const lock = made(`${path}.lock`, owner);
      if (!tryLock(lock)) {
        closeSync(lock);
        throw new Error('The database file is in use by another process of this service; stop it first.');
      }
      closeSync(made(path, owner));
      return new DatabaseFile(path, lock);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === undefined) throw error;
      throw new Error(`The database file (SERVICE_DATABASE_URL) cannot be opened (${code}).`);
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

/** Two names of one file must mean one lock. */
function resolved(file: string): string {
  if (statSync(file, { throwIfNoEntry: false })) return realpathSync(file);
  return join(realpathSync(dirname(file)), basename(file));
}

/** Opens a file, made readable by its owner alone where there is none: feed names are keys. */
function made(path: string, owner: Owner | undefined): number {
  const fd = openSync(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600);
  if (owner) fchownSync(fd, owner.uid, owner.gid);
  return fd;
}
