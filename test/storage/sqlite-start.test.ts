import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdir, readdir, rename, stat, symlink, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import t from 'tap';
import { DatabaseFile } from '../../src/storage/sqlite/database-file.ts';
import { SCHEMA_VERSION } from '../../src/storage/sqlite/schema.ts';
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts';
import { databaseIn } from '../support/open-backend.ts';
import { post, reads } from '../support/storing.ts';
import { feedName, idsOf, newNote } from './contract.ts';
import { dataFolder, keptLog } from './files-support.ts';
import { opened } from './sqlite-support.ts';

t.setTimeout(600_000);

const name = feedName('feed');
const open = (file: string) => openSqlite({ file, maxFeeds: 0, maxBytes: 0, keepDays: 0, log: keptLog() });

/** A process that holds the database of a folder, or what it says when it cannot. */
async function holder(t: { teardown(work: () => unknown): void }, dir: string) {
  const script = new URL('../fixtures/hold-lock.ts', import.meta.url).pathname;
  const child = spawn('env', ['-u', 'NODE_OPTIONS', process.execPath, script, dir, 'sqlite']);
  t.teardown(() => child.kill('SIGKILL'));
  const [said] = await once(child.stdout, 'data');
  return { child, said: String(said) };
}

t.test('a second process is refused for as long as the first one lives', async (t) => {
  const dir = await dataFolder(t);
  const first = await holder(t, dir);
  t.equal(first.said, 'open\n');
  const refused = /^The database file is in use by another process of this service; stop it first\.$/;
  await t.rejects(open(databaseIn(dir)), { message: refused });
  await symlink(databaseIn(dir), join(dir, 'other.db'));
  await t.rejects(open(join(dir, 'other.db')), { message: refused }, 'nor by another name');
  const exited = once(first.child, 'exit');
  first.child.kill('SIGKILL');
  await exited;
  await (await opened(t, dir)).check();
});

t.test('a database of a newer version, or of something else, is refused and left alone', async (t) => {
  const dir = await dataFolder(t);
  await (await open(databaseIn(dir))).close();
  const db = new Database(databaseIn(dir));
  db.pragma('user_version = 999');
  db.close();
  await t.rejects(open(databaseIn(dir)), {
    message: /made by a newer version .* \(schema 999, this one knows \d+\)/,
  });
  const others = join(dir, 'others.db');
  const other = new Database(others);
  other.exec('CREATE TABLE things (a)');
  other.close();
  await t.rejects(open(others), { message: /a database of something else/ });
  await writeFile(
    join(dir, 'text'),
    'not a database at all, though long enough to be read as one'.repeat(100),
  );
  await t.rejects(open(join(dir, 'text')), { message: /cannot be opened \(SQLITE_NOTADB\)\.$/ });
  await t.rejects(open(join(dir, 'no such folder', 'x.db')), {
    message:
      /^The database file \/.* \(SERVICE_DATABASE_URL\) cannot be used by user \d+ \(ENOENT: no such folder\)\.$/,
  });
  const reopened = new Database(databaseIn(dir), { readonly: true });
  t.equal(reopened.pragma('user_version', { simple: true }), 999);
  reopened.close();
});

const asRoot = process.getuid?.() === 0 ? {} : { skip: 'only root can give files away' };

t.test(
  "a database that is there is given to nobody, and what is made beside it is its owner's",
  asRoot,
  async (t) => {
    const dir = await dataFolder(t);
    const file = databaseIn(dir);
    await writeFile(file, '');
    await chown(file, 1234, 2345);
    DatabaseFile.take(file, { uid: 1000, gid: 1000 }).release();
    t.match(await stat(file), { uid: 1234, gid: 2345 });
    t.match(await stat(`${file}.lock`), { uid: 1234, gid: 2345 });
    await chown(`${file}.lock`, 5, 5);
    DatabaseFile.take(file, { uid: 1000, gid: 1000 }).release();
    t.match(await stat(`${file}.lock`), { uid: 5, gid: 5 });
  },
);

t.test('the database is kept as it must be, and for its owner alone', async (t) => {
  const dir = await dataFolder(t);
  const owner = process.getuid?.() === 0 ? { uid: 1234, gid: 2345 } : undefined;
  const storage = await opened(t, dir, { owner });
  await post(storage, name, newNote('hello'));
  const names = (await readdir(dir)).sort();
  t.same(names, ['notes.db', 'notes.db-shm', 'notes.db-wal', 'notes.db.lock']);
  for (const file of names) {
    const { mode, uid, gid } = await stat(join(dir, file));
    t.equal(mode & 0o777, 0o600, file);
    if (owner) t.same({ uid, gid }, owner, file);
  }
  const db = new Database(databaseIn(dir), { readonly: true });
  const pragma = (key: string) => db.pragma(key, { simple: true });
  t.same(
    [pragma('page_size'), pragma('journal_mode'), pragma('user_version')],
    [8192, 'wal', SCHEMA_VERSION],
  );
  db.close();
  await storage.close();
  t.same((await readdir(dir)).sort(), ['notes.db', 'notes.db.lock'], 'closed, it is one file');
});

t.test(
  'a file that was taken away is refused rather than written to, and is well again when back',
  async (t) => {
    const dir = await dataFolder(t);
    const storage = await opened(t, dir);
    const note = newNote('kept');
    await post(storage, name, note);
    await rename(databaseIn(dir), join(dir, 'away'));
    const refusal = { code: 'store_unavailable', status: 503 };
    await t.rejects(post(storage, name, newNote('lost')), refusal);
    await t.rejects(reads(storage).page(name, { limit: 9 }), refusal);
    await t.rejects(storage.check(), refusal);
    await writeFile(databaseIn(dir), '');
    await t.rejects(storage.check(), refusal, 'another file is not the one');
    await rename(join(dir, 'away'), databaseIn(dir));
    await storage.check();
    const later = newNote('later');
    await post(storage, name, later);
    t.same(idsOf(await reads(storage).page(name, { limit: 9 })), [later.id, note.id]);
    await unlink(`${databaseIn(dir)}.lock`);
    await t.rejects(storage.check(), refusal, 'without its lock it says so');
  },
);

t.test('a folder in place of the file', async (t) => {
  const dir = await dataFolder(t);
  await mkdir(databaseIn(dir));
  await t.rejects(open(databaseIn(dir)), {
    message: /cannot be used by user \d+ \(EISDIR: a folder is there\)\.$/,
  });
});
