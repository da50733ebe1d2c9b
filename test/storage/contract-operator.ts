import { createHash } from 'node:crypto';
import type { Feed } from '../../src/feeds/feed.ts';
import { type FeedName, noteFile, type ReadId } from '../../src/feeds/names.ts';
import { FEED_ORDERS, type FeedOrder } from '../../src/feeds/order.ts';
import type { OperatorRecord, OperatorRecordKind } from '../../src/storage/operator-records.ts';
import type { FeedListQuery, Storage } from '../../src/storage/storage.ts';
import { edits, NEW, NO_LIMITS, OPEN, post, reads, writes } from '../support/storing.ts';
import { type Backend, feedName, newNote, runner } from './contract.ts';
import { configure, heard, name, other, reopened, tally } from './contract-support.ts';

const BLOCKED = { code: 'blocked', status: 403 };
const BLOCKED_PICTURE = { code: 'blocked', status: 451 };

const record = (kind: OperatorRecordKind, key: string, value = ''): OperatorRecord => ({
  kind,
  key,
  value,
  at: 1_800_000_000_000,
});

/** Feeds of 1 to 3 notes, some of which have pictures, and many of which are alike. */
async function makeFeeds(storage: Storage, count: number): Promise<FeedName[]> {
  const names = Array.from({ length: count }, (_, i) =>
    feedName(`${i % 2 ? 'odd' : 'even'}-${(i * 7) % count}`),
  );
  for (const [i, one] of names.entries()) {
    const notes = Array.from({ length: 1 + (i % 3) }, () => newNote('12345678', i % 4 ? 'md' : 'png'));
    await post(storage, one, notes);
  }
  return names;
}

/** All feeds, page by page. */
async function listed(storage: Storage, query: Omit<FeedListQuery, 'after'>): Promise<Feed[]> {
  const all: Feed[] = [];
  let page = await storage.listFeeds(query);
  for (;;) {
    all.push(...page.feeds);
    if (!page.next) return all;
    page = await storage.listFeeds({ ...query, after: page.next });
  }
}

const VALUES: Record<Exclude<FeedOrder, 'created' | 'name'>, (feed: Feed) => number> = {
  bytes: ({ byteCount }) => byteCount,
  notes: ({ noteCount }) => noteCount,
  changed: ({ changedAt }) => changedAt,
};

const byName = (one: FeedName, two: FeedName) => (one < two ? -1 : 1);

