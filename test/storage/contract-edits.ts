import type { Test } from 'tap';
import { type FeedName, type NoteFile, type NoteId, noteFile, type ReadId } from '../../src/feeds/names.ts';
import { Refusal } from '../../src/refusals.ts';
import type { Feed, FeedChange, FeedSettings, Storage, Target } from '../../src/storage/storage.ts';
import { edits, NEW, OPEN, post } from '../support/storing.ts';
import { type Backend, bytesOf, feedName, idsOf, newNote, type Place, runner, textOf } from './contract.ts';

const name = feedName('feed');
const other = feedName('other');
const readId = (text: string) => text as ReadId;

/** The settings of a feed with some of them changed. */
function settingsOf(feed: Feed, changed: Partial<FeedSettings>): FeedSettings {
  const { title, description, showSender, image, readId } = feed;
  return { title, description, showSender, image, readId, ...changed };
}

const configure = (storage: Storage, feed: FeedName, changed: Partial<FeedSettings>) =>
  edits(storage).configure(feed, (before) => settingsOf(before, changed));

/** Closes the storage and opens its place again. */
export async function reopened(t: Test, storage: Storage, place: Place): Promise<Storage> {
  await storage.close();
  const again = await place.open();
  t.teardown(() => again.close());
  return again;
}

/** What anybody can see of a feed, but for the times. */
export async function shown(storage: Storage, feed: FeedName) {
  const record = await storage.feed(feed);
  const { notes } = await storage.page(feed, { limit: 100 });
  return { feed: record && { ...record, key: '', changedAt: 0 }, notes };
}

/** Runs a change that is refused, and checks that it has changed nothing. */
async function leavesAll(
  t: Test,
  storage: Storage,
  work: () => Promise<unknown>,
  expected: { code: string },
) {
  const before = await shown(storage, name);
  await t.rejects(work(), expected);
  t.same(await shown(storage, name), before);
}

/** The changes told from now on. */
export function heard(storage: Storage): FeedChange[] {
  const changes: FeedChange[] = [];
  storage.onChange((change) => changes.push(change));
  return changes;
}

async function bytesIn(storage: Storage, feed: FeedName, file: NoteFile): Promise<string | undefined> {
  const stored = await storage.open(feed, file);
  if (!stored) return undefined;
  const bytes = await bytesOf(stored);
  await stored.close();
  return bytes.toString();
}

const codeOf = (one: PromiseSettledResult<unknown>) =>
  one.status === 'fulfilled' ? typeof one.value : (one.reason as Refusal).code;

/** How often each outcome came. */
export function tally(all: readonly PromiseSettledResult<unknown>[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const one of all) counts[codeOf(one)] = (counts[codeOf(one)] ?? 0) + 1;
  return counts;
}

