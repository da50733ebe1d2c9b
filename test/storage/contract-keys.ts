import { type NoteFile, noteFile } from '../../src/feeds/names.ts';
import type { NewNote, NoteMeta } from '../../src/feeds/note.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { mainNote, type Post } from '../../src/writing/command.ts';
import { edits, NEW, NO_LIMITS, OPEN, post, reads, writes } from '../support/storing.ts';
import { type Backend, bytesOf, idsOf, newNote, runner, textOf } from './contract.ts';
import { heard, leavesAll, name, other, reopened, shown, tally } from './contract-support.ts';

/** A note under a key, as it is posted: the hash stands for all that was sent. */
const keyed = (key: string, content: string, more: Partial<NoteMeta> = {}, type: NewNote['type'] = 'md') =>
  newNote(content, type, { tags: [], key, posted: { hash: `hash of ${content}` }, ...more });

/** Posts notes; the result has the id of the note that answers the post. */
async function send(storage: Storage, sent: NewNote | NewNote[], more: Partial<Post> = {}) {
  const notes = [sent].flat();
  const written = await storage.write({
    ...{ kind: 'post', name, target: OPEN, limits: NO_LIMITS },
    notes,
    ...more,
  });
  return written && { ...written, id: written.note?.id ?? mainNote(notes)?.id };
}

/** Replaces the note of the key, or makes it. */
const put = (storage: Storage, note: NewNote) => send(storage, note, { replaces: true });

