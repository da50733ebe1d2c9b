/** What becomes of texts whose reading fails, each in the way in which threads really fail. */
import t, { type Test } from 'tap';
import { FAST_LIMIT, PictureTexts, TEXT_THREADS } from '../../src/ingest/picture-texts.ts';
import { type RunOptions, TaskTimeout, WorkerPool } from '../../src/worker-pool.ts';
import type { RewriteTask } from '../../workers/rewrite-references.ts';
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
  return { pool, texts: new PictureTexts({ texts: pool, slowTexts: pool }, LIMIT_MS) };
}

const invalid = (message: RegExp) => ({ name: 'Refusal', code: 'invalid_body', message });
const FAILURES: [what: string, task: PoolTask, error: { name: string; code?: string; message?: RegExp }][] = [
  ['overflows the stack', { kind: 'throw' }, invalid(/deep/)],
  ['takes all memory of its thread', { kind: 'fill-heap' }, invalid(/deep/)],
  ['takes too long', { kind: 'loop' }, invalid(/200 ms/)],
  ['ends its thread', { kind: 'exit' }, { name: 'Refusal', code: 'busy' }],
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

/** A pool whose tasks are over when the test says so; those with a `FAST_LIMIT` limit run into it when they are slow. */
class HeldPool extends WorkerPool {
  readonly clients: string[] = [];
  readonly #held: (() => void)[] = [];

  constructor() {
    super({ threads: 1, maxQueue: 0 });
  }

  override async run(_work: string | URL, task: unknown, { limit }: RunOptions = {}): Promise<unknown> {
    const [client, speed] = Buffer.from((task as RewriteTask).bytes)
      .toString()
      .split(' ');
    this.clients.push(client!);
    await new Promise<void>((resolve) => this.#held.push(resolve));
    if (limit === FAST_LIMIT && speed === 'slow') throw new TaskTimeout(FAST_LIMIT);
    return new Uint8Array();
  }

  /** Ends all that runs now. */
  async letGo(): Promise<void> {
    for (const end of this.#held.splice(0)) end();
    await new Promise(setImmediate);
  }
}

t.test(
  'a text of a client waits for no slow text of it or others, but for one that is just begun',
  async (t) => {
    const pools = { texts: new HeldPool(), slowTexts: new HeldPool() };
    const texts = new PictureTexts(pools, 10_000);
    const place = (client: string, speed: string) =>
      texts.place(Buffer.from(`${client} ${speed}`), PICTURES, { client, isAborted: false });
    const slow = ['a', 'a', 'a', 'b', 'b', 'b'].map((client) => place(client, 'slow'));
    await new Promise(setImmediate);
    t.strictSame(pools.texts.clients, ['a', 'b'], 'one of each');
    await pools.texts.letGo();
    t.strictSame(
      pools.texts.clients,
      ['a', 'b', 'a', 'b'],
      'the second of each, its first is among the slow ones',
    );
    t.strictSame(pools.slowTexts.clients, ['a', 'b']);
    await pools.texts.letGo();
    const good = place('c', 'quick');
    await new Promise(setImmediate);
    t.strictSame(pools.texts.clients.slice(4), ['c'], 'the third of each waits');
    t.strictSame(pools.slowTexts.clients, ['a', 'b'], 'the second of each waits');
    await pools.texts.letGo();
    await good;
    t.strictSame(pools.slowTexts.clients, ['a', 'b']);
    for (let i = 0; i < 6; i++) {
      await pools.slowTexts.letGo();
      await pools.texts.letGo();
    }
    await Promise.all(slow);
  },
);
