import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../../telemetry/log.ts';
import { errorCode } from './failures.ts';
import * as sys from './syscalls.ts';

/**
 * Removes folders that are in nobody's way any more, in the background: one file after the other, so that a feed
 * of 100,000 notes takes no more than one thread of the pool from those who wait.
 */
export class Removals {
  readonly #log: Pick<Log, 'warn'>;
  #closed = false;
  #last: Promise<void> = Promise.resolve();

  constructor(log: Pick<Log, 'warn'>) {
    this.#log = log;
  }

  /** Removes a folder with all its content, or a file. What cannot be removed is left to the next start. */
  add(path: string): void {
    this.#last = this.#last
      .then(() => this.#remove(path))
      .catch((error) => {
        this.#log.warn('what is left of a deleted feed cannot be removed', { code: errorCode(error) });
      });
  }

  /** Stops in the middle of a folder too: the next start goes on. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#last;
  }

  /** Never follows a link: a link itself is removed. */
  async #remove(path: string): Promise<void> {
    if (this.#closed) return;
    if (!(await sys.lstat(path)).isDirectory()) return sys.unlink(path);
    for await (const { name } of await opendir(path)) {
      if (this.#closed) return;
      await this.#remove(join(path, name));
    }
    await sys.rmdir(path);
  }
}
