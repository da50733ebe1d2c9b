/** What becomes of texts whose reading fails, each in the way in which threads really fail. */
import t, { type Test } from 'tap';
import { PictureTexts, TEXT_THREADS } from '../../src/ingest/picture-texts.ts';
import { type RunOptions, WorkerPool } from '../../src/worker-pool.ts';
import type { PoolTask } from '../fixtures/pool-work.ts';

const WORK = new URL('../fixtures/pool-work.ts', import.meta.url);
const LIMIT_MS = 200;
const SENDER = { client: '192.0.2.1', isAborted: false };
const PICTURES = [{ name: 'a.png', file: 'b.png' }];

/** Does something else on its threads than it is asked for. */
class OtherPool extends WorkerPool {
  runs = 0;
  readonly #task: PoolTask;

  constructor(task: PoolTask) {
    super({ threads: TEXT_THREADS, maxQueue: 10 });
    this.#task = task;
  }

  override run(_work: string | URL, _task: unknown, options?: RunOptions): Promise<unknown> {
    this.runs += 1;
    return super.run(WORK, this.#task, this.#task.kind === 'loop' ? options : {});
  }
}

function open(t: Test, task: PoolTask): { pool: OtherPool; texts: PictureTexts } {
  const pool = new OtherPool(task);
  t.teardown(() => pool.drain());
  return { pool, texts: new PictureTexts(pool, LIMIT_MS) };
}

const invalid = (message: RegExp) => ({ name: 'Refusal', code: 'invalid_body', message });
const FAILURES: [what: string, task: PoolTask, error: { name: string; code?: string; message?: RegExp }][] = [
  ['overflows the stack', { kind: 'throw' }, invalid(/deep/)],
  ['takes all memory of its thread', { kind: 'fill-heap' }, invalid(/deep/)],
  ['takes too long', { kind: 'loop' }, invalid(/200 ms/)],
  // Nobody knows why: the service's own fault.
  ['ends its thread', { kind: 'exit' }, { name: 'Error' }],
];

for (const [what, task, error] of FAILURES)
  t.test(`a text whose reading ${what}`, async (t) => {
    const { pool, texts } = open(t, task);
    // More often than there are threads and turns: each is given back.
    for (let i = 0; i <= TEXT_THREADS; i++)
      await t.rejects(texts.place(Buffer.from('x'), PICTURES, SENDER), error);
    t.equal(pool.runs, TEXT_THREADS + 1);
    t.equal(pool.running, 0);
  });

t.test('a text whose sender has gone while it waited is not read', async (t) => {
  const { pool, texts } = open(t, { kind: 'echo', value: new Uint8Array() });
  const gone = { ...SENDER, isAborted: true };
  await t.rejects(texts.place(Buffer.from('x'), PICTURES, gone), { name: 'Refusal', code: 'timeout' });
  t.equal(pool.runs, 0);
});

t.test('of one client two texts are read at once, of others any', async (t) => {
  const gate = new Int32Array(new SharedArrayBuffer(8));
  const { pool, texts } = open(t, { kind: 'hold', gate });
  const place = (client: string) => texts.place(Buffer.from('x'), PICTURES, { client, isAborted: false });
  const ofOne = Array.from({ length: 5 }, () => place('192.0.2.1'));
  const ofAnother = place('192.0.2.2');
  await new Promise(setImmediate);
  t.equal(pool.running, 3);
  Atomics.store(gate, 1, 1);
  Atomics.notify(gate, 1);
  await Promise.all([...ofOne, ofAnother]);
  t.equal(pool.runs, 6);
});
