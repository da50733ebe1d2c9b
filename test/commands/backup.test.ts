import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import Database from 'better-sqlite3';
import t, { type Test } from 'tap';
import { FeedClient } from '../support/feed-client.ts';
import { picture } from '../support/pictures.ts';
import { ask, tempDir } from '../support/service.ts';
import { dataDir, ServiceProcess } from '../support/service-process.ts';
import { CANNOT_MOUNT, smallDisk } from '../support/small-disk.ts';

t.setTimeout(600_000);

const MIB = 1024 * 1024;
const CLIENTS = 4;
const MAIN = new URL('../../src/main.cjs', import.meta.url).pathname;
/** Holds a backup while it copies. */
const HELD_COPY = new URL('../support/held-copy.mjs', import.meta.url).href;
const ON_SQLITE = { SERVICE_STORAGE: 'sqlite', SERVICE_SECRET: 'a secret of tests that is long enough' };
const needsMount = { skip: CANNOT_MOUNT };
const asRoot = process.getuid?.() === 0 ? {} : { skip: 'only root can give files away' };

/** Starts the command as its users do, for the database of a folder. */
function launch(
  dir: string,
  args: readonly string[],
  env: Record<string, string> = ON_SQLITE,
  flags: readonly string[] = [],
) {
  const child = spawn('env', ['-u', 'NODE_OPTIONS', process.execPath, ...flags, MAIN, 'backup', ...args], {
    env: { PATH: process.env.PATH, DATA_DIR: dir, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close').then(([code]) => code as number | null);
  const result = Promise.all([ended, text(child.stdout), text(child.stderr)]);
  return { child, result: result.then(([code, stdout, stderr]) => ({ code, stdout, stderr })) };
}

const backup = (dir: string, args: readonly string[], env?: Record<string, string>) =>
  launch(dir, args, env).result;

/** A service with 60 MiB in its database, for every test; a copy of that takes a while. */
async function filled() {
  const service = await ServiceProcess.start(t, { env: ON_SQLITE });
  const feed = new FeedClient(service.url, 'feed');
  for (let i = 0; i < 12; i += 1)
    await feed.post(picture('png', 5 * MIB, i), { 'content-type': 'image/png' });
  return { service, feed };
}

const { service, feed } = await filled();

t.test('posts go on, and what was stored before is in it', async (t) => {
  const folder = await tempDir(t);
  const target = join(folder, 'copy.db');
  const acknowledged: string[] = [];
  let isOver = false;
  const client = async (n: number) => {
    for (let i = 0; !isOver; i += 1) {
      const { status, json } = await feed.post(`note ${i} of ${n}`, { 'x-note-tags': 'posted' });
      if (status === 201) acknowledged.push(json.id);
    }
  };
  const clients = Promise.all(Array.from({ length: CLIENTS }, (_, n) => client(n)));
  while (acknowledged.length < 50) await wait(5);
  const before = [...acknowledged];
  const { code, stdout, stderr } = await backup(service.dir, [target]);
  const meanwhile = acknowledged.length - before.length;
  isOver = true;
  await clients;
  t.same({ code, stderr }, { code: 0, stderr: '' });
  t.equal(stdout, `The backup is in ${target} (${statSync(target).size} bytes).\n`);
  t.ok(meanwhile > CLIENTS, `${meanwhile} notes were posted meanwhile`);
  t.same(readdirSync(folder), ['copy.db']);
  t.equal(statSync(target).mode & 0o777, 0o600);

  const db = new Database(target);
  t.equal(db.pragma('integrity_check', { simple: true }), 'ok');
  db.close();
  const env = { ...ON_SQLITE, PUID: '0', SERVICE_DATABASE_URL: `file:${target}` };
  const copy = new FeedClient((await ServiceProcess.start(t, { env })).url, 'feed');
  const found = new Set<string>();
  let next: string | null = null;
  do {
    const query: string = next === null ? '' : `&before=${next}`;
    const { json } = await copy.list(`?tag=posted&limit=100${query}`);
    for (const note of json.notes) found.add(note.id);
    next = json.next;
  } while (next !== null);
  t.same(
    before.filter((id) => !found.has(id)),
    [],
    'everything acknowledged before it began',
  );
});

t.test('pictures, links and passwords are those of the original', async (t) => {
  const locked = new FeedClient(service.url, 'locked', { 'x-feed-password': 'hush' });
  const bytes = picture('gif', 100_000, 7);
  const { json } = await locked.post(bytes, { 'content-type': 'image/gif' });
  const target = join(await tempDir(t), 'copy.db');
  t.match(await backup(service.dir, [target]), { code: 0 });
  const env = { ...ON_SQLITE, PUID: '0', SERVICE_DATABASE_URL: `file:${target}` };
  const { url } = await ServiceProcess.start(t, { env });
  const file = (base: string) => ask(json.file_url.replace(service.url, base));
  const [here, there] = [await file(service.url), await file(url)];
  t.ok(there.bytes.equals(bytes));
  t.equal(there.headers.get('etag'), here.headers.get('etag'));
  t.equal((await new FeedClient(url, 'locked').get()).status, 401);
  t.equal((await new FeedClient(url, 'locked', { 'x-feed-password': 'hush' }).get()).status, 200);
});

t.test('a file that is there is left as it is', async (t) => {
  const target = join(await tempDir(t), 'copy.db');
  writeFileSync(target, 'mine');
  const { code, stderr } = await backup(service.dir, [target]);
  t.same([code, stderr], [1, 'The file for the backup is there already; it is left as it is.\n']);
  t.equal(statSync(target).size, 4);
});

/** Starts a backup into that folder and does something while it copies. */
async function whileCopying(folder: string, act: (child: ChildProcess) => unknown) {
  const hold = join(await tempDir(t), 'hold');
  writeFileSync(hold, '');
  const env = { ...ON_SQLITE, HELD_BY: hold };
  const { child, result } = launch(service.dir, [join(folder, 'copy.db')], env, ['--import', HELD_COPY]);
  const isCopying = () =>
    readdirSync(folder, { recursive: true }).some((name) => /\/copy$/.test(String(name)));
  while (!isCopying()) await wait(1);
  act(child);
  rmSync(hold);
  return result;
}

const interrupted = (folder: string, signal: NodeJS.Signals) =>
  whileCopying(folder, (child) => child.kill(signal));

t.test('nor is one that comes while it copies replaced', async (t) => {
  const folder = await tempDir(t);
  const { code, stderr } = await whileCopying(folder, () => writeFileSync(join(folder, 'copy.db'), 'mine'));
  t.same([code, stderr], [1, 'The file for the backup is there already; it is left as it is.\n']);
  t.equal(statSync(join(folder, 'copy.db')).size, 4);
  t.same(readdirSync(folder), ['copy.db']);
});

t.test('a kill in the middle leaves no half file of that name, and another one can be made', async (t) => {
  const folder = await tempDir(t);
  t.match(await interrupted(folder, 'SIGKILL'), { code: null, stdout: '' });
  t.match(readdirSync(folder), [/^copy\.db\.part-.{6}$/]);
  t.match(await backup(service.dir, [join(folder, 'copy.db')]), { code: 0 });
});

t.test('one that is asked to stop leaves nothing behind', async (t) => {
  const folder = await tempDir(t);
  t.same(await interrupted(folder, 'SIGTERM'), {
    code: 1,
    stdout: '',
    stderr: 'The copying was given up.\n',
  });
  t.same(readdirSync(folder), []);
});

t.test('a full disk is named, and nothing is left behind', needsMount, async (t) => {
  const folder = await smallDisk(t, '20m');
  const { code, stderr } = await backup(service.dir, [join(folder, 'copy.db')]);
  t.same([code, stderr], [1, 'The disk of the backup is full.\n']);
  t.same(readdirSync(folder), []);
});

t.test('a backup never takes the last room from the service', needsMount, async (t) => {
  const dir = await smallDisk(t, '60m');
  const small = await ServiceProcess.start(t, { dir, env: { ...ON_SQLITE, PUID: '0' } });
  await new FeedClient(small.url, 'feed').post('hello');
  const elsewhere = await tempDir(t);
  const target = join(elsewhere, 'copy.db');
  symlinkSync(join(dir, 'notefeed.db'), join(elsewhere, 'notefeed.db'));
  for (const folder of [dir, elsewhere]) {
    const { code, stderr } = await backup(folder, [target]);
    t.same([code, stderr], [1, 'The disk of the database is nearly full, so the backup was given up.\n']);
    t.notOk(existsSync(target));
  }
});

t.test('what cannot be copied is said in one line', async (t) => {
  const folder = await tempDir(t);
  const target = join(folder, 'copy.db');
  const says = async (dir: string, to: string, env?: Record<string, string>) => {
    const { code, stdout, stderr } = await backup(dir, [to], env);
    t.same([code, stdout], [1, '']);
    return stderr;
  };
  t.match(await says(service.dir, target, {}), /^Notes are plain files here .*copy the folder DATA_DIR.*\n$/);
  const server = {
    ...ON_SQLITE,
    SERVICE_STORAGE: 'postgres',
    SERVICE_DATABASE_URL: 'postgres://u:hush@localhost/n',
  };
  t.match(await says(folder, target, server), /^Notes are in PostgreSQL here .*"pg_dump"\.\n$/);
  t.equal(await says(folder, target), 'The database cannot be opened (SQLITE_CANTOPEN).\n');
  writeFileSync(join(folder, 'notefeed.db'), '');
  t.match(await says(folder, target), /^The database is not one of this service/);
  t.equal(await says(service.dir, join(folder, 'none', 'copy.db')), 'The backup cannot be made (ENOENT).\n');
  const contradicting = { SERVICE_STORAGE: 'sqlite', SERVICE_DATABASE_URL: 'postgres://u:hush@localhost/n' };
  t.match(await says(service.dir, target, contradicting), /^SERVICE_DATABASE_URL must be a file: URL/);
  t.notOk(existsSync(target));
});

t.test('a backup needs no setting but those that say where the database is', async (t) => {
  const target = join(await tempDir(t), 'copy.db');
  const env = { SERVICE_STORAGE: 'sqlite', PORT: 'x' };
  t.match(await backup(service.dir, [target], env), { code: 0, stderr: '' });
});

t.test('it says how it is used', async (t) => {
  t.match(await backup(service.dir, ['--help']), {
    code: 0,
    stdout: /^npm run backup -- <file>\n/,
    stderr: '',
  });
  for (const args of [[], ['a', 'b'], ['--force'], ['']])
    t.match(await backup(service.dir, args), { code: 1, stdout: '', stderr: / {2}backup <file> {2}copies/ });
});

/** A backup that holds a note, and the folder of the killed service that holds another one since. */
async function killedAfterBackup(t: Test) {
  const dir = await dataDir(t);
  const killed = await ServiceProcess.start(t, { dir, env: ON_SQLITE });
  const notes = new FeedClient(killed.url, 'notes');
  const { id } = (await notes.post('in the backup')).json;
  const copy = join(await tempDir(t), 'copy.db');
  t.match(await backup(dir, [copy]), { code: 0 });
  for (let i = 0; i < 20; i += 1) await notes.post(`after the backup ${i}`);
  await killed.kill('SIGKILL');
  return { dir, copy, id };
}

t.test('a restored backup gets no notes from the log of the database that was there', async (t) => {
  const { dir, copy, id } = await killedAfterBackup(t);
  t.ok(statSync(join(dir, 'notefeed.db-wal')).size > 0);
  copyFileSync(copy, join(dir, 'notefeed.db'));
  for (const expected of [[id], undefined]) {
    const { url, kill } = await startAgain(t, dir);
    const notes = new FeedClient(url, 'notes');
    const listed = (await notes.list()).json.notes.map((note: { id: string }) => note.id);
    if (expected) t.same(listed, expected);
    else t.equal(listed.length, 2, 'and its own log counts after the next kill');
    t.equal((await notes.post('after the restore')).status, 201);
    await kill();
  }
});

async function startAgain(t: Test, dir: string) {
  const service = await ServiceProcess.start(t, { dir, env: ON_SQLITE });
  return { url: service.url, kill: () => service.kill('SIGKILL') };
}

t.test('a backup that root puts into the folder of another user is theirs', asRoot, async (t) => {
  const { copy, id } = await killedAfterBackup(t);
  const dir = await dataDir(t);
  mkdirSync(dir);
  chownSync(dir, 1234, 1234);
  copyFileSync(copy, join(dir, 'notefeed.db'));
  t.equal(statSync(join(dir, 'notefeed.db')).uid, 0);
  const { url } = await startAgain(t, dir);
  t.equal((await new FeedClient(url, 'notes').list()).json.notes[0].id, id);
  t.equal(statSync(join(dir, 'notefeed.db')).uid, 1234);
});
