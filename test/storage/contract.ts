import { randomBytes } from 'node:crypto';
import t, { type Test } from 'tap';
import { NoteIds } from '../../src/feeds/ids.ts';
import { type FeedName, type NoteFile, type NoteId, noteFile, type ReadId } from '../../src/feeds/names.ts';
import type { NewNote, Note, NoteMeta } from '../../src/feeds/note.ts';
import type { NoteType } from '../../src/feeds/note-types.ts';
import type { FeedChange, Page, Storage, StoredFile } from '../../src/storage/storage.ts';
import { edits, NO_LIMITS, OPEN, post, reads, writes } from '../support/storing.ts';

/** A backend under test. Each `create` gives an empty place of its own, removed when the test ends. */
export interface Backend {
  readonly name: string;
  create(test: Test, maxFeeds: number, maxBytes: number): Promise<Place>;
}

/** Where a storage keeps its things: it can be opened, closed and opened again. */
export interface Place {
  open(): Promise<Storage>;
}

const NO_META: NoteMeta = { tags: [] };
const ids = new NoteIds();

export const feedName = (text: string) => text as FeedName;

/** A note with a new id. */
export function newNote(
  content: string | Uint8Array,
  type: NoteType = 'md',
  meta: NoteMeta = NO_META,
): NewNote {
  return { id: ids.next(), type, meta, bytes: Buffer.from(content) };
}

/** All bytes of a stored file from `start` to `end`. */
export async function bytesOf(file: StoredFile, start = 0, end = file.size): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of file.read(start, end)) pieces.push(piece);
  return Buffer.concat(pieces);
}

export const idsOf = (page: Page) => page.notes.map((note) => note.id);
export const textOf = (note: Note | undefined) => note?.content && Buffer.from(note.content).toString();

/** Runs a test on an opened storage of its own. */
export function runner(backend: Backend) {
  return (
    name: string,
    body: (t: Test, storage: Storage, place: Place) => Promise<void>,
    maxFeeds = 0,
    maxBytes = 0,
  ) =>
    t.test(`${backend.name}: ${name}`, async (t) => {
      const place = await backend.create(t, maxFeeds, maxBytes);
      const storage = await place.open();
      t.teardown(() => storage.close());
      await body(t, storage, place);
    });
}

