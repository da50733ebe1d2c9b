import { constants, lstatSync } from 'node:fs';
import { join } from 'node:path';
import { tryLock } from 'fs-native-extensions';
import type { Owner } from '../../privileges.ts';
import type { Log } from '../../telemetry/log.ts';
import { errorCode } from './failures.ts';
import { LOCK_FILE } from './names.ts';
import * as sys from './syscalls.ts';

/** After this many ms a lock that could not be taken is tried again. */
const RETRY_MS = 1_000;
const { O_RDWR, O_CREAT, O_NOFOLLOW } = constants;

/**
 * Makes this process the only one that uses a data folder. The lock is the kernel's (an open file description
 * lock on `.lock`), so it dies with its process and works across containers that share the folder.
 */
export class FolderLock {
  readonly #dir: string;
  readonly #owner: Owner | undefined;
  #held: { fd: number; ino: number; dev: number } | undefined;

  private constructor(dir: string, owner: Owner | undefined) {
    this.#dir = dir;
    this.#owner = owner;
  }

  /** Throws an error with a sentence for the operator when another process holds the lock. */
  static async take(dir: string, owner: Owner | undefined): Promise<FolderLock> {
    const lock = new FolderLock(dir, owner);
    await lock.renew();
    return lock;
  }

  /** The lock file is still the one that was locked. */
  get valid(): boolean {
    const now = lstatSync(join(this.#dir, LOCK_FILE), { throwIfNoEntry: false });
    return now !== undefined && now.ino === this.#held?.ino && now.dev === this.#held.dev;
  }

  /** Takes the lock again where the data folder, or the lock file in it, was replaced by another one. */
  async renew(): Promise<void> {
    if (this.valid) return;
    await this.release();
    const fd = await sys.open(join(this.#dir, LOCK_FILE), O_RDWR | O_CREAT | O_NOFOLLOW, 0o600);
    try {
      if (this.#owner) await sys.fchown(fd, this.#owner.uid, this.#owner.gid);
      if (!tryLock(fd)) {
        throw new Error(
          'The data folder (DATA_DIR) is in use by another process of this service; stop it first.',
        );
      }
      const { ino, dev } = sys.fstat(fd);
      this.#held = { fd, ino, dev };
    } catch (error) {
      sys.close(fd);
      throw error;
    }
  }

  async release(): Promise<void> {
    const held = this.#held;
    this.#held = undefined;
    if (held) sys.close(held.fd);
  }
}

/** Takes the lock of a data folder anew, again and again, while the folder is away or another process has it. */
export class LockKeeper {
  readonly #lock: FolderLock;
  readonly #log: Pick<Log, 'error'>;
  readonly #onRenew: (renewing: Promise<void>) => void;
  #renewing: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  /** False if the last attempt failed: nothing may be written. */
  isHeld = true;
  #isClosed = false;

  /** @param onRenew called with each attempt, which does not fail */
  constructor(lock: FolderLock, log: Pick<Log, 'error'>, onRenew: (renewing: Promise<void>) => void) {
    this.#lock = lock;
    this.#log = log;
    this.#onRenew = onRenew;
  }

  /** The lock file is still the one that was locked. */
  get isValid(): boolean {
    return this.#lock.valid;
  }

  /** To be called when the data folder, or the lock in it, is another one. Two attempts at once would keep each other out. */
  renew(): void {
    this.#renewing = this.#renewing.then(() => this.#renew());
    this.#onRenew(this.#renewing);
  }

  /** To be called when nothing is being written. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#renewing;
    await this.#lock.release();
  }

  async #renew(): Promise<void> {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    try {
      await this.#lock.renew();
      this.isHeld = true;
    } catch (error) {
      if (this.isHeld)
        this.#log.error('the data folder is gone or in use by another process', { code: errorCode(error) });
      this.isHeld = false;
      // The other process may let go of it, or the folder come to be ours, without another sign.
      this.#timer = setTimeout(() => this.renew(), RETRY_MS);
    }
  }
}
