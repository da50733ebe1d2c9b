import { threadId } from 'node:worker_threads';
import { nice as setNice } from '@napi-rs/nice';
import { BACKGROUND_NICE } from '../src/background.ts';
import { START_CPU_MS, type TaskStart, THREAD_ID } from '../src/task-limit.ts';

/** A task with a limit, which counts from when the thread writes `start`. */
export interface LimitedTask {
  /** URL of the file whose default function is run. */
  readonly work: string;
  readonly task: unknown;
  /** Nice increment that the thread needs, relative to the process. */
  readonly nice: number;
  readonly start: TaskStart;
}

/** Nice increment of this thread, relative to the process. */
let niceness = BACKGROUND_NICE;

/** Reports the start of the task and runs it. */
export default async function limitedTask({ work, task, nice, start }: LimitedTask): Promise<unknown> {
  const { default: run } = (await import(work)) as { default: (task: unknown) => unknown };
  if (nice > niceness) setNice(nice - niceness);
  niceness = nice;
  const { user, system } = process.threadCpuUsage();
  start[START_CPU_MS] = (user + system) / 1000;
  Atomics.store(start, THREAD_ID, threadId);
  Atomics.notify(start, THREAD_ID);
  return run(task);
}
