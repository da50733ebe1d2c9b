import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, stat, symlink, unlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import t from 'tap';
import { derivedReadId, NoteIds } from '../../src/feeds/ids.ts';
import type { FeedName, NoteId, ReadId } from '../../src/feeds/names.ts';
import { openFiles } from '../../src/storage/files/files.ts';
import { loadSecret } from '../../src/storage/files/secret.ts';
import { CLOCK_TICK_MS } from '../../src/storage/files/stamp.ts';
import { eventually } from '../support/eventually.ts';
import { CANNOT_MOUNT, smallDisk } from '../support/small-disk.ts';
import { post, reads } from '../support/storing.ts';
import { feedName, newNote } from './contract.ts';
import { dataFolder, keptLog, opened, SECRET } from './files-support.ts';

/** Makes a feed's folder by hand. */
async function makeFeed(
  dir: string,
  name: string,
  files: Record<string, string | Uint8Array>,
): Promise<void> {
  await mkdir(join(dir, name), { recursive: true });
  for (const [file, text] of Object.entries(files)) await writeFile(join(dir, name, file), text);
}

const derived = (name: string) => derivedReadId(SECRET, name as FeedName);

t.test('hand-placed notes: dates, names, and what is ignored', async (t) => {
  const dir = await dataFolder(t);
  await makeFeed(dir, 'feed', {
    'a note, 100%.md': 'by time',
    'same.md': 'md',
    'same.png': 'png',
    '.same.md.json': '{"created": "2020-01-01T00:00:00Z", "tags": "a, b", "title": 7}',
    'broken.md': 'b',
    '.broken.md.json': '{"created": ',
    '20200102T000000Z-not-a-uuid.md': 'x',
    '20200102T000001Z.md': 'x',
    '20200103T000000Z-moved.md': 'x',
    '.20200103T000000Z-moved.md.json': '{"created": "2019-01-01T00:00:00Z"}',
    '20201303T000000Z-month.md': 'x',
    'two.dots.md': 'no',
    'unknown.txt': 'no',
    '.md': 'no',
    '.hidden.md': 'no',
    README: 'no',
  });
  await utimes(join(dir, 'feed', 'a note, 100%.md'), 2_000_000_000, 2_000_000_000.25);
  await utimes(join(dir, 'feed', 'broken.md'), 2000, 2000);
  await utimes(join(dir, 'feed', 'same.png'), 1000, 1000);
  await utimes(join(dir, 'feed', '20200102T000000Z-not-a-uuid.md'), 500, 500);
  await utimes(join(dir, 'feed', '20201303T000000Z-month.md'), 500, 500);
  await symlink('same.md', join(dir, 'feed', 'link.md'));
  await mkdir(join(dir, 'feed', 'folder.md'));
  await symlink('feed', join(dir, 'linked'));
  await makeFeed(dir, 'Bad Name', { 'a.md': 'no' });
  await writeFile(join(dir, 'file'), 'no feed');

  const storage = await opened(t, dir);
  const { notes } = await reads(storage).page(feedName('feed'), { limit: 50 });
  const expected: [string, string, number][] = [
    ['a note, 100%', 'md', 2_000_000_000_250],
    ['20200102T000001Z', 'md', Date.UTC(2020, 0, 2, 0, 0, 1)],
    ['20200102T000000Z-not-a-uuid', 'md', Date.UTC(2020, 0, 2)],
    ['same', 'md', Date.UTC(2020, 0, 1)],
    ['20200103T000000Z-moved', 'md', Date.UTC(2019, 0, 1)],
    ['broken', 'md', 2_000_000],
    ['same', 'png', 1_000_000],
    ['20201303T000000Z-month', 'md', 500_000],
  ];
  t.same(
    notes.map((note) => [note.id, note.type, note.createdAt]),
    expected,
  );
  t.same(notes[3]?.meta, { tags: ['a', 'b'] });
  t.equal((await reads(storage).note(feedName('feed'), 'same' as NoteId))?.type, 'md');
  for (const name of ['linked', 'Bad Name', 'file']) t.equal(await storage.feed(feedName(name)), undefined);
  await t.rejects(post(storage, feedName('file'), newNote('x')), { code: 'internal' });
});

t.test('a file dated further than dates go', { skip: CANNOT_MOUNT }, async (t) => {
  // Some file systems keep 64 bits of seconds, as one in memory does.
  const dir = await smallDisk(t, '1m');
  await makeFeed(dir, 'feed', { 'far.md': 'x' });
  await utimes(join(dir, 'feed', 'far.md'), 99_999_999_999_999, 99_999_999_999_999);
  await utimes(join(dir, 'feed'), 99_999_999_999_999, 99_999_999_999_999);
  const storage = await opened(t, dir);
  t.equal((await reads(storage).note(feedName('feed'), 'far' as NoteId))?.createdAt, 8.64e15);
  t.equal((await storage.feed(feedName('feed')))?.changedAt, 8.64e15);
});

