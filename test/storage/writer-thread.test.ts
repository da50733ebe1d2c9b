import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { NoteIds } from '../../src/feeds/ids.ts';
import type { FeedName } from '../../src/feeds/names.ts';
import type { NewNote } from '../../src/feeds/note.ts';
import type { CommitObserver } from '../../src/storage/commit-observer.ts';
import { WriterThread } from '../../src/storage/files/writer-thread.ts';
import { threadsOf } from '../support/failing-threads.ts';
import { CANNOT_MOUNT, smallDisk } from '../support/small-disk.ts';
import { NEW, NO_LIMITS, writes } from '../support/storing.ts';
import { dataFolder, opened } from './files-support.ts';

/** An observer that keeps what it is told. */
function kept() {
  const seen = { wrote: [] as number[], committed: [] as number[] };
  const observer: CommitObserver = {
    wrote: (ms) => seen.wrote.push(ms),
    committed: (writes) => seen.committed.push(writes),
  };
  return { seen, observer };
}

const part = (name: string) => ({ name, bytes: Buffer.from(name) });

function startThread(t: Test, dir: string, observer?: CommitObserver): WriterThread {
  const thread = new WriterThread(dir, undefined, observer);
  t.teardown(() => thread.close());
  return thread;
}

t.test('an observer learns of every write, and of every write in the sync that it shared', async (t) => {
  const dir = await dataFolder(t);
  const { seen, observer } = kept();
  const thread = startThread(t, dir, observer);
  await mkdir(join(dir, 'feed'));
  const names = Array.from({ length: 50 }, (_, i) => `${i}.md`);
  await Promise.all(names.map((name) => thread.change(join(dir, 'feed'), [], [part(name)])));
  t.equal(seen.wrote.length, names.length);
  t.ok(seen.wrote.every((ms) => ms > 0));
  t.equal(
    seen.committed.reduce((sum, writes) => sum + writes, 0),
    names.length,
  );
  t.ok(seen.committed.length < names.length, 'some share a sync');
});

t.test('a write that fails is told of, but committed nothing', async (t) => {
  const dir = await dataFolder(t);
  const { seen, observer } = kept();
  const thread = startThread(t, dir, observer);
  await t.rejects(thread.change(join(dir, 'missing'), [], [part('a.md')]), { code: 'ENOENT' });
  t.match(seen, { wrote: [Number], committed: [] });
  t.equal(seen.committed.length, 0);
});

t.test('nobody needs to look', async (t) => {
  const dir = await dataFolder(t);
  t.equal((await startThread(t, dir).change(dir, [], [part('a.md')])).length, 1);
});

const unavailable = { code: 'store_unavailable' };

t.test('nothing is written in the folder of a thread that has died until that is allowed', async (t) => {
  const dir = await dataFolder(t);
  const { made } = threadsOf(t);
  const thread = startThread(t, dir);
  const [begun, other] = [join(dir, 'begun'), join(dir, 'other')];
  for (const folder of [begun, other]) await mkdir(folder);
  const dead: string[] = [];
  thread.onDeath = (folders) => dead.push(...folders);
  const write = thread.change(begun, [], [part('a.md')]);
  await turn();
  await Promise.all([t.rejects(write, unavailable), made[0]!.terminate()]);
  t.same(dead, [begun]);
  await t.rejects(thread.change(begun, [], [part('b.md')]), unavailable);
  await thread.change(other, [], [part('b.md')]);
  thread.release(begun);
  await thread.change(begun, [], [part('b.md')]);
});

t.test(
  'the same where it may have left something of a write that failed',
  { skip: CANNOT_MOUNT },
  async (t) => {
    const dir = await smallDisk(t, '1m');
    const { made } = threadsOf(t);
    const thread = startThread(t, dir);
    const failed = thread.change(dir, [], [{ name: 'a.md', bytes: Buffer.alloc(2 * 1024 * 1024) }]);
    await t.rejects(failed, { code: 'ENOSPC' });
    await made[0]!.terminate();
    await t.rejects(thread.change(dir, [], [part('b.md')]), unavailable);
  },
);

t.test('the storage tells its observer', async (t) => {
  const { seen, observer } = kept();
  const storage = await opened(t, await dataFolder(t), { commits: observer });
  const note: NewNote = {
    id: new NoteIds().next(),
    type: 'md',
    bytes: Buffer.from('hello'),
    meta: { tags: [] },
  };
  await writes(storage).post('feed' as FeedName, [note], NEW, NO_LIMITS);
  t.equal(seen.wrote.length, 1);
  t.same(seen.committed, [1, 1], 'the new folder, and the folder it is in');
});
