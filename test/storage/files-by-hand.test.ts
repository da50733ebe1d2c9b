import { renameSync } from 'node:fs';
import { cp, mkdir, rename, rm, symlink, unlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { type FeedName, type NoteFile, type NoteId, noteFile } from '../../src/feeds/names.ts';
import { fileTime } from '../../src/storage/files/durable.ts';
import { FolderLock } from '../../src/storage/files/lock.ts';
import type { FeedChange, Storage } from '../../src/storage/storage.ts';
import { IN_SOAK } from '../support/effort.ts';
import { eventually } from '../support/eventually.ts';
import { post, reads, writes } from '../support/storing.ts';
import { feedName, newNote } from './contract.ts';
import { dataFolder, keptLog, opened } from './files-support.ts';

interface Hand {
  readonly storage: Storage;
  readonly dir: string;
  readonly changes: FeedChange[];
  /** The messages of the log. */
  readonly lines: readonly string[];
}

const name = feedName('feed');
/** Seconds since the epoch. */
const LATER = 4_000_000_000;

type Body = (t: Test, hand: Hand) => Promise<void>;

/** Runs a test with the kernel's events, and in the soak also with the repeated look alone. */
const byHand = (title: string, body: Body) => eitherWay(title, body, IN_SOAK);

/** Runs a test twice: with the kernel's events, and with the repeated look alone. */
function eitherWay(title: string, body: Body, rescanOnly = {}): void {
  for (const events of [true, false]) {
    t.test(`${title} (${events ? 'events' : 'rescan only'})`, events ? {} : rescanOnly, async (t) => {
      const dir = await dataFolder(t);
      const log = keptLog();
      const storage = await opened(t, dir, { events, log });
      const changes: FeedChange[] = [];
      storage.onChange((change) => changes.push(change));
      await body(t, { storage, dir, changes, lines: log.lines });
    });
  }
}

async function files(storage: Storage, feed: FeedName, tag?: string): Promise<string[]> {
  const { notes } = await reads(storage).page(feed, { limit: 100, tag });
  return notes.map((note) => `${note.id}.${note.type}`);
}

/** A file's time is up to 10 ms behind the clock that dates posts, so a hand-placed note gets one well after. */
async function writeLater(path: string, text: string): Promise<void> {
  await writeFile(path, text);
  await utimes(path, LATER, LATER);
}

const isUsable = (storage: Storage) =>
  storage.check().then(
    () => true,
    () => false,
  );

const becomes = async (t: Test, storage: Storage, expected: string[], feed = name) => {
  await eventually(async () => String(await files(storage, feed)) === String(expected));
  t.same(await files(storage, feed), expected);
};

byHand('a file whose copy takes its place, with its date, is read on', async (t, { storage, dir }) => {
  const modifiedAt = Date.UTC(2020, 0);
  const note = { ...newNote('the same bytes'), modifiedAt };
  await post(storage, name, note);
  const found = (await reads(storage).stat(name, noteFile(note.id, 'md')))!;
  const [path, copy] = [join(dir, name, `${note.id}.md`), join(dir, 'copy')];
  await cp(path, copy);
  await utimes(copy, new Date(), fileTime(modifiedAt));
  await rename(copy, path);
  t.equal((await buffer(found.read(4, found.size))).toString(), 'same bytes');
});

byHand(
  'a note that is taken away and put back has come again, also for who was told of it last',
  async (t, { storage, dir }) => {
    const [first, last] = [newNote('first'), newNote('last')];
    for (const note of [first, last]) await post(storage, name, note);
    const feed = async () => (await storage.feed(name))!;
    const [place] = (await storage.arrivals(await feed(), undefined, 1))!.notes;
    t.equal(place?.id, last.id);
    const path = join(dir, name, `${last.id}.md`);
    const away = join(await dataFolder(t), 'away');
    await rename(path, away);
    t.ok(await eventually(async () => (await feed()).noteCount === 1));
    await rename(away, path);
    t.ok(await eventually(async () => (await feed()).noteCount === 2));
    t.match(await storage.arrivals(await feed(), place, 10), { notes: [{ id: last.id }], isComplete: true });
    t.same(await storage.arrivals(await feed(), last.id, 10), { notes: [], isComplete: true });
  },
);

eitherWay('a note is added, edited and removed', async (t, { storage, dir, changes }) => {
  const { readId } = await post(storage, name, newNote('first'));
  const [first] = await files(storage, name);
  changes.length = 0;
  await writeLater(join(dir, name, 'by hand.md'), 'one');
  await becomes(t, storage, ['by hand.md', first!]);
  t.same(changes[0], { readIds: [readId] });

  const text = async () =>
    Buffer.from((await reads(storage).note(name, 'by hand' as NoteId))?.content ?? []).toString();
  t.equal(await text(), 'one');
  await writeFile(join(dir, name, 'by hand.md'), 'two');
  t.ok(await eventually(async () => (await text()) === 'two'), 'an edit of the same length shows');
  changes.length = 0;
  await writeFile(join(dir, name, 'by hand.md'), 'three');
  t.ok(await eventually(() => changes.length > 0), 'an edit is told although nobody reads the note');
  t.ok(await eventually(async () => (await text()) === 'three'));
  t.ok((await storage.feed(name))!.changedAt > 0);

  await unlink(join(dir, name, 'by hand.md'));
  await becomes(t, storage, [first!]);
  t.equal(await reads(storage).note(name, 'by hand' as NoteId), undefined);
  t.equal(await reads(storage).stat(name, 'by hand.md' as NoteFile), undefined);
});

t.test('a page that meets a file replaced by hand has its notes in their order', async (t) => {
  const dir = await dataFolder(t);
  await mkdir(join(dir, name));
  for (const [n, file] of ['old.md', 'middle.md', 'young.md'].entries()) {
    await writeFile(join(dir, name, file), file);
    await utimes(join(dir, name, file), n + 1, n + 1);
  }
  const storage = await opened(t, dir, { events: false });
  await writeLater(join(dir, 'new'), 'new');
  renameSync(join(dir, 'new'), join(dir, name, 'old.md'));
  t.same(await files(storage, name), ['old.md', 'young.md', 'middle.md']);
});

byHand('metadata changes: title, tags and date', async (t, { storage, dir }) => {
  await post(storage, name, newNote('x'));
  const [posted] = await files(storage, name);
  await writeLater(join(dir, name, 'old.md'), 'text');
  await becomes(t, storage, ['old.md', posted!]);
  t.same(await files(storage, name, 'red'), []);
  await writeFile(
    join(dir, name, '.old.md.json'),
    '{"title": "A\\u0007B", "tags": ["red"], "created": "2001-02-03T04:05:06Z"}',
  );
  await becomes(t, storage, [posted!, 'old.md']);
  const note = await reads(storage).note(name, 'old' as NoteId);
  t.match(note, { createdAt: Date.UTC(2001, 1, 3, 4, 5, 6), meta: { title: 'A B', tags: ['red'] } });
  t.same(await files(storage, name, 'red'), ['old.md']);
  await unlink(join(dir, name, '.old.md.json'));
  await becomes(t, storage, ['old.md', posted!]);
  t.same((await reads(storage).note(name, 'old' as NoteId))?.meta, { tags: [] });
  t.same(await files(storage, name, 'red'), []);
});

eitherWay('settings, read id and password change', async (t, { storage, dir, changes }) => {
  const { readId } = await post(storage, name, newNote('p', 'png'));
  const [image] = await files(storage, name);
  const settings = { title: ' T\u202Eitle ', description: 'D', image, show_sender: false, listed: true };
  await writeFile(join(dir, name, '.feed.json'), JSON.stringify(settings));
  const feed = async () => storage.feed(name);
  t.ok(await eventually(async () => (await feed())?.title !== ''));
  t.match(await feed(), {
    title: 'T itle',
    description: 'D',
    image,
    showSender: false,
    listed: true,
    passwordHash: undefined,
  });

  await unlink(join(dir, name, image!));
  t.ok(await eventually(async () => (await feed())?.image === undefined), 'a removed title image is none');

  await writeFile(join(dir, name, '.password'), 'hash');
  t.ok(await eventually(async () => (await feed())?.passwordHash === 'hash'));
  await unlink(join(dir, name, '.password'));
  t.ok(await eventually(async () => (await feed())?.passwordHash === undefined));

  changes.length = 0;
  // A rename places it complete: the service could see a file that is being written empty, and the feed would have no read id.
  await writeFile(join(dir, '.another'), 'another-id\n');
  await rename(join(dir, '.another'), join(dir, name, '.readid'));
  t.ok(await eventually(async () => (await feed())?.readId === 'another-id'));
  t.ok(changes.some((change) => String(change.readIds) === `${readId},another-id`));
  t.equal(await storage.feedByReadId(readId), undefined);

  await writeFile(join(dir, name, '.feed.json'), 'not json');
  t.ok(await eventually(async () => (await feed())?.title === ''));
});

eitherWay('folders come, go, and are renamed with their read id', async (t, { storage, dir, changes }) => {
  const { readId } = await post(storage, name, newNote('x'));
  const moved = feedName('moved');
  changes.length = 0;
  await rename(join(dir, name), join(dir, moved));
  t.ok(
    await eventually(async () => (await storage.feed(moved))?.readId === readId),
    'the read id goes with it',
  );
  t.equal(await storage.feed(name), undefined);
  t.ok(changes.some((change) => change.readIds.includes(readId)));

  await mkdir(join(dir, 'new'));
  await writeFile(join(dir, 'new', 'a.md'), 'A');
  await becomes(t, storage, ['a.md'], feedName('new'));

  await rm(join(dir, moved), { recursive: true });
  t.ok(await eventually(async () => (await storage.feed(moved)) === undefined));
  t.equal(await storage.feedByReadId(readId), undefined);
  const again = await post(storage, moved, newNote('y'));
  t.not(again.readId, readId, 'a feed made anew has a new read id');
});

byHand('a folder is replaced by another one at once', async (t, { storage, dir }) => {
  await post(storage, name, newNote('x'));
  await mkdir(join(dir, '.other'));
  await writeFile(join(dir, '.other', 'a.md'), 'A');
  await writeFile(join(dir, '.other', '.readid'), 'of-the-other');
  await rename(join(dir, name), join(dir, '.away'));
  await rename(join(dir, '.other'), join(dir, name));
  await becomes(t, storage, ['a.md']);
  t.equal((await storage.feed(name))?.readId, 'of-the-other');
  await writeLater(join(dir, name, 'b.md'), 'B');
  await becomes(t, storage, ['b.md', 'a.md']);
});

byHand('what is no note is ignored when it appears', async (t, { storage, dir }) => {
  await post(storage, name, newNote('x'));
  const [posted] = await files(storage, name);
  await writeFile(join(dir, 'outside'), 'secret');
  await symlink(join(dir, 'outside'), join(dir, name, 'link.md'));
  await mkdir(join(dir, name, 'folder.md'));
  await writeFile(join(dir, name, 'a.b.md'), 'x');
  await writeFile(join(dir, name, 'a.txt'), 'x');
  await writeFile(join(dir, name, '.hidden.md'), 'x');
  await symlink(join(dir, name), join(dir, 'linked'));
  await mkdir(join(dir, 'Not-A-Feed'));
  await writeFile(join(dir, name, 'z.md'), 'last');
  await utimes(join(dir, name, 'z.md'), 1, 1);
  await becomes(t, storage, [posted!, 'z.md']);
  t.equal(await storage.feed(feedName('linked')), undefined);
  t.equal(await reads(storage).stat(name, 'link.md' as NoteFile), undefined);
});

byHand('a note replaced by a link or a folder is gone', async (t, { storage, dir }) => {
  await post(storage, name, newNote('x'));
  const [posted] = await files(storage, name);
  await writeFile(join(dir, 'outside'), 'secret');
  await unlink(join(dir, name, posted!));
  await symlink(join(dir, 'outside'), join(dir, name, posted!));
  const id = posted!.slice(0, -3) as NoteId;
  t.ok(await eventually(async () => (await reads(storage).note(name, id)) === undefined));
  await becomes(t, storage, []);
  t.equal(await reads(storage).stat(name, posted as NoteFile), undefined, 'the link is not followed');
});

byHand("the service's own posts are told once", async (t, { storage, dir, changes }) => {
  await post(storage, name, newNote('1', 'md', { title: 'x', tags: ['a'] }));
  const many = Array.from({ length: 200 }, (_, i) => newNote(`${i}`, 'png', { tags: ['b'] }));
  await Promise.all(many.map((note) => post(storage, name, note)));
  // A rename places it complete, because the service could see a file that is being written empty. It is dated later, because
  // a file that changed a moment ago is looked at, and told, once more.
  await writeLater(join(dir, '.end'), 'the watch has come this far');
  await rename(join(dir, '.end'), join(dir, name, 'end.md'));
  t.ok(await eventually(async () => (await storage.feed(name))?.noteCount === 202));
  t.equal(changes.length, 202);
});

byHand('a post right after its folder was taken away makes the feed anew', async (t, { storage, dir }) => {
  const old = await post(storage, name, newNote('1'));
  await rm(join(dir, name), { recursive: true });
  const note = newNote('2');
  const made = await post(storage, name, note);
  t.not(made.readId, old.readId);
  t.equal(made.noteCount, 1);
  await writeFile(join(dir, name, 'a.md'), 'A');
  t.ok(await eventually(async () => (await files(storage, name)).length === 2));
});

byHand('a post into a folder that appeared just now joins it', async (t, { storage, dir }) => {
  await mkdir(join(dir, '.tmp'));
  await writeFile(join(dir, '.tmp', 'a.md'), 'A');
  await writeFile(join(dir, '.tmp', '.readid'), 'made-by-hand');
  await rename(join(dir, '.tmp'), join(dir, name));
  const feed = await post(storage, name, newNote('2'));
  t.match(feed, { readId: 'made-by-hand', noteCount: 2 });
});

byHand('the whole data folder goes away and comes back', async (t, { storage, dir }) => {
  const feed = await post(storage, name, newNote('1'));
  t.teardown(() => rm(`${dir}.away`, { recursive: true, force: true }));
  await rename(dir, `${dir}.away`);
  await t.rejects(storage.check(), { code: 'store_unavailable' });
  await t.rejects(post(storage, name, newNote('2')), { code: 'store_unavailable' });
  await t.rejects(post(storage, feedName('new'), newNote('2')), { code: 'store_unavailable' });
  await t.rejects(reads(storage).page(name, { limit: 9 }), { code: 'store_unavailable' });
  await rename(`${dir}.away`, dir);
  t.ok(await eventually(() => isUsable(storage)));
  t.ok(
    await eventually(async () =>
      post(storage, name, newNote('3')).then(
        () => true,
        () => false,
      ),
    ),
  );
  t.match(await storage.feed(name), { readId: feed.readId, noteCount: 2 });
});

byHand(
  'what was made just before the data folder went is gone when an empty one comes',
  async (t, { storage, dir, lines }) => {
    t.teardown(() => rm(`${dir}.away`, { recursive: true, force: true }));
    await post(storage, name, newNote('1'));
    renameSync(dir, `${dir}.away`);
    t.ok(await eventually(() => lines.some((line) => line.startsWith('the data folder is gone'))));
    await mkdir(dir);
    t.ok(await eventually(async () => (await storage.feed(name)) === undefined));
  },
);

byHand(
  'a data folder that another process has locked is used when that lets go',
  async (t, { storage, dir, lines }) => {
    const other = await dataFolder(t);
    t.teardown(() => rm(`${dir}.away`, { recursive: true, force: true }));
    const lock = new FolderLock(other, undefined);
    await rename(dir, `${dir}.away`);
    await rename(other, dir);
    t.ok(await eventually(() => lines.some((line) => line.startsWith('the data folder is gone'))));
    await t.rejects(post(storage, name, newNote('1')), { code: 'store_unavailable' });
    lock.release();
    t.ok(await eventually(() => isUsable(storage)));
    await post(storage, name, newNote('1'));
    t.equal(lines.length, 1, 'it is told once');
  },
);

byHand('feeds stay known while the data folder is away', async (t, { storage, dir, lines }) => {
  t.teardown(() => rm(`${dir}.away`, { recursive: true, force: true }));
  // So many that the watch is still telling of the first ones when the folder goes.
  const names = Array.from({ length: 60 }, (_, i) => feedName(`feed-${i}`));
  for (const one of names) await writes(storage).create(one, { passwordHash: 'hash' });
  await rename(dir, `${dir}.away`);
  t.ok(await eventually(() => lines.some((line) => line.startsWith('the data folder is gone'))));
  await rename(`${dir}.away`, dir);
  await mkdir(join(dir, 'by-hand'));
  t.ok(await eventually(async () => (await storage.feed(feedName('by-hand'))) !== undefined));
  for (const one of names) t.match(await storage.feed(one), { passwordHash: 'hash' });
});

byHand('the data folder is replaced by an empty one', async (t, { storage, dir }) => {
  await post(storage, name, newNote('1'));
  // The storage may lock the folder anew between the removal of its content and its own.
  await rm(dir, { recursive: true, maxRetries: 5 });
  await mkdir(dir);
  t.ok(await eventually(async () => (await storage.feed(name)) === undefined));
  t.ok(await eventually(() => isUsable(storage)), 'it is locked anew');
  const feed = await post(storage, name, newNote('2'));
  t.equal(feed.noteCount, 1);
  await writeFile(join(dir, name, 'a.md'), 'A');
  t.ok(await eventually(async () => (await files(storage, name)).length === 2));
});