/** What every storage backend must do for those who run the instance. */
export function testOperator(backend: Backend): void {
  const test = runner(backend);

  test('the totals are the sums of all feeds', async (t, storage, place) => {
    t.same(await storage.totals(), { feeds: 0, notes: 0, pictures: 0, bytes: 0 });
    await writes(storage).create(other, NEW);
    await makeFeeds(storage, 12);
    const expected = { feeds: 13, notes: 24, pictures: 6, bytes: 192 };
    t.same(await storage.totals(), expected);
    await post(storage, feedName('deleted'), [newNote('text'), newNote('picture', 'png')]);
    await edits(storage).deleteFeed(feedName('deleted'));
    t.same(await storage.totals(), expected);
    t.same(await (await reopened(t, storage, place)).totals(), expected);
  });

  test('pages of feeds meet without gap or overlap in every order', async (t, storage) => {
    t.same(await storage.listFeeds({ order: 'bytes', start: '', limit: 10 }), { feeds: [], next: undefined });
    const names = await makeFeeds(storage, 20);
    const feeds = await Promise.all(names.map(async (one) => (await storage.feed(one))!));
    for (const order of FEED_ORDERS)
      for (const limit of [1, 3, 20, 1_000]) {
        const all = await listed(storage, { order, start: '', limit });
        if (order === 'created') {
          t.same(all.map((one) => one.name).sort(byName), [...names].sort(byName));
          if (backend.name !== 'files')
            t.same(
              all.map((one) => one.name),
              [...names].reverse(),
            );
          continue;
        }
        const value = order === 'name' ? () => 0 : VALUES[order];
        const sorted = [...feeds].sort((one, two) => value(two) - value(one) || byName(one.name, two.name));
        t.same(all, sorted, `${order} ${limit}`);
      }
    const exact = await storage.listFeeds({ order: 'notes', start: '', limit: 20 });
    t.equal(exact.next, undefined, 'a page that holds all has no next one');
  });

  test('a list may be of the names that begin so', async (t, storage) => {
    const names = await makeFeeds(storage, 20);
    for (const one of ['even-1_', 'eve']) await post(storage, feedName(one), newNote('1'));
    const all = [...names, feedName('even-1_'), feedName('eve')];
    for (const order of FEED_ORDERS)
      for (const start of ['even-1', 'odd-', 'eve', 'even-1_', 'x', '-', '%']) {
        const found = await listed(storage, { order, start, limit: 2 });
        const wanted = all.filter((one) => one.startsWith(start));
        t.same(found.map((one) => one.name).sort(byName), wanted.sort(byName), `${order} ${start}`);
      }
  });

  test('a list goes on while feeds come, change and go', async (t, storage) => {
    const names = await makeFeeds(storage, 10);
    for (const order of FEED_ORDERS) {
      const first = await storage.listFeeds({ order, start: '', limit: 4 });
      const seen = first.feeds.map((feed) => feed.name);
      const last = seen.at(-1)!;
      await edits(storage).deleteFeed(last);
      await edits(storage).deleteFeed(seen[0]!);
      const rest: FeedName[] = [];
      for (let { next } = first; next; ) {
        const page = await storage.listFeeds({ order, start: '', limit: 4, after: next });
        rest.push(...page.feeds.map((feed) => feed.name));
        next = page.next;
      }
      t.same([...seen, ...rest].sort(byName), [...names].sort(byName), order);
      for (const gone of [last, seen[0]!])
        await post(
          storage,
          gone,
          [1, 2].map((n) => newNote(`${n}`)),
        );
    }
  });

  test('a list shows feeds as they are, those with a password and those that are closed', async (t, storage) => {
    await writes(storage).create(name, { ...NEW, passwordHash: 'hash' });
    await writes(storage).create(other, { ...NEW, readId: 'read-id' as ReadId });
    await configure(storage, other, { title: 'Größe', listed: true });
    await storage.records.add(record('name', other));
    const { feeds } = await storage.listFeeds({ order: 'name', start: '', limit: 9 });
    t.same(feeds, [await storage.feed(name), await storage.feed(other)]);
    t.match(feeds, [
      { isBlocked: false, passwordHash: 'hash' },
      { isBlocked: true, title: 'Größe' },
    ]);
  });

  test('records are kept by kind and key', async (t, storage, place) => {
    const { records } = storage;
    const keys = ['b', 'a', 'B', '0', '_'].map((start) => `${start}-read-id`);
    const all = keys.map((key) => record('link', key, `${key} – ü \u{1F600}\n\t"`));
    const picture = record('picture', createHash('sha256').update('').digest('base64url'), 'picture');
    const report = record('report', keys[1]!, JSON.stringify({ text: 'x'.repeat(16_000) }));
    for (const one of [...all, picture, report]) t.equal(await records.add(one), true);
    t.equal(await records.add({ ...all[1]!, value: 'other' }), false);
    const sorted = ['0', 'B', '_', 'a', 'b'].map((start) => all.find(({ key }) => key[0] === start)!);
    const check = async ({ records }: Storage) => {
      t.same(await records.list('link', { after: '', limit: 9 }), sorted);
      t.same(await records.list('link', { after: sorted[1]!.key, limit: 2 }), sorted.slice(2, 4));
      t.same(await records.list('link', { after: sorted[4]!.key, limit: 2 }), []);
      t.equal(await records.count('link'), 5);
      t.equal(await records.count('name'), 0);
      t.same(await records.find('link', ['none']), []);
      t.same(await records.find('link', []), []);
      const found = await records.find('link', [keys[1]!, 'none', keys[0]!]);
      t.same(
        [...found].sort((one, two) => (one.key < two.key ? -1 : 1)),
        [all[1], all[0]],
      );
      t.same(await records.find('picture', [picture.key, keys[1]!]), [picture]);
      t.same(await records.find('report', [keys[1]!]), [report]);
    };
    await check(storage);
    await check(await reopened(t, storage, place));
  });

  test('a record that is removed can be added again', async (t, storage) => {
    const { records } = storage;
    const picture = createHash('sha256').update('a picture').digest('base64url');
    t.equal(await records.remove('link', 'read-a'), false);
    await records.add(record('link', 'read-a', '1'));
    await records.add(record('picture', picture, '2'));
    t.equal(await records.remove('link', 'read-a'), true);
    t.same(await records.find('link', ['read-a']), []);
    t.equal(await records.count('picture'), 1);
    t.equal(await records.add(record('link', 'read-a', '3')), true);
    t.match(await records.find('link', ['read-a']), [{ value: '3' }]);
    const outcomes = await Promise.all(
      Array.from({ length: 9 }, (_, i) => records.add(record('link', 'read-b', `${i}`))),
    );
    t.equal(outcomes.filter(Boolean).length, 1, 'of several at once one is added');
  });

  test('a name that is closed makes no feed', async (t, storage, place) => {
    t.equal(await storage.records.add(record('name', name)), true);
    t.equal(await storage.records.add(record('name', name)), false);
    await t.rejects(post(storage, name, newNote('1')), BLOCKED);
    await t.rejects(writes(storage).create(name, NEW), BLOCKED);
    t.ok(await post(storage, other, newNote('1')), 'another one does');
    const again = await reopened(t, storage, place);
    await t.rejects(post(again, name, newNote('1')), BLOCKED);
    t.equal(await again.feed(name), undefined);
    t.equal(await again.records.remove('name', name), true);
    t.match(await post(again, name, newNote('1')), { isBlocked: false, noteCount: 1 });
  });

  test('a feed that is closed takes nothing more, and its read link shows nothing', async (t, storage, place) => {
    const [text, picture] = [newNote('text'), newNote('picture', 'png')];
    const before = await post(storage, name, [picture, text]);
    const changes = heard(storage);
    t.equal(await storage.records.add(record('name', name)), true);
    t.same(changes, [{ readIds: [before.readId] }]);
    const check = async (storage: Storage) => {
      const { replace, describe } = edits(storage);
      const feed = (await storage.feed(name))!;
      t.match(feed, { isBlocked: true, noteCount: 2 });
      t.match(await storage.feedToPost(name), { isBlocked: true });
      const { readId } = feed;
      t.equal(await storage.feedByReadId(readId), undefined);
      t.equal(await storage.pageByReadId(readId, { limit: 9 }), undefined);
      t.equal(await storage.pageByReadId(readId, { limit: 9, tag: 'x' }), undefined);
      t.equal(await storage.stat({ readId }, noteFile(picture.id, 'png')), undefined);
      t.match(await storage.anyFeedByReadId(readId), { name, isBlocked: true });
      t.equal((await reads(storage).page(name, { limit: 9 })).notes.length, 2, 'under its name all is there');
      t.ok(await reads(storage).stat(name, noteFile(picture.id, 'png')));
      await t.rejects(post(storage, name, newNote('more')), BLOCKED);
      await t.rejects(replace(name, text.id, Buffer.from('x')), BLOCKED);
      await t.rejects(describe(name, text.id, { title: 'T' }), BLOCKED);
      await t.rejects(configure(storage, name, { title: 'T' }), BLOCKED);
    };
    await check(storage);
    t.not((await storage.feed(name))!.version, before.version, 'so that nothing of it stays in a cache');
    const again = await reopened(t, storage, place);
    await check(again);
    t.equal(await edits(again).remove(name, text.id), true, 'notes may go');
    const told = heard(again);
    const closed = (await again.feed(name))!;
    t.equal(await again.records.remove('name', name), true);
    t.same(told, [{ readIds: [before.readId] }]);
    const open = (await again.feedByReadId(before.readId))!;
    t.match(open, { isBlocked: false, noteCount: 1 });
    t.not(open.version, closed.version);
    t.ok(await again.stat({ readId: before.readId }, noteFile(picture.id, 'png')));
    t.match(await post(again, name, newNote('more')), { noteCount: 2, isBlocked: false });
  });

  test('the name of a feed that is closed and then deleted stays closed', async (t, storage) => {
    const { readId } = await post(storage, name, newNote('1'));
    await storage.records.add(record('name', name));
    t.equal(await edits(storage).deleteFeed(name), true);
    t.equal(await storage.anyFeedByReadId(readId), undefined);
    await t.rejects(post(storage, name, newNote('1')), BLOCKED);
    t.equal(await storage.records.remove('name', name), true);
    t.match(await post(storage, name, newNote('1')), { isBlocked: false });
  });

  test('anyFeedByReadId finds feeds that are open, and no feed that is deleted', async (t, storage) => {
    const feed = await post(storage, name, newNote('1'));
    t.same(await storage.anyFeedByReadId(feed.readId), feed);
    t.equal(await storage.anyFeedByReadId('none' as ReadId), undefined);
    await edits(storage).deleteFeed(name);
    t.equal(await storage.anyFeedByReadId(feed.readId), undefined);
  });

  test('a picture that is closed is stored nowhere', async (t, storage) => {
    const bytes = Buffer.from('a picture');
    const sha256 = createHash('sha256').update(bytes).digest('base64url');
    const picture = () => ({ ...newNote(bytes, 'png'), sha256 });
    const good = {
      ...newNote('another', 'png'),
      sha256: createHash('sha256').update('another').digest('base64url'),
    };
    const text = newNote('text');
    await post(storage, name, [good, text]);
    await storage.records.add(record('picture', sha256));
    const { replace } = edits(storage);
    for (const write of [
      () => post(storage, name, picture()),
      () => post(storage, other, [picture(), newNote('new')]),
      () => replace(name, good.id, bytes, { sha256 }),
      () => replace(name, text.id, Buffer.from('x'), { added: [picture()] }),
    ])
      await t.rejects<unknown>(write(), BLOCKED_PICTURE);
    const importing = { kind: 'import', name, target: OPEN, limits: NO_LIMITS } as const;
    const imported = await storage.write({ ...importing, notes: [picture(), newNote('imported')] });
    t.match(imported?.outcomes, [{ code: 'blocked' }, 'stored']);
    t.match(await storage.feed(name), { imageCount: 1, noteCount: 3 });
    t.equal(await storage.feed(other), undefined);
    await storage.records.remove('picture', sha256);
    t.match(await post(storage, other, picture()), { imageCount: 1 });
  });

  test('no picture is stored once it is closed, however many are posted at once', async (t, storage) => {
    await writes(storage).create(name, NEW);
    let stored = 0;
    for (let round = 0; round < 5; round += 1) {
      const bytes = Buffer.from(`picture ${round}`);
      const sha256 = createHash('sha256').update(bytes).digest('base64url');
      const one = () => writes(storage).post(name, [{ ...newNote(bytes, 'png'), sha256 }], OPEN, NO_LIMITS);
      const posts = () => Promise.allSettled(Array.from({ length: 10 }, one));
      const early = posts();
      const closing = storage.records.add(record('picture', sha256));
      const late = posts();
      await closing;
      const count = (await storage.feed(name))!.imageCount;
      const outcomes = tally([...(await early), ...(await late)]);
      t.equal((await storage.feed(name))!.imageCount, count);
      await t.rejects(one(), BLOCKED_PICTURE);
      t.equal(outcomes.object ?? 0, count - stored);
      t.equal((outcomes.object ?? 0) + (outcomes.blocked ?? 0), 20);
      stored = count;
    }
  });

  for (const isNew of [true, false])
    test(`nothing is stored once a ${isNew ? 'new name' : 'feed'} is closed, however many post at once`, async (t, storage) => {
      const rounds = Array.from({ length: 5 }, (_, n) => feedName(`round-${n}`));
      for (const one of rounds) {
        if (!isNew) await writes(storage).create(one, NEW);
        const posts = (count: number) =>
          Array.from({ length: count }, (_, i) =>
            isNew
              ? post(storage, one, newNote(`${i}`))
              : writes(storage).post(one, [newNote(`${i}`)], OPEN, NO_LIMITS),
          );
        const early = Promise.allSettled(posts(10));
        const closing = storage.records.add(record('name', one));
        const late = Promise.allSettled(posts(10));
        await closing;
        const count = (await storage.feed(one))?.noteCount ?? 0;
        const outcomes = tally([...(await early), ...(await late)]);
        t.equal((await storage.feed(one))?.noteCount ?? 0, count);
        t.same((outcomes.object ?? 0) + (outcomes.blocked ?? 0), 20);
        t.equal(outcomes.object ?? 0, count);
        t.equal((await storage.feed(one))?.isBlocked ?? true, true);
        await t.rejects(post(storage, one, newNote('late')), BLOCKED);
      }
    });
}
