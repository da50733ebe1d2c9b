import type { Test } from 'tap';
import { NoteIds } from '../../src/feeds/ids.ts';
import { type FeedName, type NoteId, noteFile } from '../../src/feeds/names.ts';
import type { NewNote, NoteMeta } from '../../src/feeds/note.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { toFeed } from '../../src/writing/command.ts';
import { SWEPT_NOTES } from '../../src/writing/due.ts';
import { edits, NO_LIMITS, post, reads } from '../support/storing.ts';
import { type Backend, idsOf, newNote, runner, textOf } from './contract.ts';
import { configure, name, other, reopened } from './contract-support.ts';

const DAY_MS = 24 * 60 * 60_000;
const EXPIRED = { expires: Date.UTC(2020, 0, 1) };

const expired = (text: string, meta: Partial<NoteMeta> = {}) =>
  newNote(text, 'md', { tags: [], ...EXPIRED, ...meta });

/** A text with an id of some days ago. */
function aged(days: number, meta: NoteMeta = { tags: [] }): NewNote {
  return { ...newNote(`${days} days`, 'md', meta), id: new NoteIds(() => Date.now() - days * DAY_MS).next() };
}

async function sweep(storage: Storage, feed: FeedName) {
  return storage.write({ kind: 'sweep', ...toFeed((await storage.feed(feed))!) });
}

/** Feeds that have notes to remove, and those of which only a sweep finds out that they have none any more. */
const dueAt = async (storage: Storage, now = Date.now()) => (await storage.due(now)).toSorted();

/** The ids of all notes of the feed, newest first, by pages of that many. */
async function listed(storage: Storage, limit = 100, tag?: string): Promise<NoteId[]> {
  const ids: NoteId[] = [];
  let page = await reads(storage).page(name, { limit, tag });
  for (; page.next; page = await reads(storage).page(name, { limit, tag, before: page.next }))
    ids.push(...idsOf(page));
  return [...ids, ...idsOf(page)];
}

