import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { type NoteFile, noteFile, type ReadId } from '../../src/feeds/names.ts';
import { readRetired } from '../../src/storage/files/line-files.ts';
import { isTempName } from '../../src/storage/files/names.ts';
import { WatchThread } from '../../src/storage/files/watch-thread.ts';
import { WriterThread } from '../../src/storage/files/writer-thread.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { eventually } from '../support/eventually.ts';
import { CANNOT_MOUNT, makeReadOnly, smallDisk } from '../support/small-disk.ts';
import { edits, NO_LIMITS, OPEN, post, reads, writes } from '../support/storing.ts';
import { bytesOf, feedName, newNote, textOf } from './contract.ts';
import { dataFolder, opened } from './files-support.ts';

const name = feedName('feed');
const needsMount = { skip: CANNOT_MOUNT };

async function everyName(dir: string): Promise<string[]> {
  return (await readdir(dir, { recursive: true })).sort();
}

/** Leaves no room on a small disk. */
async function fill(dir: string): Promise<void> {
  await writeFile(join(dir, 'ballast'), Buffer.alloc(2 * 1024 * 1024)).catch(() => undefined);
}

const countOf = async (storage: Storage) => (await storage.feed(name))?.noteCount;

t.test('a full disk refuses with storage_full and keeps nothing half', needsMount, async (t) => {
  const dir = await smallDisk(t, '1m');
  const storage = await opened(t, dir);
  const kept = newNote('kept', 'md', { title: 'T', tags: ['x'] });
  await post(storage, name, kept);
  const before = await everyName(dir);
  const large = newNote(Buffer.alloc(2 * 1024 * 1024), 'png', { alt: 'a', tags: [] });
  await t.rejects(post(storage, name, large), { code: 'storage_full', status: 507, cause: Error });
  await t.rejects(post(storage, feedName('new'), large), { code: 'storage_full' });
  const many = Array.from({ length: 8 }, () => newNote(Buffer.alloc(400 * 1024), 'png'));
  const settled = await Promise.allSettled(many.map((note) => post(storage, name, note)));
  const stored = settled.filter((one) => one.status === 'fulfilled').length;
  t.ok(stored < 8);
  t.equal(await countOf(storage), 1 + stored, 'what was refused is not listed');
  t.equal((await everyName(dir)).length, before.length + stored, 'and left no file');
  t.equal(await storage.feed(feedName('new')), undefined);
  const small = newNote('well again');
  await post(storage, feedName('new'), small, { readId: 'chosen' as never });
  t.equal((await reads(storage).page(feedName('new'), { limit: 1 })).notes[0]?.id, small.id);
});

t.test('a full disk takes all notes of a request or none', needsMount, async (t) => {
  const dir = await smallDisk(t, '1m');
  const storage = await opened(t, dir);
  const text = newNote('before', 'md', { title: 'T', tags: [] });
  await post(storage, name, text);
  const pictures = Array.from({ length: 4 }, () =>
    newNote(Buffer.alloc(300 * 1024), 'png', { alt: 'a', tags: ['x'] }),
  );
  const before = await everyName(dir);
  const changes: unknown[] = [];
  storage.onChange((change) => changes.push(change));
  const full = { code: 'storage_full', status: 507 };
  await t.rejects(post(storage, name, [...pictures, newNote('after')]), full);
  await t.rejects(edits(storage).replace(name, text.id, Buffer.from('after'), { added: pictures }), full);
  t.same(await everyName(dir), before);
  t.equal(textOf(await reads(storage).note(name, text.id)), 'before');
  t.equal(await countOf(storage), 1);
  t.same(changes, []);

  const other = feedName('new');
  await t.rejects(post(storage, other, pictures, { readId: 'chosen' as never }), full);
  t.equal(await storage.feed(other), undefined, 'nor is a feed made for them');
  t.same(await everyName(dir), before);
  t.match(await post(storage, other, pictures.slice(0, 2), { readId: 'chosen' as never }), { noteCount: 2 });
  const edited = await edits(storage).replace(name, text.id, Buffer.from('after'), {
    added: [newNote('x', 'gif')],
  });
  t.equal(textOf(edited), 'after', 'well again');
});

