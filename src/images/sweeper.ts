import type { ImageKey } from '../feeds/image-keys.ts';
import type { PictureRows } from '../storage/picture-rows.ts';
import type { ImageStore } from './image-store.ts';
import { inParallel } from './in-parallel.ts';

/** How often is looked for keys after something was freed, and for how long after it, in ms. */
const LOOK_MS = 250;
const ACTIVE_MS = 60_000;
/** How often is looked for what a process that has died has left, in ms. */
const IDLE_MS = 60_000;
const BATCH = 100;
const AT_ONCE = 8;
/** How long a post whose end is not known may still become stored, in ms. */
const UNSURE_MS = 60_000;

/** Removes the objects of pictures that are gone, in one container at a time; what fails is tried again, later each time. */
export class Sweeper {
  readonly #rows: PictureRows;
  readonly #store: ImageStore;
  /** Keys that could not be freed because the database was away. */
  readonly #unfreed = new Set<ImageKey>();
  /** Keys that no note ever had, so that no other store has their objects. */
  readonly #discarded = new Set<ImageKey>();
  #activeUntil = 0;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #isStopped = false;

  constructor(rows: PictureRows, store: ImageStore) {
    this.#rows = rows;
    this.#store = store;
    this.wake();
  }

  /** Something has been freed, or soon will be. */
  wake(): void {
    this.#activeUntil = performance.now() + ACTIVE_MS;
    this.#look(0);
  }

  /**
   * Has objects removed that were stored for notes which then were not.
   * @param isSure false where the notes may have been stored, or may be yet
   */
  async discard(keys: readonly ImageKey[], isSure: boolean): Promise<void> {
    if (keys.length === 0) return;
    for (const key of keys) this.#discarded.add(key);
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
        this.#look(isActive ? LOOK_MS : IDLE_MS);
      });
    }, inMs).unref();
  }

  /** What fails is claimed again later. */
  async #sweep(): Promise<void> {
    try {
      await this.#freeAgain();
      for (let keys = await this.#claim(); keys.length > 0; keys = await this.#claim()) {
        const [removed, absent]: ImageKey[][] = [[], []];
        await inParallel(keys, AT_ONCE, async (key) => {
          try {
            const isGone = (await this.#store.delete(key)) || this.#discarded.has(key);
            (isGone ? removed : absent)!.push(key);
            this.#discarded.delete(key);
          } catch {
            // Its turn comes again.
          }
        });
        if (removed!.length > 0) await this.#rows.forget(removed!);
        if (absent!.length > 0) await this.#rows.moveElsewhere(absent!);
        this.#activeUntil = performance.now() + ACTIVE_MS;
      }
    } catch {
      // The database is away.
    }
  }

  #claim(): Promise<readonly ImageKey[]> {
    return this.#isStopped ? Promise.resolve([]) : this.#rows.claim(BATCH);
  }

  /** Nobody knows what became of their notes. */
  async #freeAgain(): Promise<void> {
    if (this.#unfreed.size === 0) return;
    const keys = [...this.#unfreed];
    await this.#rows.free(keys, UNSURE_MS);
    for (const key of keys) this.#unfreed.delete(key);
  }
}
