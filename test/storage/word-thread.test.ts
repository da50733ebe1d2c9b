import t from 'tap';
import { WordThread } from '../../src/storage/postgres/word-thread.ts';
import { eventually } from '../support/eventually.ts';
import { threadsOf } from '../support/failing-threads.ts';
import { keptLog } from './files-support.ts';

t.setTimeout(600_000);

t.test(
  'a thread that hangs or dies, and none that waits, is replaced by one that takes the note as it is written',
  async (t) => {
    const log = keptLog();
    const script = new URL('../fixtures/hanging-words.ts', import.meta.url);
    const thread = new WordThread({ url: 'postgres://nobody', isPooled: false }, log, script);
    await eventually(() => log.lines.some((line) => line.includes('(hangs,dies)')));
    t.equal(log.lines.filter((line) => line.includes('has ended')).length, 2);
    await thread.close();
  },
);

t.test('a thread that died is replaced as soon as one can be made', async (t) => {
  const { made, faults } = threadsOf(t);
  const thread = new WordThread({ url: 'postgres://nobody', isPooled: false }, keptLog());
  faults.push('none is made');
  await made[0]!.terminate();
  t.ok(await eventually(() => made.length === 2));
  t.same(faults, []);
  await thread.close();
});
