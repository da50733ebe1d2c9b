import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import type { Test } from 'tap';
import { randomReadId } from '../../src/feeds/ids.ts';
import type { FeedName, NoteId } from '../../src/feeds/names.ts';
import type { NewNote } from '../../src/feeds/note.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { toFeed } from '../../src/writing/command.ts';
import type { FeedLimits } from '../../src/writing/limits.ts';
import { edits, NEW, NO_LIMITS, OPEN, post, reads, writes } from '../support/storing.ts';
import { type Backend, feedName, newNote, runner } from './contract.ts';
import { configure, leavesAll, name, other, reopened, tally } from './contract-support.ts';

const KB = 1024;
const FULL = { code: 'byte_limit', status: 507 };

const text = (size: number, key?: string) =>
  newNote(
    'x'.repeat(size),
    'md',
    key === undefined ? undefined : { tags: [], key, posted: { hash: `${size}` } },
  );
const picture = (size: number) => newNote(randomBytes(size), 'png');
const limit = (bytes: number): FeedLimits => ({ ...NO_LIMITS, bytes });

async function importTo(storage: Storage, feed: FeedName, notes: readonly NewNote[], limits = NO_LIMITS) {
  const found = (await storage.feed(feed))!;
  return (await storage.write({ kind: 'import', ...toFeed(found), notes, limits }))?.outcomes;
}

async function sweep(storage: Storage, feed: FeedName) {
  const found = (await storage.feed(feed))!;
  return storage.write({ kind: 'sweep', ...toFeed(found) });
}

/** Replaces the note of a key, or makes it. */
function putKeyed(storage: Storage, feed: FeedName, note: NewNote) {
  return storage.write({
    kind: 'post',
    name: feed,
    target: OPEN,
    notes: [note],
    limits: NO_LIMITS,
    replaces: true,
  });
}

/** The bytes of the notes that a feed shows. */
async function shownBytes(storage: Storage, feed: FeedName): Promise<number> {
  let sum = 0;
  let page = await reads(storage).page(feed, { limit: 100 });
  for (;;) {
    sum += page.notes.reduce((bytes, { size }) => bytes + size, 0);
    if (!page.next) return sum;
    page = await reads(storage).page(feed, { limit: 100, before: page.next });
  }
}

/** Checks the bytes of the only feed, by whatever tells them. */
async function hasBytes(t: Test, storage: Storage, bytes: number, what: string) {
  const feed = await storage.feed(name);
  t.equal(feed?.byteCount, bytes, what);
  t.equal(await shownBytes(storage, name), bytes, what);
  t.equal((await storage.feedByReadId(feed!.readId))?.byteCount, bytes, what);
  t.match(await storage.totals(), { bytes, notes: feed!.noteCount, pictures: feed!.imageCount }, what);
}

