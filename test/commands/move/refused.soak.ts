/** What `move` refuses, in one line that holds no password. */
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { lockTarget } from '../../../src/moving/places.ts';
import { MoveLock } from '../../../src/storage/postgres/move-lock.ts';
import { type MoveResult, placeFiles, runMove } from '../../support/moving.ts';
import { PostgresServer } from '../../support/postgres.ts';
import { ask, post, start, tempDir } from '../../support/service.ts';
import { ServiceProcess } from '../../support/service-process.ts';

t.setTimeout(600_000);

const SERVICE_SECRET = 'a secret of tests that is long enough';

const server = await PostgresServer.start(t);

/** A data folder with one feed. */
function fill(dir: string): string {
  placeFiles(dir, [
    ['feed/.readid', 'read-feed\n', 0],
    ['feed/note.md', 'text', 0],
  ]);
  return `fs:${dir}`;
}

/** Says nothing but that. */
function isRefused(t: Test, result: MoveResult, stderr: RegExp): void {
  t.match(result, { code: 1, stdout: '', stderr });
  t.equal(result.stderr.split('\n').length, 2, 'one line');
}

t.test('a target that holds something', async (t) => {
  const dir = await tempDir(t);
  const source = fill(join(dir, 'source'));
  const url = await server.database();
  const targets = [`fs:${join(dir, 'files')}`, `sqlite:${join(dir, 'notes.db')}`, url];
  for (const target of targets) {
    t.match(await runMove(source, target), { code: 0 }, target);
    isRefused(t, await runMove(source, target), /^The target is not empty/);
  }
  mkdirSync(join(dir, 'retired'));
  writeFileSync(join(dir, 'retired', '.deleted-read-ids'), 'old-id\n');
  isRefused(t, await runMove(source, `fs:${join(dir, 'retired')}`), /^The target is not empty/);
  mkdirSync(join(dir, 'closed'));
  writeFileSync(join(dir, 'closed', '.blocked'), 'name\n');
  isRefused(t, await runMove(source, `fs:${join(dir, 'closed')}`), /^The target is not empty/);
  isRefused(t, await runMove(source, source), /^The source and the target are the same place\./);
  symlinkSync(join(dir, 'source'), join(dir, 'link'));
  isRefused(t, await runMove(`fs:${join(dir, 'link')}`, source), /same place\./);
});

t.test('a data folder in the other one', async (t) => {
  const dir = await tempDir(t);
  const source = fill(join(dir, 'source'));
  const nested = /^Either the source is a folder inside the target, or the target one inside the source\./;
  symlinkSync(join(dir, 'source'), join(dir, 'link'));
  for (const inner of ['source/new', 'source/feed', 'source/.new/deeper', 'link/new'])
    isRefused(t, await runMove(source, `fs:${join(dir, inner)}`), nested);
  t.same(readdirSync(join(dir, 'source')).sort(), ['.lock', 'feed'], 'and nothing is made there');
  isRefused(t, await runMove(source, `fs:${dir}`), nested);
  t.match(await runMove(source, `fs:${join(dir, 'source beside')}`), { code: 0 });
});

t.test('a target of another move that was stopped', async (t) => {
  const dir = await tempDir(t);
  const [source, other] = [fill(join(dir, 'source')), `fs:${join(dir, 'other')}`];
  const file = join(dir, 'notes.db');
  const settings = { ownerIn: () => undefined, secret: undefined, log: console };
  const place = await lockTarget({ kind: 'sqlite', file }, settings);
  const archive = await place.open();
  await archive.begin('the digest of somewhere else');
  await archive.close();
  await place.release();
  const stopped = /^The target is already being moved into from another place\./;
  isRefused(t, await runMove(source, `sqlite:${file}`), stopped);
  const half = /^The source is the target of a move that has not been finished\./;
  isRefused(t, await runMove(`sqlite:${file}`, other), half);
});

t.test('a source that is none', async (t) => {
  const dir = await tempDir(t);
  const target = `fs:${join(dir, 'target')}`;
  isRefused(
    t,
    await runMove(`fs:${join(dir, 'no')}`, target),
    /^The source cannot be used\. There is no folder "\/.+\/no"\.$/m,
  );
  isRefused(
    t,
    await runMove(`sqlite:${join(dir, 'no.db')}`, target),
    /^The source cannot be used\. There is no file "\/.+\/no\.db"\.$/m,
  );
  t.notOk(existsSync(join(dir, 'no.db')), 'and none is made');
  isRefused(
    t,
    await runMove(fill(join(dir, 'files')), `sqlite:${join(dir, 'no', 'notes.db')}`),
    /^The target cannot be used by user \d+ \(ENOENT: no such folder\)\./,
  );
  writeFileSync(join(dir, 'text'), 'not a database, though long enough to be read as one'.repeat(100));
  isRefused(
    t,
    await runMove(`sqlite:${join(dir, 'text')}`, target),
    /^The source cannot be used\. file is not a database/,
  );
  const url = await server.database();
  isRefused(
    t,
    await runMove(url, target),
    /^The source cannot be used\. The database has no instance in it\./,
  );
  t.same(
    await server.sql(url, "SELECT 1 FROM pg_tables WHERE schemaname = 'public'"),
    [],
    'and none is made',
  );
  const wrong = 'postgres://zelda:hush@127.0.0.1:1/notes';
  const unreachable = await runMove(wrong, target);
  isRefused(
    t,
    unreachable,
    /^The source cannot be used\. The database named by SERVICE_DATABASE_URL .*ECONNREFUSED/,
  );
  t.notMatch(unreachable.stderr, /hush|zelda|127/);
});

