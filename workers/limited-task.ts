import { threadId } from 'node:worker_threads';

/** A task with a limit, which counts from when a thread says that it has taken it. */
export interface LimitedTask {
  /** URL of the file whose default function is run. */
  readonly work: string;
  readonly task: unknown;
  /** Becomes the thread's id, and notifies, when the function is about to run: the thread is up, the file loaded. */
  readonly takenBy: Int32Array;
}

/** Runs the work and says when it begins. */
export default async function limitedTask({ work, task, takenBy }: LimitedTask): Promise<unknown> {
  const { default: run } = (await import(work)) as { default: (task: unknown) => unknown };
  Atomics.store(takenBy, 0, threadId);
  Atomics.notify(takenBy, 0);
  return run(task);
}
