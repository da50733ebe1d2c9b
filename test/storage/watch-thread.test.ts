import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { type WatchNotice, WatchThread } from '../../src/storage/files/watch-thread.ts';
import { eventually } from '../support/eventually.ts';
import { threadsOf } from '../support/failing-threads.ts';

/** Keeps what a watch tells. */
function listener() {
  const said: string[] = [];
  const notices: WatchNotice[] = [];
  return {
    said,
    notices,
    onNotice: (notice: WatchNotice) => notices.push(notice),
    onDeath: () => said.push('death'),
    onReplaced: () => said.push('replaced'),
  };
}

t.test('a watch that cannot start is not started again, and says so of none', async (t) => {
  const { made, faults } = threadsOf(t);
  const heard = listener();
  faults.push('it dies');
  const started = new WatchThread().start({ dir: t.testdir(), events: true }, heard);
  await t.rejects(started, { code: 'ERR_MODULE_NOT_FOUND' });
  t.same(heard.said, []);
  t.equal(made.length, 1);
});

t.test('a watch that died is replaced as soon as a thread can be made and lives', async (t) => {
  const { made, faults } = threadsOf(t);
  const dir = t.testdir({ feed: {} });
  const heard = listener();
  const watch = new WatchThread();
  await watch.start({ dir, events: true }, heard);
  t.teardown(() => watch.close());
  faults.push('none is made', 'it dies', 'none is made');
  await made[0]!.terminate();
  t.ok(await eventually(() => made.length === 3));
  t.same(heard.said, ['death', 'replaced', 'death', 'replaced']);
  await writeFile(join(dir, 'feed', 'note.md'), 'by hand');
  t.ok(await eventually(() => heard.notices.some((notice) => JSON.stringify(notice).includes('note.md'))));
});