t.test('read ids: stored, derived, malformed, doubled', async (t) => {
  const dir = await dataFolder(t);
  await makeFeed(dir, 'c-copy', { '.readid': 'the-same\n' });
  await makeFeed(dir, 'b-first', { '.readid': 'the-same' });
  await makeFeed(dir, 'none', {});
  await makeFeed(dir, 'a-thief', { '.readid': derived('none') });
  await makeFeed(dir, 'bad', { '.readid': 'not a read id' });
  const log = keptLog();
  const storage = await opened(t, dir, { log });
  const readId = async (name: string) => (await storage.feed(feedName(name)))?.readId;
  t.equal(await readId('b-first'), 'the-same');
  t.equal(await readId('c-copy'), derived('c-copy'));
  t.equal(await readId('none'), derived('none'));
  t.equal(await readId('a-thief'), derived('a-thief'));
  t.match(await readId('bad'), /^!/, 'no link, and never another one');
  t.match(log.lines.join(), /\.readid/);
  t.notMatch(log.lines.join(), /bad/);
  t.equal((await storage.feedByReadId('the-same' as ReadId))?.name, 'b-first');
  await t.rejects(post(storage, feedName('x'), newNote('x'), { readId: 'the-same' as ReadId }), {
    code: 'taken',
  });
});

t.test('a read id of a deleted feed cannot be chosen', async (t) => {
  const dir = await dataFolder(t);
  await writeFile(join(dir, '.deleted-read-ids'), 'once-mine\nanother\n');
  const storage = await opened(t, dir);
  await t.rejects(post(storage, feedName('x'), newNote('x'), { readId: 'once-mine' as ReadId }), {
    code: 'taken',
  });
  t.equal((await post(storage, feedName('x'), newNote('x'), { readId: 'mine' as ReadId })).readId, 'mine');
});

t.test('leftovers of a crash are cleared away, files of people are not', async (t) => {
  const dir = await dataFolder(t);
  const temp = '.tmp-nfs-01234567-89ab-4def-8123-456789abcdef';
  const id = new NoteIds().next();
  const theirs = ['.tmp-nfs-mine', '.mine.md.json', '.20200101T000000Z-x.md.json', '.notes.swp', 'a.md'];
  await makeFeed(dir, 'feed', { [temp]: 'half', [`.${id}.md.json`]: '{}' });
  await makeFeed(dir, 'feed', Object.fromEntries(theirs.map((name) => [name, 'x'])));
  await makeFeed(dir, temp, { '.readid': 'half-made', 'a.md': 'half' });
  await makeFeed(dir, '.tmp-nfs-theirs', { 'a.md': 'x' });
  await opened(t, dir);
  t.same((await readdir(join(dir, 'feed'))).sort(), theirs.sort());
  t.ok(await eventually(async () => !(await readdir(dir)).includes(temp)));
  t.same((await readdir(dir)).sort(), ['.lock', '.tmp-nfs-theirs', 'feed']);
});

