import t from 'tap';
import { once } from '../src/once.ts';

t.test('what failed is tried again at the next call, what was done is not', async (t) => {
  let attempts = 0;
  const load = once(async () => {
    attempts += 1;
    if (attempts === 1) throw new Error('too many open files');
    return attempts;
  });
  const together = await Promise.allSettled([load(), load()]);
  t.match(together, [{ status: 'rejected' }, { status: 'rejected' }]);
  t.equal(attempts, 1);
  t.same(await Promise.all([load(), load()]), [2, 2]);
  t.equal(await load(), 2);
});
