import { mkdir, rename, unlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { FeedName, NoteFile } from '../../src/feeds/names.ts';
import { Refusal } from '../../src/refusals.ts';
import { DurableWriter } from '../../src/storage/files/durable.ts';
import { FeedIndex } from '../../src/storage/files/feed-index.ts';
import { type FileSeen, Reconciler } from '../../src/storage/files/reconciler.ts';
import { UNSEEN } from '../../src/storage/files/stamp.ts';
import { KeyedLock } from '../../src/storage/keyed-lock.ts';
import { eventually } from '../support/eventually.ts';
import { feedName, newNote } from './contract.ts';
import { dataFolder, keptLog, SECRET } from './files-support.ts';

const name = feedName('feed');

/** KeyedLock of which the first so many of one feed fail. */
class FailingLock extends KeyedLock<FeedName> {
  failures: number;
  readonly #error: Error;

  constructor(failures: number, error: Error) {
    super();
    this.failures = failures;
    this.#error = error;
  }

  override exclusive<T>(key: FeedName, work: () => Promise<T>): Promise<T> {
    if (key === name) this.failures -= 1;
    return key === name && this.failures >= 0 ? Promise.reject(this.#error) : super.exclusive(key, work);
  }
}

async function reconciling(t: Test, locks: FailingLock) {
  const dir = await dataFolder(t);
  await mkdir(join(dir, name));
  await writeFile(join(dir, name, '.password'), 'hash');
  const index = new FeedIndex(SECRET);
  const log = keptLog();
  const writer = new DurableWriter(dir, undefined);
  const lookedAnew: FeedName[] = [];
  const onLost = (feed: FeedName) => lookedAnew.push(feed);
  const reconciler = new Reconciler({ dir, index, locks, log, writer, onLost });
  t.teardown(() => reconciler.stopTrying());
  reconciler.take([{ feed: name, folder: 'there' }]);
  return { dir, index, log, reconciler, lookedAnew };
}

t.test('what the disk does not let be read now is read later', async (t) => {
  const locks = new FailingLock(2, new Refusal('store_unavailable', 'The disk is away.'));
  const { index, log } = await reconciling(t, locks);
  t.ok(await eventually(() => index.get(name)?.files.passwordHash === 'hash'));
  t.equal(log.lines.length, 1, 'it is told once');
});

t.test('what cannot be read holds up nothing else that was seen, with it or later', async (t) => {
  const locks = new FailingLock(Number.POSITIVE_INFINITY, new Refusal('store_unavailable', 'Away.'));
  const { dir, index, reconciler, log } = await reconciling(t, locks);
  const [other, later] = [feedName('other'), feedName('later')];
  for (const one of [other, later]) await mkdir(join(dir, one));
  reconciler.take([
    { feed: name, folder: 'there' },
    { feed: other, folder: 'there' },
  ]);
  await reconciler.whenIdle();
  t.ok(index.get(other));
  reconciler.take([{ feed: later, folder: 'there' }]);
  await reconciler.whenIdle();
  t.ok(index.get(later));
  t.equal(log.lines.length, 1, 'it is told once');
  locks.failures = 0;
  t.ok(await eventually(() => index.get(name) !== undefined));
});

t.test(
  'a dot file counts once the watch has told of it, as it tells of the removal of no other',
  async (t) => {
    const { dir, index, reconciler } = await reconciling(t, new FailingLock(0, new Error()));
    await reconciler.whenIdle();
    await writeFile(join(dir, name, '.feed.json'), '{"title":"T"}');
    await writeFile(join(dir, name, '.password'), 'another hash');
    const seen = (file: string) => ({ feed: name, file, stamp: UNSEEN, first: false });
    await reconciler.look(name, [seen('.feed.json')]);
    const files = () => index.get(name)!.files;
    t.same([files().settings.title, files().passwordHash], ['T', 'hash']);
    await reconciler.look(name, [seen('.password')]);
    t.same([files().settings.title, files().passwordHash], ['T', 'another hash']);
  },
);

t.test('a report that fails after a newer one of its file does not take its place', async (t) => {
  const locks = new FailingLock(0, new Refusal('store_unavailable', 'Away.'));
  const { dir, index, reconciler } = await reconciling(t, locks);
  await reconciler.whenIdle();
  await writeFile(join(dir, name, 'a.md'), 'a');
  locks.failures = 2;
  const failing = (seen: FileSeen) => reconciler.look(name, [{ ...seen, file: '.feed.json' }, seen]);
  const seen = { feed: name, file: 'a.md', first: false };
  await failing({ ...seen, stamp: { mtimeMs: 1, size: 1 } });
  await failing({ ...seen, stamp: undefined });
  t.ok(await eventually(() => index.get(name)?.notes.size === 1));
});

t.test('a file that came back while a step took it for gone shows again', async (t) => {
  const locks = new FailingLock(0, new Error());
  const { dir, index, reconciler } = await reconciling(t, locks);
  await reconciler.whenIdle();
  await writeFile(join(dir, name, 'a.md'), 'a');
  // An old date, because the service looks at a file that has just changed once more anyway.
  await utimes(join(dir, name, 'a.md'), 1, 1);
  const seen = { feed: name, file: 'a.md', first: false };
  await reconciler.look(name, [{ ...seen, stamp: UNSEEN }]);
  const feed = index.get(name)!;
  const { file, size, stamp } = feed.notes.get('a.md' as NoteFile)!;
  const step = Promise.withResolvers<void>();
  const ended = locks.exclusive(name, async () => {
    await step.promise;
    index.apply(feed, { gone: [file] });
  });
  const look = reconciler.look(name, [{ ...seen, stamp: { ...stamp, size } }]);
  step.resolve();
  await Promise.all([ended, look]);
  t.ok(feed.notes.get(file));
});

t.test('the first look of the watch shows what came and went since the folder was read', async (t) => {
  const { dir, index, reconciler } = await reconciling(t, new FailingLock(0, new Error()));
  const [gone, came, described] = ['gone', 'came', 'described'].map((text) => newNote(text).id);
  const path = (file: string) => join(dir, name, file);
  for (const id of [gone, described]) await writeFile(path(`${id}.md`), 'text');
  reconciler.take([{ feed: name, folder: 'replaced' }]);
  await reconciler.whenIdle();
  const { notes } = index.get(name)!;
  await unlink(path(`${gone}.md`));
  await writeFile(path(`${came}.md`), 'text');
  await writeFile(path(`.${described}.md.json`), '{"title":"T"}');
  const look = async (file: string, isThere = true) => {
    const stamp = isThere ? { mtimeMs: 1, size: 4 } : undefined;
    await reconciler.look(name, [{ feed: name, file, stamp, first: true }]);
  };
  await look(`${gone}.md`, false);
  await look(`${came}.md`);
  t.same([...notes.files()], [`${described}.md`, `${came}.md`].sort());
  t.equal(notes.hasMeta(), false);
  await look(`.${described}.md.json`);
  t.ok(notes.hasMeta());
  await unlink(path(`.${described}.md.json`));
  await look(`.${described}.md.json`, false);
  t.equal(notes.hasMeta(), false);
});

t.test('an error of ours is told, and holds up nothing', async (t) => {
  const locks = new FailingLock(1, new TypeError('a mistake'));
  const { index, log, reconciler } = await reconciling(t, locks);
  await reconciler.whenIdle();
  t.equal(index.get(name), undefined);
  reconciler.take([{ feed: name, folder: 'there' }]);
  await reconciler.whenIdle();
  t.ok(index.get(name));
  t.equal(log.lines.length, 1);
});

t.test('nothing is tried any more once it is stopped', async (t) => {
  const locks = new FailingLock(Number.POSITIVE_INFINITY, new Refusal('store_unavailable', 'Away.'));
  const { index, reconciler } = await reconciling(t, locks);
  reconciler.stopTrying();
  await reconciler.whenIdle();
  t.equal(index.get(name), undefined);
});

t.test('a folder that has gone since it was seen is looked at anew: it may be back unseen', async (t) => {
  const { dir, index, reconciler, lookedAnew } = await reconciling(t, new FailingLock(0, new Error()));
  await reconciler.whenIdle();
  t.ok(index.get(name));
  const away = join(dir, 'Away');
  for (const folder of ['there', 'replaced'] as const) {
    await rename(join(dir, name), away);
    reconciler.take([{ feed: name, folder }]);
    await reconciler.whenIdle();
    t.equal(index.get(name), undefined);
    t.same(lookedAnew.splice(0), [name]);
    await rename(away, join(dir, name));
    reconciler.take([{ feed: name, folder: 'there' }]);
    await reconciler.whenIdle();
    t.ok(index.get(name));
  }
  await rename(join(dir, name), away);
  reconciler.take([{ feed: name, folder: 'gone' }]);
  await reconciler.whenIdle();
  t.same(lookedAnew, [], 'of a folder that was seen to go, the watch tells when it is back');
});
