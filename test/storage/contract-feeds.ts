import type { Feed } from '../../src/feeds/feed.ts';
import { noteFile } from '../../src/feeds/names.ts';
import { edits, NEW, NO_LIMITS, OPEN, post, reads, type WantedTarget, writes } from '../support/storing.ts';
import { type Backend, feedName, newNote, runner } from './contract.ts';
import { configure, heard, name, other, readId, reopened, shown, tally } from './contract-support.ts';

/** What every storage backend must do where feeds are made, let somebody in, are full, or are deleted. */
export function testFeeds(backend: Backend): void {
  const test = runner(backend);

  test('a post is only stored in the feed it is meant for', async (t, storage) => {
    t.equal(await writes(storage).post(name, [newNote('1')], OPEN, NO_LIMITS), undefined, 'no such feed');
    t.equal(await storage.feed(name), undefined);
    const made = await writes(storage).post(
      name,
      [newNote('1')],
      { ...NEW, passwordHash: 'hash' },
      NO_LIMITS,
    );
    t.equal(made?.passwordHash, 'hash');
    const wrong: WantedTarget[] = [OPEN, NEW, { kind: 'existing', passwordHash: 'other' }];
    for (const target of wrong)
      t.equal(await writes(storage).post(name, [newNote('2')], target, NO_LIMITS), undefined);
    t.equal((await storage.feed(name))?.noteCount, 1);
    const target: WantedTarget = { kind: 'existing', passwordHash: 'hash' };
    const right = await writes(storage).post(name, [newNote('2')], target, NO_LIMITS);
    t.equal(right?.noteCount, 2);
  });

  test('of many that make a feed at once one does, and the others store nothing', async (t, storage, place) => {
    const posts = Array.from({ length: 30 }, (_, i) =>
      writes(storage).post(name, [newNote(`${i}`)], { ...NEW, passwordHash: `hash-${i}` }, NO_LIMITS),
    );
    const made = (await Promise.all(posts)).filter((feed) => feed !== undefined);
    t.equal(made.length, 1);
    t.match(await storage.feed(name), { passwordHash: made[0]!.passwordHash, noteCount: 1 });
    const again = await reopened(t, storage, place);
    t.match(await again.feed(name), { readId: made[0]!.readId, noteCount: 1 });
  });

  test('a feed without notes', async (t, storage, place) => {
    const chosen = { readId: readId('reserved'), passwordHash: 'hash' };
    const made = await writes(storage).create(name, chosen);
    t.match(made, { readId: 'reserved', passwordHash: 'hash', noteCount: 0 });
    t.equal(await writes(storage).create(name, chosen), undefined);
    await t.rejects(writes(storage).create(other, chosen), { code: 'taken' });
    t.equal(await storage.feed(other), undefined);
    const both = await Promise.all([writes(storage).create(other, NEW), writes(storage).create(other, NEW)]);
    t.equal(both.filter((feed) => feed !== undefined).length, 1);
    const again = await reopened(t, storage, place);
    t.match(await again.feed(name), { readId: 'reserved', passwordHash: 'hash', noteCount: 0 });
  });

  test('a feed of the same name is not read in place of the one that was meant', async (t, storage) => {
    const note = newNote('mine', 'md', { tags: ['x'] });
    const [file, query] = [noteFile(note.id, 'md'), { limit: 9 }];
    await post(storage, name, note);
    const position = { createdAt: 1e15, file };
    const seenIn = async (feed: Feed) => [
      (await storage.page(feed, query)).notes.length,
      (await storage.page(feed, { ...query, tag: 'x' })).notes.length,
      (await storage.note(feed, note.id))?.id,
      (await storage.neighbours(feed, position)).older,
      (await storage.stat(feed, file))?.size,
    ];
    const before = (await storage.feed(name))!;
    t.same(await seenIn(before), [1, 1, note.id, note.id, 4]);
    await writes(storage).deleteFeed(before);
    t.same(await seenIn(before), [0, 0, undefined, undefined, undefined], 'nor a deleted one');
    await post(storage, name, note);
    t.same(await seenIn(before), [0, 0, undefined, undefined, undefined]);
    t.same(await seenIn((await storage.feed(name))!), [1, 1, note.id, note.id, 4]);
  });

  test('every change makes another version, also of many at once', async (t, storage, place) => {
    const seen = new Set<string>();
    const isNew = async (what: string) => {
      const { version } = (await storage.feed(name))!;
      t.notOk(seen.has(version), what);
      seen.add(version);
    };
    const changing = edits(storage);
    await post(storage, name, newNote('first'));
    await isNew('the feed is made');
    const { id } = (await reads(storage).page(name, { limit: 1 })).notes[0]!;
    const changes: [string, () => Promise<unknown>][] = [
      ['a post', () => post(storage, name, newNote('second'))],
      ['a replacement', () => changing.replace(name, id, Buffer.from('new'))],
      ['metadata', () => changing.describe(name, id, { title: 'Title', tags: [] })],
      ['settings', () => configure(storage, name, { title: 'Title' })],
      ['a read id', () => configure(storage, name, { readId: readId('versioned') })],
      ['a password', () => changing.setPassword(name, 'hash')],
      ['a removal', () => changing.remove(name, id)],
    ];
    for (let round = 0; round < 5; round += 1)
      await post(storage, name, newNote('x')).then(() => isNew('a post'));
    for (const [what, change] of changes) {
      t.ok(await change(), what);
      await isNew(what);
    }
    const { version } = (await storage.feed(name))!;
    t.equal((await storage.feedByReadId(readId('versioned')))?.version, version, 'the same by either key');
    await Promise.all(Array.from({ length: 20 }, (_, i) => post(storage, name, newNote(`${i}`))));
    await isNew('many posts at once');
    const { changedAt } = (await storage.feed(name))!;
    t.ok(changedAt <= Date.now() + 100, 'they do not date the feed ahead of the clock');
    const again = await reopened(t, storage, place);
    t.equal((await again.feed(name))?.noteCount, 26);
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
      'new metadata': () => edits(storage).describe(name, text.id, { title: 'T' }),
      settings: () => configure(storage, name, { title: 'T', readId: readId('chosen') }),
      'a password': () => edits(storage).setPassword(name, 'hash'),
      'a refused post': () => writes(storage).post(name, [newNote('n')], OPEN, NO_LIMITS),
      'no password': () => edits(storage).setPassword(name, undefined),
      'a removal': () => edits(storage).remove(name, picture.id),
      deletion: () => edits(storage).deleteFeed(name),
      'a feed made anew': () => writes(storage).create(name, NEW),
    };
    for (const [after, change] of Object.entries(changes)) {
      await change();
      await agrees(after);
    }
  });

  test('limits of a feed hold exactly, whatever comes at once', async (t, storage, place) => {
    const limits = { texts: 5, images: 7 };
    await writes(storage).create(name, NEW);
    const mixed = Array.from({ length: 100 }, (_, i) => newNote(`${i}`, i % 2 ? 'md' : 'png'));
    const all = await Promise.allSettled(
      mixed.map((note) => writes(storage).post(name, [note], OPEN, limits)),
    );
    t.same(tally(all), { object: 12, note_limit: 45, image_limit: 43 });
    const { notes } = await reads(storage).page(name, { limit: 100 });
    t.equal(notes.length, 12);
    t.equal(await edits(storage).remove(name, notes.find((note) => note.type === 'png')!.id), true);
    await t.rejects(writes(storage).post(name, [newNote('x')], OPEN, limits), {
      code: 'note_limit',
      status: 507,
    });
    await writes(storage).post(name, [newNote('x', 'gif')], OPEN, limits);
    const again = await reopened(t, storage, place);
    await t.rejects(writes(again).post(name, [newNote('x', 'gif')], OPEN, limits), {
      code: 'image_limit',
      status: 507,
    });
    await edits(again).replace(name, notes[0]!.id, Buffer.from('an edit needs no place'), {}, limits);
  });

  test(
    'the cap of feeds holds exactly, and a deleted feed makes room',
    async (t, storage) => {
      const names = Array.from({ length: 100 }, (_, i) => feedName(`feed-${i}`));
      const makes = names.map((one, i) =>
        i % 2 ? writes(storage).create(one, NEW) : writes(storage).post(one, [newNote('x')], NEW, NO_LIMITS),
      );
      t.same(tally(await Promise.allSettled(makes)), { object: 9, feed_limit: 91 });
      const found = await Promise.all(names.map((one) => storage.feed(one)));
      const stored = found.filter((feed) => feed !== undefined);
      t.equal(stored.length, 9);
      await edits(storage).deleteFeed(stored[0]!.name);
      await t.resolves(writes(storage).create(other, NEW));
      await t.rejects(writes(storage).create(name, NEW), { code: 'feed_limit', status: 507 });
    },
    9,
  );

  test('a read id wanted by many at once goes to one', async (t, storage, place) => {
    const names = Array.from({ length: 10 }, (_, i) => feedName(`feed-${i}`));
    for (const one of names.slice(0, 5)) await writes(storage).create(one, NEW);
    const wanted = readId('wanted');
    const wants = names.map((one, i) =>
      i < 5
        ? configure(storage, one, { title: 'mine', readId: wanted })
        : writes(storage).post(one, [newNote('x')], { ...NEW, readId: wanted }, NO_LIMITS),
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
    t.equal(
      await writes(storage).post(name, [newNote('2')], OPEN, NO_LIMITS),
      undefined,
      'who knew it open finds it shut',
    );
    t.equal(await edits(storage).setPassword(name, 'two'), true);
    t.same(changes, [{ readIds: [readId] }, { readIds: [readId] }]);
    const again = await reopened(t, storage, place);
    t.equal((await again.feed(name))?.passwordHash, 'two');
    t.equal(await edits(again).setPassword(name, undefined), true);
    t.equal((await writes(again).post(name, [newNote('2')], OPEN, NO_LIMITS))?.noteCount, 2);
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
      writes(storage).replace(allowed, note.id, { type: 'md', bytes: Buffer.from('y') }, NO_LIMITS),
      writes(storage).describe(allowed, note.id, { title: '', tags: [] }),
      writes(storage).remove(allowed, note.id),
      writes(storage).configure(allowed, { title: 'U' }),
      writes(storage).setPassword(allowed, undefined),
      writes(storage).deleteFeed(allowed),
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
    t.same(await reads(storage).page(name, { limit: 9 }), { notes: [], next: undefined });
    t.equal(await edits(storage).deleteFeed(name), false);
    const stale: WantedTarget = { kind: 'existing', passwordHash: 'hash' };
    t.equal(
      await writes(storage).post(name, [newNote('2')], stale, NO_LIMITS),
      undefined,
      'what was in flight looks again',
    );
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
}