/** What every storage backend must do with notes that expire, and with feeds that keep some only. */
export function testExpiry(backend: Backend): void {
  const test = runner(backend);

  test('an expired note is in no answer, before it is removed and after', async (t, storage, place) => {
    const live = { tags: ['t'], expires: Date.now() + DAY_MS };
    const [old, young] = [newNote('old', 'md', live), newNote('young', 'md', live)];
    const text = expired('text', { tags: ['t'] });
    const picture = newNote('p', 'png', { tags: ['t'], ...EXPIRED });
    const { readId } = await post(storage, name, old);
    for (const note of [text, picture, young]) await post(storage, name, note);
    const isHidden = async (t: Test, storage: Storage) => {
      const both = [young.id, old.id];
      t.same(await reads(storage).tags(name), [{ tag: 't', count: 2 }]);
      t.same([await listed(storage), await listed(storage, 1)], [both, both]);
      t.same([await listed(storage, 9, 't'), await listed(storage, 1, 't')], [both, both]);
      t.same(idsOf((await storage.pageByReadId(readId, { limit: 9 }))!), both);
      const feed = (await storage.feed(name))!;
      for (const { id, type } of [text, picture]) {
        t.equal(await storage.note(feed, id), undefined);
        t.equal(await storage.stat(feed, noteFile(id, type)), undefined);
        t.equal(await storage.stat({ readId }, noteFile(id, type)), undefined);
        t.equal(await edits(storage).describe(name, id, { expires: 0 }), undefined, 'nor can it be changed');
        t.equal(await edits(storage).remove(name, id), false);
      }
      const placeOf = async (id: NoteId) => ({
        createdAt: (await storage.note(feed, id))!.createdAt,
        file: noteFile(id, 'md'),
      });
      const { expires } = live;
      t.same(await storage.neighbours(feed, await placeOf(old.id)), {
        older: undefined,
        newer: young.id,
        expires,
      });
      t.same(await storage.neighbours(feed, await placeOf(young.id)), {
        older: old.id,
        newer: undefined,
        expires,
      });
      t.equal((await storage.note(feed, old.id))?.meta.expires, live.expires);
    };
    await isHidden(t, storage);
    const again = await reopened(t, storage, place);
    await isHidden(t, again);
    t.same(await dueAt(again), [name]);
    t.match(await sweep(again, name), { feed: { noteCount: 2, imageCount: 0 } });
    await isHidden(t, again);
    t.same(await dueAt(again), []);
  });

  test('a note is due at its moment, which can be set, changed and removed', async (t, storage) => {
    const [note, soon] = [newNote('1'), Date.now() + 60_000];
    await post(storage, name, note);
    await post(storage, other, newNote('2', 'md', { tags: [], expires: soon + 1 }));
    const set = (expires: number) => edits(storage).describe(name, note.id, { expires });
    t.match(await set(soon), { meta: { expires: soon } });
    t.same(
      [await dueAt(storage, soon - 1), await dueAt(storage, soon), await dueAt(storage, soon + 1)],
      [[], [name], [name, other].sort()],
    );
    t.match(await set(soon + 5), { meta: { expires: soon + 5 } });
    await sweep(storage, name);
    t.same(await dueAt(storage, soon + 4), [other]);
    t.equal((await set(0))?.meta.expires, undefined);
    await sweep(storage, name);
    t.same(await dueAt(storage, soon + DAY_MS), [other]);
    t.same(await listed(storage), [note.id]);
    await set(EXPIRED.expires);
    t.same(await listed(storage), []);
    t.same(await dueAt(storage), [name]);
  });

  test('pages meet without gap or overlap around expired notes', async (t, storage) => {
    const notes = Array.from({ length: 40 }, (_, n) =>
      n % 3 === 0 || (n > 20 && n < 30) ? newNote(`${n}`, 'md', { tags: ['t'] }) : expired(`${n}`),
    );
    await post(storage, name, notes);
    const live = notes.filter(({ meta }) => meta.expires === undefined).map(({ id }) => id);
    for (const limit of [1, 4, 50])
      for (const tag of [undefined, 't'])
        t.same(await listed(storage, limit, tag), live.toReversed(), `${limit}`);
  });

  test('an import leaves alone what is there but has expired, and its notes expire, too', async (t, storage) => {
    const [gone, live] = [expired('gone'), newNote('live', 'md', { tags: [], expires: Date.now() + DAY_MS })];
    await post(storage, name, gone);
    const { target } = toFeed((await storage.feed(name))!);
    const written = await storage.write({
      kind: 'import',
      name,
      target,
      notes: [gone, live],
      limits: NO_LIMITS,
    });
    t.same(written?.outcomes, ['skipped', 'stored']);
    t.same(await listed(storage), [live.id]);
    await sweep(storage, name);
    t.same(await dueAt(storage), []);
    t.same(await dueAt(storage, Date.now() + DAY_MS), [name]);
    const file = await reads(storage).stat(name, noteFile(live.id, 'md'));
    t.equal(file?.expires, live.meta.expires);
  });

  test('a sweep removes some of what is due, with all that is kept of it', async (t, storage, place) => {
    const kept = newNote('kept', 'png', { tags: ['t'] });
    await post(storage, name, kept);
    const count = SWEPT_NOTES * 2 + 3;
    await post(
      storage,
      name,
      Array.from({ length: count }, (_, n) => expired(`${n}`, { key: `k${n}`, tags: ['t'] })),
    );
    await post(storage, other, newNote('2'));
    let left = count + 1;
    while ((await dueAt(storage)).length > 0) {
      const { feed } = (await sweep(storage, name))!;
      t.ok(feed.noteCount < left && feed.noteCount >= left - SWEPT_NOTES);
      left = feed.noteCount;
    }
    t.equal(left, 1);
    const { version } = (await storage.feed(name))!;
    t.match(await sweep(storage, name), { feed: { noteCount: 1 }, note: undefined });
    t.equal((await storage.feed(name))?.version, version, 'nothing is due, so nothing changes');
    t.same(await listed(storage, 9, 't'), [kept.id]);
    const again = await reopened(t, storage, place);
    t.match(await again.feed(name), { noteCount: 1, imageCount: 1 });
    const feed = (await again.feed(name))!;
    const target = { kind: 'existing', passwordHash: 'another' } as const;
    t.equal(await again.write({ kind: 'sweep', name: feed.name, target }), undefined, 'not the feed meant');
  });

  test('a feed keeps its notes for some days, but for its title image', async (t, storage) => {
    const [old, picture, young] = [aged(3), { ...aged(3), type: 'png' as const }, aged(1)];
    for (const note of [old, picture, young]) await post(storage, name, note);
    t.same(await dueAt(storage), []);
    await configure(storage, name, { keepDays: 2, image: noteFile(picture.id, 'png') });
    t.same(await dueAt(storage), [name]);
    t.match(await sweep(storage, name), { feed: { noteCount: 2, image: noteFile(picture.id, 'png') } });
    t.same(await dueAt(storage), []);
    t.same(await listed(storage), [young.id, picture.id]);
    await edits(storage).describe(name, picture.id, EXPIRED);
    t.same(await dueAt(storage), [name], 'but not if that expires');
    t.match(await sweep(storage, name), { feed: { noteCount: 1, imageCount: 0, image: undefined } });
    t.same(await listed(storage), [young.id]);
    t.same(await dueAt(storage, Date.now() + 1.5 * DAY_MS), [name]);
    const undated = { ...newNote('imported'), id: 'by hand' as NoteId, createdAt: Date.now() - 3 * DAY_MS };
    const { target } = toFeed((await storage.feed(name))!);
    await storage.write({ kind: 'import', name, target, notes: [undated], limits: NO_LIMITS });
    t.same(await dueAt(storage), [name], 'a note that is imported with its date');
  });

  test('a feed keeps its newest notes', async (t, storage) => {
    const notes = Array.from({ length: 6 }, (_, n) => newNote(`${n}`, n === 0 ? 'png' : 'md'));
    await post(storage, name, notes);
    await configure(storage, name, { keepNotes: 3, image: noteFile(notes[0]!.id, 'png') });
    t.same(await dueAt(storage), [name]);
    await sweep(storage, name);
    t.same(
      await listed(storage),
      [5, 4, 3, 0].map((n) => notes[n]!.id),
    );
    t.same(await dueAt(storage), []);
    await configure(storage, name, { image: undefined });
    t.same(await dueAt(storage), [name]);
    await sweep(storage, name);
    t.equal((await storage.feed(name))?.noteCount, 3);
    await configure(storage, name, { keepNotes: undefined });
    await post(storage, name, newNote('more'));
    t.same(await dueAt(storage), []);
  });

  test('an expired note is none of the newest that a feed keeps', async (t, storage) => {
    const kept = [newNote('a'), newNote('b'), newNote('c')];
    for (const note of [...kept, expired('d'), expired('e')]) await post(storage, name, note);
    await configure(storage, name, { keepNotes: 3 });
    await sweep(storage, name);
    t.same(await listed(storage), kept.map(({ id }) => id).toReversed());
    t.same(await dueAt(storage), []);
  });

  test('the key of an expired note is free, and the note goes', async (t, storage, place) => {
    const first = expired('first', { key: 'k', posted: { hash: 'a' } });
    await post(storage, name, first);
    const target = { kind: 'existing', passwordHash: undefined } as const;
    const second = newNote('second', 'md', { key: 'k', posted: { hash: 'b' }, tags: [] });
    const limits = { texts: 1, images: 1 };
    const written = await storage.write({ kind: 'post', name, target, notes: [second], limits });
    t.match(written, { feed: { noteCount: 1 } });
    t.equal(textOf(await reads(storage).note(name, second.id)), 'second');
    const again = await reopened(t, storage, place);
    await sweep(again, name);
    t.same(await dueAt(again), []);
    t.same(await listed(again), [second.id]);
    const repeated = { ...second, ...newNote('second', 'md', second.meta) };
    const replayed = await again.write({ kind: 'post', name, target, notes: [repeated], limits });
    t.match(replayed, { feed: { noteCount: 1 }, note: { id: second.id } });
  });
}
