import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { BatchedCalls, Batcher } from '../../src/storage/batcher.ts';
import { eventually } from '../support/eventually.ts';

t.test('what comes in one turn is handed on together, in pieces when there is much', async (t) => {
  const handed: number[][] = [];
  const batcher = new Batcher<number>((all) => {
    handed.push([...all]);
  });
  for (let n = 0; n < 3; n += 1) batcher.add(n);
  t.same(handed, []);
  await nextTurn();
  t.same(handed.splice(0), [[0, 1, 2]]);
  for (let n = 0; n < 70; n += 1) batcher.add(n);
  t.same(
    handed.map(({ length }) => length),
    [32, 32],
    'at once',
  );
  await nextTurn();
  t.same(
    handed.map(({ length }) => length),
    [32, 32, 6],
  );
  t.same(handed.flat(), [...Array(70).keys()], 'in order');
  await nextTurn();
  t.equal(handed.length, 3);
});

t.test('what is asked for in one turn, or while a lookup runs, is one lookup together', async (t) => {
  const asked: string[][] = [];
  const answers = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const lookups = new BatchedCalls<string, string | undefined>(async (keys) => {
    const answer = answers[asked.length];
    asked.push([...keys]);
    await answer?.promise;
    return keys.map((key) => (key === 'none' ? undefined : key.toUpperCase()));
  });
  const first = ['a', 'a'].map((key) => lookups.call(key));
  await eventually(() => asked.length === 1);
  const later = ['b', 'none', 'b', 'a'].map((key) => lookups.call(key));
  answers[0]?.resolve();
  t.same(await Promise.all(first), ['A', 'A']);
  answers[1]?.resolve();
  t.same(await Promise.all(later), ['B', undefined, 'B', 'A']);
  t.same(asked, [
    ['a', 'a'],
    ['b', 'none', 'b', 'a'],
  ]);
});

t.test('a lookup that fails fails for those who asked, and the next one runs', async (t) => {
  let fails = true;
  const lookups = new BatchedCalls<string, string>(async () => {
    if (fails) throw new Error('no');
    return ['A'];
  });
  await t.rejects(lookups.call('a'), { message: 'no' });
  fails = false;
  t.equal(await lookups.call('a'), 'A');
});

t.test('a call fails alone with an error of its own', async (t) => {
  const calls = new BatchedCalls<number, number>(async (inputs) =>
    inputs.map((n) => (n === 1 ? new Error('one') : n)),
  );
  const settled = await Promise.allSettled([0, 1, 2].map((n) => calls.call(n)));
  t.match(settled, [{ value: 0 }, { reason: { message: 'one' } }, { value: 2 }]);
});

t.test('what is too much for one batch is for the next', async (t) => {
  const batches: number[] = [];
  const calls = new BatchedCalls<number, number>(
    async (inputs) => {
      batches.push(inputs.length);
      return inputs;
    },
    (mib) => mib * 1024 * 1024,
  );
  await Promise.all([3, 4, 9, 1].map((mib) => calls.call(mib)));
  t.same(batches, [2, 1, 1]);
  await Promise.all(Array.from({ length: 1_200 }, () => calls.call(0)));
  t.same(batches.slice(3), [32, 500, 500, 168]);
});
