import { setTimeout as wait } from 'node:timers/promises';
import type { FeedName } from '../feeds/names.ts';
import type { Storage } from '../storage/storage.ts';
import type { Log } from '../telemetry/log.ts';
import { toFeed } from '../writing/command.ts';

/** How often notes that are due are looked for, ms: they have to be gone within a minute. */
const INTERVAL_MS = 20_000;

/** Removes notes that have expired or that their feeds keep no longer, some at a time, so that posts and reads go between. */
export class Sweeping {
  readonly #storage: Storage;
  readonly #log: Pick<Log, 'warn'>;
  readonly #stopped = new AbortController();
  readonly #running: Promise<void>;

  constructor(storage: Storage, log: Pick<Log, 'warn'>, intervalMs = INTERVAL_MS) {
    this.#storage = storage;
    this.#log = log;
    this.#running = this.#run(intervalMs);
  }

  /** Waits for the write that runs. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
  }

  async #run(intervalMs: number): Promise<void> {
    while (!this.#isStopped) {
      // Why notes of a feed could not be removed. They wait for the next round.
      const failed = new Map<FeedName | undefined, unknown>();
      try {
        while (await this.#sweepSome(failed));
      } catch (err) {
        failed.set(undefined, err);
      }
      // One line, because a disk or database that is down fails for all feeds.
      const [first] = failed;
      if (first) {
        const [feed, err] = first;
        this.#log.warn('notes that are due could not be removed; it is tried again', { feed, err });
      }
      await this.#pause(intervalMs);
    }
  }

  /**
   * Removes some of the notes that are due, of each feed that has any. Returns whether any note was removed.
   * @param failed feeds that have failed: they are left out, and those that fail now are added. Notes of other feeds are removed all the same
   */
  async #sweepSome(failed: Map<FeedName | undefined, unknown>): Promise<boolean> {
    let hasRemoved = false;
    for (const name of await this.#storage.due(Date.now())) {
      if (this.#isStopped) return false;
      if (failed.has(name)) continue;
      const startedAt = performance.now();
      try {
        const feed = await this.#storage.feed(name);
        const written = feed && (await this.#storage.write({ kind: 'sweep', ...toFeed(feed) }));
        if (written && !written.isUnchanged) hasRemoved = true;
      } catch (err) {
        failed.set(name, err);
      }
      // Half of the time is left to others.
      await this.#pause(performance.now() - startedAt);
    }
    return hasRemoved;
  }

  get #isStopped(): boolean {
    return this.#stopped.signal.aborted;
  }

  async #pause(ms: number): Promise<void> {
    await wait(ms, undefined, { signal: this.#stopped.signal, ref: false }).catch(() => {});
  }
}
