import { constants, lstatSync } from 'node:fs';
import { join } from 'node:path';
import { tryLock } from 'fs-native-extensions';
import type { Owner } from '../../privileges.ts';
import { LOCK_FILE } from './names.ts';
import * as sys from './syscalls.ts';

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
