import t from 'tap';
import { inTurns } from '../src/in-turns.ts';

t.test('no turn of the event loop has more items than asked for', async (t) => {
  const done: number[] = [];
  const turns: number[][] = [];
  const running = inTurns([0, 1, 2, 3, 4], 2, (item) => {
    done.push(item);
  });
  while (turns.flat().length < 5) {
    turns.push(done.splice(0));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await running;
  t.same(
    turns.filter(({ length }) => length > 0),
    [[0, 1], [2, 3], [4]],
  );
});
