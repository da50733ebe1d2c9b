import { type KeyedLimit, ranOutOfMemory, TaskTimeout, type WorkerPool } from '../worker-pool.ts';

/** The pools that render texts, for fast ones first. */
export type RenderingPools = Readonly<Record<'parsing' | 'slowParsing' | 'slowestParsing', WorkerPool>>;

/** A kind of task, and the threads that run it. A text that is too slow in one is for the next. */
export interface Lane<P extends keyof RenderingPools = keyof RenderingPools> {
  readonly pool: P;
  /** CPU time of each text, ms. A task takes texts until they have taken as much together. */
  readonly ms: number;
  /** The longest text, bytes; a search adds the characters of what else it looks at in the note. */
  readonly maxLength: number;
  /** The most texts of a task. */
  readonly maxTexts: number;
  /**
   * The most texts that one request finds too slow here. What becomes of the others is for the caller: a later request renders them, a
   * search judges them as written.
   */
  readonly maxSlow: number;
}

export const NO_LIMIT = Number.POSITIVE_INFINITY;
/** Texts that were too slow, which are remembered. */
export const REMEMBERED_SLOW = 10_000;
/** CPU time beyond twice that of a text, after which the thread is ended, ms: the parser never returns from a few texts. */
const HARD_LIMIT_MS = 300;

/**
 * Runs as many tasks of a lane as its texts take, but stops once too many were too slow.
 * @param turns of the lane: tasks of the same key take turns with those of others
 * @param left the texts of the lane that are not done
 * @param run runs a task for texts; returns how many were too slow
 */
export async function runLane<T>(
  { maxSlow, maxTexts }: Lane,
  turns: KeyedLimit,
  key: string,
  left: () => readonly T[],
  run: (texts: readonly T[]) => Promise<number>,
): Promise<void> {
  let slow = 0;
  while (slow < maxSlow && left().length > 0)
    await turns.run(key, async () => {
      const texts = left().slice(0, maxTexts);
      if (texts.length > 0) slow += await run(texts);
    });
}

/** What a task returns; undefined if it took too much time or memory. */
export async function runTask<T>(
  pool: WorkerPool,
  work: string,
  task: { readonly ms: number },
  signal?: AbortSignal,
): Promise<T | undefined> {
  try {
    const limit = { ms: 2 * task.ms + HARD_LIMIT_MS, counts: 'cpu time' } as const;
    return (await pool.run(work, task, { limit, signal })) as T;
  } catch (cause) {
    if (cause instanceof TaskTimeout || ranOutOfMemory(cause)) return undefined;
    throw cause;
  }
}
