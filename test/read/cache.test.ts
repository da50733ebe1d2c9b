import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { queryObjects } from 'node:v8';
import fc from 'fast-check';
import t from 'tap';
import type { ReadId } from '../../src/feeds/names.ts';
import { Representation } from '../../src/http/representation.ts';
import { type CacheableView, ReadCache } from '../../src/read/cache.ts';

const KIB = 1024;
const MAX = 64 * KIB;
const FEED = 'feed-1' as ReadId;
const OTHER = 'feed-2' as ReadId;

const PLAIN = { isHead: false, header: () => undefined };
const GZIP = { isHead: false, header: (name: string) => (name === 'accept-encoding' ? 'gzip' : undefined) };
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A view of `size` bytes that grows by `growth` when it is first asked for compressed. */
function view(size: number, growth = 0): Representation {
  const compress = async () => new Uint8Array(growth);
  return new Representation({ body: new Uint8Array(size), etag: 'x', fields: {}, compress });
}

/** A build that ends when the test says so. */
function deferred() {
  const { promise, resolve, reject } = Promise.withResolvers<CacheableView>();
  let calls = 0;
  const build = () => {
    calls += 1;
    return promise;
  };
  const done = (representation = view(100), keep = true, isGuest = false) => {
    resolve({ representation, isCacheable: keep, isGuest });
    return representation;
  };
  return { build, done, reject, calls: () => calls };
}

const built =
  (representation: Representation, keep = true) =>
  async () => ({ representation, isCacheable: keep });

t.test('guests take little room, and only from each other', async (t) => {
  const cache = new ReadCache(MAX);
  const guest =
    (size: number, growth = 0) =>
    async () => ({
      ...{ representation: view(size, growth), isCacheable: true, isGuest: true },
    });
  await cache.load(FEED, 'mine', built(view(1000)));
  await cache.load(FEED, 'first guest', guest(100));
  for (let n = 0; n < 100; n += 1) {
    await cache.load(OTHER, `guest ${n}`, guest(1000));
    t.ok(cache.get('mine'));
    t.ok(cache.get(`guest ${n}`));
    t.ok(cache.size <= MAX / 8 + 3 * KIB + 1000);
  }
  t.notOk(cache.get('first guest'));
  await cache.load(OTHER, 'large', guest(MAX / 8));
  t.notOk(cache.get('large'));
  const grows = await cache.load(OTHER, 'grows', guest(2000, MAX / 8));
  t.ok(cache.get('grows'));
  await grows.answer(GZIP);
  t.notOk(cache.get('grows'), 'with its compressed form it is too large');
  cache.drop(OTHER);
  t.ok(cache.get('mine'));
  cache.drop(FEED);
  t.equal(cache.size, 0);
});

t.test('a view that ends ends in time, also if the clock is set back meanwhile', async (t) => {
  const cache = new ReadCache(MAX);
  const { now } = Date;
  const until = now() + 200;
  const ending = async () => ({ representation: view(2000, 100), isCacheable: true, until });
  const shown = await cache.load(FEED, 'a', ending);
  t.equal(cache.get('a'), shown);
  t.intercept(Date, 'now', { value: () => now() - 3_600_000 });
  t.equal(cache.get('a'), shown);
  await shown.answer(GZIP);
  t.equal(cache.get('a'), shown, 'also with its compressed form');
  await wait(250);
  t.equal(cache.get('a'), undefined);
});

t.test('a view ends if the clock is set forward, too', async (t) => {
  const cache = new ReadCache(MAX);
  const { now } = Date;
  const until = now() + 3_600_000;
  await cache.load(FEED, 'a', async () => ({ representation: view(100), isCacheable: true, until }));
  t.ok(cache.get('a'));
  t.intercept(Date, 'now', { value: () => now() + 3_600_000 });
  t.equal(cache.get('a'), undefined);
});

t.test('who asks for a view after its end does not get it, although it is still being made', async (t) => {
  const cache = new ReadCache(MAX);
  const { promise, resolve } = Promise.withResolvers<CacheableView>();
  const early = cache.load(FEED, 'a', () => promise);
  const until = Date.now();
  const [ended, fresh] = [view(100), view(100)];
  const late = cache.load(FEED, 'a', built(fresh));
  resolve({ representation: ended, isCacheable: true, until });
  t.equal(await early, ended);
  t.equal(await late, fresh);
});

t.test('a view gets no date that was not settled before its making began', async (t) => {
  const cache = new ReadCache(MAX);
  let time = Date.UTC(2026, 0, 2);
  t.intercept(Date, 'now', { value: () => time });
  const making = deferred();
  const asked = cache.load(FEED, 'a', making.build);
  const fields = {};
  const shown = new Representation({ body: new Uint8Array(10), etag: 'x', fields, changedAt: time });
  time += 3_000;
  making.done(shown);
  const isDated = async () => (await shown.answer(PLAIN)).headers.lines.join().includes('Last-Modified');
  t.equal(await asked, shown);
  t.notOk(await isDated(), 'the feed may have changed since');
  t.equal(cache.get('a'), shown);
  t.ok(await isDated(), 'it has not');
});

