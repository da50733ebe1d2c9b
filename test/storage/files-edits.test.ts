/** What editing does to the files themselves, and how it gets along with changes by hand. */
import { mkdir, readdir, readFile, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { FeedSettings } from '../../src/feeds/feed.ts';
import { derivedReadId } from '../../src/feeds/ids.ts';
import type { NoteFile, NoteId, ReadId } from '../../src/feeds/names.ts';
import { WriterThread } from '../../src/storage/files/writer-thread.ts';
import type { FeedChange, Storage } from '../../src/storage/storage.ts';
import { toFeed } from '../../src/writing/command.ts';
import { eventually } from '../support/eventually.ts';
import { edits, NEW, NO_LIMITS, OPEN, post, reads, writes } from '../support/storing.ts';
import { feedName, newNote, textOf } from './contract.ts';
import { dataFolder, opened, SECRET } from './files-support.ts';

const name = feedName('feed');

interface Hand {
  readonly storage: Storage;
  readonly dir: string;
  readonly changes: FeedChange[];
}

function withFiles(title: string, body: (t: Test, hand: Hand) => Promise<void>, events = true): void {
  t.test(title, async (t) => {
    const dir = await dataFolder(t);
    const storage = await opened(t, dir, { events });
    const changes: FeedChange[] = [];
    storage.onChange((change) => changes.push(change));
    await body(t, { storage, dir, changes });
  });
}

const configure = (storage: Storage, changed: Partial<FeedSettings>) =>
  edits(storage).configure(name, changed);

const names = async (dir: string) => (await readdir(join(dir, name))).sort();
const read = (dir: string, file: string) => readFile(join(dir, name, file), 'utf8');

withFiles('the files say what was set, and nothing more', async (t, { storage, dir }) => {
  const note = newNote('x', 'md', { title: 'T', tags: [] });
  await post(storage, name, note, { readId: 'chosen' as ReadId, passwordHash: '$argon2id$one' });
  const [meta, file] = [`.${note.id}.md.json`, `${note.id}.md`];
  t.same(await names(dir), [meta, '.password', '.readid', file].sort());
  t.equal(await read(dir, '.password'), '$argon2id$one\n');
  t.equal((await stat(join(dir, name, '.password'))).mode & 0o777, 0o600);

  await configure(storage, { title: 'T', showSender: false, readId: 'next' as ReadId });
  t.same(JSON.parse(await read(dir, '.feed.json')), { title: 'T', show_sender: false });
  t.equal(await read(dir, '.readid'), 'next\n');
  await configure(storage, { title: '', showSender: true });
  await edits(storage).describe(name, note.id, { title: '', tags: [] });
  await edits(storage).setPassword(name, undefined);
  t.same(await names(dir), [meta, '.readid', file].sort());
  t.same(Object.keys(JSON.parse(await read(dir, meta))), ['edited']);
  await edits(storage).remove(name, note.id);
  t.same(await names(dir), ['.readid']);
});

const BLIND = { start: async () => {}, order: () => {}, close: async () => {} };

/** As `withFiles`, with a watch that sees nothing: each change by hand is one of just before. `orders` are what it is told to look at anew. */
function unwatched(
  title: string,
  body: (t: Test, hand: Hand & { orders: unknown[] }) => Promise<void>,
): void {
  t.test(title, async (t) => {
    const dir = await dataFolder(t);
    const orders: unknown[] = [];
    const order = (one: object) => {
      if ('anew' in one && one.anew) orders.push(one);
    };
    const storage = await opened(
      t,
      dir,
      {},
      { writer: new WriterThread(dir, undefined), watch: { ...BLIND, order } },
    );
    await body(t, { storage, dir, changes: [], orders });
  });
}

const BY_HAND = { title: 'by hand', keep: { days: 7 } };
const byHand = (dir: string, file: string, text: string) => writeFile(join(dir, name, file), text);

unwatched('a change of settings keeps what was written into their file just before it', async (t, hand) => {
  const { storage, dir, orders } = hand;
  await post(storage, name, newNote('x'));
  await configure(storage, { showSender: false });
  t.same(orders, [], 'what the service writes is no change by hand');
  await byHand(dir, '.feed.json', JSON.stringify(BY_HAND));
  const feed = await configure(storage, { description: 'D' });
  t.match(feed, { title: 'by hand', description: 'D', keepDays: 7 });
  t.same(JSON.parse(await read(dir, '.feed.json')), { ...BY_HAND, description: 'D' });
  t.same(orders, [{ feeds: [name], anew: true }], 'else the watch would not report that the file goes');
});

unwatched('a title image that goes leaves the settings as they were written just before', async (t, hand) => {
  const { storage, dir } = hand;
  const removals = {
    deleted: (id: NoteId) => edits(storage).remove(name, id),
    expired: async () => {
      const feed = (await storage.feed(name))!;
      return storage.write({ kind: 'sweep', ...toFeed(feed) });
    },
  };
  for (const [way, remove] of Object.entries(removals))
    for (const text of [JSON.stringify(BY_HAND), '{"title": "by ha']) {
      const picture = newNote('p', 'png');
      await post(storage, name, [newNote('x'), picture]);
      const image = `${picture.id}.png` as NoteFile;
      t.match(await configure(storage, { title: 'T', image }), { image }, way);
      if (way === 'expired') await edits(storage).describe(name, picture.id, { expires: Date.now() - 1 });
      const isJson = text.endsWith('}');
      await byHand(dir, '.feed.json', isJson ? JSON.stringify({ ...BY_HAND, image }) : text);
      t.ok(await remove(picture.id), `${way} ${text}`);
      t.equal((await names(dir)).includes(image), false);
      t.match(await storage.feed(name), { title: isJson ? 'by hand' : '', image: undefined });
      const stored = await read(dir, '.feed.json');
      if (isJson) t.same(JSON.parse(stored), BY_HAND);
      else t.equal(stored, text, 'what cannot be read is not overwritten');
      await rm(join(dir, name), { recursive: true });
      await configure(storage, { title: 'gone' });
    }
});

unwatched('a password that was written just before another one stays', async (t, hand) => {
  const { storage, dir, orders } = hand;
  await post(storage, name, newNote('x'), { passwordHash: 'first' });
  for (const [text, hash] of [
    ['by hand\n', 'by hand'],
    ['', '!'],
  ] as const) {
    await byHand(dir, '.password', text);
    t.notOk(await edits(storage).setPassword(name, 'second'));
    t.equal(await read(dir, '.password'), text);
    t.match(await storage.feed(name), { passwordHash: hash });
    t.same(orders.splice(0), [{ feeds: [name], anew: true }]);
  }
  await rm(join(dir, name, '.password'));
  t.notOk(await edits(storage).setPassword(name, 'second'));
  t.ok(await edits(storage).setPassword(name, 'third'));
  t.equal(await read(dir, '.password'), 'third\n');
});

unwatched(
  'a feed whose folder has just been replaced keeps its password',
  async (t, { storage, dir, orders }) => {
    await post(storage, name, newNote('x'), { passwordHash: 'hash' });
    await rename(join(dir, name), join(dir, '.away'));
    await mkdir(join(dir, name));
    await configure(storage, { title: 'T' }).catch(() => {});
    t.match(await storage.feed(name), { passwordHash: 'hash' });
    t.match(orders, [{ feeds: [name], anew: true }]);
  },
);

unwatched(
  'a sweep keeps what the settings keep that were written just before',
  async (t, { storage, dir }) => {
    const picture = newNote('p', 'png');
    const image = `${picture.id}.png` as NoteFile;
    await post(storage, name, [newNote('x'), newNote('y'), newNote('z'), picture]);
    await configure(storage, { keepNotes: 1, image });
    await edits(storage).describe(name, picture.id, { expires: Date.now() - 1 });
    await byHand(dir, '.feed.json', JSON.stringify({ image }));
    t.ok(await storage.write({ kind: 'sweep', ...toFeed((await storage.feed(name))!) }));
    t.match(await storage.feed(name), { noteCount: 3, keepNotes: undefined, image: undefined });
  },
);

unwatched(
  'a read id that a change by hand gives to another feed stays with that',
  async (t, { storage, dir }) => {
    const id = (text: string) => text as ReadId;
    const [other, third] = [feedName('other'), feedName('third')];
    await post(storage, name, newNote('x'), { readId: id('one') });
    await post(storage, other, newNote('y'), { readId: id('two') });
    await storage.close();
    await writeFile(join(dir, other, '.readid'), 'one\n');
    const again = await opened(t, dir, {}, { writer: new WriterThread(dir, undefined), watch: BLIND });
    await byHand(dir, '.readid', 'three\n');
    await configure(again, { title: 'T', readId: id('one') }).catch(() => {});
    t.match(await again.feed(other), { readId: 'one' });
    await t.rejects(post(again, third, newNote('z'), { readId: id('one') }), { code: 'taken' });
  },
);

for (const events of [true, false])
  withFiles(
    `a password that is taken away just after a change has met it is gone (${events ? 'events' : 'rescan only'})`,
    async (t, { storage, dir }) => {
      await post(storage, name, newNote('x'));
      await byHand(dir, '.password', 'by hand');
      t.notOk(await edits(storage).setPassword(name, 'second'));
      t.match(await storage.feed(name), { passwordHash: 'by hand' });
      await rm(join(dir, name, '.password'));
      t.ok(await eventually(async () => (await storage.feed(name))?.passwordHash === undefined));
    },
    events,
  );

withFiles(
  'a .password that says nothing protects with a hash of no password',
  async (t, { storage, dir }) => {
    await post(storage, name, newNote('x'));
    const hash = async () => (await storage.feed(name))?.passwordHash;
    await writeFile(join(dir, name, '.password'), '\n');
    t.ok(await eventually(async () => (await hash()) === '!'));
    await writeFile(join(dir, name, '.password'), ' from-hand \n');
    t.ok(await eventually(async () => (await hash()) === 'from-hand'));
    await rm(join(dir, name, '.password'));
    t.ok(await eventually(async () => (await hash()) === undefined));
    await mkdir(join(dir, 'odd', '.password'), { recursive: true });
    const odd = async () => (await storage.feed(feedName('odd')))?.passwordHash;
    t.ok(await eventually(async () => (await odd()) === '!'), 'a folder of that name protects too');
  },
);

withFiles('a hand-placed note keeps its date when it is edited', async (t, { storage, dir }) => {
  await post(storage, name, newNote('x'));
  const id = 'by hand' as NoteId;
  await writeFile(join(dir, name, '.by hand.md.json'), '{"tags": ["a"]}');
  // Put in its place with its date: the one that it is first seen with is kept.
  const prepared = join(dir, 'by hand.md');
  await writeFile(prepared, 'one');
  await utimes(prepared, 1000, 1000.25);
  await rename(prepared, join(dir, name, 'by hand.md'));
  t.ok(await eventually(async () => (await reads(storage).note(name, id))?.createdAt === 1_000_250));
  const edited = await edits(storage).replace(name, id, Buffer.from('two'));
  t.match(edited, { createdAt: 1_000_250, meta: { tags: ['a'] } });
  t.match(await edits(storage).describe(name, id, { title: 'T', tags: [] }), {
    createdAt: 1_000_250,
  });
  await edits(storage).describe(name, id, { title: '', tags: [] });
  await storage.close();
  const again = await opened(t, dir);
  t.match(await reads(again).note(name, id), { createdAt: 1_000_250, meta: { tags: [] } });
  t.equal(textOf(await reads(again).note(name, id)), 'two');
});

withFiles('a note whose file was taken away by hand just now is no note', async (t, { storage, dir }) => {
  const notes = [newNote('1'), newNote('2'), newNote('3')] as const;
  for (const note of notes) await post(storage, name, note);
  for (const note of notes) await rm(join(dir, name, `${note.id}.md`));
  t.equal(await edits(storage).replace(name, notes[0].id, Buffer.from('x')), undefined);
  t.equal(await edits(storage).describe(name, notes[1].id, { title: 'x' }), undefined);
  t.equal(await edits(storage).remove(name, notes[2].id), false);
  t.same(await names(dir), ['.readid']);
});

withFiles('a feed whose folder was taken away by hand just now is no feed', async (t, { storage, dir }) => {
  const works: (() => Promise<unknown>)[] = [
    () => configure(storage, { title: 'x' }),
    () => edits(storage).setPassword(name, 'x'),
    () => edits(storage).deleteFeed(name),
    () => writes(storage).post(name, [newNote('x')], OPEN, NO_LIMITS),
  ];
  for (const work of works) {
    await post(storage, name, newNote('x'));
    await rm(join(dir, name), { recursive: true });
    t.notOk(await work());
    t.equal(await storage.feed(name), undefined);
  }
});

for (const events of [true, false]) {
  const how = events ? 'events' : 'rescan only';
  withFiles(
    `the service's own edits are told once (${how})`,
    async (t, { storage, dir, changes }) => {
      const picture = newNote('p', 'png', { alt: 'A', tags: [] });
      const text = newNote('t');
      await post(storage, name, picture);
      await post(storage, name, text);
      for (let i = 0; i < 20; i += 1) {
        await edits(storage).replace(name, text.id, Buffer.from(`edit ${i}`));
        const target = { ...OPEN, passwordHash: i % 2 ? 'hash' : undefined };
        await writes(storage).post(
          name,
          [newNote('p', 'gif', { tags: ['g'] }), newNote('t')],
          target,
          NO_LIMITS,
        );
        await edits(storage).replace(name, text.id, Buffer.from('with'), { added: [newNote('p', 'png')] });
        await edits(storage).describe(name, text.id, i % 2 ? { tags: [] } : { title: 'T', tags: [`t${i}`] });
        await configure(storage, { title: ` ${i}\uD800 `, readId: `read-id-${i}` as ReadId });
        await edits(storage).setPassword(name, i % 2 ? undefined : 'hash');
      }
      await configure(storage, { image: `${picture.id}.png` as never });
      await edits(storage).remove(name, picture.id);
      await edits(storage).deleteFeed(name);
      await post(storage, name, newNote('anew'));
      // A rename places it complete: the service could see a file that is being written empty, and tell of it twice.
      await writeFile(join(dir, '.end'), 'the watch has come this far');
      await rename(join(dir, '.end'), join(dir, name, 'end.md'));
      t.ok(await eventually(async () => (await storage.feed(name))?.noteCount === 2));
      const expected = 2 + 20 * 6 + 3 + 1 + 1;
      // A look that meets the rename before the system has dated it tells of the file once more.
      const told = () => changes.filter(({ edited = [] }) => !edited.includes('end' as NoteId)).length;
      // The feed shows the note a moment before the change is told.
      t.ok(await eventually(() => told() >= expected));
      t.equal(told(), expected);
    },
    events,
  );
}

withFiles('edits and reads at once: every read is one state or the next', async (t, { storage }) => {
  const note = newNote('0', 'md', { title: '0', tags: ['n0'] });
  await post(storage, name, note);
  let done = false;
  const edit = async () => {
    for (let i = 1; i <= 40; i += 1) {
      await edits(storage).replace(name, note.id, Buffer.from(`${i}`));
      t.equal(textOf(await reads(storage).note(name, note.id)), `${i}`);
      const set = await edits(storage).describe(
        name,
        note.id,
        i % 3 ? { title: `${i}`, tags: [`n${i}`] } : { title: '', tags: [] },
      );
      t.equal((await reads(storage).note(name, note.id))?.meta.title, set?.meta.title);
      const tagged = await reads(storage).page(name, { limit: 1, tag: `n${i}` });
      if (tagged.notes.length !== (i % 3 ? 1 : 0)) t.fail(`the tag of edit ${i}`);
    }
    done = true;
  };
  const look = async () => {
    let last = 0;
    for (; !done; await wait(1)) {
      const now = Number(textOf(await reads(storage).note(name, note.id)));
      if (!(now >= last)) t.fail(`${now} after ${last}`);
      last = now;
    }
  };
  await Promise.all([edit(), look(), look()]);
});

withFiles('a deleted feed leaves nothing but its read id', async (t, { storage, dir }) => {
  await writeFile(join(dir, 'outside'), 'not theirs');
  await mkdir(join(dir, name, 'folder'), { recursive: true });
  await writeFile(join(dir, name, 'folder', 'a.md'), 'x');
  await symlink(join(dir, 'outside'), join(dir, name, 'link'));
  await symlink(dir, join(dir, name, 'folder', 'all'));
  t.ok(await eventually(async () => (await storage.feed(name)) !== undefined));
  const derived = derivedReadId(SECRET, name);
  t.equal((await storage.feed(name))?.readId, derived);
  t.equal(await edits(storage).deleteFeed(name), true);
  t.same((await readdir(dir)).sort(), ['.deleted-read-ids', '.lock', 'outside'], 'at once');
  t.equal(await readFile(join(dir, 'outside'), 'utf8'), 'not theirs');
  t.equal(await readFile(join(dir, '.deleted-read-ids'), 'utf8'), `${derived}\n`);
  const made = await post(storage, name, newNote('x'));
  t.not(made.readId, derived);
  t.equal(await read(dir, '.readid'), `${made.readId}\n`);
});

t.test('a line of .deleted-read-ids that a crash tore is not continued', async (t) => {
  const dir = await dataFolder(t);
  await writeFile(join(dir, '.deleted-read-ids'), 'first-one\ntorn');
  const storage = await opened(t, dir);
  for (const readId of ['second-one', 'third-one']) {
    await writes(storage).create(name, { ...NEW, readId: readId as ReadId });
    await edits(storage).deleteFeed(name);
  }
  const lines = (await readFile(join(dir, '.deleted-read-ids'), 'utf8')).split('\n');
  t.same(lines, ['first-one', 'torn', 'second-one', 'third-one', '']);
});

t.test('what a crash left of a deleted feed goes at the next start, links are not followed', async (t) => {
  const dir = await dataFolder(t);
  const temp = join(dir, '.tmp-nfs-01234567-89ab-4def-8123-456789abcdef');
  await mkdir(join(temp, 'sub'), { recursive: true });
  await mkdir(join(dir, 'kept'));
  await writeFile(join(dir, 'kept', 'a.md'), 'A');
  await writeFile(join(temp, 'sub', 'b.md'), 'B');
  await symlink(join(dir, 'kept'), join(temp, 'link'));
  await symlink(join(dir, 'kept'), join(dir, '.tmp-nfs-11234567-89ab-4def-8123-456789abcdef'));
  await opened(t, dir);
  t.ok(await eventually(async () => (await readdir(dir)).length === 2));
  t.same((await readdir(dir, { recursive: true })).sort(), ['.lock', 'kept', 'kept/a.md']);
});

t.test('what somebody has just placed is there before the watch has seen it', async (t) => {
  const dir = await dataFolder(t);
  const watch = { start: async () => {}, order: () => {}, close: async () => {} };
  const storage = await opened(t, dir, {}, { writer: new WriterThread(dir, undefined), watch });
  await mkdir(join(dir, name));
  await writeFile(join(dir, name, 'by hand.md'), 'by hand');
  const feed = await post(storage, name, newNote('posted'));
  t.equal(feed.noteCount, 2, 'the folder is no new feed');
  const note = newNote('imported');
  const path = join(dir, name, `${note.id}.md`);
  await writeFile(path, 'by hand');
  const written = await storage.write({ kind: 'import', ...toFeed(feed), notes: [note], limits: NO_LIMITS });
  t.same(written?.outcomes, ['skipped']);
  t.equal(await readFile(path, 'utf8'), 'by hand');
});
