import { threadId } from 'node:worker_threads';
import { nice as setNice } from '@napi-rs/nice';
import { BACKGROUND_NICE } from '../src/background.ts';

/** A task with a limit, which counts from when a thread says that it has taken it. */
export interface LimitedTask {
  /** URL of the file whose default function is run. */
  readonly work: string;
  readonly task: unknown;
  /** How nice the thread is to be. */
  readonly nice: number;
  /** Becomes the thread's id, and notifies, when the function is about to run: the thread is up, the file loaded. */
  readonly takenBy: Int32Array;
}

/** How nice this thread is. */
let niceness = BACKGROUND_NICE;

/** Runs the work and says when it begins. */
export default async function limitedTask({ work, task, nice, takenBy }: LimitedTask): Promise<unknown> {
  const { default: run } = (await import(work)) as { default: (task: unknown) => unknown };
  if (nice > niceness) niceness = setNice(nice - niceness);
  Atomics.store(takenBy, 0, threadId);
  Atomics.notify(takenBy, 0);
  return run(task);
}
