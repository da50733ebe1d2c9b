import { LRUCache } from 'lru-cache';
import type { ImageKey } from '../feeds/ids.ts';
import type { PictureRows } from '../storage/picture-rows.ts';
import { type ImageStore, inParallel } from './image-store.ts';

/** Polling interval after a key was freed, and how long to poll, ms. */
const POLL_MS = 250;
const ACTIVE_MS = 60_000;
/** Interval for finishing the clean-up of crashed processes, ms. */
const IDLE_MS = 60_000;
const BATCH = 100;
/** Keys freed in one statement, which has to end in time. */
const FREED_AT_ONCE = 1_000;
const AT_ONCE = 8;
/** How long a post with a lost COMMIT reply may still commit, ms. */
const UNSURE_MS = 60_000;
/** How many keys of failed posts are remembered. If another process removes their objects, this one does not hear of it. */
const MAX_DISCARDED = 10_000;

/** Deletes the objects of freed keys, in one container at a time; failures are retried with backoff. */
export class ObjectRemover {
  readonly #rows: PictureRows;
  readonly #store: ImageStore;
  readonly #keptMs: number;
  /** Keys that could not be freed because the database was away. */
  readonly #unfreed = new Set<ImageKey>();
  /** Keys that no note ever had, so that no other store has their objects. */
  readonly #discarded = new LRUCache<ImageKey, true>({ max: MAX_DISCARDED });
  #activeUntil = 0;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #isStopped = false;

  /** @param keptMs how long objects stay in the store after their notes, ms: a backup of the database may refer to them */
  constructor(rows: PictureRows, store: ImageStore, keptMs: number) {
    this.#rows = rows;
    this.#store = store;
    this.#keptMs = keptMs;
    this.wake();
  }

  /** Call it when a key was freed, or soon will be. */
  wake(): void {
    this.#activeUntil = performance.now() + ACTIVE_MS;
    this.#look(0);
  }

  /**
   * Deletes the objects of a failed post.
   * @param isSure false if the result of its commit is unknown; then the deletion waits
   */
  async discard(keys: readonly ImageKey[], isSure: boolean): Promise<void> {
    if (keys.length === 0) return;
    for (const key of keys) this.#discarded.set(key, true);
    try {
      await this.#rows.free(keys, isSure ? 0 : UNSURE_MS);
    } catch {
      for (const key of keys) this.#unfreed.add(key);
    }
    this.wake();
  }

  /** Waits for what runs. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #look(inMs: number): void {
    if (this.#isStopped) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#running ??= this.#sweep().finally(() => {
        this.#running = undefined;
        const isActive = this.#unfreed.size > 0 || performance.now() < this.#activeUntil;
        this.#look(isActive ? POLL_MS : IDLE_MS);
      });
    }, inMs).unref();
  }

  /** What fails is claimed again later. */
  async #sweep(): Promise<void> {
    try {
      const unfreed = [...this.#unfreed];
      for (let n = 0; n < unfreed.length && !this.#isStopped; n += FREED_AT_ONCE) {
        const keys = unfreed.slice(n, n + FREED_AT_ONCE);
        // Their notes may have been stored.
        await this.#rows.free(keys, UNSURE_MS);
        for (const key of keys) this.#unfreed.delete(key);
      }
      for (let keys = await this.#claim(); keys.length > 0; keys = await this.#claim()) {
        await removeObjects(this.#rows, [this.#store], keys, (key) => this.#discarded.delete(key));
        this.#activeUntil = performance.now() + ACTIVE_MS;
      }
    } catch {
      // The database is away.
    }
  }

  #claim(): Promise<readonly ImageKey[]> {
    return this.#isStopped ? Promise.resolve([]) : this.#rows.claim(BATCH, this.#keptMs);
  }
}

/**
 * Removes the objects of keys from stores. A key whose removal fails is claimed again later.
 * @param takeDiscarded says whether no note ever had a key, and forgets that
 */
export async function removeObjects(
  rows: PictureRows,
  stores: readonly ImageStore[],
  keys: readonly ImageKey[],
  takeDiscarded = (_key: ImageKey) => false,
): Promise<void> {
  const removed: ImageKey[] = [];
  const absent: ImageKey[] = [];
  await inParallel(keys, AT_ONCE, async (key) => {
    const removals = await Promise.all(stores.map((store) => store.delete(key))).catch(() => undefined);
    if (removals === undefined) return;
    const isUnused = takeDiscarded(key);
    (isUnused || removals.includes(true) ? removed : absent).push(key);
  });
  if (removed.length > 0) await rows.forget(removed);
  if (absent.length > 0) await rows.markElsewhere(absent);
}