/** What every storage backend must do when it stores and reads (`Storage`); the rest is in the files beside this one. */
export function testContract(backend: Backend): void {
  const test = runner(backend);

  test('nothing is there at first, and reading makes nothing', async (t, storage) => {
    const name = feedName('none');
    t.equal(await storage.feed(name), undefined);
    t.equal(await storage.feedByReadId('some-read-id' as ReadId), undefined);
    t.same(await reads(storage).page(name, { limit: 10 }), { notes: [], next: undefined });
    t.equal(await reads(storage).note(name, 'x' as NoteId), undefined);
    t.equal(await reads(storage).stat(name, 'x.md' as NoteFile), undefined);
    t.equal(await storage.feed(name), undefined);
  });

  test('the first note makes the feed', async (t, storage) => {
    const name = feedName('first');
    const before = Date.now();
    const feed = await post(storage, name, newNote('hello'));
    t.match(feed, {
      name,
      title: '',
      description: '',
      showSender: true,
      listed: false,
      image: undefined,
      passwordHash: undefined,
    });
    t.match(feed.readId, /^[A-Za-z0-9_-]{22}$/);
    t.match({ texts: feed.noteCount, images: feed.imageCount }, { texts: 1, images: 0 });
    t.ok(feed.changedAt >= before - 1 && feed.changedAt <= Date.now());
    t.same(await storage.feed(name), feed);
    t.same(await storage.feedByReadId(feed.readId), feed);
  });

  test('a note comes back byte for byte, with its metadata', async (t, storage) => {
    const name = feedName('bytes');
    const text = newNote('\uFEFF# Grüße\r\n\0 \u{1F600} \u202E\n', 'md', {
      title: 'Größe',
      tags: ['a', 'b.c:d'],
    });
    const bytes = randomBytes(300_000);
    const pixels = { width: 3, height: 2, bytes: bytes.length };
    const meta = { alt: 'a "b" \\', name: 'x y.png', sender: 'Ann', pixels, tags: [] };
    const picture = newNote(bytes, 'png', meta);
    await post(storage, name, text);
    const feed = await post(storage, name, picture);
    t.match({ texts: feed.noteCount, images: feed.imageCount }, { texts: 2, images: 1 });

    const note = await reads(storage).note(name, text.id);
    t.same(note?.content && Buffer.from(note.content), text.bytes);
    t.same(note?.meta, text.meta);
    t.match(note, { id: text.id, type: 'md', size: text.bytes.byteLength });

    const found = await reads(storage).note(name, picture.id);
    t.match(found, { id: picture.id, type: 'png', size: 300_000, content: undefined });
    t.same(found?.meta, picture.meta);
    const file = await reads(storage).stat(name, noteFile(picture.id, 'png'));
    t.equal(file?.size, 300_000);
    t.ok(bytes.equals(await bytesOf(file!)));
    t.ok(bytes.subarray(65_000, 140_001).equals(await bytesOf(file!, 65_000, 140_001)));
    t.same(await bytesOf(file!, 5, 5), Buffer.alloc(0));
    const { readId } = feed;
    t.equal((await storage.stat({ readId }, noteFile(picture.id, 'png')))?.modifiedAt, file?.modifiedAt);
    t.equal(await storage.stat({ readId: 'none' as ReadId }, noteFile(picture.id, 'png')), undefined);
    for (const query of [{ limit: 9 }, { limit: 1 }, { limit: 9, tag: 'none' }, { limit: 9, tag: 'a' }]) {
      const page = { feed: await storage.feed(name), ...(await reads(storage).page(name, query)) };
      t.same(await storage.pageByReadId(readId, query), page);
    }
    await edits(storage).deleteFeed(name);
    t.equal(await storage.pageByReadId(readId, { limit: 9 }), undefined);
    t.equal(await storage.stat({ readId }, noteFile(picture.id, 'png')), undefined);
  });

  test('an empty file and one of 5 MiB are stored whole', async (t, storage) => {
    const name = feedName('sizes');
    for (const size of [0, 5 * 1024 * 1024]) {
      const note = newNote(randomBytes(size), 'gif');
      await post(storage, name, note);
      const file = await reads(storage).stat(name, noteFile(note.id, 'gif'));
      t.ok(Buffer.from(note.bytes).equals(await bytesOf(file!)));
    }
  });

  test('the bytes given may be reused once the post is settled', async (t, storage) => {
    const name = feedName('reuse');
    const note = newNote('before');
    await post(storage, name, note);
    note.bytes.fill(0x78);
    t.equal(textOf(await reads(storage).note(name, note.id)), 'before');
  });

  test('pages go from new to old and meet without gap or overlap', async (t, storage) => {
    const name = feedName('pages');
    const notes = Array.from({ length: 25 }, (_, i) => newNote(`note ${i}`));
    for (const note of notes) await post(storage, name, note);
    const expected = notes.map((note) => note.id).reverse();
    const seen: NoteId[] = [];
    let page = await reads(storage).page(name, { limit: 10 });
    seen.push(...idsOf(page));
    while (page.next) {
      page = await reads(storage).page(name, { limit: 10, before: page.next });
      seen.push(...idsOf(page));
    }
    t.same(seen, expected);
    const exact = await reads(storage).page(name, { limit: 25 });
    t.equal(exact.next, undefined, 'a page that holds all has no next one');
    t.equal(textOf(exact.notes[0]), 'note 24');
  });

  test('pages of long texts meet without gap or overlap', async (t, storage) => {
    const name = feedName('long');
    const tags = ['t'];
    const notes = Array.from({ length: 30 }, (_, i) =>
      i % 5 === 3 ? newNote('p', 'png', { tags }) : newNote('x'.repeat(100_000), 'md', { tags }),
    );
    await post(storage, name, notes);
    for (const tag of [undefined, 't']) {
      const seen: NoteId[] = [];
      let page = await reads(storage).page(name, { limit: 25, tag });
      for (; page.next; page = await reads(storage).page(name, { limit: 25, tag, before: page.next })) {
        t.ok(page.notes.length > 9, 'a page has at least what fits into 1 MiB');
        if (backend.name !== 'files') t.ok(page.notes.length < 16, 'and little more');
        seen.push(...idsOf(page));
      }
      seen.push(...idsOf(page));
      t.same(seen, notes.map((note) => note.id).reverse());
    }
  });

  test('a page goes on from a position whose note is not there', async (t, storage) => {
    const name = feedName('position');
    const [old, middle, young] = [newNote('1'), newNote('2'), newNote('3')] as const;
    await post(storage, name, young);
    await post(storage, name, old);
    const { notes } = await reads(storage).page(name, { limit: 1 });
    const before = { createdAt: notes[0]!.createdAt, file: noteFile(middle.id, 'md') };
    t.same(idsOf(await reads(storage).page(name, { limit: 5, before })), [old.id]);
  });

  test('every place has its neighbours', async (t, storage) => {
    const name = feedName('neighbours');
    const notes = [newNote('1'), newNote('2', 'png'), newNote('3')];
    const [old, middle, young] = notes.map((note) => note.id) as [NoteId, NoteId, NoteId];
    await post(storage, name, notes[2]!);
    await post(storage, name, notes[0]!);
    const at = async (index: number) => {
      const { createdAt } = (await reads(storage).note(
        name,
        (index === 1 ? young : notes[index]!.id) as NoteId,
      ))!;
      return reads(storage).neighbours(name, {
        createdAt,
        file: noteFile(notes[index]!.id, notes[index]!.type),
      });
    };
    t.same(await at(0), { older: undefined, newer: young });
    t.same(await at(2), { older: old, newer: undefined });
    t.same(await at(1), { older: old, newer: young }, 'where no note is');
    await post(storage, name, notes[1]!);
    t.same(
      [await at(0), await at(2)],
      [
        { older: undefined, newer: middle },
        { older: middle, newer: undefined },
      ],
    );
    const position = { createdAt: 1, file: noteFile(old, 'md') };
    t.same(await reads(storage).neighbours(feedName('nobodys'), position), {
      older: undefined,
      newer: undefined,
    });
  });

  test('a tag selects notes, those posted later too', async (t, storage) => {
    const name = feedName('tags');
    const red = newNote('1', 'md', { tags: ['red'] });
    const both = newNote('2', 'gif', { tags: ['red', 'blue'] });
    for (const note of [red, both, newNote('3')]) await post(storage, name, note);
    t.same(idsOf(await reads(storage).page(name, { limit: 9, tag: 'red' })), [both.id, red.id]);
    const later = newNote('4', 'md', { tags: ['blue'] });
    await post(storage, name, later);
    t.same(idsOf(await reads(storage).page(name, { limit: 9, tag: 'blue' })), [later.id, both.id]);
    const first = await reads(storage).page(name, { limit: 1, tag: 'blue' });
    t.same(idsOf(first), [later.id]);
    t.same(idsOf(await reads(storage).page(name, { limit: 1, tag: 'blue', before: first.next })), [both.id]);
    t.same(idsOf(await reads(storage).page(name, { limit: 9, tag: 'none' })), []);
  });

  test('a chosen read id is taken once only, and looked at only when the feed is new', async (t, storage) => {
    const chosen = { readId: 'my-read-id' as ReadId };
    const feed = await post(storage, feedName('a'), newNote('1'), chosen);
    t.equal(feed.readId, 'my-read-id');
    await t.rejects(post(storage, feedName('b'), newNote('1'), chosen), { code: 'taken', status: 409 });
    t.equal(await storage.feed(feedName('b')), undefined, 'the refused post leaves no feed');
    const again = await post(storage, feedName('a'), newNote('2'), { readId: 'other-id' as ReadId });
    t.equal(again.readId, 'my-read-id');
    const [one, two] = await Promise.allSettled([
      post(storage, feedName('c'), newNote('1'), { readId: 'wanted' as ReadId }),
      post(storage, feedName('d'), newNote('1'), { readId: 'wanted' as ReadId }),
    ]);
    t.same([one.status, two.status].sort(), ['fulfilled', 'rejected'], 'of two at once one gets it');
  });

  test('posts at once to a new name make one feed that holds all of them', async (t, storage) => {
    const name = feedName('rush');
    const notes = Array.from({ length: 20 }, (_, i) => newNote(`${i}`, 'md', { tags: [`t${i}`] }));
    const feeds = await Promise.all(notes.map((note) => post(storage, name, note)));
    t.equal(new Set(feeds.map((feed) => feed.readId)).size, 1);
    t.equal((await storage.feed(name))?.noteCount, 20);
    t.same(idsOf(await reads(storage).page(name, { limit: 100 })), notes.map((note) => note.id).reverse());
  });

  test('everything is there again after closing and opening', async (t, storage, place) => {
    const name = feedName('again');
    const notes = [newNote('one', 'md', { title: 'T', tags: ['x'] }), newNote(randomBytes(99), 'webp')];
    for (const note of notes) await post(storage, name, note);
    const feed = await storage.feed(name);
    const page = await reads(storage).page(name, { limit: 10 });
    await storage.close();
    const reopened = await place.open();
    t.teardown(() => reopened.close());
    t.match(await reopened.feed(name), { ...feed, key: String, changedAt: Number, version: String });
    t.same(await reads(reopened).page(name, { limit: 10 }), page);
    t.same(idsOf(await reads(reopened).page(name, { limit: 10, tag: 'x' })), [notes[0]!.id]);
    t.equal((await reopened.feedByReadId(feed!.readId))?.name, name);
  });

  test('a change is told before its post settles, with the read id', async (t, storage) => {
    const changes: FeedChange[] = [];
    storage.onChange((change) => changes.push(change));
    const feed = await post(storage, feedName('told'), newNote('1'));
    t.same(changes, [{ readIds: [feed.readId] }]);
    const later = await post(storage, feedName('told'), newNote('2'));
    t.same(changes.length, 2);
    t.ok(later.changedAt >= feed.changedAt);
  });

  test('closing lets running posts finish, and then nothing more is stored', async (t, storage, place) => {
    const name = feedName('closing');
    await post(storage, name, newNote('first'));
    const posts = Array.from({ length: 8 }, (_, i) =>
      writes(storage).post(name, [newNote(`${i}`)], OPEN, NO_LIMITS),
    );
    let stored = 0;
    for (const posting of posts) posting.then(() => (stored += 1));
    await storage.close();
    t.equal(stored, 8);
    await t.rejects(post(storage, name, newNote('late')), { code: 'store_unavailable' });
    await t.rejects(storage.check(), { code: 'store_unavailable' });
    const reopened = await place.open();
    t.teardown(() => reopened.close());
    t.equal((await reopened.feed(name))?.noteCount, 9);
    await reopened.check();
  });
}