t.test('what was built is kept until its feed changes', async (t) => {
  const cache = new ReadCache(MAX);
  const [mine, other] = [view(100), view(100)];
  t.equal(await cache.load(FEED, 'a', built(mine)), mine);
  await cache.load(OTHER, 'b', built(other));
  t.equal(cache.get('a'), mine);
  cache.drop(FEED);
  t.equal(cache.get('a'), undefined);
  t.equal(cache.get('b'), other);
  cache.drop('nobody' as ReadId);
  t.equal(cache.get('b'), other);
});

t.test('the cache counts what it had, what it had not, and what it forgot for room', async (t) => {
  const cache = new ReadCache(MAX);
  t.strictSame(cache.counts, { hits: 0, misses: 0, evictions: 0, entries: 0, bytes: 0 });
  cache.get('a');
  await cache.load(FEED, 'a', built(view(100)));
  cache.get('a');
  cache.get('a');
  t.strictSame(cache.counts, { hits: 2, misses: 1, evictions: 0, entries: 1, bytes: cache.size });
  cache.drop(FEED);
  t.match(cache.counts, { evictions: 0, entries: 0, bytes: 0 }, 'what is out of date makes no room');
  for (let i = 0; i < 10; i += 1) await cache.load(FEED, `${i}`, built(view(10 * KIB)));
  const { entries, evictions } = cache.counts;
  t.ok(evictions > 0);
  t.equal(entries + evictions, 10);
});

t.test('requests at once share one making, each key its own', async (t) => {
  const cache = new ReadCache(MAX);
  const [a, b] = [deferred(), deferred()];
  const asked = [1, 2, 3].map(() => cache.load(FEED, 'a', a.build));
  cache.load(FEED, 'b', b.build);
  t.equal(a.calls() + b.calls(), 2);
  const made = a.done();
  t.same(await Promise.all(asked), [made, made, made]);
});

t.test('what is made while its feed changes goes only to those who asked before', async (t) => {
  const cache = new ReadCache(MAX);
  const [before, after] = [deferred(), deferred()];
  const early = cache.load(FEED, 'a', before.build);
  cache.drop(FEED);
  const late = cache.load(FEED, 'a', after.build);
  t.equal(after.calls(), 1, 'made anew');
  const old = before.done();
  t.equal(await early, old);
  t.equal(cache.get('a'), undefined);
  const fresh = after.done();
  t.equal(await late, fresh);
  t.equal(cache.get('a'), fresh);
});

t.test('what was made before a change does not replace what was made after it', async (t) => {
  const cache = new ReadCache(MAX);
  const [before, after] = [deferred(), deferred()];
  const early = cache.load(FEED, 'a', before.build);
  cache.drop(FEED);
  const late = cache.load(FEED, 'a', after.build);
  const fresh = after.done();
  await late;
  before.done();
  await early;
  t.equal(cache.get('a'), fresh);
});

t.test('a making that fails, at once or later, fails for those who wait and is tried anew', async (t) => {
  const cache = new ReadCache(MAX);
  const failing = deferred();
  const asked = [cache.load(FEED, 'a', failing.build), cache.load(FEED, 'a', failing.build)];
  failing.reject(new Error('the storage is gone'));
  for (const promise of asked) await t.rejects(promise, /storage is gone/);
  await cache.load(FEED, 'b', built(view(100)));
  const throwing = () => {
    throw new Error('at once');
  };
  await t.rejects(cache.load(FEED, 'a', throwing), /at once/);
  const good = view(100);
  t.equal(await cache.load(FEED, 'a', built(good)), good);
});

t.test('what must not take room is answered and forgotten', async (t) => {
  const cache = new ReadCache(MAX);
  await cache.load(FEED, 'a', built(view(100), false));
  t.equal(cache.get('a'), undefined);
  t.equal(cache.size, 0);
});

t.test('one entry takes at most its part, also when it grows', async (t) => {
  const cache = new ReadCache(MAX);
  await cache.load(FEED, 'fits', built(view(cache.largestEntry)));
  await cache.load(FEED, 'too large', built(view(cache.largestEntry + 1)));
  t.ok(cache.get('fits'));
  t.equal(cache.get('too large'), undefined);
  const growing = view(cache.largestEntry, 1);
  await cache.load(FEED, 'growing', built(growing));
  t.ok(cache.get('growing'));
  await growing.answer(GZIP);
  t.equal(cache.get('growing'), undefined);
  t.ok(cache.get('fits'));
});

