import type { Worker } from 'node:worker_threads';
import t, { type Test } from 'tap';
import type { TaskLimit } from '../src/task-limit.ts';
import { BACKGROUND_NICE } from '../src/task-limit.ts';
import { ranOutOfMemory, TaskTimeout, WorkerPool, type WorkerPoolOptions } from '../src/worker-pool.ts';
import type { PoolTask } from './fixtures/pool-work.ts';
import { LOADING_MS } from './fixtures/slow-to-load.ts';
import { eventually } from './support/eventually.ts';
import { threadsOf } from './support/failing-threads.ts';

const WORK = new URL('fixtures/pool-work.ts', import.meta.url);
const BUSY = { name: 'Refusal', code: 'busy', headers: { 'Retry-After': '1' } };

function createPool(t: Test, options: Partial<WorkerPoolOptions> = {}) {
  const pool = new WorkerPool({ threads: 1, maxQueue: 2, ...options });
  t.teardown(() => pool.drain());
  const run = (task: PoolTask, ms?: number, counts: TaskLimit['counts'] = 'time') =>
    pool.run(WORK, task, ms === undefined ? {} : { limit: { ms, counts } });
  return { pool, run, echo: (value: unknown) => run({ kind: 'echo', value }) };
}

/** A task that holds its thread until it is let go. */
function createHolder() {
  const gate = new Int32Array(new SharedArrayBuffer(8));
  return {
    gate,
    task: { kind: 'hold', gate } as const,
    /** Settles when a thread has the task. */
    async taken(): Promise<void> {
      await Atomics.waitAsync(gate, 0, 0).value;
    },
    letGo(): void {
      Atomics.store(gate, 1, 1);
      Atomics.notify(gate, 1);
    },
  };
}

t.test('a task gives what the function returns, or fails with what it throws', async (t) => {
  const { echo, run } = createPool(t);
  t.equal(await echo('hello'), 'hello');
  await t.rejects(run({ kind: 'throw' }), { name: 'RangeError', message: 'as told' });
  t.equal(await echo('still here'), 'still here');
});

t.test('a thread starts with a task that finds none, and ends when it has had none for long', async (t) => {
  const threads = new Set<Worker>();
  let started = 0;
  const count = (worker: Worker) => {
    started += 1;
    threads.add(worker.once('exit', () => threads.delete(worker)));
  };
  process.on('worker', count);
  t.teardown(() => process.off('worker', count));
  const { run, echo } = createPool(t, { threads: 3, idleMs: 300 });
  await new Promise(setImmediate);
  t.equal(started, 0);
  for (let i = 0; i < 3; i++) await echo('one after the other');
  t.equal(started, 1);
  const holders = [createHolder(), createHolder()];
  const held = holders.map(({ task }) => run(task));
  await Promise.all(holders.map(({ taken }) => taken()));
  t.equal(started, 2);
  for (const { letGo } of holders) letGo();
  await Promise.all(held);
  t.ok(await eventually(async () => threads.size === 0));
  t.equal(await echo('again'), 'again');
  t.equal(started, 3);
});

t.test('threads that die all at once are replaced for the tasks that wait', async (t) => {
  const { run, echo } = createPool(t, { threads: 3, maxQueue: 100 });
  const tasks = Array.from({ length: 60 }, (_, i) =>
    i % 2 === 0
      ? run({ kind: 'exit' }, i % 4 === 0 ? 60_000 : undefined).then(
          () => 'alive',
          () => 'died',
        )
      : echo('done'),
  );
  const ends = await Promise.all(tasks);
  t.strictSame(
    ends,
    ends.map((_, i) => (i % 2 === 0 ? 'died' : 'done')),
  );
});

t.test('work is found by its name', async (t) => {
  const { pool } = createPool(t);
  t.match(await pool.run('inspect-picture', Buffer.from('GIF89a')), { type: 'gif' });
  await t.rejects(pool.run('no-such-work', {}));
});

