import { statSync } from 'node:fs';
import type { Worker } from 'node:worker_threads';
import t from 'tap';
import { eventually } from '../../support/eventually.ts';
import { FEEDS, IndexedFolder } from './indexed-folder.ts';

t.setTimeout(600_000);

t.test('threads without work end, leave a small file, and come back', async (t) => {
  let alive = 0;
  const noted = (thread: Worker) => {
    alive += 1;
    thread.once('exit', () => {
      alive -= 1;
    });
  };
  process.on('worker', noted);
  t.teardown(() => process.off('worker', noted));
  const folder = await IndexedFolder.make(t);
  folder.start(200);
  for (let n = 0; n < 3; n += 1) {
    await folder.mustBecomeRight(t, `${n}`);
    t.ok(await eventually(() => alive === 0), 'no thread is left');
    t.equal(statSync(`${folder.file}-wal`, { throwIfNoEntry: false })?.size ?? 0, 0);
    await folder.put(FEEDS[0]!, 100 + n);
    await folder.remove(FEEDS[1]!, n);
  }
  await folder.mustBecomeRight(t, 'at last');
  t.same(folder.lines, []);
});