t.test('arguments that say no places', async (t) => {
  const { code, stderr } = await runMove('fs:', 'postgres://zelda:hush');
  t.match([code, stderr], [1, /^--from and --to must each be fs: and a folder/]);
  t.notMatch(stderr, 'hush');
  t.match(await runMove('fs:x', 'fs:~/notes'), {
    code: 1,
    stderr: /^A path in --from and --to must not begin with ~/,
  });
  t.match(await runMove('postgres', 'fs:x'), {
    code: 1,
    stderr: /^SERVICE_DATABASE_URL must be a postgres: URL\.\n/,
  });
});

t.test('an instance that a service runs on', async (t) => {
  const dir = await tempDir(t);
  const url = await server.database();
  const other = `fs:${join(dir, 'other')}`;
  const services = [
    [{}, `fs:${join(dir, 'files')}`, 'files'],
    [{ SERVICE_STORAGE: 'sqlite' }, `sqlite:${join(dir, 'database', 'notefeed.db')}`, 'database'],
    [{ SERVICE_STORAGE: 'postgres', SERVICE_DATABASE_URL: url }, url, 'none'],
  ] as const;
  const source = fill(join(dir, 'source'));
  for (const [settings, place, data] of services) {
    const service = await start(t, { SERVICE_SECRET, ...settings }, join(dir, data));
    await post(`${service.url}/feed`, 'text');
    // Connections to PostgreSQL that nobody needs are closed after 10 s.
    const asking = setInterval(() => {
      // The last one may meet the end of the service.
      ask(`${service.url}/health/ready`).catch(() => {});
    }, 1_000);
    isRefused(
      t,
      await runMove(place, other),
      /^The source cannot be used\. .* in use by (another|a) process/,
    );
    isRefused(
      t,
      await runMove(source, place),
      /^The target cannot be used\. .* in use by (another|a) process/,
    );
    clearInterval(asking);
    await service.stop();
  }
});

t.test('a service does not start on a database that is being moved', async (t) => {
  const url = await server.database();
  const lock = await MoveLock.take(url);
  t.teardown(() => lock.release());
  await t.rejects(MoveLock.take(url), { message: /^The database is being moved from or into already\.$/ });
  const env = { SERVICE_STORAGE: 'postgres', SERVICE_DATABASE_URL: url, SERVICE_SECRET };
  const refused = await ServiceProcess.launch(t, { env });
  t.match(await refused.exit, { code: 1 });
  t.match(refused.errors, 'The database is being moved from or into: wait until that is done.');
  await lock.release();
  await (await ServiceProcess.start(t, { env })).kill('SIGTERM');
});

t.test('read ids that follow from a secret which cannot be told', async (t) => {
  const dir = await tempDir(t);
  const files = join(dir, 'files');
  placeFiles(files, [['by-hand/note.md', 'text', 0]]);
  const [source, target] = [`fs:${files}`, `sqlite:${join(dir, 'notes.db')}`];
  isRefused(
    t,
    await runMove(source, target),
    /there is no file \.secret: set SERVICE_SECRET as it was set for the/,
  );
  const service = await start(t, {}, files);
  await service.stop();
  const made = readFileSync(join(files, '.secret'), 'utf8').trim();
  isRefused(
    t,
    await runMove(source, target, { SERVICE_SECRET }),
    /SERVICE_SECRET is another one than the service ran with/,
  );
  t.match(await runMove(source, target, { SERVICE_SECRET: made }), { code: 0 });
  const wrong = await runMove(source, `sqlite:${join(dir, 'other.db')}`, { SERVICE_SECRET: 'short' });
  isRefused(t, wrong, /^SERVICE_SECRET must be at least 32 bytes long$/m);
});

t.test('what is no part of an instance is named, without the names of feeds', async (t) => {
  const dir = await tempDir(t);
  const files = join(dir, 'files');
  const source = fill(files);
  mkdirSync(join(files, 'Not A Feed'));
  symlinkSync(join(files, 'feed'), join(files, 'link'));
  writeFileSync(join(files, 'feed', '.DS_Store'), '');
  writeFileSync(join(files, 'feed', 'draft.txt'), '');
  symlinkSync('note.md', join(files, 'feed', 'linked.md'));
  writeFileSync(join(files, 'feed', '.gone.md.json'), '{}');
  writeFileSync(join(files, 'feed', '.feed.json'), '{"colour": "red"}');
  mkdirSync(join(files, 'other'));
  writeFileSync(join(files, 'other', 'draft.txt'), '');
  writeFileSync(join(files, 'other', '.readid'), 'other-read-id');
  const { code, stdout } = await runMove(source, `sqlite:${join(dir, 'notes.db')}`);
  t.equal(code, 0);
  const [first = '', last] = stdout.split('\n');
  t.match(last, /^Moved and compared: 2 feeds, 1 note /);
  t.match(first, /^No part of the instance, and stays behind: /);
  t.strictSame(
    first
      .replace(/^.*?: |\.$/g, '')
      .split(', ')
      .sort(),
    [
      '".DS_Store"',
      '".gone.md.json"',
      '"Not A Feed"',
      '"colour in .feed.json"',
      '"draft.txt" (2 times)',
      '"link"',
      '"linked.md"',
    ],
  );
  t.ok(existsSync(join(files, 'feed', 'draft.txt')), 'and left alone');
});