t.test(
  'an observer learns what ran and how long, without its waiting; the pool says what waits',
  async (t) => {
    const seen: [work: string, ms: number][] = [];
    const { pool, run, echo } = createPool(t, { observe: (...task) => seen.push(task) });
    t.strictSame([pool.waiting, pool.running], [0, 0]);
    await pool.run('inspect-picture', Buffer.from('GIF89a'));
    t.match(seen, [['inspect-picture', Number]]);
    const holder = createHolder();
    const begunAt = performance.now();
    const held = run(holder.task);
    await holder.taken();
    const waiting = echo(1);
    t.strictSame([pool.waiting, pool.running], [1, 1]);
    holder.letGo();
    await Promise.all([held, waiting]);
    const [, [, first], [, second]] = seen as [unknown, [string, number], [string, number]];
    t.ok(first + second <= performance.now() - begunAt, 'one after the other');
    await t.rejects(run({ kind: 'throw' }));
    t.strictSame([pool.waiting, pool.running], [0, 0]);
    t.strictSame(
      seen.map(([work]) => work),
      ['inspect-picture', 'other', 'other', 'other'],
      'a task that fails counts too',
    );
  },
);

t.test('tasks wait in order, as many as the queue holds; one more is refused', async (t) => {
  const { pool, run, echo } = createPool(t);
  const holder = createHolder();
  const held = run(holder.task);
  const done: unknown[] = [];
  const waiting = [1, 2].map(async (value) => done.push(await echo(value)));
  await t.rejects(echo(3), BUSY);
  await t.rejects(run({ kind: 'echo', value: 4 }, 1_000), BUSY);
  t.equal(pool.refused, 2);
  holder.letGo();
  t.equal(await held, 'let go');
  await Promise.all(waiting);
  t.same(done, [1, 2]);
  t.equal(await echo(5), 5);
});

t.test('each thread has a place of its own', async (t) => {
  const { run } = createPool(t, { threads: 2, maxQueue: 0 });
  const holders = [createHolder(), createHolder()];
  const held = holders.map(({ task }) => run(task));
  await Promise.all(holders.map(({ taken }) => taken()));
  await t.rejects(run({ kind: 'echo', value: 1 }), BUSY);
  for (const { letGo } of holders) letGo();
  t.same(await Promise.all(held), ['let go', 'let go']);
});

t.test('a task that never ends is ended by its time limit, and the next one gets a thread', async (t) => {
  const { run, echo } = createPool(t);
  const looping = t.rejects(run({ kind: 'loop' }, 200), TaskTimeout);
  const next = echo('next');
  await looping;
  t.equal(await next, 'next');
});

t.test('a limit of CPU time counts only what the thread itself uses', async (t) => {
  const { run, echo } = createPool(t);
  const holder = createHolder();
  const held = run(holder.task, 200, 'cpu time');
  await holder.taken();
  await new Promise((resolve) => setTimeout(resolve, 600));
  holder.letGo();
  t.equal(await held, 'let go');
  await t.rejects(run({ kind: 'loop' }, 200, 'cpu time'), TaskTimeout);
  t.equal(await echo('next'), 'next');
});

t.test('the time limit does not run while a task waits', async (t) => {
  const { run } = createPool(t);
  const holder = createHolder();
  const held = run(holder.task);
  const waiting = run({ kind: 'echo', value: 'in time' }, 1_000);
  await holder.taken();
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  holder.letGo();
  await held;
  t.equal(await waiting, 'in time');
});

t.test('a task that nobody waits for is not begun, or told so', async (t) => {
  let started = 0;
  const count = () => {
    started += 1;
  };
  process.on('worker', count);
  t.teardown(() => process.off('worker', count));
  const { pool, echo } = createPool(t);
  const gone = new AbortController();
  const reason = new Error('nobody waits');
  const limit = { ms: 3_600_000, counts: 'cpu time' } as const;
  const begun = createHolder();
  const running = pool.run(
    WORK,
    { kind: 'until-given-up', gate: begun.gate },
    { limit, signal: gone.signal },
  );
  const waiting = pool.run(WORK, { kind: 'exit' }, { limit, signal: gone.signal });
  const other = echo('other');
  await begun.taken();
  gone.abort(reason);
  await t.rejects(running, reason);
  await t.rejects(waiting, reason);
  t.equal(await other, 'other');
  t.equal(started, 1, 'by the same thread');
});

t.test('threads are as nice as asked for from the first task with a limit', async (t) => {
  const { run } = createPool(t, { nice: BACKGROUND_NICE + 3 });
  const niceness = { kind: 'niceness' } as const;
  const outside = (await run(niceness)) as number;
  for (let i = 0; i < 2; i++) t.equal(await run(niceness, 60_000), outside + 3);
});

