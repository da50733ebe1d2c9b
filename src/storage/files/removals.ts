import { lstat, readdir, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import type { FeedName } from '../../feeds/names.ts';
import { Refusal } from '../../refusals.ts';
import { errorCode } from '../../system-errors.ts';
import type { Log } from '../../telemetry/log.ts';
import { withoutPath } from '../failures.ts';
import { isGone } from './failures.ts';

/** After this many ms what could not be removed is tried again. */
const AGAIN_MS = 60_000;

/**
 * Removes folders in the background. All removals together make one call at a time, so a feed of 100,000 notes takes only
 * one thread of the pool, and a small feed does not wait for it.
 */
export class Removals {
  readonly #log: Pick<Log, 'warn'>;
  readonly #againMs: number;
  readonly #calls = pLimit(1);
  #isClosed = false;

  constructor(log: Pick<Log, 'warn'>, againMs = AGAIN_MS) {
    this.#log = log;
    this.#againMs = againMs;
  }

  /**
   * Removes a folder with all its content, or a file; settles when all of it is gone. After a failure it is tried again
   * in the background, and at the next start.
   * @param feed for the log
   * @param last is done before the folder itself is removed, which stays if it fails
   * @throws Refusal `store_unavailable` when something is left
   */
  async remove(path: string, feed?: FeedName, last?: () => Promise<void>): Promise<void> {
    try {
      await this.#removeAll(path, undefined, last);
    } catch (error) {
      const code = errorCode(error);
      if (!this.#isClosed)
        this.#log.warn('the removal of a deleted feed cannot be finished yet', { feed, code });
      this.#tryLater(path, last);
      throw new Refusal(
        'store_unavailable',
        'The feed is deleted, but its removal is not finished yet. The service will try again.',
        { cause: withoutPath(error) },
      );
    }
  }

  /** Stops in the middle of a folder too, after the call that runs: the next start goes on. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#calls(() => {});
  }

  #tryLater(path: string, last?: () => Promise<void>): void {
    if (this.#isClosed) return;
    const again = () => this.#removeAll(path, undefined, last).catch(() => this.#tryLater(path, last));
    setTimeout(again, this.#againMs).unref();
  }

  /** Removes all that can be removed before it fails. Never follows a link: a link itself is removed. */
  async #removeAll(path: string, isFolder?: boolean, last?: () => Promise<void>): Promise<void> {
    try {
      if (!(isFolder ?? (await this.#call(() => lstat(path))).isDirectory()))
        return await this.#call(() => unlink(path));
      let failure: unknown;
      for (const entry of await this.#call(() => readdir(path, { withFileTypes: true })))
        try {
          await this.#removeAll(join(path, entry.name), entry.isDirectory());
        } catch (error) {
          if (this.#isClosed) throw error;
          failure ??= error;
        }
      if (failure !== undefined) throw failure;
      await last?.();
      await this.#call(() => rmdir(path));
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }

  #call<T>(work: () => Promise<T>): Promise<T> {
    return this.#calls(() => {
      if (this.#isClosed) throw new Error('the storage is closed');
      return work();
    });
  }
}
