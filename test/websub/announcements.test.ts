/** When a hub is told of which feed: how often, how long after a failure, and what is dropped. */
import { mock } from 'node:test';
import t, { type Test } from 'tap';
import type { ReadId } from '../../src/feeds/names.ts';
import { Announcements } from '../../src/websub/announcements.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const FEED = 'feed' as ReadId;

/** Announcements to a hub of the test, on a clock of the test. */
function setUp(t: Test, tell: (readId: ReadId) => boolean | Promise<boolean> = () => true) {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  let now = 0;
  const told: { readId: ReadId; at: number }[] = [];
  const lost: string[] = [];
  const announcements = new Announcements({
    tell: async (readId) => {
      told.push({ readId, at: now });
      return tell(readId);
    },
    onLost: (reason) => lost.push(reason),
    now: () => now,
  });
  const pass = async (ms: number) => {
    for (const end = now + ms; now < end; ) {
      const step = Math.min(100, end - now);
      now += step;
      mock.timers.tick(step);
      await new Promise(setImmediate);
    }
  };
  return { announcements, told, lost, pass, seconds: () => told.map(({ at }) => Math.round(at / SECOND)) };
}

t.test('the first change is told at once, later ones together after 10 s', async (t) => {
  const { announcements, pass, seconds } = setUp(t);
  announcements.add(FEED);
  await pass(2 * SECOND);
  t.strictSame(seconds(), [1]);
  for (let i = 0; i < 5; i += 1) {
    announcements.add(FEED);
    await pass(SECOND);
  }
  await pass(MINUTE);
  t.strictSame(seconds(), [1, 11]);
  announcements.add(FEED);
  await pass(2 * SECOND);
  t.strictSame(seconds(), [1, 11, 68], 'at once again after a while');
});

t.test(
  'a change just before an announcement is told again, because other containers may not have it',
  async (t) => {
    const { announcements, pass, seconds } = setUp(t);
    announcements.add(FEED);
    await pass(SECOND);
    announcements.add(FEED);
    await pass(MINUTE);
    t.strictSame(seconds(), [1, 11]);
  },
);

t.test('what failed is tried again with growing pauses, for an hour', async (t) => {
  const { announcements, lost, pass, seconds } = setUp(t, () => false);
  announcements.add(FEED);
  await pass(60 * MINUTE);
  t.strictSame(seconds().slice(0, 7), [1, 11, 31, 71, 151, 311, 631]);
  t.strictSame(lost, []);
  await pass(20 * MINUTE);
  t.strictSame(lost, ['given_up']);
  const attempts = seconds().length;
  await pass(120 * MINUTE);
  t.equal(seconds().length, attempts);
  announcements.add(FEED);
  await pass(2 * SECOND);
  t.equal(seconds().length, attempts + 1, 'a new change is told');
});

t.test('a hub that is well again is told once', async (t) => {
  let isWell = false;
  const { announcements, pass, seconds } = setUp(t, () => isWell);
  announcements.add(FEED);
  await pass(15 * SECOND);
  isWell = true;
  await pass(10 * MINUTE);
  t.strictSame(seconds(), [1, 11, 31]);
});

t.test('the pauses of a feed that always changes grow only with failures in a row', async (t) => {
  let isWell = false;
  const { announcements, pass, seconds } = setUp(t, () => isWell);
  const change = async (forSeconds: number) => {
    for (let n = 0; n < 2 * forSeconds; n += 1) {
      announcements.add(FEED);
      await pass(SECOND / 2);
    }
  };
  await change(100);
  t.strictSame(seconds(), [1, 11, 31, 71]);
  isWell = true;
  await change(70);
  t.strictSame(seconds().slice(4), [151, 161]);
  isWell = false;
  await change(40);
  t.strictSame(seconds().slice(6), [171, 181, 201]);
});

t.test('of too many feeds the oldest is dropped, and four are told at a time', async (t) => {
  const { announcements, told, lost, pass } = setUp(t, () => new Promise(() => {}));
  const feeds = Array.from({ length: 10_003 }, (_, n) => `feed-${n}` as ReadId);
  for (const feed of feeds) announcements.add(feed);
  t.strictSame(lost, ['dropped', 'dropped', 'dropped']);
  await pass(MINUTE);
  t.strictSame(
    told.map(({ readId }) => readId),
    feeds.slice(3, 7),
  );
});

t.test('a feed that rests and is dropped is told no sooner', async (t) => {
  const { announcements, told, pass } = setUp(t);
  announcements.add(FEED);
  await pass(2 * SECOND);
  announcements.add(FEED);
  for (let n = 0; n < 10_000; n += 1) announcements.add(`feed-${n}` as ReadId);
  announcements.add(FEED);
  await pass(20 * SECOND);
  const [first, second] = told.filter(({ readId }) => readId === FEED);
  t.ok(second!.at - first!.at >= 10 * SECOND);
});

t.test('a stop tells what waits, but not what has failed, and waits no longer than a second', async (t) => {
  const { announcements, told, pass } = setUp(t, (readId) => readId !== 'failed' && new Promise(() => {}));
  announcements.add('failed' as ReadId);
  await pass(5 * SECOND);
  announcements.add(FEED);
  let isStopped = false;
  const stopping = announcements.stop().then(() => {
    isStopped = true;
  });
  await pass(500);
  t.strictSame(
    told.map(({ readId }) => readId),
    ['failed', FEED],
  );
  t.notOk(isStopped);
  await pass(500);
  await stopping;
  announcements.add('later' as ReadId);
  await pass(MINUTE);
  t.equal(told.length, 2);
});

t.test('a stop tells a change that came while its feed was told, unless that fails', async (t) => {
  const answers = new Map<ReadId, (isTold: boolean) => void>();
  const { announcements, told, pass } = setUp(t, (readId) => {
    return new Promise((resolve) => answers.set(readId, resolve));
  });
  const failing = 'failing' as ReadId;
  for (const readId of [FEED, failing]) announcements.add(readId);
  await pass(2 * SECOND);
  for (const readId of [FEED, failing]) announcements.add(readId);
  const stopping = announcements.stop();
  await pass(100);
  for (const [readId, answer] of answers) answer(readId !== failing);
  await pass(100);
  t.strictSame(
    told.map(({ readId }) => readId),
    [FEED, failing, FEED],
  );
  answers.get(FEED)!(true);
  await stopping;
});
