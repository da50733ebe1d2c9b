import type { Command } from '../writing/command.ts';
import type { CommitObserver } from './commit-observer.ts';
import { storeUnavailable } from './failures.ts';
import type { FeedChange, FreshnessListener, Written } from './storage.ts';

/** Shared by the storages on databases: listeners, measuring, and a close that waits for writes. */
export abstract class DatabaseStorage {
  readonly #commits: CommitObserver | undefined;
  readonly #changeListeners: ((change: FeedChange) => void)[] = [];
  readonly #freshnessListeners: FreshnessListener[] = [];
  readonly #writing = new Set<Promise<unknown>>();
  protected isClosed = false;

  /** @param commits observes every write and every commit; optional */
  constructor(commits: CommitObserver | undefined) {
    this.#commits = commits;
  }

  /** See `Storage.write`. */
  protected abstract store(command: Command): Promise<Written | undefined>;
  /** Closes everything. Called when no write runs any more. */
  protected abstract release(): Promise<void>;

  async write(command: Command): Promise<Written | undefined> {
    const begunAt = this.#commits ? performance.now() : 0;
    try {
      return await this.change(() => this.store(command));
    } finally {
      this.#commits?.wrote(performance.now() - begunAt);
    }
  }

  /** Runs what changes the medium; `close` waits for it. */
  protected async change<T>(work: () => Promise<T>): Promise<T> {
    if (this.isClosed) throw storeUnavailable(new Error('the storage is closed'));
    const writing = work();
    this.#writing.add(writing);
    try {
      return await writing;
    } finally {
      this.#writing.delete(writing);
    }
  }

  onChange(listener: (change: FeedChange) => void): void {
    this.#changeListeners.push(listener);
  }

  onFreshness(listener: FreshnessListener): void {
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

  protected tellFreshness(isFresh: boolean, heardUntil = 0): void {
    for (const listener of this.#freshnessListeners) listener(isFresh, heardUntil);
  }

  protected tellCommit(writes: number): void {
    this.#commits?.committed(writes);
  }
}
