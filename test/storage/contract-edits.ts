import { setTimeout as delay } from 'node:timers/promises';
import { type NoteFile, type NoteId, noteFile } from '../../src/feeds/names.ts';
import type { Note, NoteMeta } from '../../src/feeds/note.ts';
import { CLOCK_TICK_MS } from '../../src/storage/files/stamp.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { edits, NEW, NO_LIMITS, OPEN, post, reads, writes } from '../support/storing.ts';
import { type Backend, bytesOf, feedName, idsOf, newNote, runner, textOf } from './contract.ts';
import {
  bytesIn,
  configure,
  heard,
  leavesAll,
  name,
  other,
  readId,
  reopened,
  shown,
} from './contract-support.ts';

/** The metadata of a note that was edited, but for when. */
function unedited(note: Note | undefined): NoteMeta | undefined {
  const { edited, ...rest } = note?.meta ?? { tags: [] };
  return edited === undefined ? undefined : rest;
}

/** What every storage backend must do when something is changed or deleted. */
export function testEdits(backend: Backend): void {
  const test = runner(backend);

  test('a note gets other bytes, and nothing else of it changes', async (t, storage, place) => {
    const text = newNote('before', 'md', { title: 'T', tags: ['a'] });
    const picture = newNote('old picture', 'png', { alt: 'A', tags: [] });
    const { readId } = await post(storage, name, text);
    await post(storage, name, picture);
    const before = await reads(storage).note(name, text.id);
    const file = noteFile(picture.id, 'png');
    const old = await reads(storage).stat(name, file);
    const changes = heard(storage);

    const replaced = await edits(storage).replace(name, text.id, Buffer.from('after it'));
    const { modifiedAt, content } = replaced!;
    const edited = replaced?.meta.edited ?? 0;
    t.ok(edited > Date.now() - 60_000 && edited <= Date.now(), 'but for when that was');
    t.same(replaced, { ...before, size: 8, modifiedAt, content, meta: { ...before?.meta, edited } });
    t.equal(textOf(replaced), 'after it');
    t.same(await reads(storage).note(name, text.id), replaced);
    t.equal(
      (await edits(storage).replace(name, picture.id, Buffer.from('new picture!'), { sha256: 'hash' }))?.size,
      12,
    );
    t.equal(await bytesIn(storage, name, file), 'new picture!');
    await t.rejects(bytesOf(old!), { name: 'Refusal', code: 'store_unavailable' }, 'nobody gets other bytes');
    t.same(
      changes,
      [text, picture].map(({ id }) => ({ readIds: [readId], edited: [id] })),
    );

    t.equal(await edits(storage).replace(name, 'none' as NoteId, Buffer.from('x')), undefined);
    t.equal(await edits(storage).replace(other, text.id, Buffer.from('x')), undefined);
    const feed = await storage.feed(name);
    const wrong = () => writes(storage).replace(feed!, picture.id, { type: 'md', bytes: Buffer.from('x') });
    await leavesAll(t, storage, wrong, { code: 'unsupported_type' });
    t.equal(changes.length, 2);
    const seen = await shown(storage, name);
    t.same(await shown(await reopened(t, storage, place), name), seen);
  });

  test('a picture keeps which text it came with, and that only lists have it', async (t, storage, place) => {
    const [text, picture] = [
      newNote('text'),
      newNote('picture', 'png', { alt: 'A', unlisted: true, tags: [] }),
    ];
    await writes(storage).post(name, [picture, text], NEW, NO_LIMITS);
    const later = newNote('later', 'gif');
    await edits(storage).replace(name, text.id, Buffer.from('after'), { added: [later] });
    await edits(storage).describe(name, picture.id, { alt: 'B' });
    const check = async (from: Storage) => {
      const cameWith = async (id: NoteId) => (await reads(from).note(name, id))?.meta.attachedTo;
      t.same(await Promise.all([text, picture, later].map(({ id }) => cameWith(id))), [
        ...[undefined, text.id, text.id],
      ]);
      t.match((await reads(from).note(name, picture.id))?.meta, { alt: 'B', unlisted: true });
    };
    await check(storage);
    await check(await reopened(t, storage, place));
  });

  test('what is kept beside a note changes, down to nothing', async (t, storage, place) => {
    const note = newNote('text', 'md', { title: 'T', sender: 'S', tags: ['a'] });
    const { readId } = await post(storage, name, note);
    await post(storage, name, newNote('2'));
    const changes = heard(storage);
    const changed = await edits(storage).describe(name, note.id, { title: 'U', tags: ['b', 'c'] });
    t.same(unedited(changed), { title: 'U', sender: 'S', tags: ['b', 'c'] });
    t.same(changes, [{ readIds: [readId], edited: [note.id] }]);
    t.same(idsOf(await reads(storage).page(name, { limit: 9, tag: 'a' })), []);
    t.same(idsOf(await reads(storage).page(name, { limit: 9, tag: 'b' })), [note.id]);
    t.same(unedited(await edits(storage).describe(name, note.id, { title: '', tags: [] })), {
      sender: 'S',
      tags: [],
    });
    t.same(idsOf(await reads(storage).page(name, { limit: 9, tag: 'b' })), []);
    t.equal(textOf(await reads(storage).note(name, note.id)), 'text');
    const withAlt = () => edits(storage).describe(name, note.id, { alt: 'of a picture' });
    await leavesAll(t, storage, withAlt, { code: 'invalid_request' });
    t.equal(await edits(storage).describe(name, 'none' as NoteId, { alt: 'A' }), undefined);
    await edits(storage).describe(name, note.id, { title: 'from nothing' });
    const again = await reopened(t, storage, place);
    t.same(unedited(await reads(again).note(name, note.id)), {
      title: 'from nothing',
      sender: 'S',
      tags: [],
    });
  });

  test('a removed note is gone, and is the title image no more', async (t, storage, place) => {
    const picture = newNote('p', 'webp', { alt: 'A', tags: ['a'] });
    const { readId } = await post(storage, name, picture);
    const text = newNote('t', 'md', { tags: ['a'] });
    await post(storage, name, text);
    await configure(storage, name, { title: 'T', image: noteFile(picture.id, 'webp') });
    const changes = heard(storage);
    t.equal(await edits(storage).remove(name, picture.id), true);
    t.same(changes, [{ readIds: [readId], removed: [picture.id] }]);
    t.match(await storage.feed(name), { title: 'T', image: undefined, noteCount: 1, imageCount: 0 });
    t.equal(await reads(storage).note(name, picture.id), undefined);
    t.equal(await reads(storage).stat(name, noteFile(picture.id, 'webp')), undefined);
    t.same(idsOf(await reads(storage).page(name, { limit: 9, tag: 'a' })), [text.id]);
    t.equal(await edits(storage).remove(name, picture.id), false);
    t.equal(await edits(storage).remove(other, text.id), false);
    t.equal(changes.length, 1);
    t.equal(await edits(storage).remove(name, text.id), true);
    const again = await reopened(t, storage, place);
    t.match(await again.feed(name), { title: 'T', image: undefined, noteCount: 0 }, 'an empty feed stays');
  });

  test('a note that comes back with its old date is not read in place of the one before', async (t, storage) => {
    const note = { ...newNote('old', 'png'), modifiedAt: Date.UTC(2020, 0), sha256: 'of the old' };
    await post(storage, name, note);
    const found = await reads(storage).stat(name, noteFile(note.id, 'png'));
    await edits(storage).remove(name, note.id);
    // On plain files, the time when a file was made tells it from another one.
    await delay(CLOCK_TICK_MS);
    await post(storage, name, { ...note, bytes: Buffer.from('new'), sha256: 'of the new' });
    await t.rejects(bytesOf(found!), { code: 'store_unavailable' });
  });

  test('settings change together, or stay together', async (t, storage, place) => {
    const picture = newNote('p', 'png');
    const made = await post(storage, name, picture);
    const changes = heard(storage);
    const all = {
      title: 'Größe "x"',
      description: 'D',
      showSender: false,
      listed: true,
      image: noteFile(picture.id, 'png'),
      readId: readId('chosen'),
    };
    t.match(await configure(storage, name, all), all);
    t.same(changes, [{ readIds: [made.readId, 'chosen'] }]);
    t.equal(await storage.feedByReadId(made.readId), undefined);
    t.match(await storage.feedByReadId(readId('chosen')), all);
    await post(storage, other, newNote('x'), { readId: readId('of-another') });
    const taken = { title: 'new', readId: readId('of-another') };
    await leavesAll(t, storage, () => configure(storage, name, taken), { code: 'taken' });
    for (const image of [noteFile(newNote('not there').id, 'png'), 'no file' as NoteFile])
      await leavesAll(t, storage, () => configure(storage, name, { title: 'new', image }), {
        code: 'invalid_request',
      });
    t.equal(await configure(storage, feedName('none'), {}), undefined);
    await configure(storage, other, { readId: made.readId });
    t.equal((await storage.feedByReadId(made.readId))?.name, other, 'a read id that was given up is free');
    const again = await reopened(t, storage, place);
    t.match(await again.feed(name), all);
    const unset = { title: '', description: '', showSender: true, listed: false, image: undefined };
    t.match(await configure(again, name, unset), { ...unset, readId: 'chosen' });
    t.match(await (await reopened(t, again, place)).feed(name), { ...unset, readId: 'chosen' });
  });

  test('changes of one feed at once are done one after the other', async (t, storage, place) => {
    const note = newNote('x', 'md', { title: '0', tags: [] });
    await post(storage, name, note);
    const works = Array.from({ length: 20 }, (_, i) => [
      edits(storage).describe(name, note.id, i % 2 ? { title: 'T' } : { tags: ['t'] }),
      edits(storage).configure(name, i % 2 ? { title: 'T' } : { description: 'D' }),
      writes(storage).post(name, [newNote(`${i}`)], OPEN, NO_LIMITS),
    ]);
    await Promise.all(works.flat());
    const again = await reopened(t, storage, place);
    t.same(unedited(await reads(again).note(name, note.id)), { title: 'T', tags: ['t'] });
    t.match(await again.feed(name), { title: 'T', description: 'D', noteCount: 21 });
  });

  test('posts and edits that meet a deletion are before it or find nothing', async (t, storage, place) => {
    for (let round = 0; round < 10; round += 1) {
      const first = newNote('first');
      const { readId: old } = await post(storage, name, first);
      const works = Array.from({ length: 10 }, (_, i) => [
        writes(storage).post(name, [newNote(`${i}`)], OPEN, NO_LIMITS),
        edits(storage).replace(name, first.id, Buffer.from('edit')),
        i === round ? edits(storage).deleteFeed(name) : edits(storage).setPassword(name, undefined),
      ]);
      const all = await Promise.allSettled(works.flat());
      t.ok(all.every((one) => one.status === 'fulfilled'));
      t.same(await shown(storage, name), { feed: undefined, notes: [] });
      t.equal(await storage.feedByReadId(old), undefined);
    }
    t.equal(await (await reopened(t, storage, place)).feed(name), undefined);
  });
}
