import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import Database from 'better-sqlite3';
import t, { type Test } from 'tap';
import { FeedClient } from '../support/feed-client.ts';
import { q, search, untilFound } from '../support/searching.ts';
import { tempDir } from '../support/service.ts';
import { dataDir, ServiceProcess } from '../support/service-process.ts';

t.setTimeout(600_000);

const MAIN = new URL('../../src/main.cjs', import.meta.url).pathname;
const WITHOUT_LINKS = new URL('../support/without-links.mjs', import.meta.url).pathname;
const WITHOUT_ROOM = new URL('../support/without-room-for-log.mjs', import.meta.url).pathname;
const HELD_CHECK = new URL('../support/held-check.mjs', import.meta.url).pathname;
const ON_SQLITE = { SERVICE_STORAGE: 'sqlite', SERVICE_SECRET: 'a secret of tests that is long enough' };
const asRoot = process.getuid?.() === 0 ? {} : { skip: 'only root can give files away' };

/** Starts a command as its users do, for the database of a folder. */
function launch(
  dir: string,
  args: readonly string[],
  env: Record<string, string> = ON_SQLITE,
  flags: readonly string[] = [],
) {
  const child = spawn('env', ['-u', 'NODE_OPTIONS', process.execPath, ...flags, MAIN, ...args], {
    env: { PATH: process.env.PATH, DATA_DIR: dir, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close').then(([code]) => code as number | null);
  const result = Promise.all([ended, text(child.stdout), text(child.stderr)]).then(
    ([code, stdout, stderr]) => ({ code, stdout, stderr }),
  );
  return { child, result };
}

const run = (...command: Parameters<typeof launch>) => launch(...command).result;

const restore = (dir: string, backup: string, env?: Record<string, string>) =>
  run(dir, ['restore', backup], env);

const startOn = (t: Test, dir: string) => ServiceProcess.start(t, { dir, env: ON_SQLITE });

async function textsOf(service: ServiceProcess): Promise<string[]> {
  const { notes } = (await new FeedClient(service.url, 'feed').list()).json;
  return notes.map((note: { content: string }) => note.content);
}

/** A folder whose service was killed, so that its log holds the last note, and a backup from before that note. */
async function killedAfterBackup(t: Test) {
  const dir = await dataDir(t);
  const service = await startOn(t, dir);
  const feed = new FeedClient(service.url, 'feed');
  await feed.post('in the backup');
  const backup = join(await tempDir(t), 'notes.db');
  t.match(await run(dir, ['backup', backup]), { code: 0 });
  await feed.post('after the backup');
  await untilFound(`${service.url}/api/v1/feeds/feed/notes`, '?q=after', 1);
  await service.kill('SIGKILL');
  return { dir, backup, database: join(dir, 'notefeed.db') };
}

t.test('the backup replaces the database, which is kept with its log', async (t) => {
  const { dir, backup, database } = await killedAfterBackup(t);
  t.ok(statSync(`${database}-wal`).size > 0);
  const bytes = readFileSync(backup);
  const { code, stdout, stderr } = await restore(dir, backup);
  t.same([code, stderr], [0, '']);
  const [, aside = ''] = /kept as (\S+),/.exec(stdout) ?? [];
  t.match(aside, /\/notefeed\.db\.before-\d{8}T\d{9}Z$/);
  t.ok(readFileSync(backup).equals(bytes), 'the backup is as it was');
  t.same(
    readdirSync(dir).filter((name) => /-(wal|shm)$|\.search\.|\.part-/.test(name)),
    [`${aside.slice(dir.length + 1)}-wal`],
  );
  const service = await startOn(t, dir);
  t.same(await textsOf(service), ['in the backup']);
  t.equal((await new FeedClient(service.url, 'feed').post('goes on')).status, 201);
  await service.kill('SIGTERM');

  t.match(await restore(dir, aside), { code: 0 });
  t.same(await textsOf(await startOn(t, dir)), ['after the backup', 'in the backup']);
});

t.test('the database is kept, with its log, where files cannot have second names', async (t) => {
  const { dir, backup } = await killedAfterBackup(t);
  const { code, stdout, stderr } = await run(dir, ['restore', backup], ON_SQLITE, [
    '--import',
    WITHOUT_LINKS,
  ]);
  t.same([code, stderr], [0, '']);
  const [, aside = ''] = /kept as (\S+),/.exec(stdout) ?? [];
  t.equal(statSync(aside).mode & 0o777, 0o600);
  t.equal(readdirSync(dir).filter((name) => name.includes('.before-')).length, 2);
  const service = await startOn(t, dir);
  t.same(await textsOf(service), ['in the backup']);
  await service.kill('SIGTERM');
  t.match(await restore(dir, aside), { code: 0, stderr: '' });
  t.same(await textsOf(await startOn(t, dir)), ['after the backup', 'in the backup']);
});

t.test('nothing is left of a database that could not be kept with its log', async (t) => {
  const { dir, backup } = await killedAfterBackup(t);
  const before = readdirSync(dir);
  const { code, stderr } = await run(dir, ['restore', backup], ON_SQLITE, ['--import', WITHOUT_ROOM]);
  t.equal(code, 1);
  t.match(stderr, /The disk of the database is full/);
  t.same(readdirSync(dir), before);
  t.same(await textsOf(await startOn(t, dir)), ['after the backup', 'in the backup']);
});

t.test('the search finds what is restored, and nothing else', async (t) => {
  const { dir, backup } = await killedAfterBackup(t);
  t.match(await restore(dir, backup), { code: 0 });
  const { url } = await startOn(t, dir);
  const list = `${url}/api/v1/feeds/feed/notes`;
  // The index is made anew.
  const found = async (words: string) => (await search(list, q(words))).json.notes.length;
  t.equal(await found('backup'), 1);
  t.equal(await found('after'), 0);
});

t.test('on another machine the folder is made', async (t) => {
  const { backup } = await killedAfterBackup(t);
  const dir = await dataDir(t);
  const { code, stdout } = await restore(dir, backup);
  t.equal(code, 0);
  t.notMatch(stdout, 'kept as');
  t.equal(statSync(dir).mode & 0o777, 0o700);
  t.equal(statSync(join(dir, 'notefeed.db')).mode & 0o777, 0o600);
  t.same(await textsOf(await startOn(t, dir)), ['in the backup']);
});

t.test('a database in use is left alone', async (t) => {
  const { dir, backup } = await killedAfterBackup(t);
  const service = await startOn(t, dir);
  const before = readdirSync(dir);
  t.same(await restore(dir, backup), {
    code: 1,
    stdout: '',
    stderr: 'The database file is in use by another process of this service; stop it first.\n',
  });
  t.same(readdirSync(dir), before);
  t.same(await textsOf(service), ['after the backup', 'in the backup']);
});

t.test('what is no whole backup changes nothing, and is told in one line', async (t) => {
  const { dir, backup, database } = await killedAfterBackup(t);
  const before = readFileSync(database);
  const folder = await tempDir(t);
  const fails = async (file: string, reason: RegExp) => {
    const { code, stdout, stderr } = await restore(dir, file);
    t.same([code, stdout], [1, '']);
    t.match(stderr, reason);
    t.ok(readFileSync(database).equals(before));
    t.same(
      readdirSync(dir).filter((name) => /before|part/.test(name)),
      [],
    );
  };
  const made = (name: string, change: (file: string) => void) => {
    const file = join(folder, name);
    copyFileSync(backup, file);
    change(file);
    return file;
  };
  const damaged = /^The backup is damaged, so nothing was changed\.\n$/;
  await fails(join(folder, 'none.db'), /^There is no file ".*none\.db"\.\n$/);
  await fails(folder, /^There is no file /);
  await fails(database, /^The backup is the database itself\.\n$/);
  await fails(
    made('text.db', (file) => writeFileSync(file, 'no database '.repeat(1_000))),
    damaged,
  );
  await fails(
    made('cut.db', (file) => truncateSync(file, statSync(file).size - 3 * 8192)),
    damaged,
  );
  const scribbled = (file: string) => {
    const bytes = readFileSync(file);
    bytes.fill(0xff, 8192 * 3 + 8, 8192 * 3 + 4000);
    writeFileSync(file, bytes);
  };
  await fails(made('scribbled.db', scribbled), damaged);
  const sql = (statement: string) => (file: string) => {
    const db = new Database(file);
    db.exec(statement);
    db.close();
  };
  await fails(made('newer.db', sql('PRAGMA user_version = 1000')), /newer version.*schema 1000/);
  await fails(made('foreign.db', sql('PRAGMA user_version = 0')), /not one of this service/);
  const another = /^The file is no backup of this service, so nothing was changed\.\n$/;
  await fails(made('another.db', sql('DROP TABLE notes')), another);
  await fails(join(dir, 'notefeed.search.db'), another);
});

t.test('one that is asked to stop while it checks the backup changes nothing', async (t) => {
  const { dir, backup, database } = await killedAfterBackup(t);
  const before = readFileSync(database);
  const hold = join(await tempDir(t), 'hold');
  writeFileSync(hold, '');
  const env = { ...ON_SQLITE, HELD_BY: hold };
  const { child, result } = launch(dir, ['restore', backup], env, ['--import', HELD_CHECK]);
  while (!existsSync(`${hold}.met`)) await wait(5);
  child.kill('SIGINT');
  rmSync(hold);
  t.same(await result, { code: 1, stdout: '', stderr: 'The copying was given up.\n' });
  t.ok(readFileSync(database).equals(before));
  t.same(
    readdirSync(dir).filter((name) => /before|part/.test(name)),
    [],
  );
});

t.test('only SQLite is restored so', async (t) => {
  const dir = await tempDir(t);
  t.match(await restore(dir, 'x', {}), { code: 1, stderr: /^Notes are plain files here .*cp -a/ });
  const server = { SERVICE_STORAGE: 'postgres', SERVICE_DATABASE_URL: 'postgres://u:hush@localhost/n' };
  t.match(await restore(dir, 'x', server), { code: 1, stderr: /^Notes are in PostgreSQL .*pg_restore/ });
  t.match(await run(dir, ['restore', '--help']), { code: 0, stdout: /^npm run restore -- <file>\n/ });
  for (const args of [[], ['a', 'b'], ['']])
    t.match(await run(dir, ['restore', ...args]), { code: 1, stderr: / {2}restore <file> {2}puts/ });
});

t.test('pictures in a store are called to mind', async (t) => {
  const { dir, backup } = await killedAfterBackup(t);
  const env = { ...ON_SQLITE, SERVICE_IMAGES: 'fs' };
  t.match(await restore(dir, backup, env), { code: 0, stdout: /Pictures are in the image store/ });
});

t.test('what root restores belongs to the owner of the folder', asRoot, async (t) => {
  const { backup } = await killedAfterBackup(t);
  chmodSync(backup, 0o600);
  const dir = await dataDir(t);
  mkdirSync(dir, 0o700);
  chownSync(dir, 1234, 1235);
  t.match(await restore(dir, backup), { code: 0 });
  for (const name of ['notefeed.db', 'notefeed.db.lock'])
    t.match(statSync(join(dir, name)), { uid: 1234, gid: 1235 }, name);
  t.same(await textsOf(await startOn(t, dir)), ['in the backup']);
});

t.test('a backup is dated for the metrics, and goes on without that', async (t) => {
  const { dir, database } = await killedAfterBackup(t);
  const mark = join(dir, '.backup-done');
  const first = statSync(mark);
  t.equal(first.size, 0);
  const folder = await tempDir(t);
  t.match(await run(dir, ['backup', join(folder, 'second.db')]), { code: 0, stderr: '' });
  t.ok(statSync(mark).mtimeMs > first.mtimeMs);
  const env = { ...ON_SQLITE, SERVICE_DATABASE_URL: `file:${database}` };
  t.match(await run(join(folder, 'none'), ['backup', join(folder, 'third.db')], env), {
    code: 0,
    stderr: /^The date of this backup cannot be kept .*ENOENT/,
  });
  t.ok(existsSync(join(folder, 'third.db')));
  const { mtimeMs } = statSync(mark);
  t.match(await run(dir, ['backup', join(folder, 'third.db')]), { code: 1 });
  t.equal(statSync(mark).mtimeMs, mtimeMs, 'one that failed does not count');
});