t.test(
  'a read-only disk refuses with store_unavailable, still reads, and is well again',
  needsMount,
  async (t) => {
    const dir = await smallDisk(t, '1m');
    const storage = await opened(t, dir);
    const note = newNote('text', 'gif');
    await post(storage, name, note);
    const before = await everyName(dir);
    await storage.check();
    const makeWritable = makeReadOnly(t, dir);
    await t.rejects(storage.check(), { code: 'store_unavailable', status: 503 });
    await t.rejects(post(storage, name, newNote('2')), {
      code: 'store_unavailable',
      cause: { code: 'EROFS' },
    });
    await t.rejects(post(storage, feedName('new'), newNote('2')), { code: 'store_unavailable' });
    const file = await reads(storage).stat(name, `${note.id}.gif` as never);
    t.equal((await bytesOf(file!)).toString(), 'text');
    t.same(await everyName(dir), before);
    makeWritable();
    await storage.check();
    t.equal((await post(storage, name, newNote('3'))).noteCount, 2);
  },
);

t.test('a read-only folder of one feed leaves the others alone', needsMount, async (t) => {
  const dir = await dataFolder(t);
  const storage = await opened(t, dir);
  await post(storage, name, newNote('1'));
  const makeWritable = makeReadOnly(t, join(dir, name));
  await t.rejects(post(storage, name, newNote('2')), { code: 'store_unavailable' });
  await post(storage, feedName('other'), newNote('2'));
  makeWritable();
  t.equal((await post(storage, name, newNote('3'))).noteCount, 2);
});

t.test('no edit on a read-only disk changes anything', needsMount, async (t) => {
  const dir = await dataFolder(t);
  const storage = await opened(t, dir);
  const picture = newNote('p', 'png', { alt: 'A', tags: ['a'] });
  await post(storage, name, picture);
  const settings = { title: 'T', description: '', showSender: true, image: `${picture.id}.png` as NoteFile };
  const configure = (changed: object) => edits(storage).configure(name, changed);
  await configure(settings);
  const seen = async () => [
    await storage.feed(name),
    await reads(storage).page(name, { limit: 9, tag: 'a' }),
    await everyName(dir),
  ];
  const before = await seen();
  const changes: unknown[] = [];
  storage.onChange((change) => changes.push(change));
  const works: (() => Promise<unknown>)[] = [
    () => edits(storage).replace(name, picture.id, Buffer.from('x')),
    () => edits(storage).replace(name, picture.id, Buffer.from('y'), { added: [newNote('2')] }),
    () => writes(storage).post(name, [newNote('3'), newNote('4')], OPEN, NO_LIMITS),
    () => edits(storage).describe(name, picture.id, { title: '', tags: [] }),
    () => edits(storage).remove(name, picture.id),
    () => configure({ title: 'U' }),
    () => configure({ readId: 'another' }),
    () => edits(storage).setPassword(name, 'hash'),
    () => edits(storage).deleteFeed(name),
    () => writes(storage).create(feedName('new'), { passwordHash: 'hash' }),
  ];
  const makeWritable = makeReadOnly(t, dir);
  for (const work of works) await t.rejects(work(), { code: 'store_unavailable', cause: { code: 'EROFS' } });
  makeWritable();
  t.same(await seen(), before);
  t.same(changes, []);
  for (const work of works) t.ok(await work(), 'well again');
});

t.test('a full disk takes no edit, and lets notes be removed', needsMount, async (t) => {
  const dir = await smallDisk(t, '1m');
  const storage = await opened(t, dir);
  const note = newNote('kept', 'md', { title: 'T', tags: [] });
  await post(storage, name, note);
  await fill(dir);
  const before = await everyName(dir);
  await t.rejects(edits(storage).replace(name, note.id, Buffer.alloc(9000)), {
    code: 'storage_full',
    status: 507,
  });
  await t.rejects(edits(storage).setPassword(name, 'hash'), { code: 'storage_full' });
  t.same(await everyName(dir), before);
  t.match(await reads(storage).note(name, note.id), { size: 4, meta: { title: 'T' } });
  t.equal(await edits(storage).remove(name, note.id), true);
});

t.test('a full disk lets a sweep remove notes', needsMount, async (t) => {
  const dir = await smallDisk(t, '1m');
  const storage = await opened(t, dir);
  const [kept, expires] = [newNote('kept'), Date.now() - 1];
  const expired = ['1', '2', '3'].map((text) => newNote(text, 'md', { tags: [], expires }));
  await post(storage, name, [...expired, kept]);
  await fill(dir);
  await storage.write({ kind: 'sweep', name, target: OPEN });
  t.equal(await countOf(storage), 1);
  t.same(await readdir(join(dir, name)), ['.readid', `${kept.id}.md`]);
});

