import type { Command } from '../writing/command.ts';
import type { CommitObserver } from './commit-observer.ts';
import { storeUnavailable } from './failures.ts';
import type { FeedChange, Written } from './storage.ts';

/** Shared by the storages on databases: listeners, measuring, and a close that waits for writes. */
export abstract class DatabaseStorage {
  readonly #commits: CommitObserver | undefined;
  readonly #changeListeners: ((change: FeedChange) => void)[] = [];
  readonly #freshnessListeners: ((isFresh: boolean) => void)[] = [];
  readonly #writing = new Set<Promise<unknown>>();
  protected isClosed = false;

  /** @param commits observes every write and every commit; optional */
  constructor(commits: CommitObserver | undefined) {
    this.#commits = commits;
  }

  /** See `Storage.write`. */
  protected abstract store(command: Command): Promise<Written | undefined>;
  /** Lets go of the medium, when no write runs any more. */
  protected abstract release(): Promise<void>;

  async write(command: Command): Promise<Written | undefined> {
    if (this.isClosed) throw storeUnavailable(new Error('the storage is closed'));
    const begunAt = this.#commits ? performance.now() : 0;
    const writing = this.store(command);
    this.#writing.add(writing);
    try {
      return await writing;
    } finally {
      this.#writing.delete(writing);
      this.#commits?.wrote(performance.now() - begunAt);
    }
  }

  onChange(listener: (change: FeedChange) => void): void {
    this.#changeListeners.push(listener);
  }

  onFreshness(listener: (isFresh: boolean) => void): void {
    this.#freshnessListeners.push(listener);
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    await Promise.allSettled(this.#writing);
    await this.release();
  }

  protected tellChange(change: FeedChange): void {
    for (const listener of this.#changeListeners) listener(change);
  }

  protected tellFreshness(isFresh: boolean): void {
    for (const listener of this.#freshnessListeners) listener(isFresh);
  }

  protected tellCommit(writes: number): void {
    this.#commits?.committed(writes);
  }
}
