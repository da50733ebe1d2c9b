import fc from 'fast-check';
import t from 'tap';
import { KeyedLimit } from '../src/worker-pool.ts';

t.test('no key has more tasks at once than its limit, whenever they begin and end', async () => {
  const task = fc.record({ begin: fc.nat(30), ticks: fc.nat(8), fails: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 3 }),
      fc.array(task, { maxLength: 12 }),
      async (limit, tasks) => {
        const limits = new KeyedLimit(limit);
        let running = 0;
        let isWithin = true;
        const ticks = async (count: number) => {
          for (let n = 0; n < count; n += 1) await undefined;
        };
        const run = async ({ begin, ticks: turns, fails }: (typeof tasks)[number]) => {
          await ticks(begin);
          await limits.run('key', async () => {
            running += 1;
            isWithin &&= running <= limit;
            await ticks(turns);
            running -= 1;
            if (fails) throw new Error('failed');
          });
        };
        await Promise.allSettled(tasks.map(run));
        return isWithin && running === 0;
      },
    ),
    { numRuns: 2_000 },
  );
});
