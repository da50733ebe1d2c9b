import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { Gathering } from '../../src/storage/gathering.ts';

t.test('what comes in one turn is handed on together, in pieces when there is much', async (t) => {
  const handed: number[][] = [];
  const gathering = new Gathering<number>((all) => handed.push(all));
  for (let n = 0; n < 3; n += 1) gathering.add(n);
  t.same(handed, []);
  await nextTurn();
  t.same(handed.splice(0), [[0, 1, 2]]);
  for (let n = 0; n < 70; n += 1) gathering.add(n);
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
