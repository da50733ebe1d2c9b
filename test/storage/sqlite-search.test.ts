import { chownSync } from 'node:fs';
import { readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import t from 'tap';
import type { Position } from '../../src/feeds/order.ts';
import { onRefusal } from '../../src/refusals.ts';
import { parseQuery } from '../../src/search/query.ts';
import { DatabaseFile } from '../../src/storage/sqlite/database-file.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { eventually } from '../support/eventually.ts';
import { databaseIn } from '../support/open-backend.ts';
import { NO_LIMITS, OPEN, post, reads, writes } from '../support/storing.ts';
import { newNote } from './contract.ts';
import { found, testSearch, textsFound } from './contract-search.ts';
import { name, other } from './contract-support.ts';
import { dataFolder, keptLog } from './files-support.ts';
import { opened, searchedSqlite } from './sqlite-support.ts';

t.setTimeout(600_000);

/** Makes a text so long that some hundred are no single commit. */
const FILLING = ' '.repeat(50_000);
/** Of the database. */
const PAGE_BYTES = 8192;

testSearch(searchedSqlite);

t.test('the index is beside the database, for its owner alone, and goes when nobody searches', async (t) => {
  const dir = await dataFolder(t);
  const owner = process.getuid?.() === 0 ? { uid: 1234, gid: 2345 } : undefined;
  if (owner) chownSync(dir, owner.uid, owner.gid);
  const storage = await opened(t, dir, { owner, search: true });
  await post(storage, name, newNote('word'));
  t.same(await textsFound(storage, name, 'word'), ['word']);
  const files = await readdir(dir);
  t.ok(files.includes('notes.search.db'));
  for (const file of files) {
    const { mode, uid, gid } = await stat(join(dir, file));
    t.equal(mode & 0o777, 0o600, file);
    if (owner) t.same({ uid, gid }, owner, file);
  }
  await storage.close();
  const left = (await readdir(dir)).filter((file) => !file.startsWith('notes.search'));
  t.same(left.sort(), ['notes.db', 'notes.db.lock'], 'nobody holds the database');
  const again = await opened(t, dir);
  t.equal(again.search, undefined);
  t.notOk((await readdir(dir)).some((file) => file.startsWith('notes.search')));
});

t.test('no database may be named as an index', async (t) => {
  const dir = await dataFolder(t);
  const file = join(dir, 'notes.search.db');
  t.throws(() => DatabaseFile.take(file, undefined), {
    message: `The database file ${file} is named as an index of the search: its name must not end in .search.db.`,
  });
  t.same(await readdir(dir), []);
});

/** The ids of all notes of the feed. */
async function stored(storage: Storage): Promise<string[]> {
  const ids: string[] = [];
  for (let before: Position | undefined; ; ) {
    const page = await reads(storage).page(name, { limit: 100, before });
    ids.push(...page.notes.map(({ id }) => id));
    if (!page.next) return ids;
    before = page.next;
  }
}

t.test('what was stored although the write failed is found', async (t) => {
  const threads: Worker[] = [];
  const noted = (thread: Worker) => threads.push(thread);
  process.on('worker', noted);
  const dir = await dataFolder(t);
  const storage = await opened(t, dir, { search: true });
  process.off('worker', noted);
  await post(storage, name, newNote('word'));
  await found(storage, name, 'word');
  let refused: string[] = [];
  /** Posts notes, of which some are stored when the service finds out that its medium is gone. */
  const postMany = async (loseMedium: () => Promise<unknown>) => {
    const notes = Array.from({ length: 60 }, () => newNote(`word ${FILLING}`));
    const posts = notes.map((note) => writes(storage).post(name, [note], OPEN, NO_LIMITS));
    await Promise.race(posts);
    await loseMedium();
    const settled = await Promise.allSettled(posts);
    refused = [...refused, ...notes.filter((_, n) => settled[n]!.status === 'rejected').map(({ id }) => id)];
  };
  const isUnheard = async () => (await stored(storage)).some((id) => refused.includes(id));
  for (let n = 0; n < 50 && !(await isUnheard()); n += 1) {
    await postMany(() => rename(databaseIn(dir), join(dir, 'away')));
    await rename(join(dir, 'away'), databaseIn(dir));
  }
  t.ok(await isUnheard());
  // The first thread makes the tables and is the one that writes.
  await postMany(() => threads[0]!.terminate());
  const ids = (await found(storage, name, 'word')).map(({ id }) => id);
  t.same(ids, await stored(storage));
});

t.test('a damaged page of the database takes the search from its feed alone', async (t) => {
  const dir = await dataFolder(t);
  const before = await opened(t, dir);
  await post(before, name, newNote('word'));
  for (let n = 0; n < 40; n += 1) await post(before, other, newNote(`damaged ${n} ${'.'.repeat(1_000)}`));
  await before.close();
  const bytes = await readFile(databaseIn(dir));
  const pages = Array.from({ length: bytes.length / PAGE_BYTES }, (_, n) =>
    bytes.subarray(n * PAGE_BYTES, (n + 1) * PAGE_BYTES),
  );
  // Not the first, which has the other feed's note too, and not the last, which the start reads.
  pages.filter((page) => page.includes('damaged'))[2]!.fill(255);
  await writeFile(databaseIn(dir), bytes);
  const log = keptLog();
  const storage = await opened(t, dir, { search: true, log });
  t.ok(await eventually(() => log.lines.some((line) => line.includes('notes of a feed cannot be read'))));
  const search = { query: parseQuery('word'), limit: 10 };
  const admitted = (await storage.feed(name))!;
  const find = async () => (await storage.search!(admitted, search)).notes.length === 1;
  t.ok(await eventually(() => onRefusal(find, () => false)));
  const damaged = storage.search!((await storage.feed(other))!, { ...search, query: parseQuery('damaged') });
  await t.rejects(damaged, { code: 'busy' }, 'nobody knows what is in it');
  t.notOk(log.lines.some((line) => line.includes('made again')));
});
