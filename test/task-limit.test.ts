/** Threads that have used more CPU time than 32 bits can count, as after a year, work and hang as others do. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import t from 'tap';
import { NoteInWork, watchForHang } from '../src/storage/note-in-work.ts';
import { LimitWatch, START_CPU_MS, THREAD_ID } from '../src/task-limit.ts';
import { eventually } from './support/eventually.ts';

const DAY_MS = 24 * 60 * 60_000;
const LIMIT_MS = 50;

/** A thread that reports this CPU time, ms. */
function threadAfter(ms: () => number): Worker {
  return { threadId: 1, cpuUsage: async () => ({ user: ms() * 1000, system: 0 }) } as Worker;
}

for (const days of [1, 24.8, 25, 49.8, 300])
  t.test(`after ${days} days of CPU time a task or a note is ended only beyond its limit`, async (t) => {
    const before = days * DAY_MS;
    let used = before;
    const reached: string[] = [];
    const thread = threadAfter(() => used);
    t.intercept(process, 'threadCpuUsage', { value: () => ({ user: before * 1000, system: 0 }) });
    const inWork = new NoteInWork();
    inWork.begin('note');
    const hangs = watchForHang(
      inWork,
      LIMIT_MS,
      () => thread,
      () => reached.push('note'),
    );
    t.teardown(() => clearInterval(hangs));
    const watch = new LimitWatch(
      { ms: LIMIT_MS, counts: 'cpu time' },
      () => [thread],
      () => reached.push('task'),
    );
    t.teardown(() => watch.stop());
    watch.state[START_CPU_MS] = before;
    Atomics.store(watch.state, THREAD_ID, 1);
    Atomics.notify(watch.state, THREAD_ID);
    used = before + LIMIT_MS / 2;
    await wait(4 * LIMIT_MS);
    t.strictSame(reached, []);
    used = before + 2 * LIMIT_MS;
    t.ok(await eventually(() => new Set(reached).size === 2));
  });
