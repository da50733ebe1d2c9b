/** Reads of a note while a change of it is on the disk, but not durable: the change may be taken back. */
import { mkdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { noteFile } from '../../src/feeds/names.ts';
import { DurableWriter } from '../../src/storage/files/durable.ts';
import { FeedIndex } from '../../src/storage/files/feed-index.ts';
import { NoteReader } from '../../src/storage/files/note-reader.ts';
import { replaceNote, setMeta } from '../../src/storage/files/note-writes.ts';
import { Reconciler } from '../../src/storage/files/reconciler.ts';
import { scanAll } from '../../src/storage/files/scan.ts';
import { NO_LIMITS } from '../support/storing.ts';
import { feedName, newNote, textOf } from './contract.ts';
import { dataFolder, keptLog, SECRET, writeParts } from './files-support.ts';

const name = feedName('feed');
const { id } = newNote('old');
const file = noteFile(id, 'md');

/** A feed whose note nobody has read yet, and a disk whose next sync waits, and fails when it is told to. */
async function unread(t: Test) {
  const dir = await dataFolder(t);
  await mkdir(join(dir, name));
  for (const [one, text] of [
    [file, 'old'],
    [`.${file}.json`, '{"title":"old","tags":["old"]}'],
  ] as const) {
    await writeFile(join(dir, name, one), text);
    await utimes(join(dir, name, one), 1000, 1000);
  }
  const log = keptLog();
  const index = new FeedIndex(SECRET);
  index.addAll(await scanAll(dir, { add: () => {} }, log));
  const [syncing, sync] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const writer = new DurableWriter(undefined, {
    sync: () => {
      syncing.resolve();
      return sync.promise;
    },
  });
  const parts = writeParts({ dir, index, writer, log });
  const reconciler = new Reconciler(parts, () => {});
  const waiting = Promise.withResolvers<void>();
  const reader = new NoteReader(dir, (feed, seen) => {
    waiting.resolve();
    return reconciler.look(feed, seen);
  });
  const feed = index.get(name)!;
  const load = async () => reader.load(feed, feed.notes.get(file)!);

  /** Takes back a change after a read has begun, which ends at once or waits for it. */
  const takeBack = async <T>(change: Promise<unknown>, read: () => Promise<T>): Promise<T> => {
    await Promise.race([syncing.promise, change]);
    const reading = read();
    await Promise.race([reading, waiting.promise]);
    sync.reject(new Error('the disk is broken'));
    await t.rejects(change, /broken/);
    return reading;
  };
  return { parts, feed, reader, load, takeBack };
}

t.test('the first read of a note does not see an edit that is taken back', async (t) => {
  const { parts, feed, load, takeBack } = await unread(t);
  const edit = replaceNote(parts, feed.record(), id, { type: 'md', bytes: Buffer.from('newer') }, NO_LIMITS);
  t.equal(textOf(await takeBack(edit, load)), 'old');
  t.equal(textOf(await load()), 'old');
});

t.test('nor metadata', async (t) => {
  const { parts, feed, load, takeBack } = await unread(t);
  const edit = setMeta(parts, feed.record(), id, () => ({ title: 'newer', tags: [] }));
  t.equal((await takeBack(edit, load))?.meta.title, 'old');
  t.equal((await load())?.meta.title, 'old');
});

t.test('no note is kept under a tag that was taken back', async (t) => {
  const { parts, feed, reader, load, takeBack } = await unread(t);
  await load();
  const edit = setMeta(parts, feed.record(), id, () => ({ tags: ['new'] }));
  t.equal((await takeBack(edit, () => reader.tagged(feed, 'new'))).size, 0);
  t.equal((await reader.tagged(feed, 'old')).size, 1);
});