/** What every storage backend must do when something is changed or deleted. */
export function testEdits(backend: Backend): void {
  const test = runner(backend);

  test('a post is only stored in the feed it is meant for', async (t, storage) => {
    t.equal(await storage.post(name, [newNote('1')], OPEN), undefined, 'no such feed');
    t.equal(await storage.feed(name), undefined);
    const made = await storage.post(name, [newNote('1')], { ...NEW, passwordHash: 'hash' });
    t.equal(made?.passwordHash, 'hash');
    const wrong: Target[] = [OPEN, NEW, { kind: 'existing', passwordHash: 'other' }];
    for (const target of wrong) t.equal(await storage.post(name, [newNote('2')], target), undefined);
    t.equal((await storage.feed(name))?.noteCount, 1);
    const right = await storage.post(name, [newNote('2')], { kind: 'existing', passwordHash: 'hash' });
    t.equal(right?.noteCount, 2);
  });

  test('of many that make a feed at once one does, and the others store nothing', async (t, storage, place) => {
    const posts = Array.from({ length: 30 }, (_, i) =>
      storage.post(name, [newNote(`${i}`)], { ...NEW, passwordHash: `hash-${i}` }),
    );
    const made = (await Promise.all(posts)).filter((feed) => feed !== undefined);
    t.equal(made.length, 1);
    t.match(await storage.feed(name), { passwordHash: made[0]!.passwordHash, noteCount: 1 });
    const again = await reopened(t, storage, place);
    t.match(await again.feed(name), { readId: made[0]!.readId, noteCount: 1 });
  });

  test('a feed without notes', async (t, storage, place) => {
    const chosen = { readId: readId('reserved'), passwordHash: 'hash' };
    const made = await storage.create(name, chosen);
    t.match(made, { readId: 'reserved', passwordHash: 'hash', noteCount: 0 });
    t.equal(await storage.create(name, chosen), undefined);
    await t.rejects(storage.create(other, chosen), { code: 'taken' });
    t.equal(await storage.feed(other), undefined);
    const both = await Promise.all([storage.create(other, NEW), storage.create(other, NEW)]);
    t.equal(both.filter((feed) => feed !== undefined).length, 1);
    const again = await reopened(t, storage, place);
    t.match(await again.feed(name), { readId: 'reserved', passwordHash: 'hash', noteCount: 0 });
  });

  test('posts are let in by the feed as settled changes have made it', async (t, storage) => {
    const agrees = async (after: string) =>
      t.same(await storage.feedToPost(name), await storage.feed(name), `after ${after}`);
    await agrees('nothing');
    const [text, picture] = [newNote('text'), newNote('p', 'png')];
    await post(storage, name, text);
    await agrees('the first post');
    const changes: Record<string, () => Promise<unknown>> = {
      'a form': () => post(storage, name, [picture, newNote('with it')]),
      'posts at once': () =>
        Promise.all(
          Array.from({ length: 40 }, async () => {
            await post(storage, name, newNote('n'));
            await storage.feedToPost(name);
          }),
        ),
      'an edit': () => edits(storage).replace(name, text.id, Buffer.from('other')),
      'new metadata': () => edits(storage).setMeta(name, text.id, (meta) => ({ ...meta, title: 'T' })),
      settings: () => configure(storage, name, { title: 'T', readId: readId('chosen') }),
      'a password': () => edits(storage).setPassword(name, 'hash'),
      'a refused post': () => storage.post(name, [newNote('n')], OPEN),
      'no password': () => edits(storage).setPassword(name, undefined),
      'a removal': () => edits(storage).remove(name, picture.id),
      deletion: () => edits(storage).deleteFeed(name),
      'a feed made anew': () => storage.create(name, NEW),
    };
    for (const [after, change] of Object.entries(changes)) {
      await change();
      await agrees(after);
    }
  });

  test(
    'caps of a feed hold exactly, whatever comes at once',
    async (t, storage, place) => {
      await storage.create(name, NEW);
      const mixed = Array.from({ length: 100 }, (_, i) => newNote(`${i}`, i % 2 ? 'md' : 'png'));
      const all = await Promise.allSettled(mixed.map((note) => storage.post(name, [note], OPEN)));
      t.same(tally(all), { object: 12, note_limit: 45, image_limit: 43 });
      const { notes } = await storage.page(name, { limit: 100 });
      t.equal(notes.length, 12);
      t.equal(await edits(storage).remove(name, notes.find((note) => note.type === 'png')!.id), true);
      await t.rejects(storage.post(name, [newNote('x')], OPEN), { code: 'note_limit', status: 507 });
      await storage.post(name, [newNote('x', 'gif')], OPEN);
      const again = await reopened(t, storage, place);
      await t.rejects(again.post(name, [newNote('x', 'gif')], OPEN), { code: 'image_limit', status: 507 });
      await edits(again).replace(name, notes[0]!.id, Buffer.from('an edit needs no place'));
    },
    { feeds: 0, notes: 5, images: 7 },
  );

  test(
    'the cap of feeds holds exactly, and a deleted feed makes room',
    async (t, storage) => {
      const names = Array.from({ length: 100 }, (_, i) => feedName(`feed-${i}`));
      const makes = names.map((one, i) =>
        i % 2 ? storage.create(one, NEW) : storage.post(one, [newNote('x')], NEW),
      );
      t.same(tally(await Promise.allSettled(makes)), { object: 9, feed_limit: 91 });
      const found = await Promise.all(names.map((one) => storage.feed(one)));
      const stored = found.filter((feed) => feed !== undefined);
      t.equal(stored.length, 9);
      await edits(storage).deleteFeed(stored[0]!.name);
      await t.resolves(storage.create(other, NEW));
      await t.rejects(storage.create(name, NEW), { code: 'feed_limit', status: 507 });
    },
    { feeds: 9, notes: 0, images: 0 },
  );

  test('a note gets other bytes, and nothing else of it changes', async (t, storage, place) => {
    const text = newNote('before', 'md', { title: 'T', tags: ['a'] });
    const picture = newNote('old picture', 'png', { alt: 'A', tags: [] });
    const { readId } = await post(storage, name, text);
    await post(storage, name, picture);
    const before = await storage.note(name, text.id);
    const file = noteFile(picture.id, 'png');
    const open = await storage.open(name, file);
    const changes = heard(storage);

    const replaced = await edits(storage).replace(name, text.id, Buffer.from('after it'));
    t.same(replaced, { ...before, size: 8, content: replaced?.content });
    t.equal(textOf(replaced), 'after it');
    t.same(await storage.note(name, text.id), replaced);
    t.equal(
      (await edits(storage).replace(name, picture.id, Buffer.from('new picture!'), { sha256: 'hash' }))?.size,
      12,
    );
    t.equal(await bytesIn(storage, name, file), 'new picture!');
    t.equal((await bytesOf(open!)).toString(), 'old picture', 'who reads the old one gets all of it');
    await open?.close();
    t.same(changes, [{ readIds: [readId] }, { readIds: [readId] }]);

    t.equal(await edits(storage).replace(name, 'none' as NoteId, Buffer.from('x')), undefined);
    t.equal(await edits(storage).replace(other, text.id, Buffer.from('x')), undefined);
    t.equal(changes.length, 2);
    const seen = await shown(storage, name);
    t.same(await shown(await reopened(t, storage, place), name), seen);
  });

  test('what is kept beside a note changes, down to nothing', async (t, storage, place) => {
    const note = newNote('text', 'md', { title: 'T', sender: 'S', tags: ['a'] });
    const { readId } = await post(storage, name, note);
    await post(storage, name, newNote('2'));
    const changes = heard(storage);
    const changed = await edits(storage).setMeta(name, note.id, (meta) => ({
      ...meta,
      title: 'U',
      tags: ['b', 'c'],
    }));
    t.same(changed?.meta, { title: 'U', sender: 'S', tags: ['b', 'c'] });
    t.same(changes, [{ readIds: [readId] }]);
    t.same(idsOf(await storage.page(name, { limit: 9, tag: 'a' })), []);
    t.same(idsOf(await storage.page(name, { limit: 9, tag: 'b' })), [note.id]);
    t.same((await edits(storage).setMeta(name, note.id, () => ({ tags: [] })))?.meta, { tags: [] });
    t.same(idsOf(await storage.page(name, { limit: 9, tag: 'b' })), []);
    t.equal(textOf(await storage.note(name, note.id)), 'text');
    const refuse = () => {
      throw new Refusal('invalid_request', 'no');
    };
    await leavesAll(t, storage, () => edits(storage).setMeta(name, note.id, refuse), {
      code: 'invalid_request',
    });
    t.equal(await edits(storage).setMeta(name, 'none' as NoteId, refuse), undefined);
    await edits(storage).setMeta(name, note.id, () => ({ alt: 'from nothing', tags: [] }));
    const again = await reopened(t, storage, place);
    t.same((await again.note(name, note.id))?.meta, { alt: 'from nothing', tags: [] });
  });

  test('a removed note is gone, and is the title image no more', async (t, storage, place) => {
    const picture = newNote('p', 'webp', { alt: 'A', tags: ['a'] });
    const { readId } = await post(storage, name, picture);
    const text = newNote('t', 'md', { tags: ['a'] });
    await post(storage, name, text);
    await configure(storage, name, { title: 'T', image: noteFile(picture.id, 'webp') });
    const changes = heard(storage);
    t.equal(await edits(storage).remove(name, picture.id), true);
    t.same(changes, [{ readIds: [readId] }]);
    t.match(await storage.feed(name), { title: 'T', image: undefined, noteCount: 1, imageCount: 0 });
    t.equal(await storage.note(name, picture.id), undefined);
    t.equal(await storage.open(name, noteFile(picture.id, 'webp')), undefined);
    t.same(idsOf(await storage.page(name, { limit: 9, tag: 'a' })), [text.id]);
    t.equal(await edits(storage).remove(name, picture.id), false);
    t.equal(await edits(storage).remove(other, text.id), false);
    t.equal(changes.length, 1);
    t.equal(await edits(storage).remove(name, text.id), true);
    const again = await reopened(t, storage, place);
    t.match(await again.feed(name), { title: 'T', image: undefined, noteCount: 0 }, 'an empty feed stays');
  });

  test('settings change together, or stay together', async (t, storage, place) => {
    const picture = newNote('p', 'png');
    const made = await post(storage, name, picture);
    const changes = heard(storage);
    const all = {
      title: 'Größe "x"',
      description: 'D',
      showSender: false,
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
    const refuse = () => {
      throw new Refusal('invalid_request', 'no');
    };
    await leavesAll(t, storage, () => edits(storage).configure(name, refuse), { code: 'invalid_request' });
    t.equal(await configure(storage, feedName('none'), {}), undefined);
    await configure(storage, other, { readId: made.readId });
    t.equal((await storage.feedByReadId(made.readId))?.name, other, 'a read id that was given up is free');
    const again = await reopened(t, storage, place);
    t.match(await again.feed(name), all);
    const unset = { title: '', description: '', showSender: true, image: undefined };
    t.match(await configure(again, name, unset), { ...unset, readId: 'chosen' });
    t.match(await (await reopened(t, again, place)).feed(name), { ...unset, readId: 'chosen' });
  });

  test('a read id wanted by many at once goes to one', async (t, storage, place) => {
    const names = Array.from({ length: 10 }, (_, i) => feedName(`feed-${i}`));
    for (const one of names.slice(0, 5)) await storage.create(one, NEW);
    const wanted = readId('wanted');
    const wants = names.map((one, i) =>
      i < 5
        ? configure(storage, one, { title: 'mine', readId: wanted })
        : storage.post(one, [newNote('x')], { ...NEW, readId: wanted }),
    );
    t.same(tally(await Promise.allSettled(wants)), { object: 1, taken: 9 });
    const holder = (await storage.feedByReadId(wanted))?.name;
    const again = await reopened(t, storage, place);
    t.equal((await again.feedByReadId(wanted))?.name, holder);
    const feeds = await Promise.all(names.map((one) => again.feed(one)));
    t.equal(feeds.filter((feed) => feed?.title === 'mine' && feed.readId !== wanted).length, 0);
  });

  test('a password is set, replaced and removed', async (t, storage, place) => {
    const { readId } = await post(storage, name, newNote('x'));
    const changes = heard(storage);
    t.equal(await edits(storage).setPassword(name, 'one'), true);
    t.equal((await storage.feed(name))?.passwordHash, 'one');
    t.equal(await storage.post(name, [newNote('2')], OPEN), undefined, 'who knew it open finds it shut');
    t.equal(await edits(storage).setPassword(name, 'two'), true);
    t.same(changes, [{ readIds: [readId] }, { readIds: [readId] }]);
    const again = await reopened(t, storage, place);
    t.equal((await again.feed(name))?.passwordHash, 'two');
    t.equal(await edits(again).setPassword(name, undefined), true);
    t.equal((await again.post(name, [newNote('2')], OPEN))?.noteCount, 2);
    t.equal(await edits(again).setPassword(other, 'x'), false);
    t.equal((await (await reopened(t, again, place)).feed(name))?.passwordHash, undefined);
  });

  test('what was allowed with one password is not done under another', async (t, storage) => {
    const note = newNote('x', 'md', { title: 'T', tags: ['a'] });
    const allowed = await post(storage, name, note, { passwordHash: 'one' });
    await edits(storage).setPassword(name, 'two');
    const before = await shown(storage, name);
    const changes = heard(storage);
    const all = [
      storage.replace(allowed, note.id, { bytes: Buffer.from('y') }),
      storage.setMeta(allowed, note.id, () => ({ tags: [] })),
      storage.remove(allowed, note.id),
      storage.configure(allowed, (feed) => settingsOf(feed, { title: 'U' })),
      storage.setPassword(allowed, undefined),
      storage.deleteFeed(allowed),
    ];
    t.same(await Promise.all(all), [undefined, undefined, false, undefined, false, false]);
    t.same(await shown(storage, name), before);
    t.same(changes, []);
  });

  test('a deleted feed is gone for good, its name is free, its read id is not', async (t, storage, place) => {
    const old = await post(storage, name, newNote('1', 'png'), { passwordHash: 'hash' });
    await configure(storage, name, { title: 'T', readId: readId('once-mine') });
    const changes = heard(storage);
    t.equal(await edits(storage).deleteFeed(name), true);
    t.same(changes, [{ readIds: ['once-mine'] }]);
    t.equal(await storage.feed(name), undefined);
    t.equal(await storage.feedByReadId(readId('once-mine')), undefined);
    t.same(await storage.page(name, { limit: 9 }), { notes: [], next: undefined });
    t.equal(await edits(storage).deleteFeed(name), false);
    const stale: Target = { kind: 'existing', passwordHash: 'hash' };
    t.equal(await storage.post(name, [newNote('2')], stale), undefined, 'what was in flight looks again');
    const made = await post(storage, name, newNote('2'));
    t.match(made, { title: '', passwordHash: undefined, noteCount: 1 });
    t.notOk(['once-mine', old.readId].includes(made.readId));
    const again = await reopened(t, storage, place);
    const chosen = { readId: readId('once-mine') };
    await t.rejects(post(again, other, newNote('x'), chosen), { code: 'taken', status: 409 });
    await t.rejects(configure(again, name, chosen), { code: 'taken' });
    t.equal(await again.feedByReadId(chosen.readId), undefined);
    t.match(await again.feed(name), { readId: made.readId, noteCount: 1 });
  });

  test('changes of one feed at once are done one after the other', async (t, storage, place) => {
    const note = newNote('x', 'md', { title: '0', tags: [] });
    await post(storage, name, note);
    const add = () =>
      edits(storage).setMeta(name, note.id, (meta) => ({ ...meta, title: String(Number(meta.title) + 1) }));
    const tell = () =>
      edits(storage).configure(name, (feed) => settingsOf(feed, { title: `${feed.title}.` }));
    const works = Array.from({ length: 20 }, (_, i) => [
      add(),
      tell(),
      storage.post(name, [newNote(`${i}`)], OPEN),
    ]);
    await Promise.all(works.flat());
    const again = await reopened(t, storage, place);
    t.equal((await again.note(name, note.id))?.meta.title, '20');
    t.match(await again.feed(name), { title: '.'.repeat(20), noteCount: 21 });
  });

  test('posts and edits that meet a deletion are before it or find nothing', async (t, storage, place) => {
    for (let round = 0; round < 10; round += 1) {
      const first = newNote('first');
      const { readId: old } = await post(storage, name, first);
      const works = Array.from({ length: 10 }, (_, i) => [
        storage.post(name, [newNote(`${i}`)], OPEN),
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
