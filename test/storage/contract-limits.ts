import type { NewNote } from '../../src/feeds/note.ts';
import type { FeedLimits } from '../../src/writing/limits.ts';
import { edits, NEW, NO_LIMITS, OPEN, post, reads, writes } from '../support/storing.ts';
import { type Backend, newNote, runner, textOf } from './contract.ts';
import { leavesAll, name, shown, tally } from './contract-support.ts';

const REASONS = [
  ['images_off', 403],
  ['license_required', 402],
] as const;

const texts = (count: number) => Array.from({ length: count }, (_, i) => newNote(`${i}`));
const pictures = (count: number) => Array.from({ length: count }, (_, i) => newNote(`${i}`, 'png'));

/** What every storage backend must do with the limits that come with a write. */
export function testLimits(backend: Backend): void {
  const test = runner(backend);

  test('each write is checked against its own limits', async (t, storage) => {
    const [low, high] = [
      { texts: 3, images: 0 },
      { texts: 6, images: 0 },
    ];
    await writes(storage).create(name, NEW);
    const posts = texts(40).map((note, i) => writes(storage).post(name, [note], OPEN, i % 2 ? high : low));
    const all = await Promise.allSettled(posts);
    const stored = all.flatMap(({ status }, i) => (status === 'fulfilled' ? [i] : []));
    t.same(stored, [0, 1, 2, 3, 5, 7]);
    t.same(tally(all), { object: 6, note_limit: 34 });
    await t.rejects(writes(storage).post(name, texts(1), OPEN, high), { code: 'note_limit' });
    t.match(await writes(storage).post(name, texts(1), OPEN, { texts: 7, images: 0 }), { noteCount: 7 });
    t.match(await writes(storage).post(name, texts(5), OPEN, NO_LIMITS), { noteCount: 12 });
  });

  test('of 64 posts at once to a feed with room for ten, ten are stored', async (t, storage) => {
    await post(storage, name, [...pictures(2), ...texts(5)]);
    const limits = { texts: 15, images: 2 };
    const all = await Promise.allSettled(
      texts(64).map((note) => writes(storage).post(name, [note], OPEN, limits)),
    );
    t.same(tally(all), { object: 10, note_limit: 54 });
    t.match(await storage.feed(name), { noteCount: 17, imageCount: 2 });
    t.equal((await reads(storage).page(name, { limit: 100 })).notes.length, 17);
  });

  test('a post counts once while it is told of', async (t, storage) => {
    await writes(storage).create(name, NEW);
    const limits = { texts: 2, images: 0 };
    const later: Promise<unknown>[] = [];
    storage.onChange(() => {
      if (later.length === 0) later.push(writes(storage).post(name, texts(1), OPEN, limits));
    });
    await writes(storage).post(name, texts(1), OPEN, limits);
    t.match(await Promise.all(later), [{ noteCount: 2 }]);
  });

  for (const [picturesRefused, status] of REASONS)
    test(`pictures are refused, added and replaced: ${picturesRefused}`, async (t, storage) => {
      const [picture, text] = [newNote('p', 'png'), newNote('t')];
      await post(storage, name, [picture, text]);
      const isFree = picturesRefused === 'license_required';
      const limits: FeedLimits = { texts: 3, images: 1, picturesRefused, isFree };
      const { replace, describe, remove } = edits(storage);
      const bytes = Buffer.from('other bytes');
      const expected = (position?: number) => ({ code: picturesRefused, status, position });
      const refused: [() => Promise<unknown>, number?][] = [
        [() => writes(storage).post(name, pictures(1), OPEN, limits), 0],
        [() => writes(storage).post(name, [...texts(9), ...pictures(2)], OPEN, limits), 9],
        [() => replace(name, picture.id, bytes, {}, limits)],
        [() => replace(name, text.id, bytes, { added: [...texts(1), ...pictures(2)] }, limits), 1],
      ];
      for (const [write, position] of refused)
        await leavesAll(t, storage, write, expected(position) as { code: string });
      const other = 'unmade' as typeof name;
      for (const notes of [pictures(1), [...pictures(1), ...texts(1)]])
        await t.rejects(writes(storage).post(other, notes, NEW, limits), expected(0));
      t.equal(await storage.feed(other), undefined, 'no feed is made for what is refused');

      t.equal(textOf(await replace(name, text.id, bytes, {}, limits)), 'other bytes');
      t.ok(await describe(name, picture.id, { alt: 'A' }));
      t.match(await writes(storage).post(name, texts(2), OPEN, limits), { noteCount: 4 });
      await t.rejects(writes(storage).post(name, texts(1), OPEN, limits), {
        code: 'note_limit',
        message: isFree ? /license/ : /^((?!license).)*$/,
      });
      t.equal(await remove(name, picture.id), true);
    });

  test('a refusal tells which note is the first that does not fit', async (t, storage) => {
    const limits = { texts: 3, images: 2 };
    const refusal = (code: string, position: number) => ({ code, status: 507, position });
    const made = (notes: NewNote[]) => writes(storage).post(name, notes, NEW, limits);
    await t.rejects(made([...pictures(4), ...texts(1)]), refusal('image_limit', 2));
    await t.rejects(made([...pictures(2), ...texts(5)]), refusal('note_limit', 5));
    t.equal(await storage.feed(name), undefined);

    const [text] = texts(1) as [NewNote];
    await post(storage, name, [...pictures(1), text]);
    const works: [NewNote[], string, number][] = [
      [pictures(3), 'image_limit', 1],
      [[...texts(2), ...pictures(1), ...texts(1)], 'note_limit', 3],
      [[...texts(3), ...pictures(2)], 'note_limit', 2],
    ];
    const bytes = Buffer.from('x');
    for (const [notes, code, position] of works) {
      const expected = refusal(code, position);
      await leavesAll(t, storage, () => writes(storage).post(name, notes, OPEN, limits), expected);
      const replaced = () => edits(storage).replace(name, text.id, bytes, { added: notes }, limits);
      await leavesAll(t, storage, replaced, expected);
    }
    const both = [...texts(2), ...pictures(1)];
    t.match(await writes(storage).post(name, both, OPEN, limits), { noteCount: 5, imageCount: 2 });
    await t.rejects(writes(storage).post(name, texts(1), OPEN, limits), refusal('note_limit', 0));
  });

  test('what is stored beyond a lowered limit can be edited and removed', async (t, storage) => {
    const notes = [...pictures(3), ...texts(3)];
    await post(storage, name, notes);
    const limits = { texts: 1, images: 1 };
    const { replace, describe, remove } = edits(storage);
    for (const { id } of notes) {
      t.ok(await replace(name, id, Buffer.from(`edit of ${id}`), {}, limits));
      t.ok(await describe(name, id, { title: 'T' }));
    }
    const before = await shown(storage, name);
    const added = pictures(1);
    await t.rejects(replace(name, notes[3]!.id, Buffer.from('x'), { added }, limits), {
      code: 'image_limit',
    });
    await t.rejects(writes(storage).post(name, texts(1), OPEN, limits), { code: 'note_limit' });
    t.same(await shown(storage, name), before);
    for (const { id } of notes.slice(0, 4)) t.equal(await remove(name, id), true);
    await t.rejects(writes(storage).post(name, texts(1), OPEN, limits), { code: 'note_limit' });
    t.ok(await replace(name, notes[4]!.id, Buffer.from('x'), { added }, limits), 'pictures have room again');
    t.match(await storage.feed(name), { noteCount: 3, imageCount: 1 });
  });
}
