import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { Clearing } from '../../src/storage/postgres/clearing.ts';

t.test('a feed that is deleted while the last step ends is cleared away too', async (t) => {
  const over = Promise.withResolvers<void>();
  let steps = 0;
  // The moment between the look for deleted feeds and its end is too short to be met in a database.
  const transaction = async () => {
    steps += 1;
    await nextTurn();
    if (steps === 1) clearing.wake();
    else over.resolve();
    return false as never;
  };
  const clearing = new Clearing({ transaction });
  clearing.wake();
  await over.promise;
  await clearing.stop();
  t.equal(steps, 2);
});
