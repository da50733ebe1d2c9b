/** `npm start -- --check` looks at the storage and changes nothing. */
import { execFile } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import Database from 'better-sqlite3';
import t, { type Test } from 'tap';
import { SqliteArchive } from '../../src/storage/sqlite/sqlite-archive.ts';
import { FeedClient } from '../support/feed-client.ts';
import { PostgresServer } from '../support/postgres.ts';
import { start } from '../support/service.ts';
import { dataDir, ServiceProcess } from '../support/service-process.ts';

const MAIN = new URL('../../src/main.cjs', import.meta.url).pathname;
const SECRET = { SERVICE_SECRET: 'a secret of tests that is long enough' };
const ON_SQLITE = { SERVICE_STORAGE: 'sqlite', ...SECRET };

t.setTimeout(600_000);

async function check(settings: Record<string, string>) {
  const { PATH = '' } = process.env;
  const run = promisify(execFile)(process.execPath, [MAIN, '--check'], { env: { PATH, ...settings } });
  const { code = 0, stdout, stderr } = await run.catch((error) => error);
  return { code, found: /^ {2}Found there: (.*)$/m.exec(stdout)?.[1], stderr };
}

/** What is in a folder, with owners, sizes and dates. */
function stateOf(dir: string) {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => {
      const { uid, mode, size, mtimeMs } = statSync(join(dir, name));
      return [name, uid, mode, size, mtimeMs];
    });
}

async function folder(t: Test): Promise<string> {
  const dir = await dataDir(t);
  mkdirSync(dir);
  return dir;
}

for (const [storage, found] of [
  ['fs', 'feeds: 2'],
  ['sqlite', /^a database \(schema \d+\)$/],
] as const)
  t.test(`${storage}: beside a running service, and after its end`, async (t) => {
    const settings = { SERVICE_STORAGE: storage, ...SECRET };
    const service = await start(t, settings);
    for (const name of ['one', 'two']) await new FeedClient(service.url, name).post();
    t.match(await check({ ...settings, DATA_DIR: service.dir }), { code: 0, found, stderr: '' });
    await service.stop();
    const before = stateOf(service.dir);
    t.match(await check({ ...settings, DATA_DIR: service.dir }), { code: 0, found, stderr: '' });
    t.strictSame(stateOf(service.dir), before);
  });

t.test('a folder that cannot be written to', async (t) => {
  const dir = await folder(t);
  chmodSync(dir, 0o500);
  if (process.getuid?.() === 0) chownSync(dir, 1234, 1234);
  for (const settings of [{}, ON_SQLITE]) {
    const { code, found, stderr } = await check({ ...settings, DATA_DIR: dir });
    t.match([code, found], [1, undefined]);
    t.match(stderr, /^[^\n]* cannot be used by user \d+ \(EACCES: no permission\)\.\n$/);
  }
});

t.test('a database of a newer version, and a file that is none', async (t) => {
  const dir = await folder(t);
  const file = join(dir, 'notefeed.db');
  writeFileSync(file, 'x'.repeat(200));
  t.match(await check({ ...ON_SQLITE, DATA_DIR: dir }), { code: 1, stderr: /is no SQLite database\.\n$/ });
  writeFileSync(file, '');
  t.match(await check({ ...ON_SQLITE, DATA_DIR: dir }), { code: 0, found: 'the database is empty' });
  const db = new Database(file);
  db.pragma('user_version = 99');
  db.close();
  t.match(await check({ ...ON_SQLITE, DATA_DIR: dir }), { code: 1, stderr: /made by a newer version/ });
});

t.test('a database that an earlier version made under the name of an index', async (t) => {
  const dir = await folder(t);
  const file = join(dir, 'notes.search.db');
  const db = new Database(file);
  db.pragma('user_version = 2');
  db.close();
  const settings = { ...ON_SQLITE, DATA_DIR: dir, SERVICE_DATABASE_URL: `file:${file}` };
  const sentence = `The database file ${file} is named as an index of the search: its name must not end in .search.db.`;
  t.same(await check(settings), { code: 1, found: undefined, stderr: `${sentence}\n` });
  const service = await ServiceProcess.launch(t, { env: settings, dir });
  t.match(await service.exit, { code: 1 });
  t.equal(service.errors, `Note Feed cannot start: ${sentence}\n`);
});

t.test('an unfinished move', async (t) => {
  const dir = await folder(t);
  writeFileSync(join(dir, '.moving'), 'from elsewhere\n');
  t.match(await check({ DATA_DIR: dir }), { code: 1, stderr: /target of a move/ });
  const file = join(dir, 'notefeed.db');
  writeFileSync(file, '');
  const database = SqliteArchive.open(file);
  const found = () => check({ ...ON_SQLITE, DATA_DIR: dir });
  await database.begin('from elsewhere');
  t.match(await found(), { code: 1, stderr: /target of a move/ });
  await database.end();
  t.match(await found(), { code: 0, stderr: '' });
  await database.close();
  t.match(await found(), { code: 0, stderr: '' });
});

t.test('a PostgreSQL database: empty, in use, of a newer version, and dead', async (t) => {
  const server = await PostgresServer.start(t);
  const url = await server.database();
  const settings = { SERVICE_STORAGE: 'postgres', SERVICE_DATABASE_URL: url, ...SECRET };
  t.match(await check(settings), { code: 0, found: 'the database is empty', stderr: '' });
  t.same(await server.sql(url, "SELECT 1 FROM pg_tables WHERE schemaname = 'public'"), []);
  await start(t, settings);
  t.match(await check(settings), { code: 0, found: /^a database \(schema \d+\)$/ });
  await server.sql(url, 'UPDATE note_feed_schema SET version = 99');
  t.match(await check(settings), { code: 1, stderr: /made by a newer version/ });
  await server.stop();
  t.match(await check(settings), { code: 1, stderr: /ECONNREFUSED: nothing listens there/ });
});
