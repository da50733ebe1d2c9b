import { setImmediate as nextTurn } from 'node:timers/promises';
import { noteFile, type ReadId } from '../../src/feeds/names.ts';
import type { NewNote } from '../../src/feeds/note.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { edits, NEW, NO_LIMITS, OPEN, post, reads, type WantedTarget, writes } from '../support/storing.ts';
import { type Backend, bytesOf, feedName, idsOf, newNote, runner, textOf } from './contract.ts';
import { heard, reopened, shown, tally } from './contract-support.ts';

const name = feedName('feed');

/** What one request brings: pictures and a text, all with a tag of their own. */
function bundle(tag: string, pictures = 2): NewNote[] {
  const meta = { tags: [tag] };
  const files = Array.from({ length: pictures }, (_, i) => newNote(`${tag} picture ${i}`, 'png', meta));
  return [...files, newNote(`${tag} text`, 'md', meta)];
}

/** How many notes of one request are there. */
const countOf = async (storage: Storage, tag: string) =>
  (await reads(storage).page(name, { limit: 100, tag })).notes.length;

const idsFrom = (notes: readonly NewNote[]) => notes.map((note) => note.id);

/** What every storage backend must do with several notes that are one change. */
export function testManyNotes(backend: Backend): void {
  const test = runner(backend);

  test('several notes are stored as one change, each whole', async (t, storage, place) => {
    const { readId } = (await writes(storage).create(name, NEW))!;
    const changes = heard(storage);
    const notes = [
      newNote('first', 'png', { alt: 'A', name: 'a b.png', tags: ['t'] }),
      newNote('second', 'webp'),
      newNote('text', 'md', { title: 'T', sender: 'S', tags: ['t'] }),
    ];
    const feed = await writes(storage).post(name, notes, OPEN, NO_LIMITS);
    t.match(feed, { noteCount: 3, imageCount: 2 });
    t.same(changes, [{ readIds: [readId] }]);
    const check = async (from: Storage) => {
      t.same(idsOf(await reads(from).page(name, { limit: 9 })), idsFrom(notes).reverse());
      t.same(idsOf(await reads(from).page(name, { limit: 9, tag: 't' })), [notes[2]!.id, notes[0]!.id]);
      for (const note of notes) {
        const cameWith = note.type === 'md' ? {} : { attachedTo: notes[2]!.id };
        t.same((await reads(from).note(name, note.id))?.meta, { ...note.meta, ...cameWith });
        const file = await reads(from).stat(name, noteFile(note.id, note.type));
        t.same(await bytesOf(file!), note.bytes);
      }
    };
    await check(storage);
    await check(await reopened(t, storage, place));
  });

  test('several notes make a feed', async (t, storage, place) => {
    const notes = bundle('x');
    const creation = { readId: 'chosen' as ReadId, passwordHash: 'hash' };
    const made = await writes(storage).post(name, notes, { kind: 'new', ...creation }, NO_LIMITS);
    t.match(made, { ...creation, noteCount: 3, imageCount: 2 });
    const wrong: WantedTarget[] = [OPEN, NEW, { kind: 'existing', passwordHash: 'other' }];
    for (const target of wrong)
      t.equal(await writes(storage).post(name, bundle('y'), target, NO_LIMITS), undefined);
    const again = await reopened(t, storage, place);
    t.match(await again.feed(name), { ...creation, noteCount: 3, imageCount: 2 });
    t.same(idsOf(await reads(again).page(name, { limit: 9 })), idsFrom(notes).reverse());
  });

  test('of several notes that cannot all be stored, none is, nor is a feed made for them', async (t, storage, place) => {
    const unstorable = { ...newNote('x'), meta: { title: 1n as unknown as string, tags: [] } };
    const notes = [...bundle('x'), unstorable];
    const creation = { readId: 'chosen' as ReadId, passwordHash: 'hash' };
    await t.rejects(writes(storage).post(name, notes, { kind: 'new', ...creation }, NO_LIMITS));
    await t.rejects(writes(storage).post(feedName('other'), [unstorable], NEW, NO_LIMITS));
    for (const one of [name, feedName('other')]) t.equal(await storage.feed(one), undefined);
    await writes(storage).create(name, creation);
    await t.rejects(writes(storage).post(name, notes, { kind: 'existing', passwordHash: 'hash' }, NO_LIMITS));
    t.same(await reads(storage).page(name, { limit: 9 }), { notes: [], next: undefined });
    const again = await reopened(t, storage, place);
    t.match(await again.feed(name), { ...creation, noteCount: 0, imageCount: 0 });
    t.match(await post(again, name, bundle('y')), { readId: 'chosen', noteCount: 3 });
  });

  test('requests at once to a new name make one feed that holds all of each', async (t, storage) => {
    const all = Array.from({ length: 20 }, (_, i) => bundle(`t${i}`, i % 4));
    const feeds = await Promise.all(all.map((notes) => post(storage, name, notes)));
    t.equal(new Set(feeds.map((feed) => feed.readId)).size, 1);
    const { notes } = await reads(storage).page(name, { limit: 100 });
    t.same(
      notes.map((note) => note.id),
      all.flatMap(idsFrom).reverse(),
    );
  });

  test('limits hold exactly for all notes of a request, whatever comes at once', async (t, storage, place) => {
    const limits = { texts: 5, images: 8 };
    await writes(storage).create(name, NEW);
    const all = Array.from({ length: 100 }, (_, i) => bundle(`t${i}`, 2 + (i % 2)));
    const outcomes = await Promise.allSettled(
      all.map((notes) => writes(storage).post(name, notes, OPEN, limits)),
    );
    t.same(tally(outcomes), { object: 3, image_limit: 97 }, 'of 2, 3 and 2 pictures');
    t.match(await storage.feed(name), { noteCount: 10, imageCount: 7 });
    for (const [i, notes] of all.entries()) {
      const count = await countOf(storage, `t${i}`);
      t.equal(count, outcomes[i]!.status === 'fulfilled' ? notes.length : 0);
    }
    await t.rejects(writes(storage).post(name, bundle('z', 2), OPEN, limits), {
      code: 'image_limit',
      status: 507,
    });
    await writes(storage).post(name, bundle('y', 1), OPEN, limits);
    await writes(storage).post(name, [newNote('x')], OPEN, limits);
    const again = await reopened(t, storage, place);
    await t.rejects(writes(again).post(name, [newNote('x'), newNote('x')], OPEN, limits), {
      code: 'note_limit',
    });
    t.match(await again.feed(name), { noteCount: 13, imageCount: 8 });
  });

  test('more than any feed may hold makes no feed', async (t, storage, place) => {
    const limits = { texts: 1, images: 2 };
    const target = { ...NEW, readId: 'chosen' as ReadId };
    await t.rejects(writes(storage).post(name, bundle('x', 3), target, limits), {
      code: 'image_limit',
      status: 507,
    });
    const texts = [newNote('1'), newNote('2')];
    await t.rejects(writes(storage).post(name, texts, target, limits), { code: 'note_limit', status: 507 });
    t.equal(await storage.feed(name), undefined);
    t.match(await writes(storage).post(name, bundle('x', 2), target, limits), {
      readId: 'chosen',
      noteCount: 3,
    });
    const refused = writes(storage).post(feedName('another'), bundle('x', 3), target, limits);
    await t.rejects(refused, { code: 'taken', status: 409 }, 'which is looked at first');
    t.match(await (await reopened(t, storage, place)).feed(name), { noteCount: 3 });
  });

  test('a note gets other bytes with new notes, as one change', async (t, storage, place) => {
    const text = newNote('before', 'md', { title: 'T', tags: ['a'] });
    const { readId } = await post(storage, name, text);
    const before = await reads(storage).note(name, text.id);
    const changes = heard(storage);
    const added = [newNote('1', 'png', { alt: 'A', tags: ['a'] }), newNote('2', 'gif')];
    const replaced = await edits(storage).replace(name, text.id, Buffer.from('after it'), { added });
    const { modifiedAt, content, meta } = replaced!;
    t.same(replaced, {
      ...before,
      size: 8,
      modifiedAt,
      content,
      meta: { ...before?.meta, edited: meta.edited },
    });
    t.equal(textOf(replaced), 'after it');
    t.same(changes, [{ readIds: [readId], edited: [text.id] }]);
    t.match(await storage.feed(name), { noteCount: 3, imageCount: 2 });
    t.same(idsOf(await reads(storage).page(name, { limit: 9 })), [added[1]!.id, added[0]!.id, text.id]);
    t.same(idsOf(await reads(storage).page(name, { limit: 9, tag: 'a' })), [added[0]!.id, text.id]);
    t.equal(
      await edits(storage).replace(name, newNote('').id, Buffer.from('x'), { added: bundle('z') }),
      undefined,
    );
    t.equal(changes.length, 1);
    const seen = await shown(storage, name);
    t.same(await shown(await reopened(t, storage, place), name), seen);
  });

  test('an edit whose new notes pass a limit changes nothing', async (t, storage) => {
    const limits = { texts: 1, images: 2 };
    const text = newNote('before');
    await post(storage, name, [newNote('0', 'png'), text]);
    const seen = await shown(storage, name);
    const added = [newNote('1', 'png'), newNote('2', 'png')];
    const replace = (more: NewNote[]) =>
      edits(storage).replace(name, text.id, Buffer.from('after'), { added: more }, limits);
    await t.rejects(replace(added), { code: 'image_limit', status: 507 });
    await t.rejects(replace([newNote('text')]), { code: 'note_limit' });
    t.same(await shown(storage, name), seen);
    const all = await Promise.allSettled(added.map((one) => replace([one])));
    t.same(tally(all), { object: 1, image_limit: 1 });
    t.match(await storage.feed(name), { noteCount: 3, imageCount: 2 });
  });

  test('who reads meanwhile sees all of a request or nothing', async (t, storage) => {
    await writes(storage).create(name, NEW);
    const text = newNote('0');
    await writes(storage).post(name, [text], OPEN, NO_LIMITS);
    const looks = [0, 0];
    let written = 0;
    let isDone = false;
    const writeAll = async () => {
      // A backend that writes fast writes more, or nobody would have looked meanwhile.
      for (; written < 12 || looks.some((count) => count <= 20); written += 1) {
        await writes(storage).post(name, bundle(`t${written}`), OPEN, NO_LIMITS);
        const added = bundle(`edit-t${written}`).slice(0, 2);
        await edits(storage).replace(name, text.id, Buffer.from(String(written + 1)), { added });
      }
    };
    const write = () =>
      writeAll().finally(() => {
        isDone = true;
      });
    const look = async (who: number) => {
      // Reads answered from memory alone would never let the writing go on.
      for (; !isDone; looks[who]! += 1, await nextTurn()) {
        const shows = Number(textOf(await reads(storage).note(name, text.id)));
        const { imageCount } = (await storage.feed(name))!;
        if (imageCount < 4 * shows) t.fail(`text ${shows} is shown with ${imageCount} pictures`);
        for (const tag of [`t${shows}`, `t${shows + 1}`]) {
          const counts = [await countOf(storage, tag), await countOf(storage, `edit-${tag}`)];
          if (![0, 3].includes(counts[0]!) || ![0, 2].includes(counts[1]!)) t.fail(`${tag}: ${counts}`);
        }
      }
    };
    await Promise.all([write(), look(0), look(1)]);
    t.match(await storage.feed(name), { noteCount: 1 + written * 5, imageCount: written * 4 });
  });

  test('requests that meet a deletion are stored before it or find nothing', async (t, storage, place) => {
    for (let round = 0; round < 10; round += 1) {
      const first = newNote('first');
      await post(storage, name, first);
      const works = Array.from({ length: 10 }, (_, i) => [
        writes(storage).post(name, bundle(`${i}`), OPEN, NO_LIMITS),
        edits(storage).replace(name, first.id, Buffer.from('edit'), { added: bundle(`e${i}`) }),
        i === round ? edits(storage).deleteFeed(name) : edits(storage).setPassword(name, undefined),
      ]);
      const all = await Promise.allSettled(works.flat());
      t.ok(all.every((one) => one.status === 'fulfilled'));
      t.same(await shown(storage, name), { feed: undefined, notes: [] });
    }
    t.equal(await (await reopened(t, storage, place)).feed(name), undefined);
  });
}
