import type { Feed } from '../feeds/feed.ts';
import type { FeedName } from '../feeds/names.ts';
import type { NewNote } from '../feeds/note.ts';
import type { CommitObserver } from './commit-observer.ts';
import { storeUnavailable } from './refused-writes.ts';
import type { FeedChange, FeedCreation, FeedLimits, Target } from './storage.ts';

/** A write of notes to a feed, or the making of a feed without notes. */
export interface Post {
  readonly name: FeedName;
  /** None to make a feed. */
  readonly notes: readonly NewNote[];
  readonly target: Target;
  /** Undefined if the feed need not have room for anything. */
  readonly limits?: FeedLimits | undefined;
  /** The notes to check against the limits instead of `notes`: those that follow once the feed is made. */
  readonly following?: readonly Pick<NewNote, 'type'>[] | undefined;
}

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

  /** See `Storage.post`, for one note or a feed that exists; no notes make a feed. */
  protected abstract store(post: Post): Promise<Feed | undefined>;
  /** Lets go of the medium, when no write runs any more. */
  protected abstract release(): Promise<void>;

  async post(
    name: FeedName,
    notes: readonly NewNote[],
    target: Target,
    limits: FeedLimits,
  ): Promise<Feed | undefined> {
    if (target.kind === 'existing' || notes.length === 1) return this.store({ name, notes, target, limits });
    // A feed for several notes is made first, because it stays if they cannot be stored.
    const following = notes.map(({ type }) => ({ type }));
    if (!(await this.store({ name, notes: [], target, limits, following }))) return undefined;
    const made = { kind: 'existing', passwordHash: target.passwordHash } as const;
    return this.store({ name, notes, target: made, limits });
  }

  create(name: FeedName, creation: FeedCreation): Promise<Feed | undefined> {
    return this.store({ name, notes: [], target: { kind: 'new', ...creation } });
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

  /** Runs a write that is measured and that closing waits for. */
  protected async write<T>(work: () => Promise<T>): Promise<T> {
    if (this.isClosed) throw storeUnavailable(new Error('the storage is closed'));
    const begunAt = this.#commits ? performance.now() : 0;
    const writing = work();
    this.#writing.add(writing);
    try {
      return await writing;
    } finally {
      this.#writing.delete(writing);
      this.#commits?.wrote(performance.now() - begunAt);
    }
  }
}