/** What every storage backend must do with notes that are posted under a key. */
export function testKeys(backend: Backend): void {
  const test = runner(backend);

  test('the same post under a key is answered with the first, and another one is refused', async (t, storage, place) => {
    const first = keyed('key 1', 'text', { title: 'T', tags: ['a'] });
    await post(storage, name, first);
    await post(storage, other, newNote('feed'));
    const changes = heard(storage);
    const seen = await shown(storage, name);
    const check = async (from: Storage) => {
      const again = await send(from, { ...keyed('key 1', 'text'), meta: { ...first.meta, tags: ['a'] } });
      t.match(again, { isUnchanged: true, note: { id: first.id, meta: first.meta } });
      t.equal(textOf(again?.note), 'text');
      const reused = () => send(from, keyed('key 1', 'other text'));
      await leavesAll(t, from, reused, { code: 'key_reused' });
      t.same(await shown(from, name), seen);
    };
    await check(storage);
    t.same(changes, []);
    const again = await reopened(t, storage, place);
    await check(again);
    t.match(await send(again, keyed('key 2', 'text')), { feed: { noteCount: 2 } });
    t.match(
      await send(again, keyed('Key 1', 'text')),
      { feed: { noteCount: 3 } },
      'keys differ by their case',
    );
    const elsewhere = await send(again, keyed('key 1', 'other text'), { name: other });
    t.match(elsewhere, { feed: { noteCount: 2 } }, 'each feed has its own keys');
  });

  test('a post makes a feed and a key in it', async (t, storage) => {
    const [first, second] = [keyed('k', 'text'), keyed('k', 'text')];
    const target = { ...NEW, readId: 'chosen' as never };
    t.match(await send(storage, first, { target }), { id: first.id });
    t.equal(await send(storage, second, { target }), undefined);
    t.match(await send(storage, second), { id: first.id, feed: { noteCount: 1 } });
  });

  test('a form has the key with its text, or with its first picture', async (t, storage) => {
    await writes(storage).create(name, NEW);
    const file = (one: NewNote) => noteFile(one.id, one.type);
    const picture = newNote('picture', 'png');
    const text = keyed('form', 'text', {
      posted: { hash: 'form', attachments: [file(picture) as NoteFile] },
    });
    await send(storage, [picture, text]);
    const again = keyed('form', 'text', { posted: { hash: 'form' } });
    t.match(await send(storage, [newNote('picture', 'png'), again]), {
      note: { id: text.id, meta: text.meta },
      feed: { noteCount: 2 },
    });
    const [first, second] = [keyed('two', '1', {}, 'png'), newNote('2', 'png')];
    await send(storage, [first, second]);
    t.match(await send(storage, [keyed('two', '1', {}, 'png'), newNote('2', 'png')]), {
      id: first.id,
      feed: { noteCount: 4, imageCount: 3 },
    });
  });

  test('the note of a key gets other bytes and metadata, and keeps its id', async (t, storage, place) => {
    const first = keyed('state', 'red', { title: 'Build', tags: ['a', 'b'] });
    await writes(storage).create(name, NEW);
    t.match(await put(storage, first), { feed: { noteCount: 1 }, id: first.id });
    const second = keyed('state', 'green', { tags: ['b', 'c'] });
    const { note } = (await put(storage, second))!;
    t.match(note, { id: first.id, meta: second.meta, size: 5 });
    t.same(await reads(storage).note(name, first.id), note);
    t.match(await storage.feed(name), { noteCount: 1 });
    for (const [tag, count] of Object.entries({ a: 0, b: 1, c: 1 }))
      t.equal((await reads(storage).page(name, { limit: 9, tag })).notes.length, count, tag);
    const picture = keyed('state', 'picture', {}, 'png');
    await leavesAll(t, storage, () => put(storage, picture), { code: 'unsupported_type' });
    const again = await reopened(t, storage, place);
    t.match(await send(again, keyed('state', 'green', second.meta)), { id: first.id });
    await t.rejects(send(again, first), { code: 'key_reused' }, 'the key stands for the last bytes');
  });

  test('a picture under a key is replaced, too', async (t, storage) => {
    await writes(storage).create(name, NEW);
    const first = keyed('shot', 'first', {}, 'png');
    await put(storage, first);
    await put(storage, keyed('shot', 'second one', {}, 'png'));
    const file = await reads(storage).stat(name, noteFile(first.id, 'png'));
    t.equal((await bytesOf(file!)).toString(), 'second one');
    t.match(await storage.feed(name), { noteCount: 1, imageCount: 1 });
  });

  test('a key stays with its note through edits and ends with it', async (t, storage, place) => {
    const [first, second] = [keyed('key', 'text'), keyed('key', 'text')];
    await post(storage, name, first);
    await edits(storage).describe(name, first.id, { title: 'T', tags: ['x'] });
    await edits(storage).replace(name, first.id, Buffer.from('edited'));
    const again = await reopened(t, storage, place);
    t.match(await send(again, second), { note: { id: first.id, meta: { title: 'T', key: 'key' } } });
    t.ok(await edits(again).remove(name, first.id));
    t.match(await send(again, second), { id: second.id, feed: { noteCount: 1 } });
    t.ok(await edits(again).deleteFeed(name));
    const third = keyed('key', 'another');
    await post(again, name, third);
    t.same(idsOf(await reads(again).page(name, { limit: 9 })), [third.id], 'keys end with their feed');
  });

  test('a key whose note has expired is free again', async (t, storage, place) => {
    const expired = keyed('key', 'text', { tags: ['t'], expires: Date.now() - 1 });
    await post(storage, name, [newNote('picture', 'png'), expired]);
    const changes = heard(storage);
    const next = keyed('key', 'other text', { tags: ['t'] });
    t.match(await send(storage, next), { id: next.id, feed: { noteCount: 2, imageCount: 1 } });
    t.equal(changes.length, 1);
    const again = await reopened(t, storage, place);
    t.same(idsOf(await reads(again).page(name, { limit: 9, tag: 't' })), [next.id]);
    t.match(await put(again, keyed('key', 'third')), { id: next.id, feed: { noteCount: 2 } });
  });

  test('of many posts with one key at once one is stored', async (t, storage, place) => {
    await writes(storage).create(name, NEW);
    const posts = Array.from({ length: 200 }, (_, n) => keyed(`key ${n % 10}`, `text ${n % 10}`));
    const written = await Promise.all(posts.map((note) => send(storage, note)));
    t.equal(written.filter((one) => !one?.isUnchanged).length, 10);
    t.equal(new Set(written.map((one) => one?.id)).size, 10);
    const different = await Promise.allSettled(
      Array.from({ length: 40 }, (_, n) => send(storage, keyed('different', `text ${n}`))),
    );
    t.same(tally(different), { object: 1, key_reused: 39 });
    const replacing = Array.from({ length: 40 }, (_, n) => put(storage, keyed('replaced', `text ${n}`)));
    t.equal(new Set((await Promise.all(replacing)).map((one) => one?.id)).size, 1);
    const again = await reopened(t, storage, place);
    t.match(await again.feed(name), { noteCount: 12 });
    t.equal((await reads(again).page(name, { limit: 100 })).notes.length, 12);
  });
}