/** What every storage backend must do with the bytes of notes, and with limits of them. */
export function testBytes(backend: Backend): void {
  const test = runner(backend);

  test('the bytes of a feed are counted through every kind of write', async (t, storage, place) => {
    const { replace, remove, describe } = edits(storage);
    const [first, form] = [text(10), [picture(300), picture(5), text(7)] as const];
    t.equal((await writes(storage).create(name, NEW))?.byteCount, 0);
    await hasBytes(t, storage, 0, 'a feed without notes');
    await post(storage, name, first);
    await hasBytes(t, storage, 10, 'a post');
    t.equal((await post(storage, name, form)).byteCount, 322);
    await hasBytes(t, storage, 322, 'a form');
    await replace(name, first.id, Buffer.alloc(50));
    await hasBytes(t, storage, 362, 'a larger text');
    await replace(name, form[0].id, Buffer.alloc(3));
    await hasBytes(t, storage, 65, 'a smaller picture');
    await replace(name, first.id, Buffer.alloc(1), { added: [picture(20), picture(4)] });
    await hasBytes(t, storage, 40, 'a text with new pictures');
    await describe(name, first.id, { title: 'T'.repeat(50), tags: ['a', 'b'] });
    await configure(storage, name, { title: 'Title', description: 'D'.repeat(500) });
    await hasBytes(t, storage, 40, 'what is beside the notes');
    const imported = [text(100), picture(60)];
    t.same(await importTo(storage, name, imported), ['stored', 'stored']);
    t.same(await importTo(storage, name, imported), ['skipped', 'skipped']);
    await hasBytes(t, storage, 200, 'an import');
    await putKeyed(storage, name, text(8, 'key'));
    await putKeyed(storage, name, text(2, 'key'));
    await hasBytes(t, storage, 202, 'another text for a key');
    await post(storage, name, text(2, 'key'));
    await hasBytes(t, storage, 202, 'a post that is sent again');
    await remove(name, imported[0]!.id);
    await hasBytes(t, storage, 102, 'a removal');
    const again = await reopened(t, storage, place);
    await hasBytes(t, again, 102, 'after a restart');
    await configure(again, name, { keepNotes: 2 });
    await sweep(again, name);
    t.equal((await again.feed(name))?.noteCount, 2);
    await hasBytes(t, again, await shownBytes(again, name), 'what the feed keeps no longer');
    await edits(again).deleteFeed(name);
    t.match(await again.totals(), { feeds: 0, notes: 0, pictures: 0, bytes: 0 });
    t.equal((await post(again, name, text(9))).byteCount, 9);
    await hasBytes(t, again, 9, 'another feed of the name');
  });

  test('after any writes, the bytes are those of the notes', async (t, storage, place) => {
    const step = fc.record({
      kind: fc.constantFrom('post', 'post', 'form', 'replace', 'grow', 'import', 'remove', 'key', 'delete'),
      feed: fc.constantFrom('a', 'b', 'c'),
      size: fc.nat(2_000),
      which: fc.nat(),
    });
    const notes = new Map<FeedName, NoteId[]>();
    const run = async ({
      kind,
      feed,
      size,
      which,
    }: typeof step extends fc.Arbitrary<infer S> ? S : never) => {
      const to = feedName(feed);
      const ids = notes.get(to) ?? [];
      const id = ids[which % ids.length];
      const bytes = Buffer.alloc(size);
      if (kind === 'post' || ids.length === 0) {
        const note = which % 2 ? text(size) : picture(size);
        await post(storage, to, note);
        notes.set(to, [...ids, note.id]);
      } else if (kind === 'form') await post(storage, to, [picture(size), text(which % 100)]);
      else if (kind === 'replace') await edits(storage).replace(to, id!, bytes);
      else if (kind === 'grow')
        await edits(storage).replace(to, id!, bytes, { added: [picture(which % 100)] });
      else if (kind === 'import') await importTo(storage, to, [text(size), picture(which % 100)]);
      else if (kind === 'key') await putKeyed(storage, to, text(size, 'key'));
      else if (kind === 'remove') await edits(storage).remove(to, id!);
      else {
        await edits(storage).deleteFeed(to);
        notes.delete(to);
      }
    };
    const check = async (from: Storage) => {
      let [bytes, feeds] = [0, 0];
      for (const to of ['a', 'b', 'c'].map(feedName)) {
        const feed = await from.feed(to);
        if (feed) t.equal(feed.byteCount, await shownBytes(from, to), to);
        bytes += feed?.byteCount ?? 0;
        feeds += feed ? 1 : 0;
      }
      t.match(await from.totals(), { feeds, bytes });
    };
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 15 }), async (steps) => {
        for (const one of steps) await run(one);
        await check(storage);
      }),
      { numRuns: 8, endOnFailure: true },
    );
    await check(await reopened(t, storage, place));
  });

  test('of 50 posts at once to a feed with room for ten, ten are stored', async (t, storage) => {
    await post(storage, name, picture(500));
    const posts = Array.from({ length: 50 }, (_, i) =>
      writes(storage).post(name, [i % 2 ? text(100) : picture(100)], OPEN, limit(1_599)),
    );
    t.same(tally(await Promise.allSettled(posts)), { object: 10, byte_limit: 40 });
    await hasBytes(t, storage, 1_500, 'all that fits');
    t.match(await writes(storage).post(name, [text(99)], OPEN, limit(1_599)), { byteCount: 1_599 });
  });

  test('a refusal tells which note is the first that does not fit, and changes nothing', async (t, storage) => {
    const limits = limit(1 * KB);
    await t.rejects(writes(storage).post(name, [text(KB), text(0), text(1)], NEW, limits), {
      ...FULL,
      position: 2,
    });
    t.equal(await storage.feed(name), undefined);
    const note = text(1_000);
    await writes(storage).post(name, [note], NEW, limits);
    const { replace } = edits(storage);
    const refused: [() => Promise<unknown>, number?][] = [
      [() => writes(storage).post(name, [picture(20), text(5)], OPEN, limits), 1],
      [() => replace(name, note.id, Buffer.alloc(1_025), {}, limits)],
      [() => replace(name, note.id, Buffer.alloc(1_005), { added: [picture(20)] }, limits)],
      [() => replace(name, note.id, Buffer.alloc(1), { added: [text(24), picture(1)] }, limits), 1],
    ];
    for (const [write, position] of refused)
      await leavesAll(t, storage, write, { ...FULL, ...(position && { position }) });
    const [small, large] = [text(20), text(5)];
    const outcomes = await importTo(storage, name, [small, large, text(4)], limits);
    t.match(outcomes, ['stored', { code: 'byte_limit' }, 'stored'], 'each imported note for itself');
    await hasBytes(t, storage, KB, 'full to the last byte');
    const target = { ...NEW, readId: randomReadId() };
    const make = (...notes: NewNote[]) =>
      storage.write({ kind: 'import', name: other, target, notes, limits });
    await t.rejects(make(text(1_025), picture(1_025)), { ...FULL, position: 0 });
    t.equal(await storage.feed(other), undefined, 'an import of which nothing fits makes no feed');
    t.match(await make(text(1_025), picture(20)), {
      outcomes: [{ code: 'byte_limit' }, 'stored'],
      feed: { readId: target.readId, byteCount: 20 },
    });
    t.equal(await make(text(1)), undefined, 'the feed is there by now');
  });

  test('what is stored beyond a lowered limit can be edited, made smaller and removed', async (t, storage) => {
    const notes = [text(100), picture(200)] as const;
    await post(storage, name, notes);
    const { replace, describe, remove } = edits(storage);
    const limits = limit(50);
    await t.rejects(writes(storage).post(name, [text(1)], OPEN, limits), FULL);
    await t.rejects(replace(name, notes[0].id, Buffer.alloc(101), {}, limits), FULL);
    t.ok(await writes(storage).post(name, [text(0)], OPEN, limits), 'nothing fits always');
    t.ok(await replace(name, notes[0].id, Buffer.alloc(100, 'y'), {}, limits));
    t.ok(await replace(name, notes[0].id, Buffer.alloc(49), {}, limits));
    t.ok(await describe(name, notes[1].id, { alt: 'A' }));
    t.equal(await remove(name, notes[1].id), true);
    t.ok(await writes(storage).post(name, [text(1)], OPEN, limits));
    await hasBytes(t, storage, 50, 'up to the limit');
  });

  test(
    'of 50 posts at once to many feeds, as many are stored as the instance has bytes for',
    async (t, storage, place) => {
      await post(storage, name, text(500));
      const targets = Array.from({ length: 50 }, (_, i) => feedName(i % 3 ? `new-${i}` : name));
      const posted = await Promise.allSettled(targets.map((to) => post(storage, to, picture(100))));
      t.same(tally(posted), { object: 15, byte_limit: 35 });
      t.match(await storage.totals(), { bytes: 2_000 });
      const feeds = await storage.listFeeds({ order: 'name', start: '', limit: 100 });
      t.ok(
        feeds.feeds.every(({ noteCount }) => noteCount > 0),
        'no feed is made for what is refused',
      );
      const again = await reopened(t, storage, place);
      await t.rejects(post(again, name, text(48)), FULL);
      await t.rejects(post(again, other, text(48)), FULL);
      t.match(await post(again, other, []), { byteCount: 0 }, 'a feed without notes has no bytes');
    },
    0,
    2_047,
  );

  test(
    'whatever goes makes room in the instance',
    async (t, storage) => {
      const note = text(600);
      await post(storage, name, note);
      await post(storage, other, text(424));
      const { replace, remove, deleteFeed } = edits(storage);
      await t.rejects(post(storage, other, text(1)), FULL);
      await replace(name, note.id, Buffer.alloc(500));
      await post(storage, other, text(100));
      await t.rejects(replace(name, note.id, Buffer.alloc(501)), FULL);
      await remove(name, note.id);
      t.match(await importTo(storage, other, [picture(400), picture(101), picture(100)]), [
        'stored',
        { code: 'byte_limit' },
        'stored',
      ]);
      await t.rejects(post(storage, name, text(1)), FULL);
      await deleteFeed(other);
      await post(storage, name, [text(1_000), picture(24)]);
      await t.rejects(post(storage, name, text(1)), { ...FULL, position: 0 });
      await configure(storage, name, { keepNotes: 1 });
      await sweep(storage, name);
      t.equal((await storage.feed(name))?.noteCount, 1);
      const { byteCount } = (await storage.feed(name))!;
      await post(storage, other, text(KB - byteCount));
      t.match(await storage.totals(), { bytes: KB });
      await t.rejects(post(storage, other, text(1)), FULL);
    },
    0,
    1 * KB,
  );
}
