/** When the CDN is told of which feed: at once and twice more, how long after a failure, and what is dropped. */
import { mock } from 'node:test';
import t, { type Test } from 'tap';
import { Purges } from '../../src/cdn/purges.ts';
import type { ReadId } from '../../src/feeds/names.ts';

const FEED = 'feed' as ReadId;
const numbered = (count: number) => Array.from({ length: count }, (_, n) => `feed-${n}` as ReadId);

/** Purges of a test, on a clock of the test. */
function setUp(t: Test, purge: (readIds: readonly ReadId[]) => boolean | Promise<boolean> = () => true) {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  let now = 0;
  const told: { readIds: readonly ReadId[]; at: number }[] = [];
  const lost: string[] = [];
  const purges = new Purges({
    purge: async (readIds) => {
      told.push({ readIds, at: now });
      return purge(readIds);
    },
    onLost: (reason) => lost.push(reason),
    now: () => now,
  });
  const pass = async (ms: number) => {
    for (const end = now + ms; now < end; ) {
      now += 10;
      mock.timers.tick(10);
      await new Promise(setImmediate);
    }
  };
  const times = () => told.map(({ at }) => at);
  return { purges, told, lost, pass, times };
}

t.test('a change is told at once, soon again, and once more when all containers have it', async (t) => {
  const { purges, told, pass, times } = setUp(t);
  purges.add(FEED);
  await pass(5_000);
  t.equal(told.length, 3);
  for (const [n, ms] of [0, 300, 1_200].entries())
    t.ok(times()[n]! >= ms && times()[n]! < ms + 100, times().join());
  t.strictSame(told[0]!.readIds, [FEED]);
});

t.test('a timer that ends a little early sends no request without feeds', async (t) => {
  const { purges, told, pass } = setUp(t);
  purges.add(FEED);
  await pass(100);
  // The timers are ahead of the clock from now on.
  mock.timers.tick(10);
  await pass(5_000);
  t.strictSame(
    told.map(({ readIds }) => readIds),
    [[FEED], [FEED], [FEED]],
  );
});

t.test('changes without a pause are told together, none later than 100 ms', async (t) => {
  const { purges, told, pass, times } = setUp(t);
  for (let n = 0; n < 100; n += 1) {
    purges.add(FEED);
    await pass(10);
  }
  t.ok(told.length <= 21, `${told.length} in a second`);
  for (const [n, at] of times().slice(1).entries()) t.ok(at - times()[n]! <= 100);
  const before = told.length;
  await pass(5_000);
  t.ok(told.length - before <= 3 && times().at(-1)! >= 2_190, 'again after the last one');
});

t.test('many feeds share requests, and each has its turn', async (t) => {
  const { purges, told, pass } = setUp(t);
  const feeds = numbered(250);
  for (const readId of feeds) purges.add(readId);
  await pass(100);
  for (const readId of feeds.slice(0, 100)) purges.add(readId);
  await pass(100);
  for (const { readIds } of told) t.ok(readIds.length <= 100);
  t.equal(new Set(told.flatMap(({ readIds }) => readIds)).size, 250);
});

t.test('a change during a request is told in the next', async (t) => {
  const answers: ((isTold: boolean) => void)[] = [];
  const { purges, told, pass } = setUp(t, () => new Promise((resolve) => answers.push(resolve)));
  purges.add(FEED);
  await pass(2_000);
  purges.add(FEED);
  await pass(2_000);
  t.equal(told.length, 1, 'one at a time');
  answers.shift()!(true);
  await pass(100);
  t.equal(told.length, 2);
});

t.test('what failed is tried again with growing pauses, for ten minutes', async (t) => {
  const { purges, lost, pass, times } = setUp(t, () => false);
  purges.add(FEED);
  await pass(60_000);
  const seconds = times().map((at) => Math.round(at / 1_000));
  t.strictSame(seconds.slice(0, 7), [0, 1, 3, 7, 15, 30, 45]);
  await pass(9.5 * 60_000);
  t.strictSame(lost, ['given_up']);
  const attempts = times().length;
  await pass(60_000);
  t.equal(times().length, attempts);
  purges.add(FEED);
  await pass(100);
  t.equal(times().length, attempts + 1, 'a new change is told');
});

t.test('of too many feeds the one that waits longest is dropped', async (t) => {
  const { purges, lost, told, pass } = setUp(t);
  for (const readId of numbered(10_001)) purges.add(readId);
  await pass(100);
  t.strictSame(lost, ['dropped']);
  t.notOk(told.some(({ readIds }) => readIds.includes('feed-0' as ReadId)));
});

t.test('a stop tells what waits, unless that fails, and waits a second at most', async (t) => {
  const waiting = setUp(t);
  for (const readId of numbered(150)) waiting.purges.add(readId);
  await waiting.purges.stop();
  t.strictSame(
    waiting.told.map(({ readIds }) => readIds.length),
    [100, 50],
  );
  waiting.purges.add(FEED);
  await waiting.pass(5_000);
  t.equal(waiting.told.length, 2, 'nothing is told afterwards');
  const failing = setUp(t, () => false);
  failing.purges.add(FEED);
  await failing.purges.stop();
  t.equal(failing.told.length, 1);
  const hanging = setUp(t, () => new Promise(() => {}));
  hanging.purges.add(FEED);
  const stopped = hanging.purges.stop();
  await hanging.pass(1_100);
  await stopped;
});