t.test('a compressed form counts, once', async (t) => {
  const cache = new ReadCache(MAX);
  const growing = view(2 * KIB, KIB);
  await cache.load(FEED, 'a', built(growing));
  const { size } = cache;
  await growing.answer(GZIP);
  await growing.answer(GZIP);
  t.equal(cache.size, size + KIB);
  cache.drop(FEED);
  t.equal(cache.size, 0);
});

t.test('a view that grows after its feed changed does not come back', async (t) => {
  const cache = new ReadCache(MAX);
  const old = view(2 * KIB, KIB);
  await cache.load(FEED, 'a', built(old));
  cache.drop(FEED);
  await old.answer(GZIP);
  t.equal(cache.size, 0);
  const fresh = view(100);
  await cache.load(FEED, 'a', built(fresh));
  await old.answer({ ...GZIP, header: (name) => (name === 'accept-encoding' ? 'br' : undefined) });
  t.equal(cache.get('a'), fresh);
});

t.test('what was not read for the longest gives way', async (t) => {
  const cache = new ReadCache(MAX);
  for (const key of ['a', 'b', 'c', 'd']) await cache.load(FEED, key, built(view(cache.largestEntry)));
  cache.get('a');
  await cache.load(FEED, 'e', built(view(cache.largestEntry)));
  t.same(
    ['a', 'b', 'c', 'd', 'e'].map((key) => cache.get(key) !== undefined),
    [true, false, true, true, true],
  );
});

t.test('while changes are not heard of nothing is kept, and what was kept is gone', async (t) => {
  const cache = new ReadCache(MAX);
  await cache.load(FEED, 'a', built(view(100)));
  cache.setEnabled(false);
  t.equal(cache.get('a'), undefined);
  await cache.load(FEED, 'a', built(view(100)));
  t.equal(cache.get('a'), undefined);
  t.equal(cache.size, 0);
  cache.setEnabled(true);
  const fresh = view(100);
  await cache.load(FEED, 'a', built(fresh));
  t.equal(cache.get('a'), fresh);
});

t.test(
  'what is being made when changes are missed, or heard of again, is for those who asked before',
  async (t) => {
    for (const isFresh of [false, true]) {
      const cache = new ReadCache(MAX);
      if (isFresh) cache.setEnabled(false);
      const [before, after] = [deferred(), deferred()];
      const early = cache.load(FEED, 'a', before.build);
      cache.setEnabled(isFresh);
      const late = cache.load(FEED, 'a', after.build);
      t.equal(after.calls(), 1, 'made anew');
      const old = before.done();
      t.equal(await early, old);
      t.equal(cache.get('a'), undefined);
      const fresh = after.done();
      t.equal(await late, fresh);
      cache.setEnabled(true);
    }
  },
);

t.test('while changes are not heard of a view is shared for half a second of its making', async (t) => {
  const cache = new ReadCache(MAX);
  cache.setEnabled(false);
  const [first, second] = [deferred(), deferred()];
  const begunAt = performance.now();
  const early = cache.load(FEED, 'a', first.build);
  let late = cache.load(FEED, 'a', second.build);
  t.equal(second.calls(), 0);
  while (second.calls() === 0) {
    await wait(10);
    late = cache.load(FEED, 'a', second.build);
  }
  t.ok(performance.now() - begunAt >= 490, 'not much sooner');
  const [old, fresh] = [first.done(), second.done()];
  t.same(await Promise.all([early, late]), [old, fresh]);
  cache.setEnabled(true);
});

for (const bytes of [0, 1, 4 * KIB]) {
  t.test(`a cache of ${bytes} bytes keeps nothing, and shares what is being made`, async (t) => {
    const cache = new ReadCache(bytes);
    const making = deferred();
    const asked = [cache.load(FEED, 'a', making.build), cache.load(FEED, 'a', making.build)];
    const made = making.done();
    t.same(await Promise.all(asked), [made, made]);
    t.equal(making.calls(), 1);
    t.equal(cache.get('a'), undefined);
    t.equal(cache.size, 0);
  });
}

t.test('a hundred thousand views are forgotten at once, without keeping the event loop', async (t) => {
  const ends = {
    'their feed changes': (cache: ReadCache) => cache.drop(FEED),
    'changes are missed': (cache: ReadCache) => cache.setEnabled(false),
  };
  for (const [name, end] of Object.entries(ends)) {
    const cache = new ReadCache(1024 * 1024 * KIB);
    const shared = view(10);
    for (let n = 0; n < 100_000; n += 1) await cache.load(FEED, `view ${n}`, built(shared));
    const before = process.threadCpuUsage();
    end(cache);
    const { user, system } = process.threadCpuUsage(before);
    t.ok(user + system < 25_000, `${name}: ${user + system} µs of CPU time`);
    t.equal(cache.get('view 0'), undefined);
    t.equal(cache.get('view 99999'), undefined);
    while (cache.size > 0) await turn();
    cache.setEnabled(true);
  }
});

