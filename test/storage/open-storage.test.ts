import { chmodSync, chownSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { readConfig } from '../../src/config.ts';
import { openStorage } from '../../src/storage/open-storage.ts';
import { collectedLog } from '../support/collected-log.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { start, tempDir } from '../support/service.ts';

const USER = 1234;
const isRoot = process.getuid?.() === 0;

/** What the start says of a DATA_DIR to a user who is not root. */
async function said(DATA_DIR: string, env: Record<string, string> = {}): Promise<string> {
  if (isRoot) process.seteuid?.(USER);
  try {
    const parts = { owner: undefined, commits: undefined };
    const { storage } = await openStorage(readConfig({ DATA_DIR, ...env }), collectedLog().log, parts);
    await storage.close();
    return '';
  } catch (error) {
    return (error as Error).message;
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

t.test('a data folder that this user may not use is told of by the name of its setting', async (t) => {
  const dir = await tempDir(t);
  const user = isRoot ? USER : process.getuid?.();
  if (isRoot) chownSync(dir, USER, USER);
  const forbidden = (path: string) =>
    `DATA_DIR=${path} cannot be used by user ${user} (EACCES: no permission).`;
  const SERVICE_SECRET = 'a secret of tests that is long enough';
  chmodSync(dir, 0o555);
  t.equal(await said(dir), forbidden(dir));
  t.equal(await said(dir, { SERVICE_SECRET }), forbidden(dir), 'nor to lock it');
  t.equal(await said(join(dir, 'new')), forbidden(join(dir, 'new')), 'nor to make it');
  const onSqlite = { SERVICE_SECRET, SERVICE_STORAGE: 'sqlite' };
  t.equal(await said(join(dir, 'new'), onSqlite), forbidden(join(dir, 'new')));
  const SERVICE_DATABASE_URL = `file:${join(dir, 'none', 'notes.db')}`;
  t.equal(
    await said(dir, { ...onSqlite, SERVICE_DATABASE_URL }),
    `The database file ${join(dir, 'none', 'notes.db')} (SERVICE_DATABASE_URL) cannot be used by user ${user} ` +
      '(ENOENT: no such folder).',
  );
  chmodSync(dir, 0o700);
  writeFileSync(join(dir, 'file'), '');
  t.equal(
    await said(join(dir, 'file')),
    `DATA_DIR=${join(dir, 'file')} cannot be used by user ${user} (EEXIST: not a folder).`,
  );
});

t.test('changes by hand show also if DATA_DIR is a link', async (t) => {
  const dir = await tempDir(t);
  const [real, link] = [join(dir, 'real'), join(dir, 'link')];
  mkdirSync(real);
  symlinkSync(real, link);
  const service = await start(t, { SERVICE_STORAGE: 'fs' }, link);
  const client = new FeedClient(service.url, 'feed');
  await client.post('by the service');
  const shows = (count: number) => eventually(async () => (await client.list()).json.notes.length === count);
  writeFileSync(join(real, 'feed', 'placed.md'), 'by hand');
  t.ok(await shows(2), 'a note that is placed');
  rmSync(join(real, 'feed', 'placed.md'));
  t.ok(await shows(1), 'a note that is removed');
  rmSync(join(real, 'feed'), { recursive: true });
  t.ok(await shows(0), 'a feed that is removed');
  mkdirSync(join(real, 'feed'));
  writeFileSync(join(real, 'feed', 'placed.md'), 'by hand');
  t.ok(await shows(1), 'a feed that is placed');
});

t.test('notes are searched unless a setting turns it off', async (t) => {
  const SERVICE_SECRET = 'a secret of tests that is long enough';
  for (const SERVICE_STORAGE of ['fs', 'sqlite'])
    for (const SERVICE_SEARCH of [undefined, '1', '0']) {
      const env = { DATA_DIR: await tempDir(t), SERVICE_SECRET, SERVICE_STORAGE, SERVICE_SEARCH };
      const parts = { owner: undefined, commits: undefined };
      const { storage } = await openStorage(readConfig(env), collectedLog().log, parts);
      t.equal(storage.search !== undefined, SERVICE_SEARCH !== '0', `${SERVICE_STORAGE} ${SERVICE_SEARCH}`);
      await storage.close();
    }
});