t.test('a task that is done in time leaves no timer behind', async (t) => {
  const { run } = createPool(t);
  t.equal(await run({ kind: 'echo', value: 1 }, 3_600_000), 1);
  t.notOk(process.getActiveResourcesInfo().includes('Timeout'));
});

for (const kind of ['exit', 'unsendable', 'fill-heap'] as const) {
  t.test(`a thread that dies fails its task and no other: ${kind}`, async (t) => {
    const { run, echo } = createPool(t);
    const dying = kind === 'unsendable' ? t.rejects(run({ kind })) : t.rejects(run({ kind }), BUSY);
    const next = echo('next');
    await dying;
    t.equal(await next, 'next');
    for (const counts of ['time', 'cpu time'] as const) {
      const error = await run({ kind }, 3_600_000, counts).catch((thrown) => thrown);
      t.ok(error instanceof Error && !(error instanceof TaskTimeout));
      t.equal(ranOutOfMemory(error), kind === 'fill-heap');
    }
    t.equal(await echo('again'), 'again');
  });
}

t.test('an error that ends a thread refuses its task as busy, unlike one that the task throws', async (t) => {
  const { run, echo } = createPool(t);
  await t.rejects(run({ kind: 'throw uncaught' }), BUSY);
  await t.rejects(run({ kind: 'throw uncaught' }, 60_000), BUSY);
  await t.rejects(run({ kind: 'throw' }), { name: 'RangeError' });
  t.equal(await echo('again'), 'again');
});

t.test('a task for which no thread can be made is refused as busy, and is not run later', async (t) => {
  const { made, faults } = threadsOf(t);
  const { run, echo } = createPool(t, { threads: 2 });
  const holder = createHolder();
  const held = run(holder.task);
  await holder.taken();
  faults.push('none is made', 'none is made', 'none is made');
  await t.rejects(echo('first'), BUSY);
  await t.rejects(run({ kind: 'throw' }, 60_000), BUSY);
  holder.letGo();
  t.equal(await held, 'let go');
  t.equal(await echo('again'), 'again');
  t.equal(made.length, 1);
});

t.test('a task whose thread dies before it is ready is refused as busy', async (t) => {
  const { faults } = threadsOf(t);
  const { run, echo } = createPool(t);
  for (let i = 0; i < 3; i++) {
    faults.push('it dies', 'it dies');
    await t.rejects(echo('first'), BUSY);
    await t.rejects(run({ kind: 'echo', value: 'with a limit' }, 3_600_000), BUSY);
    t.equal(await echo('again'), 'again');
    await t.rejects(run({ kind: 'exit' }), BUSY);
  }
});

t.test('draining waits for all tasks, also those in the queue, and takes no more', async (t) => {
  const { pool, run, echo } = createPool(t, { threads: 2 });
  const holder = createHolder();
  const held = run(holder.task);
  await echo('makes the other thread an idle one');
  const waiting = createHolder();
  const others = [run(waiting.task), echo('in the queue')];
  let drained = false;
  const draining = pool.drain().then(() => {
    drained = true;
  });
  await t.rejects(echo('too late'), BUSY);
  waiting.letGo();
  t.same(await Promise.all(others), ['let go', 'in the queue']);
  t.notOk(drained);
  holder.letGo();
  t.equal(await held, 'let go');
  await Promise.all([draining, pool.drain()]);
  await t.rejects(echo('too late'), BUSY);
});

t.test('draining with a limit ends what does not', async (t) => {
  const { pool, run } = createPool(t);
  const holder = createHolder();
  const held = run(holder.task);
  held.catch(() => undefined);
  await holder.taken();
  await pool.drain(10);
  await t.rejects(held);
});

t.test('a pool without tasks is drained at once', async (t) => {
  const { pool } = createPool(t);
  await pool.drain();
});

t.test('the start of a thread and of its work does not count towards a time limit', async (t) => {
  const { pool } = createPool(t);
  const slow = new URL('fixtures/slow-to-load.ts', import.meta.url);
  t.equal(await pool.run(slow, 'done', { limit: { ms: LOADING_MS / 2, counts: 'time' } }), 'done');
});
