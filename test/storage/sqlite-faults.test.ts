import { rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import t, { type Test } from 'tap';
import { newImageKey } from '../../src/feeds/ids.ts';
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { IN_SOAK } from '../support/effort.ts';
import { eventually } from '../support/eventually.ts';
import { databaseIn } from '../support/open-backend.ts';
import { CANNOT_MOUNT, makeReadOnly, smallDisk } from '../support/small-disk.ts';
import { edits, NEW, NO_LIMITS, OPEN, post, reads, writes } from '../support/storing.ts';
import { bytesOf, feedName, idsOf, newNote, textOf } from './contract.ts';
import { tally } from './contract-support.ts';
import { dataFolder, keptLog } from './files-support.ts';
import { opened } from './sqlite-support.ts';

t.setTimeout(600_000);

const MIB = 1024 * 1024;
const name = feedName('feed');
const needsMount = { skip: CANNOT_MOUNT };

/** A look into the database from outside. */
function look<T>(dir: string, sql: string): T {
  const db = new Database(databaseIn(dir), { readonly: true });
  try {
    return db.prepare(sql).get() as T;
  } finally {
    db.close();
  }
}

async function filesAreWhole(storage: Storage): Promise<boolean> {
  const { notes } = await reads(storage).page(name, { limit: 100 });
  for (const { id, type, size } of notes) {
    const file = await reads(storage).stat(name, `${id}.${type}` as never);
    if (!file || (await bytesOf(file)).byteLength !== size) return false;
  }
  return true;
}

t.test(
  'a full disk refuses with storage_full, keeps nothing half, and is well again',
  needsMount,
  async (t) => {
    const dir = await smallDisk(t, '6m');
    const ballast = join(dir, 'ballast');
    writeFileSync(ballast, Buffer.alloc(2 * MIB));
    const storage = await opened(t, dir);
    const kept = newNote('kept', 'md', { title: 'T', tags: ['x'] });
    await post(storage, name, kept);
    const large = newNote(Buffer.alloc(8 * MIB), 'png', { alt: 'a', tags: [] });
    await t.rejects(post(storage, name, large), { code: 'storage_full', status: 507, cause: Error });
    await t.rejects(writes(storage).post(feedName('new'), [large], NEW, NO_LIMITS), { code: 'storage_full' });
    t.equal(await storage.feed(feedName('new')), undefined);
    const many = Array.from({ length: 12 }, () => newNote(Buffer.alloc(400 * 1024), 'png'));
    const settled = await Promise.allSettled(
      many.map((note) => writes(storage).post(name, [note], OPEN, NO_LIMITS)),
    );
    const { object: stored = 0, storage_full: refused = 0 } = tally(settled);
    t.ok(refused > 0 && stored + refused === 12, `${stored} stored, ${refused} refused`);
    t.match(await storage.feed(name), { noteCount: 1 + stored, imageCount: stored });
    t.equal((await reads(storage).page(name, { limit: 100 })).notes.length, 1 + stored);
    t.ok(await filesAreWhole(storage));
    rmSync(ballast);
    await post(storage, name, newNote(Buffer.alloc(MIB), 'png'));
    t.equal(textOf(await reads(storage).note(name, kept.id)), 'kept');
  },
);

t.test(
  'a log that a full disk lets nobody copy is no other failure',
  { skip: IN_SOAK.skip || CANNOT_MOUNT },
  async (t) => {
    const dir = await smallDisk(t, '96m');
    const storage = await opened(t, dir);
    await post(storage, name, newNote('kept'));
    const reader = new Database(databaseIn(dir), { readonly: true });
    reader.exec('BEGIN');
    reader.prepare('SELECT count(*) FROM notes').get();
    const large = () => newNote(Buffer.alloc(MIB), 'png');
    const filled = await Promise.allSettled(Array.from({ length: 100 }, () => post(storage, name, large())));
    const { object: stored = 0, storage_full: refused = 0 } = tally(filled);
    t.ok(refused > 0 && stored + refused === 100, JSON.stringify(tally(filled)));
    reader.close();
    for (let i = 0; i < 3; i += 1)
      await t.rejects(post(storage, name, newNote(Buffer.alloc(12 * MIB), 'png')), { code: 'storage_full' });
    t.match(await storage.feed(name), { noteCount: 1 + stored });
  },
);

t.test('a disk that cannot be written to is store_unavailable until it can', needsMount, async (t) => {
  const dir = await smallDisk(t, '6m');
  const storage = await opened(t, dir);
  const note = newNote('kept');
  await post(storage, name, note);
  const uncover = makeReadOnly(t, dir);
  await t.rejects(storage.check(), { code: 'store_unavailable' });
  t.equal(textOf(await reads(storage).note(name, note.id)), 'kept', 'reads go on');
  uncover();
  await storage.check();
  await post(storage, name, newNote('well again'));
});

/** A storage, and its first thread, which makes the tables and is the one that writes. */
async function openedWithWriter(t: Test) {
  const threads: Worker[] = [];
  const noted = (thread: Worker) => threads.push(thread);
  process.on('worker', noted);
  const dir = await dataFolder(t);
  const storage = await opened(t, dir);
  process.off('worker', noted);
  return { dir, storage, writer: threads[0]! };
}

t.test('what the writing thread did last may be unheard of when it dies', async (t) => {
  const { dir, storage, writer } = await openedWithWriter(t);
  const heard: boolean[] = [];
  storage.onFreshness?.((isFresh) => heard.push(isFresh));
  await post(storage, name, newNote('before'));
  const unheard = new Database(databaseIn(dir));
  unheard.exec("UPDATE feeds SET title = 'unheard of'");
  unheard.close();
  await writer.terminate();
  await eventually(() => heard.length === 2);
  t.same(heard, [false, true]);
  t.match(await storage.feedToPost(name), { title: 'unheard of' });
  t.same(await storage.feedToPost(name), await storage.feed(name));
  await post(storage, name, newNote('after'));
  t.equal((await storage.feed(name))?.noteCount, 2);
});

t.test('no note gets the place of one that is gone when the writing thread has died', async (t) => {
  const { storage, writer } = await openedWithWriter(t);
  const [first, last, next] = [newNote('first'), newNote('last'), newNote('next')];
  await post(storage, name, first);
  await post(storage, name, last);
  const feed = (await storage.feed(name))!;
  const [place] = (await storage.arrivals(feed, undefined, 1))!.notes;
  t.equal(place?.id, last.id);
  await edits(storage).remove(name, last.id);
  await writer.terminate();
  await post(storage, name, next);
  t.match(await storage.arrivals(feed, place, 10), { notes: [{ id: next.id }] });
});

t.test('a write that cannot be made fails alone', async (t) => {
  const storage = await opened(t, await dataFolder(t), { maxBytes: 100 });
  const first = newNote('first');
  await post(storage, name, first);
  const notes = Array.from({ length: 20 }, (_, i) => (i % 5 === 4 ? first : newNote(`${i}`)));
  const all = await Promise.allSettled(
    notes.map((note) => writes(storage).post(name, [newNote('x', 'png'), note], OPEN, NO_LIMITS)),
  );
  t.same(
    all.map(({ status }) => status),
    notes.map((note) => (note === first ? 'rejected' : 'fulfilled')),
  );
  // The bytes of those that failed are free again.
  const { byteCount } = (await storage.feed(name))!;
  t.match(await storage.feed(name), { noteCount: 1 + 16 * 2, imageCount: 16 });
  await t.rejects(post(storage, name, newNote('x'.repeat(101 - byteCount))), { code: 'byte_limit' });
  await post(storage, name, newNote('x'.repeat(100 - byteCount)));
});

t.test('a lock that another program holds for a while is waited for', async (t) => {
  const dir = await dataFolder(t);
  const storage = await opened(t, dir);
  await post(storage, name, newNote('first'));
  const other = new Database(databaseIn(dir));
  other.exec('BEGIN IMMEDIATE');
  const posting = writes(storage).post(name, [newNote('second')], OPEN, NO_LIMITS);
  let isStored = false;
  posting.then(() => {
    isStored = true;
  });
  t.equal((await storage.feed(name))?.noteCount, 1, 'reads go on');
  await wait(300);
  t.equal(isStored, false);
  other.exec('ROLLBACK');
  other.close();
  t.match(await posting, { noteCount: 2 });
});

t.test('the log is copied into the database meanwhile, and never grows beyond its bound', async (t) => {
  const dir = await dataFolder(t);
  const storage = await opened(t, dir);
  const large = Buffer.alloc(5 * MIB, 'x');
  for (let i = 0; i < 8; i += 1) {
    const notes = Array.from({ length: 4 }, () => newNote(large, 'gif'));
    await Promise.all(notes.map((note) => post(storage, name, note)));
  }
  const sizes = ['-wal', ''].map((end) => statSync(databaseIn(dir) + end).size);
  t.ok(sizes[0]! < 100 * MIB, `the log has ${sizes[0]} bytes`);
  t.ok(
    await eventually(() => statSync(databaseIn(dir)).size > 80 * MIB),
    `${sizes[1]} bytes are in the database`,
  );
});

t.test('no write waits for somebody who reads for long, and then the log begins anew', async (t) => {
  const dir = await dataFolder(t);
  const storage = await opened(t, dir);
  const large = () => newNote(Buffer.alloc(5 * MIB, 'x'), 'gif');
  await post(storage, name, large());
  const reader = new Database(databaseIn(dir), { readonly: true });
  reader.exec('BEGIN');
  reader.prepare('SELECT count(*) FROM notes').get();
  let longest = 0;
  for (let i = 0; i < 20; i += 1) {
    const begun = performance.now();
    await post(storage, name, large());
    longest = Math.max(longest, performance.now() - begun);
  }
  t.ok(longest < 9_000, `${longest.toFixed(0)} ms at most`);
  const logBytes = () => statSync(`${databaseIn(dir)}-wal`).size;
  t.ok(logBytes() > 100 * MIB, 'what was written meanwhile is in the log');
  reader.close();
  for (let i = 0; i < 15; i += 1) await post(storage, name, large());
  t.ok(logBytes() < 100 * MIB, `${logBytes()} bytes`);
  const other = new Database(databaseIn(dir));
  other.exec('BEGIN IMMEDIATE');
  const posting = post(storage, name, newNote('after'));
  await Promise.race([posting, wait(300)]);
  other.exec('ROLLBACK');
  other.close();
  t.ok(await posting, 'and a lock is waited for as before');
});

t.test('the log stays short while what a large feed has left is cleared away', IN_SOAK, async (t) => {
  const dir = await dataFolder(t);
  const storage = await opened(t, dir);
  const text = 'x'.repeat(1_000);
  for (let i = 0; i < 20; i += 1)
    await post(
      storage,
      name,
      Array.from({ length: 1_000 }, () => newNote(text, 'md', { tags: ['a', 'b'] })),
    );
  await edits(storage).deleteFeed(name);
  const left = () => look<{ notes: number }>(dir, 'SELECT count(*) AS notes FROM notes').notes;
  t.ok(await eventually(() => left() === 0));
  const logBytes = statSync(`${databaseIn(dir)}-wal`).size;
  t.ok(logBytes < 90 * MIB, `${logBytes} bytes`);
});

t.test('what a deleted feed has left is cleared away, also after a stop in the middle', async (t) => {
  const dir = await dataFolder(t);
  const storage = await opened(t, dir);
  const meta = { tags: ['a', 'b'], expires: Date.now() + 3_600_000 };
  const notes = Array.from({ length: 300 }, (_, i) => newNote(`${i}`, 'md', { ...meta, key: `${i}` }));
  await post(storage, name, notes);
  const kept = newNote('kept', 'md', { tags: ['a'] });
  await post(storage, feedName('other'), kept);
  await edits(storage).deleteFeed(name);
  await storage.close();
  const again = await opened(t, dir);
  const left = () =>
    ['notes', 'tags', 'note_keys', 'expiries'].map(
      (table) => look<{ count: number }>(dir, `SELECT count(*) AS count FROM ${table}`).count,
    );
  t.ok(await eventually(() => left().join() === '1,1,0,0'));
  t.same(idsOf(await reads(again).page(feedName('other'), { limit: 9, tag: 'a' })), [kept.id]);
  await edits(again).deleteFeed(feedName('other'));
  t.ok(await eventually(() => left().join() === '0,0,0,0'), 'also without a start');
});

t.test('all pages of a feed of 100,000 notes together are the feed', IN_SOAK, async (t) => {
  const storage = await opened(t, await dataFolder(t));
  const expected: string[] = [];
  for (let i = 0; i < 100; i += 1) {
    const notes = Array.from({ length: 1_000 }, (_, n) =>
      newNote('text', 'md', { tags: n % 10 ? [] : ['tenth'] }),
    );
    expected.push(...notes.map((note) => note.id));
    await post(storage, name, notes);
  }
  const seen: string[] = [];
  let page: Awaited<ReturnType<Storage['page']>> = { notes: [], next: undefined };
  do {
    page = await reads(storage).page(name, { limit: 100, before: page.next });
    seen.push(...idsOf(page));
  } while (page.next);
  t.equal(seen.join(), expected.reverse().join());
  const tagged = await reads(storage).page(name, { limit: 100, tag: 'tenth' });
  t.same(idsOf(tagged), seen.filter((_, i) => (99_999 - i) % 10 === 0).slice(0, 100));
});

t.test('a long write that ends while the storage closes is no failure of the log', async (t) => {
  const log = keptLog();
  const storage = await openSqlite({
    file: databaseIn(await dataFolder(t)),
    maxFeeds: 0,
    maxBytes: 0,
    keepDays: 0,
    log,
  });
  const image = { key: newImageKey(), size: 16 * MIB };
  await post(storage, name, { ...newNote(Buffer.alloc(0), 'png'), image });
  const { pictures } = await storage.pictureRows.pictures(undefined, 1);
  const filled = storage.pictureRows.fill(pictures[0]!, Buffer.alloc(image.size));
  await storage.close();
  t.equal(await filled, true);
  t.same(log.lines, []);
});
