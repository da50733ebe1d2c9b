import { threadId } from 'node:worker_threads';
import { nice as setNice } from '@napi-rs/nice';
import { ownCpuMs } from '../src/cpu-time.ts';
import { BACKGROUND_NICE, GIVEN_UP, type LimitedTask, START_CPU_MS, THREAD_ID } from '../src/task-limit.ts';

/** Nice increment of this thread, relative to the process. */
let niceness = BACKGROUND_NICE;

/** Reports the start of the task and runs it. The function also gets one that tells whether nobody waits any more. */
export default async function limitedTask({ work, task, nice, state }: LimitedTask): Promise<unknown> {
  const { default: run } = (await import(work)) as {
    default: (task: unknown, isGivenUp: () => boolean) => unknown;
  };
  if (nice > niceness) setNice(nice - niceness);
  niceness = nice;
  state[START_CPU_MS] = ownCpuMs();
  Atomics.store(state, THREAD_ID, threadId);
  Atomics.notify(state, THREAD_ID);
  return run(task, () => Atomics.load(state, GIVEN_UP) === 1);
}
