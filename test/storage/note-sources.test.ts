import { mkdir, rename, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { type NoteFile, noteFile } from '../../src/feeds/names.ts';
import { FilesSource } from '../../src/storage/files/search-source.ts';
import type { NoteSource } from '../../src/storage/search/note-source.ts';
import { SqliteSource } from '../../src/storage/sqlite/search-source.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { type BackendName, databaseIn, openBackend } from '../support/open-backend.ts';
import { edits, post, reads } from '../support/storing.ts';
import { newNote } from './contract.ts';
import { name, other } from './contract-support.ts';
import { dataFolder } from './files-support.ts';

async function opened(t: Test, backend: BackendName) {
  const dir = await dataFolder(t);
  const storage = await openBackend(dir, backend);
  const source = backend === 'files' ? new FilesSource(dir) : new SqliteSource(databaseIn(dir));
  t.teardown(() => storage.close());
  t.teardown(() => source.close());
  return { dir, storage, source };
}

/** The notes of a feed, as a storage and as a source have them. */
async function both(storage: Storage, source: NoteSource) {
  const { notes } = await reads(storage).page(name, { limit: 100 });
  const listed = [...source.list(name)];
  const read = listed.map(({ file }) => source.read(name, file)!);
  const shown = ({ createdAt, meta, content }: (typeof notes)[number] | (typeof read)[number]) => ({
    createdAt,
    meta,
    text: content && Buffer.from(content).toString(),
  });
  const byFile = (all: [NoteFile, unknown][]) => Object.fromEntries(all.sort(([a], [b]) => (a < b ? -1 : 1)));
  return {
    stored: byFile(notes.map((note) => [noteFile(note.id, note.type), shown(note)])),
    sourced: byFile(read.map((note) => [note.file, shown(note)])),
    versions: byFile(listed.map(({ file, version }) => [file, version])) as Record<string, number>,
    areSame: read.every(({ version }, n) => version === listed[n]!.version),
  };
}

for (const backend of ['files', 'sqlite'] as const) {
  t.test(`${backend}: the source of the index has all notes as they are stored`, async (t) => {
    const { storage, source } = await opened(t, backend);
    t.same([...source.feeds()], []);
    t.same([...source.list(name)], []);
    t.equal(source.read(name, 'x.md' as NoteFile), undefined);
    const text = newNote('text', 'md', { title: 'T', tags: ['a'] });
    const [picture, empty] = [newNote('p', 'png', { alt: 'A', tags: [] }), newNote('')];
    await post(storage, name, [text, picture, empty]);
    await post(storage, other, newNote('elsewhere'));
    t.same([...source.feeds()].sort(), [name, other].sort());
    const first = await both(storage, source);
    t.same(first.sourced, first.stored);
    t.ok(first.areSame);
    t.equal(Object.keys(first.stored).length, 3);
    t.same((await both(storage, source)).versions, first.versions, 'nothing has changed');

    await edits(storage).replace(name, text.id, Buffer.from('TEXT'));
    await edits(storage).describe(name, picture.id, { alt: 'B' });
    const edited = await both(storage, source);
    t.same(edited.sourced, edited.stored);
    for (const { id, type } of [text, picture])
      t.not(edited.versions[noteFile(id, type)], first.versions[noteFile(id, type)]);
    const kept = noteFile(empty.id, 'md');
    t.equal(edited.versions[kept], first.versions[kept]);
    for (const version of Object.values(edited.versions)) t.ok(version >= 0 && version < 2 ** 48);

    await edits(storage).remove(name, text.id);
    t.equal(Object.keys((await both(storage, source)).sourced).length, 2);
    t.equal(source.read(name, noteFile(text.id, 'md')), undefined);
    await edits(storage).deleteFeed(name);
    t.same([...source.feeds()], [other]);
    t.same([...source.list(name)], []);
    t.equal(source.read(name, noteFile(picture.id, 'png')), undefined);
  });
}

t.test('sqlite: a feed of more notes than one statement brings is listed whole', async (t) => {
  const { storage, source } = await opened(t, 'sqlite');
  const notes = Array.from({ length: 2_001 }, (_, n) => ({ ...newNote(`${n}`), createdAt: -n % 7 }));
  await post(storage, name, notes);
  const files = [...source.list(name)].map(({ file }) => file);
  t.same(files.sort(), notes.map(({ id }) => noteFile(id, 'md')).sort());
});

t.test('files: what people placed is dated and read as the storage does it', async (t) => {
  const { dir, storage, source } = await opened(t, 'files');
  const folder = join(dir, name);
  await post(storage, name, newNote('first'));
  await writeFile(join(folder, 'a b.md'), 'dated by its file');
  await utimes(join(folder, 'a b.md'), new Date(0), new Date('2001-02-03T04:05:06.789Z'));
  await writeFile(join(folder, 'created.md'), 'dated by its metadata');
  await writeFile(join(folder, '.created.md.json'), '{"created": "1969-01-01T00:00:00Z", "tags": "x, y"}');
  await writeFile(join(folder, '20200101T000000Z-x.md'), 'dated by its name');
  await writeFile(join(folder, '.20200101T000000Z-x.md.json'), 'no JSON');
  await writeFile(join(folder, 'no-note.txt'), '');
  await mkdir(join(folder, 'folder.md'));
  await symlink('a b.md', join(folder, 'link.md'));
  await symlink(folder, join(dir, 'linked'));
  await writeFile(join(dir, '.search.db'), '');
  await storage.close();
  const again = await openBackend(dir);
  t.teardown(() => again.close());
  const { stored, sourced } = await both(again, source);
  t.equal(Object.keys(stored).length, 4);
  t.same(sourced, stored);
  t.same(source.feeds(), [name]);
  t.same([...source.list('linked' as typeof name)], []);

  const [{ version: before }] = [source.read(name, 'a b.md' as NoteFile)!];
  await writeFile(join(folder, '.a b.md.json'), '{"title": "by hand"}');
  const changed = source.read(name, 'a b.md' as NoteFile)!;
  t.equal(changed.meta.title, 'by hand');
  t.not(changed.version, before);
  await rm(join(folder, '.a b.md.json'));
  t.equal(source.read(name, 'a b.md' as NoteFile)!.version, before);
  await truncate(join(folder, 'a b.md'), 64 * 1024 * 1024);
  t.equal(
    source.read(name, 'a b.md' as NoteFile)!.content!.byteLength,
    4 * 1024 * 1024,
    'only the beginning',
  );
});

t.test('files: while the data folder is away, no note is taken for gone', async (t) => {
  const { dir, storage, source } = await opened(t, 'files');
  const note = newNote('text');
  await post(storage, name, note);
  const file = noteFile(note.id, note.type);
  t.teardown(() => rm(`${dir}.away`, { recursive: true, force: true }));
  await rename(dir, `${dir}.away`);
  for (const look of [() => [...source.list(name)], () => source.read(name, file)])
    t.throws(look, { code: 'ENOENT' });
  await rename(`${dir}.away`, dir);
  t.equal([...source.list(name)].length, 1);
  t.ok(source.read(name, file));
});
