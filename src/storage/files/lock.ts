import { closeSync, constants, fchownSync, fstatSync, lstatSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { tryLock } from 'fs-native-extensions';
import type { Owner } from '../../privileges.ts';
import { errorCode } from '../../system-errors.ts';
import type { Log } from '../../telemetry/log.ts';
import { LOCK_FILE } from './names.ts';
import { folderIdentity } from './stamp.ts';

/** After this many ms a lock that could not be taken is tried again. */
const RETRY_MS = 1_000;
const { O_RDWR, O_CREAT, O_NOFOLLOW } = constants;

/**
 * Makes this process the only one that uses a data folder. The lock is the kernel's (an open file description
 * lock on `.lock`), so it dies with its process and works across containers that share the folder.
 */
export class FolderLock {
  /** The lock file; undefined if the last attempt failed: nothing may be written. */
  held: { readonly fd: number; readonly identity: string } | undefined;
  readonly #path: string;
  readonly #owner: Owner | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** Takes the lock. Throws an error with a sentence for the operator when another process holds it. */
  constructor(dir: string, owner: Owner | undefined) {
    this.#path = join(dir, LOCK_FILE);
    this.#owner = owner;
    this.#take();
  }

  /** The lock file is still the one that was locked. */
  get isValid(): boolean {
    const now = lstatSync(this.#path, { throwIfNoEntry: false });
    return now !== undefined && folderIdentity(now) === this.held?.identity;
  }

  /**
   * Takes the lock again, with retries while the folder is absent or locked by another process. Call it if the data folder
   * or the lock file in it was replaced.
   */
  renew(log: Pick<Log, 'error'>): void {
    const wasHeld = this.held !== undefined;
    try {
      if (this.isValid) return;
      this.release();
      this.#take();
    } catch (error) {
      this.release();
      if (wasHeld)
        log.error('the data folder is gone or in use by another process', { code: errorCode(error) });
      // Nothing reports that the other process has released it, or that the folder is back.
      this.#timer = setTimeout(() => this.renew(log), RETRY_MS);
    }
  }

  /** Also ends the retries. Call it when nothing is being written. */
  release(): void {
    clearTimeout(this.#timer);
    if (this.held) closeSync(this.held.fd);
    this.held = undefined;
  }

  #take(): void {
    const fd = openSync(this.#path, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600);
    try {
      if (this.#owner) fchownSync(fd, this.#owner.uid, this.#owner.gid);
      if (!tryLock(fd))
        throw new Error(
          'The data folder (DATA_DIR) is in use by another process of this service; stop it first.',
        );
      this.held = { fd, identity: folderIdentity(fstatSync(fd)) };
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }
}
