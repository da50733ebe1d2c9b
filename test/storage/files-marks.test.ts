/** Keys and expiries in metadata files: written by hand, found again after a start, and kept in `.marks`. */
import { cp, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import t from 'tap';
import { dateOfId, NoteIds } from '../../src/feeds/ids.ts';
import { type FeedName, type NoteId, noteFile } from '../../src/feeds/names.ts';
import type { NoteMeta } from '../../src/feeds/note.ts';
import { DurableWriter, FolderSync } from '../../src/storage/files/durable.ts';
import { MARKS_LIMITS } from '../../src/storage/files/mark-keeper.ts';
import { endLine } from '../../src/storage/files/marks.ts';
import { CLOCK_TICK_MS } from '../../src/storage/files/stamp.ts';
import { type FolderWatch, WatchThread } from '../../src/storage/files/watch-thread.ts';
import { WriterThread } from '../../src/storage/files/writer-thread.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { eventually } from '../support/eventually.ts';
import { threadsOf } from '../support/failing-threads.ts';
import { edits, NO_LIMITS, OPEN, post, reads } from '../support/storing.ts';
import { feedName, idsOf, newNote } from './contract.ts';
import { dataFolder, keptLog, opened } from './files-support.ts';

const name = feedName('feed');
const ids = new NoteIds();
/** So many metadata files that `.marks` is written. */
const MANY = 300;
/** With which it is written sooner, after so many notes. */
const marksLimits = { ...MARKS_LIMITS, unsaved: 4 };
const SOME = 6;
const EXPIRES = '"expires": "2020-01-01T00:00:00Z"';
const BLIND: FolderWatch = { start: async () => {}, order: () => {}, close: async () => {} };

const keyed = (key: string, meta: Partial<NoteMeta> = {}) =>
  newNote(key, 'md', { key, posted: { hash: key }, tags: [], ...meta });

/** The id of the note that answers a post under a key. */
async function answering(storage: Storage, key: string, feed = name): Promise<NoteId | undefined> {
  const notes = [keyed(key)];
  const written = await storage.write({ kind: 'post', name: feed, target: OPEN, notes, limits: NO_LIMITS });
  return written?.isUnchanged ? written.note?.id : undefined;
}

/** Writes a note with metadata by hand; returns its id. */
async function place(dir: string, meta: string, { feed = name, id = ids.next() } = {}): Promise<NoteId> {
  await mkdir(join(dir, feed), { recursive: true });
  await writeFile(join(dir, feed, `.${id}.md.json`), meta);
  await writeFile(join(dir, feed, `${id}.md`), 'by hand');
  return id;
}

const listed = async (storage: Storage, feed: FeedName = name) =>
  idsOf(await reads(storage).page(feed, { limit: 100 }));
const handMade = (key: string) => JSON.stringify({ key, posted: { hash: key } });
const marksIn = (dir: string) => readFile(join(dir, name, '.marks'), 'utf8').catch(() => '');

t.test('what somebody writes while the service runs or is stopped counts', async (t) => {
  const dir = await dataFolder(t);
  const before = await place(dir, handMade('before'));
  const expired = await place(dir, `{${EXPIRES}}`);
  let storage = await opened(t, dir);
  t.same(await listed(storage), [before], 'at once');
  t.equal(await answering(storage, 'before'), before);
  t.same(await storage.due(Date.now()), [name]);

  const during = await place(dir, handMade('during'));
  const last = await place(dir, handMade('last'), { id: 'by hand' as NoteId });
  t.ok(await eventually(async () => (await storage.feed(name))?.noteCount === 4));
  t.equal(await answering(storage, 'during'), during);
  t.equal(await answering(storage, 'last'), last);
  await writeFile(join(dir, name, `.${during}.md.json`), `{"key": "other", ${EXPIRES}}`);
  t.ok(await eventually(async () => !(await listed(storage)).includes(during)));
  const stat = async () => storage.stat((await storage.feed(name))!, noteFile(during, 'md'));
  t.ok(await eventually(async () => (await stat()) === undefined));
  await storage.close();

  await writeFile(join(dir, name, `.${before}.md.json`), handMade('changed'));
  await writeFile(join(dir, name, `.${expired}.md.json`), handMade('revived'));
  storage = await opened(t, dir);
  t.equal(await answering(storage, 'revived'), expired);
  t.equal(await answering(storage, 'changed'), before);
  t.equal(await answering(storage, 'before'), undefined, 'a key that is gone is free');
});

t.test(
  'a start finds keys and expiries of many notes, also without `.marks` or with a broken one',
  async (t) => {
    const dir = await dataFolder(t);
    let storage = await opened(t, dir);
    const soon = Date.now() + 3_600_000;
    const notes = Array.from({ length: MANY }, (_, n) => keyed(`key/${n} `.trim(), { expires: soon + n }));
    await post(storage, name, newNote('first'));
    for (let n = 0; n < MANY; n += 50) await post(storage, name, notes.slice(n, n + 50));
    t.ok(await eventually(async () => (await marksIn(dir)).split('\n').length > 200));
    const isComplete = async (why: string) => {
      for (const n of [0, 255, MANY - 1]) t.equal(await answering(storage, `key/${n}`), notes[n]!.id, why);
      t.same(await storage.due(soon - 1), [], why);
      t.ok((await storage.due(soon)).includes(name), why);
      await storage.close();
    };
    await isComplete('before a start');
    for (const breakIt of [
      async () => {},
      () => rm(join(dir, name, '.marks')),
      () => writeFile(join(dir, name, '.marks'), '9/../x.md/\n\0//\nnonsense\n1/a.md/key/7\n'),
      async () => writeFile(join(dir, name, '.marks'), (await marksIn(dir)).slice(0, 1000)),
      () => writeFile(join(dir, name, '.marks'), endLine(Date.now() + 1e9)),
      // The last line as older versions wrote it.
      () => writeFile(join(dir, name, '.marks'), `${Date.now()}\n`),
      () => cp(join(dir, name), join(dir, 'copy'), { recursive: true }),
    ]) {
      await breakIt();
      storage = await opened(t, dir);
      await isComplete(String(breakIt));
    }
    storage = await opened(t, dir);
    t.equal(await answering(storage, 'key/9', feedName('copy')), notes[9]!.id, 'a copy of the folder works');
  },
);

t.test('a sweep before the expired notes are known takes no others in their place', async (t) => {
  const dir = await dataFolder(t);
  const kept: NoteId[] = [];
  for (let n = 0; n < 3; n += 1) kept.unshift(await place(dir, '{"title": "kept"}'));
  for (let n = 0; n < 2; n += 1) await place(dir, `{${EXPIRES}}`);
  await writeFile(join(dir, name, '.feed.json'), '{"keep": {"notes": 3}}');
  const storage = await opened(t, dir, {}, { writer: new WriterThread(dir, undefined), watch: BLIND });
  await storage.write({ kind: 'sweep', name, target: OPEN });
  t.same(await listed(storage), kept);
});

t.test('an expired note is not there before it is known which notes have expired', async (t) => {
  const dir = await dataFolder(t);
  const [first, gone, last] = [
    await place(dir, '{"title": "kept"}'),
    await place(dir, `{${EXPIRES}}`),
    await place(dir, '{"title": "kept"}'),
  ];
  const storage = await opened(t, dir, {}, { writer: new WriterThread(dir, undefined), watch: BLIND });
  t.equal(await reads(storage).stat(name, noteFile(gone, 'md')), undefined);
  const position = { createdAt: dateOfId(last)!, file: noteFile(last, 'md') };
  t.match(await reads(storage).neighbours(name, position), { older: first });
});

t.test('a note of which somebody has just removed the expiry is not swept', async (t) => {
  const dir = await dataFolder(t);
  const storage = await opened(t, dir, {}, { writer: new WriterThread(dir, undefined), watch: BLIND });
  const note = newNote('kept', 'md', { tags: [], expires: Date.UTC(2020, 0) });
  await post(storage, name, note);
  await writeFile(join(dir, name, `.${note.id}.md.json`), '{}');
  await storage.write({ kind: 'sweep', name, target: OPEN });
  t.same(await listed(storage), [note.id]);
});

t.test('a key is found without reading the metadata files that have not changed', async (t) => {
  const dir = await dataFolder(t);
  const all: NoteId[] = [];
  for (let n = 0; n < MANY; n += 1) all.push(await place(dir, handMade(`k${n}`)));
  const folder = join(dir, name);
  let storage = await opened(t, dir);
  const { mtimeMs } = await stat(folder);
  t.ok(await eventually(async () => (await marksIn(dir)).includes(`${all[9]}.md/k9\n`)));
  t.ok(await eventually(async () => (await stat(folder)).mtimeMs - mtimeMs < 2), 'the feed has not changed');
  await storage.close();
  // As if they had been there for long: a key that no file has is a claim that only `.marks` makes.
  const text = (await marksIn(dir)).replace(/[^\n]+\n$/, endLine(Date.now()));
  await writeFile(join(folder, '.marks'), text.replace('/k9\n', '/claimed\n'));
  storage = await opened(t, dir);
  t.equal(await answering(storage, 'k8'), all[8]);
  t.equal(await answering(storage, 'claimed'), undefined, 'a claim is checked');
  t.equal(await answering(storage, 'k9'), undefined, 'the other files were not read');
});

t.test('what was not in `.marks` at a start comes into it', async (t) => {
  const dir = await dataFolder(t);
  const expires = Date.now() + 3_600_000;
  const all = Array.from({ length: 2 * SOME }, (_, n) => keyed(`k${n}`, n === SOME - 1 ? { expires } : {}));
  for (const notes of [all.slice(0, SOME), all.slice(SOME)]) {
    const storage = await opened(t, dir, { marksLimits });
    const before = await marksIn(dir);
    for (const note of notes) await post(storage, name, note);
    t.ok(await eventually(async () => (await marksIn(dir)).length > before.length));
    await storage.close();
  }
  // As if the notes had been there for long, when it was written last.
  await writeFile(join(dir, name, '.marks'), `${await marksIn(dir)}${endLine(Date.now())}`);
  const storage = await opened(t, dir);
  t.equal(await answering(storage, `k${SOME - 1}`), all[SOME - 1]!.id);
  t.same(await storage.due(expires), [name]);
});

t.test('`.marks` that somebody has removed is written whole', async (t) => {
  const dir = await dataFolder(t);
  const storage = await opened(t, dir, { marksLimits });
  const postSome = async (which: string) => {
    for (let n = 0; n < SOME; n += 1) await post(storage, name, keyed(`${which}${n}`));
    t.ok(await eventually(async () => (await marksIn(dir)).includes(`/${which}1\n`)));
  };
  await postSome('before');
  await rm(join(dir, name, '.marks'));
  await postSome('after');
  t.match(await marksIn(dir), '/before0\n');
});

t.test('`.marks` waits for notes whose files are there already', async (t) => {
  const dir = await dataFolder(t);
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
  const writer = new WriterThread(dir, undefined);
  const { change } = writer;
  const changeSlowly: typeof change = async (folder, changes, added, isWhole) => {
    const stamps = await change(folder, changes, added, isWhole);
    if (!added?.some(({ bytes }) => Buffer.from(bytes).includes('"slow"'))) return stamps;
    arrive();
    await released;
    return stamps;
  };
  // A watch that sees the file of the slow note waits for its feed, and the other posts would wait behind it.
  const helpers = { writer: Object.assign(writer, { change: changeSlowly }), watch: BLIND };
  const storage = await opened(t, dir, { marksLimits }, helpers);
  await post(storage, name, newNote('first'));
  const slow = post(storage, name, keyed('slow'));
  await arrived;
  for (let n = 0; n < SOME; n += 1) await post(storage, name, keyed(`${n}`));
  release();
  await slow;
  t.ok(await eventually(async () => (await marksIn(dir)) !== ''));
  t.ok((await marksIn(dir)).includes('/slow\n'));
});

type Between = (dir: string, close: () => Promise<void>) => Promise<unknown>;
const whenSetRight: [when: string, Between][] = [
  ['while the service runs', async () => {}],
  ['while it is stopped', (_, close) => close()],
  [
    'while it is stopped and the notes are removed',
    async (dir, close) => {
      await close();
      const files = await readdir(join(dir, name));
      for (const file of files) if (file.includes('.md')) await rm(join(dir, name, file));
    },
  ],
];
for (const [when, between] of whenSetRight)
  t.test(`no key is forgotten after the clock was ahead, and was set right ${when}`, async (t) => {
    const dir = await dataFolder(t);
    let storage: Storage | undefined;
    // Without the watch, which would look at the marks before the clock is set.
    const open = async (unsaved: number) => {
      const helpers = { writer: new WriterThread(dir, undefined), watch: BLIND };
      storage = await opened(t, dir, { marksLimits: { ...marksLimits, unsaved } }, helpers);
      return storage;
    };
    const vouchedUntil = async () => Number(/(\d+)\n$/.exec(await marksIn(dir))?.[1]);
    const { now } = Date;
    const [inAnHour, later] = [1, 2].map((hours) => () => now() + hours * 3_600_000);
    const ahead = t.intercept(Date, 'now', { value: inAnHour });
    const first = await open(3);
    for (let n = 0; n < 3; n += 1) await post(first, name, keyed(`${n}`));
    t.ok(await eventually(async () => (await vouchedUntil()) > now()));
    ahead.restore();
    await between(dir, async () => {
      await first.close();
      storage = undefined;
    });
    const second = storage ?? (await open(100));
    await post(second, name, keyed('late'));
    await second.close();
    // After the time that `.marks` named.
    t.intercept(Date, 'now', { value: later });
    t.ok(await answering(await open(100), 'late'));
  });

t.test(
  'no key is forgotten after the clock was ahead, also if the disk failed once it was set right',
  async (t) => {
    const dir = await dataFolder(t);
    const writer = new WriterThread(dir, undefined);
    const { append } = writer;
    let failures = 0;
    Object.assign(writer, {
      append: async (...args: Parameters<typeof append>) => {
        if (failures++ === 0) throw Object.assign(new Error('EIO'), { code: 'EIO' });
        return append(...args);
      },
    });
    const { now } = Date;
    const [inAnHour, later] = [1, 2].map((hours) => () => now() + hours * 3_600_000);
    const ahead = t.intercept(Date, 'now', { value: inAnHour });
    const log = keptLog();
    const first = await opened(
      t,
      dir,
      { marksLimits: { ...marksLimits, unsaved: 3 }, log },
      { writer, watch: BLIND },
    );
    for (let n = 0; n < 3; n += 1) await post(first, name, keyed(`${n}`));
    t.ok(await eventually(async () => (await marksIn(dir)) !== ''));
    ahead.restore();
    await post(first, name, keyed('early'));
    t.ok(await eventually(() => log.lines.length > 0), 'it could not be written');
    await post(first, name, keyed('late'));
    await first.close();
    // After the time that `.marks` named.
    t.intercept(Date, 'now', { value: later });
    const second = await opened(t, dir, {}, { writer: new WriterThread(dir, undefined), watch: BLIND });
    for (const key of ['early', 'late']) t.ok(await answering(second, key), key);
  },
);

t.test('a key is not forgotten if the disk refuses a deletion just when keys are looked for', async (t) => {
  const dir = await dataFolder(t);
  const first = await opened(t, dir, {}, { writer: new WriterThread(dir, undefined), watch: BLIND });
  const note = keyed('key');
  await post(first, name, note);
  await first.close();
  const syncs = new FolderSync();
  const [begun, failed] = [Promise.withResolvers<void>(), Promise.withResolvers<never>()];
  const folders = {
    sync: (folder: string) => {
      begun.resolve();
      folders.sync = (folder) => syncs.sync(folder);
      return folder === join(dir, name) ? failed.promise : syncs.sync(folder);
    },
  };
  const thread = { release: () => {}, close: async () => {} };
  const writer = Object.assign(new DurableWriter(dir, undefined, folders), thread);
  const second = await opened(t, dir, {}, { writer, watch: BLIND });
  const removing = edits(second).remove(name, note.id);
  await begun.promise;
  // This read waits until the marks of all notes are read.
  await reads(second).neighbours(name, { createdAt: 0, file: noteFile(note.id, 'md') });
  failed.reject(Object.assign(new Error('EIO'), { code: 'EIO' }));
  await t.rejects(removing, { code: 'store_unavailable' });
  t.equal(await answering(second, 'key'), note.id);
});

t.test('a folder that comes while the service runs has its keys', async (t) => {
  const dir = await dataFolder(t);
  const storage = await opened(t, dir);
  const id = await place(join(dir, '..'), handMade('k'), { feed: `${name}-${process.pid}` as FeedName });
  const staged = join(dir, '..', `${name}-${process.pid}`);
  await writeFile(join(staged, '.marks'), '1/other.md/k\n');
  await rename(staged, join(dir, name));
  t.ok(await eventually(async () => (await storage.feed(name)) !== undefined));
  t.equal(await answering(storage, 'k'), id);
  t.same(await storage.due(Date.now()), []);
});

t.test(
  'metadata that somebody changes while there is no watch counts, also of notes that nobody asks for',
  async (t) => {
    const dir = await dataFolder(t);
    const [changed, added, removed] = ['changed', 'added', 'removed'].map(feedName);
    const before = await place(dir, '{}', { feed: changed });
    const bare = await place(dir, '{}', { feed: added });
    await rm(join(dir, added!, `.${bare}.md.json`));
    const expired = await place(dir, `{${EXPIRES}}`, { feed: removed });
    const { made } = threadsOf(t);
    const storage = await opened(
      t,
      dir,
      {},
      { writer: new WriterThread(dir, undefined), watch: new WatchThread() },
    );
    const due = async () => (await storage.due(Date.now())).toSorted();
    t.ok(await eventually(async () => String(await due()) === removed));
    // The other thread writes.
    await made.at(-1)!.terminate();
    await place(dir, `{${EXPIRES}}`, { feed: changed, id: before });
    await writeFile(join(dir, added!, `.${bare}.md.json`), `{${EXPIRES}}`);
    await rm(join(dir, removed!, `.${expired}.md.json`));
    await eventually(async () => String(await due()) === `${added},${changed}`);
    t.same(await due(), [added, changed]);
  },
);

t.test('feeds of few notes have no `.marks`', async (t) => {
  const dir = await dataFolder(t);
  const storage = await opened(t, dir);
  for (let n = 0; n < 20; n += 1) await post(storage, name, keyed(`${n}`));
  await storage.close();
  t.notOk((await readdir(join(dir, name))).includes('.marks'));
});

t.test('a note that comes back has no mark that it had before', async (t) => {
  const dir = await dataFolder(t);
  // Without a margin, a start does not read metadata again that was written just before `.marks`.
  const options = { marksLimits: { ...marksLimits, unsaved: 2, marginMs: 0 } };
  let storage = await opened(t, dir, options);
  const titled = () => newNote('text', 'md', { title: 'T', tags: [] });
  const back = titled();
  await post(storage, name, titled());
  await post(storage, name, back);
  await edits(storage).describe(name, back.id, { expires: Date.now() + 3_600_000 });
  for (let n = 0; n < 2; n += 1) await post(storage, name, titled());
  t.ok(await eventually(async () => (await marksIn(dir)).includes(back.id)));
  await edits(storage).remove(name, back.id);
  // As if it had been to expire sooner.
  const text = (await marksIn(dir)).replace(/^\d+/gm, (expires) => '1'.padEnd(expires.length, '0'));
  await writeFile(join(dir, name, '.marks'), text);
  await storage.write({ kind: 'import', name, target: OPEN, notes: [back], limits: NO_LIMITS });
  // More than the clock of the file system may be late.
  await wait(CLOCK_TICK_MS);
  for (let n = 0; n < 4; n += 1) await post(storage, name, titled());
  t.ok(await eventually(async () => (await marksIn(dir)).length > text.length));
  await storage.close();
  storage = await opened(t, dir, options);
  // It waits until all marks are known.
  await storage.tags((await storage.feed(name))!, '');
  t.ok((await listed(storage)).includes(back.id));
});

t.test('a data folder that is away says nothing of marks', async (t) => {
  const [dir, away] = [join(await dataFolder(t), 'data'), join(await dataFolder(t), 'away')];
  await mkdir(dir);
  const id = await place(dir, handMade('k'));
  // Without a watch, which would look for the marks before the folder is away.
  const helpers = { writer: new WriterThread(dir, undefined), watch: BLIND };
  const storage = await opened(t, dir, {}, helpers);
  const feed = (await storage.feed(name))!;
  await rename(dir, away);
  await t.rejects(storage.tags(feed, ''), { code: 'store_unavailable' });
  await rename(away, dir);
  t.equal(await answering(storage, 'k'), id);
});
