import { threadId } from 'node:worker_threads';
import { nice as setNice } from '@napi-rs/nice';
import { BACKGROUND_NICE } from '../src/background.ts';
import { TAKEN_BY, TAKEN_CPU_MS, type Taken } from '../src/task-limit.ts';

/** A task with a limit, which counts from when a thread says that it has taken it. */
export interface LimitedTask {
  /** URL of the file whose default function is run. */
  readonly work: string;
  readonly task: unknown;
  /** How much nicer than the process the thread is to be. */
  readonly nice: number;
  readonly taken: Taken;
}

/** How much nicer than the process this thread is. */
let niceness = BACKGROUND_NICE;

/** Runs the work and says when it begins. */
export default async function limitedTask({ work, task, nice, taken }: LimitedTask): Promise<unknown> {
  const { default: run } = (await import(work)) as { default: (task: unknown) => unknown };
  if (nice > niceness) setNice(nice - niceness);
  niceness = nice;
  const { user, system } = process.threadCpuUsage();
  taken[TAKEN_CPU_MS] = (user + system) / 1000;
  Atomics.store(taken, TAKEN_BY, threadId);
  Atomics.notify(taken, TAKEN_BY);
  return run(task);
}
