import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { NoteIds } from '../../src/feeds/ids.ts';
import type { FeedName } from '../../src/feeds/names.ts';
import type { NewNote } from '../../src/feeds/note.ts';
import type { CommitObserver } from '../../src/storage/commit-observer.ts';
import { WriterThread } from '../../src/storage/files/writer-thread.ts';
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
