import t from 'tap';
import { Lookups } from '../../src/storage/postgres/lookups.ts';
import { eventually } from '../support/eventually.ts';

t.test('what is asked for in one turn, or while a lookup runs, is one lookup together', async (t) => {
  const asked: string[][] = [];
  const answers = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const lookups = new Lookups<string, string>(async (keys) => {
    const answer = answers[asked.length];
    asked.push([...keys]);
    await answer?.promise;
    return new Map(keys.filter((key) => key !== 'none').map((key) => [key, key.toUpperCase()]));
  });
  const first = ['a', 'a'].map((key) => lookups.get(key));
  await eventually(() => asked.length === 1);
  const later = ['b', 'none', 'b', 'a'].map((key) => lookups.get(key));
  answers[0]?.resolve();
  t.same(await Promise.all(first), ['A', 'A']);
  answers[1]?.resolve();
  t.same(await Promise.all(later), ['B', undefined, 'B', 'A']);
  t.same(asked, [['a'], ['b', 'none', 'a']]);
});

t.test('a lookup that fails fails for those who asked, and the next one runs', async (t) => {
  let fails = true;
  const lookups = new Lookups<string, string>(async () => {
    if (fails) throw new Error('no');
    return new Map([['a', 'A']]);
  });
  await t.rejects(lookups.get('a'), { message: 'no' });
  fails = false;
  t.equal(await lookups.get('a'), 'A');
});
