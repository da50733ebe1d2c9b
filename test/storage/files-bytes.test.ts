import { appendFile, mkdir, readdir, rename, rm, stat, unlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { FeedName, NoteFile } from '../../src/feeds/names.ts';
import { noteFile } from '../../src/feeds/names.ts';
import type { FeedListQuery, FeedPlace, Storage } from '../../src/storage/storage.ts';
import { IN_SOAK } from '../support/effort.ts';
import { eventually } from '../support/eventually.ts';
import { edits, post, reads } from '../support/storing.ts';
import { feedName, newNote } from './contract.ts';
import { dataFolder, opened } from './files-support.ts';

const name = feedName('feed');
const UNASKED = '20260101T000000Z-00000000-0000-4000-8000-000000000001.md' as NoteFile;

const bytesOf = async (storage: Storage, feed: FeedName = name) => (await storage.feed(feed))?.byteCount;

/** Whether the sum of the feeds is the sum of the instance. */
async function tellsSum(storage: Storage, feeds: readonly FeedName[]): Promise<boolean> {
  const all = await Promise.all(feeds.map((feed) => bytesOf(storage, feed)));
  return (await storage.totals()).bytes === all.reduce<number>((sum, bytes = 0) => sum + bytes, 0);
}

/** Runs a test with the kernel's events, and in the soak also with the repeated look alone. */
function byHand(title: string, body: (t: Test, dir: string, open: () => Promise<Storage>) => Promise<void>) {
  for (const events of [true, false])
    t.test(`${title} (${events ? 'events' : 'rescan only'})`, events ? {} : IN_SOAK, async (t) => {
      const dir = await dataFolder(t);
      await body(t, dir, () => opened(t, dir, { events }));
    });
}

byHand('bytes of files that are placed, grow, shrink and go count', async (t, dir, open) => {
  const storage = await open();
  const [posted, edited] = [newNote('12345'), newNote('1')];
  await post(storage, name, [posted, edited]);
  t.equal(await bytesOf(storage), 6);
  const path = (file: string) => join(dir, name, file);
  const file = noteFile(posted.id, 'md');

  await writeFile(path('placed.md'), '1234567890');
  t.ok(await eventually(async () => (await bytesOf(storage)) === 16), 'placed');
  await appendFile(path('placed.md'), '1234');
  t.ok(await eventually(async () => (await bytesOf(storage)) === 20), 'grown');
  await writeFile(path(file), '1');
  t.ok(await eventually(async () => (await bytesOf(storage)) === 16), 'shrunk');
  await edits(storage).replace(name, edited.id, Buffer.from('123'));
  t.equal(await bytesOf(storage), 18, 'replaced by a write');
  await unlink(path('placed.md'));
  t.ok(await eventually(async () => (await bytesOf(storage)) === 4), 'gone');
  await writeFile(path('.placed.md.json'), '{"title":"of nothing"}');
  await writeFile(path(`.${file}.json`), '{"title":"beside"}');
  t.ok(await eventually(async () => (await reads(storage).note(name, posted.id))?.meta.title === 'beside'));
  t.equal(await bytesOf(storage), 4, 'metadata do not count');
  t.ok(await tellsSum(storage, [name]));
});

byHand('bytes of folders that are placed, renamed and removed count', async (t, dir, open) => {
  const storage = await open();
  await post(storage, name, newNote('123'));
  const other = feedName('other');
  await mkdir(join(dir, '.made'));
  for (const [file, text] of [
    [UNASKED, '12345'],
    ['by-hand.md', '1'],
  ] as const)
    await writeFile(join(dir, '.made', file), text);
  await rename(join(dir, '.made'), join(dir, 'placed'));
  t.ok(await eventually(async () => (await bytesOf(storage, feedName('placed'))) === 6));
  t.match(await storage.totals(), { feeds: 2, notes: 3, pictures: 0, bytes: 9 });
  await rename(join(dir, 'placed'), join(dir, other));
  t.ok(await eventually(async () => (await bytesOf(storage, other)) === 6));
  t.ok(await eventually(async () => (await storage.totals()).bytes === 9));
  await rm(join(dir, other), { recursive: true });
  t.ok(await eventually(async () => (await storage.totals()).feeds === 1));
  t.same(await storage.totals(), { feeds: 1, notes: 1, pictures: 0, bytes: 3 });
});

byHand('the size of a file that nobody has asked for counts, and a new one, too', async (t, dir, open) => {
  await mkdir(join(dir, name));
  await writeFile(join(dir, name, UNASKED), '123');
  // Nobody can tell the change by the time.
  await utimes(join(dir, name, UNASKED), 1, 1);
  const storage = await open();
  t.equal(await bytesOf(storage), 3);
  await appendFile(join(dir, name, UNASKED), '45');
  await utimes(join(dir, name, UNASKED), 1, 1);
  t.ok(await eventually(async () => (await bytesOf(storage)) === 5));
  t.equal((await storage.totals()).bytes, 5);
});

t.test('bytes that changed while the service was stopped count', async (t) => {
  const dir = await dataFolder(t);
  const first = await opened(t, dir);
  await post(first, name, [newNote('123'), newNote('12345', 'png')]);
  await first.close();
  const [text] = (await readdir(join(dir, name))).filter((file) => file.endsWith('.md'));
  await appendFile(join(dir, name, text!), '4567');
  await writeFile(join(dir, name, 'placed.png'), '1');
  const second = await opened(t, dir);
  t.match(await second.feed(name), { byteCount: 13, noteCount: 3, imageCount: 2 });
  t.same(await second.totals(), { feeds: 1, notes: 3, pictures: 2, bytes: 13 });
});

t.test('of 50 posts at once, as many are stored as the instance has room for', async (t) => {
  const storage = await opened(t, await dataFolder(t), { maxBytes: 1_000 });
  const names = Array.from({ length: 5 }, (_, n) => feedName(`feed-${n}`));
  const posts = Array.from({ length: 50 }, (_, n) => post(storage, names[n % 5]!, newNote('x'.repeat(90))));
  const all = await Promise.allSettled(posts);
  t.equal(all.filter(({ status }) => status === 'fulfilled').length, 11);
  t.ok(all.every((one) => one.status === 'fulfilled' || one.reason.code === 'byte_limit'));
  t.equal((await storage.totals()).bytes, 990);
  t.ok(await tellsSum(storage, names));
  await edits(storage).deleteFeed(names[0]!);
  const { bytes } = await storage.totals();
  await post(storage, names[1]!, newNote('x'.repeat(1_000 - bytes)));
  t.equal((await storage.totals()).bytes, 1_000, 'room of a deleted feed');
});

t.test('feeds are listed in every order, page by page', async (t) => {
  const dir = await dataFolder(t);
  const storage = await opened(t, dir);
  const count = 2_500;
  const names = Array.from({ length: count }, (_, n) => feedName(`feed-${String(n).padStart(4, '0')}`));
  await storage.close();
  for (const [n, feed] of names.entries()) {
    await mkdir(join(dir, feed));
    for (let at = 0; at < n % 3; at += 1) await writeFile(join(dir, feed, `n${at}.md`), 'x'.repeat(n % 7));
    await utimes(join(dir, feed), 1, n % 5);
  }
  const again = await opened(t, dir);
  const created = new Map<FeedName, number>();
  for (const feed of names) created.set(feed, Math.floor((await stat(join(dir, feed))).birthtimeMs));
  const listed = async (query: Partial<FeedListQuery>) => {
    const found: FeedName[] = [];
    let after: FeedPlace | undefined;
    do {
      const page = await again.listFeeds({ order: 'name', start: '', limit: 700, ...query, after });
      found.push(...page.feeds.map(({ name }) => name));
      after = page.next;
    } while (after);
    return found;
  };
  const by = (value: (n: number) => number) => {
    const placed = names.map((feed, n) => ({ feed, value: value(n) }));
    return placed.sort((a, b) => b.value - a.value).map(({ feed }) => feed);
  };
  t.same(await listed({ order: 'name' }), names);
  t.same(
    await listed({ order: 'bytes' }),
    by((n) => (n % 3) * (n % 7)),
  );
  t.same(
    await listed({ order: 'notes', limit: 1_000 }),
    by((n) => n % 3),
  );
  t.same(
    await listed({ order: 'changed' }),
    by((n) => n % 5),
  );
  t.same(
    await listed({ order: 'created', limit: 999 }),
    by((n) => created.get(names[n]!)!),
  );
  t.same(
    await listed({ order: 'bytes', start: 'feed-12', limit: 7 }),
    by((n) => (n % 3) * (n % 7)).filter((one) => one.startsWith('feed-12')),
  );
  t.same(await listed({ start: 'none' }), []);
});