t.test('a view that is made while those before it are still being forgotten stays', async (t) => {
  const cache = new ReadCache(1024 * 1024 * KIB);
  for (let n = 0; n < 5_000; n += 1) await cache.load(FEED, `view ${n}`, built(view(10)));
  const other = view(10);
  await cache.load(OTHER, 'other', built(other));
  cache.drop(FEED);
  const fresh = view(20);
  await cache.load(FEED, 'view 4999', built(fresh));
  while (cache.counts.entries > 2) await turn();
  t.equal(cache.get('view 4999'), fresh);
  t.equal(cache.get('other'), other);
});

t.test('nothing is left of feeds that are no longer cached', async (t) => {
  const cache = new ReadCache(MAX);
  const failing = async () => {
    throw new Error('unknown');
  };
  // The cache has a set of keys for every feed it knows; the heap tells how many sets there are.
  const before = queryObjects(Set, { format: 'count' });
  for (let i = 0; i < 1000; i += 1) {
    const id = (what: string) => `${what}-${i}` as ReadId;
    await cache.load(id('unknown'), `u${i}`, built(view(10), false));
    await cache.load(id('failed'), `f${i}`, failing).catch(() => {});
    await cache.load(id('large'), `l${i}`, built(view(MAX)));
    await cache.load(id('evicted'), `e${i}`, built(view(10 * KIB)));
    const growing = view(10 * KIB, MAX);
    await cache.load(id('outgrown'), `o${i}`, built(growing));
    await growing.answer(GZIP);
    const changing = deferred();
    const asked = cache.load(id('changing'), `c${i}`, changing.build);
    cache.drop(id('changing'));
    changing.done();
    await asked;
  }
  t.ok(cache.size > 0 && cache.size <= MAX);
  await turn();
  const added = queryObjects(Set, { format: 'count' }) - before;
  t.ok(added < 100, `${added} more sets than before`);
  cache.get('e999');
});

const operation = fc.oneof(
  { weight: 4, arbitrary: fc.record({ op: fc.constant('load'), feed: fc.nat(2), key: fc.nat(3) }) },
  { weight: 4, arbitrary: fc.record({ op: fc.constant('finish'), pick: fc.nat(), size: fc.nat(20 * KIB) }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('fail'), pick: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('drop'), feed: fc.nat(2) }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('grow'), pick: fc.nat() }) },
) as fc.Arbitrary<{ op: string; feed: number; key: number; pick: number; size: number }>;

t.test('under random reads and changes: bounded, never stale, one making at a time', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 60, size: 'max' }), async (operations) => {
      const cache = new ReadCache(MAX);
      const versions = [0, 0, 0];
      const madeAt = new Map<Representation, number>();
      const making: { id: string; version: number; work: ReturnType<typeof deferred> }[] = [];
      const made: Representation[] = [];
      const answers: Promise<void>[] = [];
      const name = (feed: number) => `feed-${feed}` as ReadId;

      const load = (feed: number, id: string) => {
        const version = versions[feed]!;
        const work = deferred();
        const isShared = making.some((other) => other.id === id && other.version === version);
        const promise = cache.load(name(feed), id, work.build);
        assert.equal(work.calls(), isShared ? 0 : 1);
        if (!isShared) making.push({ id, version, work });
        const check = (got: Representation) => assert.ok(madeAt.get(got)! >= version, 'a stale view');
        answers.push(promise.then(check, (cause) => assert.match(cause.message, /on purpose/)));
      };

      for (const { op, feed, key, pick, size } of operations) {
        if (op === 'load') {
          const id = `${feed} ${key}`;
          const ready = cache.get(id);
          if (ready === undefined) load(feed, id);
          else assert.equal(madeAt.get(ready), versions[feed]);
        } else if (op === 'drop') {
          versions[feed]! += 1;
          cache.drop(name(feed));
        } else if (op === 'grow') void made[pick % made.length]?.answer(GZIP);
        else if (making.length > 0) {
          const [{ version, work }] = making.splice(pick % making.length, 1) as [(typeof making)[0]];
          if (op === 'fail') work.reject(new Error('on purpose'));
          else {
            made.push(work.done(view(size, size >> 2), pick % 5 > 0, pick % 3 > 0));
            madeAt.set(made.at(-1)!, version);
          }
        }
        await turn();
        assert.ok(cache.size <= MAX);
      }
      for (const { version, work } of making) madeAt.set(work.done(), version);
      await Promise.all(answers);
      for (const feed of versions.keys()) cache.drop(name(feed));
      for (const representation of made) await representation.answer(GZIP);
      assert.equal(cache.size, 0);
    }),
    { numRuns: 300 },
  );
});
