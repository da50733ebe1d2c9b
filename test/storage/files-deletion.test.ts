/** Deleted feeds whose files cannot be removed, or not at once. */
import { readdirSync } from 'node:fs';
import fs, { mkdir, mkdtemp, readdir, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import t from 'tap';
import { isTempName } from '../../src/storage/files/names.ts';
import { Removals } from '../../src/storage/files/removals.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { operate, WITH_OPERATOR } from '../support/operator.ts';
import { start } from '../support/service.ts';
import { CANNOT_MOUNT, makeReadOnly } from '../support/small-disk.ts';
import { dataFolder, keptLog } from './files-support.ts';

const needsMount = { skip: CANNOT_MOUNT };
const NOT_REMOVED = { code: 'store_unavailable', status: 503, cause: { code: 'EROFS' } };

/** A folder of so many files. */
async function folderOf(dir: string, files: number): Promise<string> {
  const folder = await mkdtemp(join(dir, 'left-'));
  for (let i = 0; i < files; i += 1) await writeFile(join(folder, `${i}.md`), 'x');
  return folder;
}

t.test('a deletion that leaves files is no success, but the feed is gone', needsMount, async (t) => {
  const service = await start(t, { SERVICE_STORAGE: 'fs' });
  const { dir } = service;
  const client = new FeedClient(service.url, 'otter-secret');
  await client.post('one', { 'x-read-id': 'otters-left' });
  await client.post('two');
  const kept = join(dir, client.name, 'kept');
  await mkdir(kept);
  await writeFile(join(kept, 'text'), 'bytes that stay');
  // The list has one of these files before the folder that cannot be removed and one after it, whichever way it is sorted.
  for (const file of ['a.txt', 'z.txt']) await writeFile(join(dir, client.name, file), 'text');
  const temp = () => readdirSync(dir).find(isTempName) ?? client.name;
  const makeWritable = makeReadOnly(t, kept, () => join(dir, temp(), 'kept'));

  const reply = await client.delete();
  t.match(reply, { status: 503, json: { code: 'store_unavailable', error: /deleted/ } });
  t.same(await readdir(join(dir, temp())), ['kept'], 'what can be removed is');
  t.match(await client.get(), { status: 404 });
  t.match(await client.delete(), { status: 404 });
  const again = await client.post('anew');
  t.match(again, { status: 201 }, 'the name is free');
  t.not(readIdIn(again.json.read_url), 'otters-left');
  const taken = await new FeedClient(service.url, 'other').post('x', { 'x-read-id': 'otters-left' });
  t.match(taken, { status: 409 }, 'the read id is not');
  const lines = service.lines.filter(({ message }) => /cannot be finished/.test(message));
  t.match(lines, [{ level: 'warn', fields: { code: 'EROFS' } }]);
  t.notMatch(JSON.stringify(service.lines), client.name);

  await service.stop();
  makeWritable();
  await start(t, { SERVICE_STORAGE: 'fs' }, dir);
  t.ok(
    await eventually(async () => !(await readdir(dir)).some(isTempName)),
    'the next start removes the rest',
  );
});

t.test('a deletion by the operator that leaves files leaves its audit line, too', async (t) => {
  const service = await start(t, { SERVICE_STORAGE: 'fs', ...WITH_OPERATOR });
  for (const name of ['otter', 'marten'])
    await new FeedClient(service.url, name).post('text', { 'x-read-id': `${name}s` });
  const { rmdir } = fs;
  const setRmdir = (call: typeof rmdir) => {
    fs.rmdir = call;
    syncBuiltinESMExports();
  };
  t.teardown(() => setRmdir(rmdir));
  setRmdir(() => Promise.reject(Object.assign(new Error('busy'), { code: 'EBUSY', syscall: 'rmdir' })));
  const left = { status: 503, json: { error: /deleted/ } };
  t.match(await operate(service.url, 'DELETE', '/feeds/otter'), left);
  t.match(await operate(service.url, 'POST', '/takedown', { target: '/r/martens' }), left);
  const audit = service.lines.filter(({ fields }) => fields.audit === true).map(({ fields }) => fields.what);
  t.strictSame(audit, ['delete feed', 'take down feed']);
});

t.test('what could not be removed is tried again in the background', needsMount, async (t) => {
  const dir = await dataFolder(t);
  const folder = await folderOf(dir, 2);
  const makeWritable = makeReadOnly(t, folder);
  const log = keptLog();
  const removals = new Removals(log, 1);
  t.teardown(() => removals.close());
  await t.rejects(removals.remove(folder), NOT_REMOVED);
  t.same((await readdir(folder)).length, 2);
  makeWritable();
  t.ok(await eventually(async () => (await readdir(dir)).length === 0));
  t.equal(log.lines.length, 1, 'only the first failure is logged');
});

t.test('a small feed does not wait for a large one', async (t) => {
  const dir = await dataFolder(t);
  const [large, small] = [await folderOf(dir, 500), await folderOf(dir, 2)];
  const removals = new Removals(keptLog());
  const done: string[] = [];
  await Promise.all([
    removals.remove(large).then(() => done.push('large')),
    removals.remove(small).then(() => done.push('small')),
  ]);
  t.same(done, ['small', 'large']);
  t.same(await readdir(dir), []);
});

t.test('closing does not wait for the files of a large feed, and who deletes it is told', async (t) => {
  const dir = await dataFolder(t);
  const folder = await folderOf(dir, 500);
  const log = keptLog();
  const removals = new Removals(log);
  const removing = t.rejects(removals.remove(folder), { code: 'store_unavailable' });
  t.ok(await eventually(async () => (await readdir(folder)).length < 500));
  await removals.close();
  await removing;
  t.ok((await readdir(folder)).length > 0);
  t.same(log.lines, []);
  await new Removals(log).remove(folder);
  t.same(await readdir(dir), []);
});
