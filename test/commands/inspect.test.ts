/** What a data folder may hold that the service does not take. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import timers from 'node:timers/promises';
import t from 'tap';
import { derivedReadId } from '../../src/feeds/ids.ts';
import type { FeedName } from '../../src/feeds/names.ts';
import { inspectFolder } from '../../src/storage/files/inspect.ts';
import { FeedClient } from '../support/feed-client.ts';
import { missing } from '../support/installed.ts';
import { placeFiles } from '../support/moving.ts';
import { tempDir } from '../support/service.ts';
import { dataDir, ServiceProcess } from '../support/service-process.ts';

t.setTimeout(600_000);

const MAIN = new URL('../../src/main.cjs', import.meta.url).pathname;
const SERVICE_SECRET = 'a secret of tests that is long enough';
const UUID = '01234567-89ab-cdef-0123-456789abcdef';
/** A user other than root, whom permissions bind. */
const UID = 1000;

const asRoot = process.getuid?.() === 0 ? {} : { skip: 'only root can give files away' };

const COMMAND = ['env', '-u', 'NODE_OPTIONS', process.execPath, MAIN, 'inspect'];

/** Runs a command that reads the settings of a service on plain files. */
async function run(
  dir: string,
  [program = '', ...args]: readonly string[],
  env: Record<string, string> = {},
) {
  const child = spawn(program, args, {
    env: { PATH: process.env.PATH, DATA_DIR: dir, SERVICE_STORAGE: 'fs', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close').then(([code]) => code as number | null);
  const [code, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  return { code, stdout, stderr };
}

/** What is found in a pipe. */
async function inspect(dir: string, env?: Record<string, string>) {
  const { stdout, ...rest } = await run(dir, COMMAND, env);
  return { ...rest, ...(stdout !== '' && JSON.parse(stdout)) };
}

/** What a terminal shows. */
async function shownFor(dir: string, ...args: string[]): Promise<string> {
  const line = [...COMMAND, ...args].map((word) => `'${word}'`).join(' ');
  const { stdout } = await run(dir, ['script', '-qec', line, '/dev/null']);
  return stdout.replaceAll('\r\n', '\n');
}

/** All that is in a folder, with the moments of their last changes. */
function stateOf(dir: string): string[] {
  const names = readdirSync(dir, { recursive: true, encoding: 'utf8' });
  // One of them is not UTF-8.
  return names.map((name) => `${name} ${lstatSync(join(dir, name), { throwIfNoEntry: false })?.ctimeMs}`);
}

/** The problems by path. */
async function problemsIn(dir: string, env?: Record<string, string>): Promise<Record<string, string>> {
  const { code, stderr, found } = await inspect(dir, env);
  t.same([code, stderr], [found.length > 0 ? 1 : 0, '']);
  return Object.fromEntries(found.map((one: { path: string; problem: string }) => [one.path, one.problem]));
}

t.test('everything that the service does not take is named, and stays', async (t) => {
  const dir = await tempDir(t);
  placeFiles(dir, [
    ['good/note.md', 'text', 0],
    ['good/.note.md.json', '{"title":"T","of others":1}', 0],
    ['good/.readid', 'good-id\n', 0],
    ['good/.feed.json', '{"title":"Good"}', 0],
    ['good/.marks', '0\n', 0],
    ['good/picture.jpeg', 'x', 0],
    ['good/UPPER.MD', 'x', 0],
    ['good/draft', 'x', 0],
    ['good/two.dots.md', 'x', 0],
    ['good/.DS_Store', 'x', 0],
    ['good/broken.md', 'x', 0],
    ['good/.broken.md.json', '{"title":', 0],
    ['good/latin.md', 'x', 0],
    ['good/.latin.md.json', Buffer.from('{"title":"\xe4"}', 'latin1'), 0],
    ['good/.gone.md.json', '{}', 0],
    [`good/.tmp-nfs-${UUID}`, 'x', 0],
    [`good/.intent-nfs-${UUID}`, 'x', 0],
    ['keys/a.md', 'x', 0],
    ['keys/.a.md.json', '{"key":"same","expires":"2020-01-01T00:00:00Z"}', 0],
    ['keys/b.md', 'x', 0],
    ['keys/.b.md.json', '{"key":"same"}', 0],
    ['keys/c.md', 'x', 0],
    ['keys/.c.md.json', '{"key":"other"}', 0],
    ['copy/.readid', 'good-id\n', 0],
    ['no-read-id/.readid', '!', 0],
    ['settings/.feed.json', '[]', 0],
    ['settings/.password', '\n', 0],
    ['Upper/note.md', 'x', 0],
    ['.git/note.md', 'x', 0],
    ['api/note.md', 'x', 0],
    ['lost+found/x', 'x', 0],
    ['note.md', 'x', 0],
    [`.tmp-nfs-${UUID}`, 'x', 0],
    ['.blocked', 'closed\n# a remark\n\nNot a name\n', 0],
    ['.reports', '{"id":"1"}\n', 0],
    ['.deleted-read-ids', 'x\n', 0],
    ['.search.db', 'x', 0],
  ]);
  symlinkSync('note.md', join(dir, 'good', 'linked.md'));
  mkdirSync(join(dir, 'good', 'folder'));
  mkdirSync(join(dir, 'good', 'folder.md'));
  symlinkSync('good', join(dir, 'linked'));
  writeFileSync(
    Buffer.concat([Buffer.from(join(dir, 'keys/')), Buffer.from([0xff]), Buffer.from('.md')]),
    '',
  );
  const before = stateOf(dir);
  t.same(await problemsIn(dir), {
    'good/picture.jpeg': 'extension',
    'good/UPPER.MD': 'extension',
    'good/draft': 'extension',
    'good/two.dots.md': 'name',
    'good/.DS_Store': 'name',
    'good/.broken.md.json': 'metadata',
    'good/.latin.md.json': 'metadata',
    'good/.gone.md.json': 'metadata',
    [`good/.tmp-nfs-${UUID}`]: 'leftover',
    [`good/.intent-nfs-${UUID}`]: 'leftover',
    'good/linked.md': 'link',
    'good/folder': 'kind',
    'good/folder.md': 'kind',
    'keys/a.md': 'key',
    'keys/\ufffd.md': 'name',
    'good/.readid': 'read_id',
    'no-read-id/.readid': 'read_id',
    'settings/.feed.json': 'metadata',
    'settings/.password': 'unreadable',
    Upper: 'name',
    '.git': 'name',
    api: 'name',
    'note.md': 'kind',
    linked: 'link',
    [`.tmp-nfs-${UUID}`]: 'leftover',
    '.blocked': 'lines',
    '.reports': 'lines',
  });
  t.same(stateOf(dir), before, 'nothing has changed');
});

t.test('a folder in which all is well', async (t) => {
  const dir = await tempDir(t);
  placeFiles(dir, [
    ['one/note.md', 'text', 0],
    ['one/.note.md.json', '{"key":"k"}', 0],
    ['two/note.md', 'text', 0],
    ['two/note.png', 'x', 0],
  ]);
  t.same(await inspect(dir), { code: 0, stderr: '', feeds: 2, notes: 3, found: [] });
  const wrong = await inspect(join(dir, 'absent'));
  t.match(wrong, { code: 1, stderr: /^DATA_DIR=.* \(ENOENT: no such folder\)\.\n$/ });
});

t.test('a .readid that follows from the secret for another feed', async (t) => {
  const dir = await tempDir(t);
  const readId = derivedReadId(Buffer.from(SERVICE_SECRET), 'zebra' as FeedName);
  placeFiles(dir, [
    ['ape/.readid', readId, 0],
    ['zebra/note.md', 'text', 0],
  ]);
  t.same(await problemsIn(dir), {});
  t.same(await problemsIn(dir, { SERVICE_SECRET }), { 'ape/.readid': 'read_id' });
});

t.test('what the user of the service may not read', asRoot, async (t) => {
  const dir = await tempDir(t);
  placeFiles(dir, [
    ['open/note.md', 'text', 0],
    ['open/.note.md.json', '{}', 0],
    ['open/.license', 'x', 0],
    ['open/.password', 'x', 0],
    ['shut/note.md', 'text', 0],
    ['.secret', SERVICE_SECRET, 0],
  ]);
  const given = ['', 'open', 'shut'];
  for (const name of given) chownSync(join(dir, name), UID, UID);
  const closed = ['open/note.md', 'open/.note.md.json', 'open/.license', 'open/.password', '.secret', 'shut'];
  for (const name of closed) chmodSync(join(dir, name), 0);
  t.same(await problemsIn(dir), {
    'open/note.md': 'unreadable',
    'open/.note.md.json': 'metadata',
    'open/.license': 'unreadable',
    'open/.password': 'unreadable',
    '.secret': 'unreadable',
    shut: 'unreadable',
  });
});

t.test('what is gone at a second look is not named', async (t) => {
  const dir = await tempDir(t);
  const temp = `feed/.tmp-nfs-${UUID}`;
  placeFiles(dir, [
    [temp, 'x', 0],
    ['feed/draft.txt', 'x', 0],
  ]);
  const wait = timers.setTimeout;
  const between = async () => unlinkSync(join(dir, temp));
  timers.setTimeout = between as typeof wait;
  syncBuiltinESMExports();
  t.teardown(() => {
    timers.setTimeout = wait;
    syncBuiltinESMExports();
  });
  const { found } = await inspectFolder(dir, {});
  t.same(
    found.map(({ path }) => path),
    ['feed/draft.txt'],
  );
});

t.test('nothing of what a running service writes is named, and the command leaves it alone', async (t) => {
  const dir = await dataDir(t);
  const service = await ServiceProcess.start(t, { dir });
  const feed = new FeedClient(service.url, 'feed');
  let isDone = false;
  const post = async (n: number) => {
    while (!isDone) {
      const { status, json } = await feed.post('text', { 'x-note-title': `of ${n}` });
      t.equal(status, 201);
      t.equal((await feed.send('DELETE', `/notes/${json.id}`)).status, 204);
    }
  };
  const posts = [1, 2, 3, 4].map(post);
  // With something to find, so that it looks twice.
  writeFileSync(join(dir, 'stray'), '');
  for (let n = 0; n < 3; n += 1) t.same(await problemsIn(dir), { stray: 'kind' });
  isDone = true;
  await Promise.all(posts);
  t.same(await service.kill('SIGTERM'), { code: 0, signal: null });
});

t.test('only plain files can be inspected', async (t) => {
  const { code, stderr } = await inspect(await tempDir(t), { SERVICE_STORAGE: 'sqlite', SERVICE_SECRET });
  t.match(
    { code, stderr },
    { code: 1, stderr: 'Only plain files can be inspected, and SERVICE_STORAGE is sqlite.\n' },
  );
});

t.test('a terminal gets a table, which no name of a file changes', { skip: missing('script') }, async (t) => {
  const dir = await tempDir(t);
  placeFiles(dir, [['feed/a\x1b[31m\n.txt', 'x', 0]]);
  const sums = `Feeds: 1, notes: 0, not taken: 1 (${dir})`;
  const why = 'the extension of a note is one of md, png, jpg, gif, webp';
  t.equal(
    await shownFor(dir),
    `PROBLEM    FILE              WHY\nextension  feed/a [31m .txt  ${why}\n\n${sums}\n`,
  );
  t.match(JSON.parse(await shownFor(dir, '--json')), { feeds: 1, found: [{ problem: 'extension', why }] });
});
