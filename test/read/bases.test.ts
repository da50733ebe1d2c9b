import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { KnownBases } from '../../src/read/cache.ts';

const MINUTE = 60_000;
const eight = ['1', '2', '3', '4', '5', '6', '7', '8'];

/** Eight bases that were asked for at time 0. */
function full(): KnownBases {
  const bases = new KnownBases();
  for (const base of eight) assert.ok(bases.admit(base, 0));
  return bases;
}

t.test('the first eight have a place, and keep it', async (t) => {
  const bases = full();
  t.notOk(bases.admit('made up', MINUTE));
  for (const base of eight) t.ok(bases.admit(base, MINUTE));
});

t.test('one that was idle for over a minute gives its place away, the others do not', async (t) => {
  const bases = full();
  for (const base of eight.slice(1)) bases.admit(base, 30_000);
  t.ok(bases.admit('new', MINUTE + 1));
  t.notOk(bases.admit('1', MINUTE + 2));
  for (const base of eight.slice(1)) t.ok(bases.admit(base, MINUTE + 3));
});

t.test('one that was idle gives its place away also after the clock was set back', async (t) => {
  const [date, monotonic] = [Date.now(), performance.now()];
  const bases = new KnownBases();
  for (const base of eight) bases.admit(base);
  bases.use('1');
  t.intercept(Date, 'now', { value: () => date - 60 * MINUTE });
  t.intercept(performance, 'now', { value: () => monotonic + 2 * MINUTE });
  t.ok(bases.admit('new'));
});

t.test('what was refused has no place', async (t) => {
  const bases = full();
  bases.admit('made up', 1);
  for (const base of eight) bases.admit(base, MINUTE);
  t.notOk(bases.admit('made up', MINUTE + 1));
});

t.test('no more than eight bases are admitted within any minute', async () => {
  const step = fc.tuple(fc.nat(20), fc.nat(20_000));
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 100 }), (steps) => {
      const bases = new KnownBases();
      const admitted: [base: string, at: number][] = [];
      let now = 0;
      for (const [base, later] of steps) {
        now += later;
        if (bases.admit(String(base), now)) admitted.push([String(base), now]);
        const lately = new Set(admitted.filter(([, at]) => now - at <= MINUTE).map(([name]) => name));
        assert.ok(lately.size <= 8);
      }
    }),
  );
});