t.test('one process per folder, and the lock dies with its process', async (t) => {
  const dir = await dataFolder(t);
  const script = new URL('../fixtures/hold-lock.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [script, dir], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => child.kill('SIGKILL'));
  const [line] = await once(child.stdout, 'data');
  t.match(String(line), /^open/);
  const open = () =>
    openFiles({ dir, secret: SECRET, maxFeeds: 0, maxBytes: 0, keepDays: 0, log: keptLog() });
  await t.rejects(open(), { message: /in use by another process/ });
  child.kill('SIGKILL');
  await once(child, 'close');
  const storage = await open();
  await t.rejects(open(), { message: /in use by another process/ }, 'also within one process');
  await storage.close();
  await (await open()).close();
});

t.test('the secret is made once, private, and a short one is refused', async (t) => {
  const dir = await dataFolder(t);
  const load = async () => Buffer.from((await loadSecret(dir)).key);
  const made = await load();
  t.ok(made.byteLength >= 32);
  t.same(await load(), made);
  t.equal((await stat(join(dir, '.secret'))).mode & 0o777, 0o600);
  t.equal((await readFile(join(dir, '.secret'), 'utf8')).trim(), made.toString());
  t.same(await readdir(dir), ['.secret']);
  for (const short of [`${'x'.repeat(31)}\n`, Buffer.alloc(31, 255)]) {
    await writeFile(join(dir, '.secret'), short);
    await t.rejects(load(), { message: /shorter than 32 bytes/ });
  }
});

const RAW = Buffer.from('ff00'.repeat(16), 'hex');
const forms: [what: string, bytes: string | Buffer, key: string | Buffer, derivation: string][] = [
  ['a text', `  ${'x'.repeat(32)}\r\n`, 'x'.repeat(32), 'own'],
  ['a text of several lines', `${'ä\tb\n'.repeat(9)}`, 'ä\tb\n'.repeat(9).trim(), 'own'],
  ['bytes that are no UTF-8', RAW, RAW, 'reference'],
  ['bytes that are', Buffer.alloc(32, 1), Buffer.alloc(32, 1), 'reference'],
  ['bytes with white space around them', Buffer.from(` ${RAW}\n`), Buffer.from(` ${RAW}\n`), 'reference'],
];
for (const [what, bytes, key, derivation] of forms) {
  t.test(`a .secret of ${what}`, async (t) => {
    const dir = await dataFolder(t);
    await writeFile(join(dir, '.secret'), bytes);
    const loaded = await loadSecret(dir);
    t.equal(Buffer.compare(loaded.key, Buffer.from(key)), 0);
    t.match(loaded, { derivation, isMarked: false, isKnown: true });
  });
}

t.test(
  'as text or as bytes: what a .secret of text is used as under the derivation of the reference',
  async (t) => {
    const dir = await dataFolder(t);
    const text = `${'x'.repeat(31)}\n`;
    await writeFile(join(dir, '.secret'), text);
    t.equal(Buffer.from((await loadSecret(dir, { derivedReadIds: 'reference' })).key).toString(), text);
  },
);

t.test('processes that start at once on an empty folder agree on the secret', async (t) => {
  for (let round = 0; round < 20; round += 1) {
    const dir = await dataFolder(t);
    const starts = Array.from({ length: 4 }, async (_, i) => {
      for (let ticks = 0; ticks < i * round; ticks += 1)
        await new Promise((resolve) => setImmediate(resolve));
      return Buffer.from((await loadSecret(dir)).key).toString();
    });
    if (new Set(await Promise.all(starts)).size > 1) t.fail('two secrets');
  }
});

const isRoot = process.getuid?.() === 0;
t.test('everything made belongs to the owner given', { skip: !isRoot && 'needs root' }, async (t) => {
  const dir = await dataFolder(t);
  const owner = { uid: 1234, gid: 2345 };
  await loadSecret(dir, {}, owner);
  const storage = await opened(t, dir, { owner });
  await post(storage, feedName('feed'), newNote('x', 'md', { title: 'T', tags: [] }));
  await post(storage, feedName('feed'), newNote('y'));
  const names = await readdir(dir, { recursive: true });
  t.equal(names.length, 7);
  for (const name of names) t.match(await stat(join(dir, name)), owner, 'owned');
});

t.test('a read that races a removal is no exception', async (t) => {
  const dir = await dataFolder(t);
  const storage = await opened(t, dir, { events: false });
  const name = feedName('feed');
  const note = newNote('x');
  await post(storage, name, note);
  await post(storage, name, newNote('y', 'png'));
  await unlink(join(dir, name, `${note.id}.md`));
  t.equal(await reads(storage).note(name, note.id), undefined);
  t.equal((await reads(storage).page(name, { limit: 9 })).notes.length, 1);
  t.equal(await reads(storage).stat(name, `${note.id}.md` as never), undefined);
  t.ok(await eventually(async () => (await storage.feed(name))?.noteCount === 1));
});

t.test('what is kept for ever is not begun anew where it cannot be read', async (t) => {
  const dir = await dataFolder(t);
  await mkdir(join(dir, '.used-tokens'));
  const storage = await opened(t, dir);
  const refusal = { code: 'store_unavailable', message: /^The file \.used-tokens .* cannot be read/ };
  await t.rejects(storage.useToken('series', 0, Date.now() + 1000), refusal);
  t.ok((await stat(join(dir, '.used-tokens'))).isDirectory());

  for (const [file, message] of [
    ['.deleted-read-ids', /^The file \.deleted-read-ids .* cannot be read/],
    ['.moving', /has not been finished/],
  ] as const) {
    const other = await dataFolder(t);
    await mkdir(join(other, file));
    await t.rejects(opened(t, other), { message });
  }
});

const CANNOT_COUNT = { skip: existsSync('/proc/self/io') ? false : 'the system does not count what is read' };
t.test('a start reads no texts to know in which order notes came', CANNOT_COUNT, async (t) => {
  const dir = await dataFolder(t);
  const [ids, text] = [new NoteIds(), Buffer.alloc(100 * 1024, 'text ')];
  const made = Array.from({ length: 100 }, () => ids.next());
  // Later than the dates of the notes by the clock of the file system, as if they had waited for the disk.
  await wait(2 * CLOCK_TICK_MS);
  const files = made.map((id) => ({ [`${id}.md`]: text, [`.${id}.md.json`]: '{"title": "Titled"}' }));
  await makeFeed(dir, 'feed', Object.assign({}, ...files));
  const storage = await opened(t, dir);
  const feed = (await storage.feed(feedName('feed')))!;
  const bytesRead = async () => Number(/^rchar: (\d+)$/m.exec(await readFile('/proc/self/io', 'utf8'))?.[1]);
  const before = await bytesRead();
  const { notes } = (await storage.arrivals(feed, made[0]!, 100))!;
  const bytes = (await bytesRead()) - before;
  t.equal(notes.length, made.length - 1);
  t.ok(bytes < 10 * text.length, `${bytes} bytes were read`);
});
