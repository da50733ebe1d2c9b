import { close, FOLDER, fsync, open } from './syscalls.ts';

interface Rounds {
  readonly current: Promise<void>;
  /** Writes that the next sync is for. */
  waiting: number;
  next: Promise<void> | undefined;
}

/**
 * Makes renames in folders durable. Syncs are shared (group commit): all calls during a sync of that folder wait for the
 * one after it.
 */
export class FolderSync {
  readonly #rounds = new Map<string, Rounds>();
  readonly #synced: ((writes: number) => void) | undefined;

  /** @param synced called after each successful sync, before its callers go on, with their number */
  constructor(synced?: (writes: number) => void) {
    this.#synced = synced;
  }

  /** Settles when every change made in the folder before this call is durable. */
  sync(folder: string): Promise<void> {
    const rounds = this.#rounds.get(folder);
    if (!rounds) return this.#start(folder, 1);
    rounds.waiting += 1;
    const startNext = () => this.#start(folder, rounds.waiting);
    rounds.next ??= rounds.current.then(startNext, startNext);
    return rounds.next;
  }

  #start(folder: string, writes: number): Promise<void> {
    const rounds: Rounds = { current: syncFolder(folder), waiting: 0, next: undefined };
    this.#rounds.set(folder, rounds);
    const end = () => {
      if (rounds.next === undefined) this.#rounds.delete(folder);
    };
    rounds.current.then(() => {
      end();
      this.#synced?.(writes);
    }, end);
    return rounds.current;
  }
}

/** Makes every change made in a folder so far durable. */
export async function syncFolder(folder: string): Promise<void> {
  const fd = await open(folder, FOLDER);
  try {
    await fsync(fd);
  } finally {
    close(fd);
  }
}
