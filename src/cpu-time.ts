import type { Worker } from 'node:worker_threads';

/** CPU time that this thread has used, in ms. Asking takes some µs. */
export function ownCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/**
 * CPU time that another thread has used, in ms; undefined if it does not run. The thread itself answers, also out of a loop, so this
 * takes as long as it waits for the CPU or is in a call of the system, and never settles if the thread ends before.
 */
export async function cpuMsOf(thread: Worker): Promise<number | undefined> {
  const usage = await thread.cpuUsage().catch(() => undefined);
  return usage && (usage.user + usage.system) / 1000;
}

/** CPU time between two moments, in ms. The first may be of an `Int32Array`, which counts 25 days and then begins anew; the time itself must be shorter. */
export function cpuMsBetween(before: number, after: number): number {
  return (after - before) | 0;
}