t.test('a full disk lets the title image be removed, also by a sweep', needsMount, async (t) => {
  const dir = await smallDisk(t, '1m');
  const storage = await opened(t, dir);
  const [picture, swept, title] = [newNote('1', 'png'), feedName('swept'), 'T'.repeat(5_000)];
  const expired = ['2', '3'].map((text) => newNote(text, 'png', { tags: [], expires: Date.now() - 1 }));
  await post(storage, name, picture);
  await post(storage, swept, expired);
  await edits(storage).configure(name, { title, image: noteFile(picture.id, 'png') });
  await edits(storage).configure(swept, { title, image: noteFile(expired[0]!.id, 'png') });
  await fill(dir);
  t.equal(await edits(storage).remove(name, picture.id), true);
  await storage.write({ kind: 'sweep', name: swept, target: OPEN });
  for (const feed of [name, swept])
    t.match(await storage.feed(feed), { noteCount: 0, image: undefined, title });
});

t.test('a feed can be deleted on a full disk, and nobody gets its read id', needsMount, async (t) => {
  const dir = await smallDisk(t, '1m');
  let storage = await opened(t, dir);
  const chosen = { readId: 'chosen' as never };
  await post(storage, name, newNote('1'), chosen);
  await fill(dir);
  t.equal(await edits(storage).deleteFeed(name), true);
  t.equal(await storage.feed(name), undefined);
  await storage.close();
  storage = await opened(t, dir);
  await t.rejects(post(storage, name, newNote('2'), chosen), { code: 'taken' });
});

t.test('nobody gets a read id that a full disk has no room to note, also after a restart', async (t) => {
  const dir = await dataFolder(t);
  const chosen = { readId: 'chosen' as ReadId };
  const isNoted = async () => (await readFile(join(dir, '.deleted-read-ids'), 'utf8')).includes('chosen');
  /** A writer that writes every file but the one with the read ids. */
  const writer = () => {
    const full = () => Promise.reject(Object.assign(new Error('full'), { code: 'ENOSPC', syscall: 'write' }));
    const inner = new WriterThread(dir, undefined);
    const { append, change } = inner;
    return Object.assign(inner, {
      append: (...args: Parameters<typeof append>) =>
        args[1] === '.deleted-read-ids' ? full() : append(...args),
      change: (...args: Parameters<typeof change>) =>
        args[1].some((one) => one.name === '.deleted-read-ids') ? full() : change(...args),
    });
  };
  const openFull = () => opened(t, dir, {}, { writer: writer(), watch: new WatchThread() });
  const isTaken = (storage: Storage) =>
    t.rejects(post(storage, feedName('another'), newNote('2'), chosen), { code: 'taken' });

  const first = await openFull();
  await post(first, name, newNote('1'), chosen);
  await t.rejects(edits(first).deleteFeed(name), { code: 'store_unavailable', message: /deleted/ });
  t.equal(await first.feed(name), undefined);
  await isTaken(first);
  await first.close();
  const second = await openFull();
  await isTaken(second);
  await second.close();
  t.match((await readRetired(dir)).split('\n'), ['', 'chosen'], 'a move takes it along');
  const third = await opened(t, dir);
  await isTaken(third);
  t.ok(await eventually(async () => !(await readdir(dir)).some(isTempName)), 'nothing is left of the feed');
  t.ok(await isNoted());
  await third.close();
  await isTaken(await opened(t, dir));
});

t.test('no error names a feed or a path', needsMount, async (t) => {
  const dir = await dataFolder(t);
  const storage = await opened(t, dir);
  const secret = feedName('very-secret-name');
  await post(storage, secret, newNote('1'));
  makeReadOnly(t, join(dir, secret));
  const error = await post(storage, secret, newNote('2')).catch((e) => e);
  t.equal(error.cause.code, 'EROFS');
  const texts = [
    error.message,
    error.cause.message,
    JSON.stringify(error),
    JSON.stringify(error.cause),
  ].join();
  t.notMatch(texts, /very-secret-name/);
  t.notMatch(texts, dir);
});
