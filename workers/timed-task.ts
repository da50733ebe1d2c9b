/** A task with a time limit, which counts from when the thread says that it begins. */
export interface TimedTask {
  /** URL of the file whose default function is run. */
  readonly work: string;
  readonly task: unknown;
  /** Becomes 1, and notifies, when the function is about to run: the thread is up and the file is loaded. */
  readonly begun: Int32Array;
}

/** Runs the work and says when it begins. */
export default async function timedTask({ work, task, begun }: TimedTask): Promise<unknown> {
  const { default: run } = (await import(work)) as { default: (task: unknown) => unknown };
  Atomics.store(begun, 0, 1);
  Atomics.notify(begun, 0);
  return run(task);
}
