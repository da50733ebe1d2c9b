import { cp, mkdir, readdir, rename, rm, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { type FeedName, noteFile } from '../../src/feeds/names.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { eventually } from '../support/eventually.ts';
import { post } from '../support/storing.ts';
import { newNote } from './contract.ts';
import { testSearch, textsFound } from './contract-search.ts';
import { name, other } from './contract-support.ts';
import { dataFolder, opened, searchedFiles } from './files-support.ts';

t.setTimeout(600_000);

testSearch(searchedFiles);

/** Waits until a query finds exactly these texts. */
async function finds(t: Test, storage: Storage, feed: FeedName, q: string, ...texts: string[]) {
  const look = async () => (await textsFound(storage, feed, q)).map((text) => text ?? '').sort();
  await eventually(async () => (await look()).join() === texts.toSorted().join());
  t.same(await look(), texts.toSorted(), q);
}

t.test('what people place, change and remove by hand is found as it is', async (t) => {
  const dir = await dataFolder(t);
  const storage = await opened(t, dir, { search: true });
  const folder = join(dir, name);
  const posted = newNote('posted word');
  await post(storage, name, posted);
  await writeFile(join(folder, 'by hand.md'), 'placed word');
  await finds(t, storage, name, 'word', 'posted word', 'placed word');
  await writeFile(join(folder, 'by hand.md'), 'edited word');
  await finds(t, storage, name, 'word', 'posted word', 'edited word');
  await writeFile(join(folder, `.${noteFile(posted.id, 'md')}.json`), '{"title": "Entitled", "tags": ["t"]}');
  await finds(t, storage, name, 'entitled', 'posted word');
  t.same(await textsFound(storage, name, 'word', { tag: 't' }), ['posted word']);
  await writeFile(join(folder, `.${noteFile(posted.id, 'md')}.json`), '{"expires": "2020-01-01T00:00:00Z"}');
  await finds(t, storage, name, 'word', 'edited word');
  await unlink(join(folder, 'by hand.md'));
  await finds(t, storage, name, 'word');
});

t.test('feeds that come, go and are renamed by hand are found', async (t) => {
  const dir = await dataFolder(t);
  const storage = await opened(t, dir, { search: true });
  const made = join(await dataFolder(t), 'made');
  await mkdir(made);
  const texts = Array.from({ length: 150 }, (_, n) => `copied word ${n}`);
  for (const [n, text] of texts.entries()) await writeFile(join(made, `${n}.md`), text);
  await cp(made, join(dir, name), { recursive: true });
  await finds(t, storage, name, 'word', ...texts);
  await rename(join(dir, name), join(dir, other));
  await finds(t, storage, other, 'word', ...texts);
  await finds(t, storage, name, 'word');
  await rm(join(dir, other), { recursive: true });
  await finds(t, storage, other, 'word');
  await mkdir(join(dir, other));
  await writeFile(join(dir, other, 'new.md'), 'new word');
  await finds(t, storage, other, 'word', 'new word');
});

t.test('changes by hand before a start are found', async (t) => {
  const dir = await dataFolder(t);
  const storage = await opened(t, dir, { search: true });
  const [edited, gone] = [newNote('edited word'), newNote('gone word')];
  await post(storage, name, [edited, gone]);
  await finds(t, storage, name, 'word', 'edited word', 'gone word');
  await storage.close();
  await writeFile(join(dir, name, noteFile(edited.id, 'md')), 'another word');
  await unlink(join(dir, name, noteFile(gone.id, 'md')));
  await mkdir(join(dir, other));
  await writeFile(join(dir, other, 'new.md'), 'new word');
  const again = await opened(t, dir, { search: true });
  await finds(t, again, name, 'word', 'another word');
  await finds(t, again, name, 'edited');
  await finds(t, again, other, 'word', 'new word');
});

t.test('without a search there is no index, and none of a start before', async (t) => {
  const dir = await dataFolder(t);
  const storage = await opened(t, dir, { search: true });
  await post(storage, name, newNote('word'));
  await finds(t, storage, name, 'word', 'word');
  const there = await readdir(dir);
  t.ok(there.includes('.search.db'));
  await storage.close();
  const again = await opened(t, dir);
  t.equal(again.search, undefined);
  t.same(
    (await readdir(dir)).filter((file) => file.startsWith('.search')),
    [],
  );
});
