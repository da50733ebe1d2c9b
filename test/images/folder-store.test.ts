import { existsSync } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import t from 'tap';
import { newImageKey } from '../../src/feeds/ids.ts';
import { FolderStore } from '../../src/images/folder-store.ts';
import { FolderSync } from '../../src/storage/files/durable.ts';
import { tempDir } from '../support/service.ts';
import { hashed, PAGE, read, testStore } from './contract.ts';

testStore({
  name: 'folder',
  create: async (t) => {
    const dir = join(await tempDir(t), 'images');
    return {
      store: await FolderStore.make(dir, undefined, PAGE),
      placeOther: (name) => writeFile(join(dir, name), 'x'),
      other: () => new FolderStore(dir),
    };
  },
});

t.test('files in folders of two characters are read, listed and removed as well', async (t) => {
  const dir = await tempDir(t);
  const store = await FolderStore.make(dir);
  const key = newImageKey();
  await store.put(key, hashed(Buffer.from('bytes')));
  await mkdir(join(dir, key.slice(0, 2)));
  await rename(join(dir, key), join(dir, key.slice(0, 2), key));
  t.equal((await read(store, key, 0, 5)).toString(), 'bytes');
  t.equal((await store.head(key))?.size, 5);
  for await (const page of store.list())
    t.same(
      page.map((one) => one.key),
      [key],
    );
  t.equal(await store.delete(key), true);
  t.equal(await store.head(key), undefined);
});

t.test('a removal is durable, also one that was begun before', async (t) => {
  const dir = await tempDir(t);
  const store = await FolderStore.make(dir);
  const key = newImageKey();
  const folder = key.slice(0, 2);
  for (const place of ['', folder]) {
    await store.put(key, hashed(Buffer.from('bytes')));
    await mkdir(join(dir, place), { recursive: true });
    await rename(join(dir, key), join(dir, place, key));
    const synced: string[] = [];
    let isBroken = true;
    const { restore } = t.capture(FolderSync.prototype, 'sync', async (path: string) => {
      t.notOk(existsSync(join(path, key)), 'it is removed before');
      if (isBroken) throw Object.assign(new Error('broken'), { code: 'EIO', syscall: 'fsync' });
      synced.push(relative(dir, path));
    });
    await t.rejects(store.delete(key), { code: 'store_unavailable' });
    isBroken = false;
    t.equal(await store.delete(key), false);
    t.ok(synced.includes(place), `${synced}`);
    restore();
  }
});

t.test('a picture has its bytes before its name, and both are durable', async (t) => {
  const dir = await tempDir(t);
  const store = await FolderStore.make(dir);
  const key = newImageKey();
  const steps: string[] = [];
  const isNamed = () => existsSync(join(dir, key));
  const file = await open(join(dir, 'any'), 'w');
  await file.close();
  t.capture(Object.getPrototypeOf(file), 'sync', async () => {
    steps.push(isNamed() ? 'the file, too late' : 'the file');
  });
  t.capture(FolderSync.prototype, 'sync', async () => {
    steps.push(isNamed() ? 'the folder' : 'the folder, too early');
  });
  await store.put(key, hashed(Buffer.from('bytes')));
  t.same(steps, ['the file', 'the folder']);
  t.equal((await stat(join(dir, key))).mode & 0o777, 0o600, 'for its owner alone');
});

t.test('what is in the place of a picture and is none', async (t) => {
  const dir = await tempDir(t);
  const store = await FolderStore.make(dir);
  const [short, link, folder, astray] = [newImageKey(), newImageKey(), newImageKey(), newImageKey()];
  await writeFile(join(dir, short), 'byt');
  await t.rejects(read(store, short, 0, 5), { code: 'store_unavailable' }, 'a part of it');
  await writeFile(join(dir, 'other'), 'bytes');
  await symlink(join(dir, 'other'), join(dir, link));
  await t.rejects(read(store, link, 0, 5), { code: 'not_found' }, 'a link');
  await mkdir(join(dir, folder));
  t.equal(await store.head(folder), undefined, 'a folder');
  const wrong = astray.startsWith('ab') ? 'cd' : 'ab';
  await mkdir(join(dir, wrong));
  await writeFile(join(dir, wrong, astray), 'bytes');
  const listed: string[] = [];
  for await (const page of store.list()) listed.push(...page.map(({ key }) => key));
  t.same(listed, [short], 'a file in the folder of others');
});

t.test('a failure says whether the disk is full, and no path', async (t) => {
  const dir = await tempDir(t);
  const store = await FolderStore.make(dir);
  await rm(join(dir, '.parts'), { recursive: true });
  const failure = await store.put(newImageKey(), hashed(Buffer.from('x'))).catch((error) => error);
  t.match(failure, { code: 'store_unavailable', cause: { code: 'ENOENT' } });
  t.notMatch(failure.cause.message, dir);
  t.capture(FolderSync.prototype, 'sync', async () => {
    throw Object.assign(new Error('full'), { code: 'ENOSPC', syscall: 'fsync' });
  });
  await mkdir(join(dir, '.parts'));
  await t.rejects(store.put(newImageKey(), hashed(Buffer.from('x'))), { code: 'storage_full' });
});

t.test('a folder that is gone is no reason to call a picture gone', async (t) => {
  const dir = join(await tempDir(t), 'images');
  const store = await FolderStore.make(dir);
  await rm(dir, { recursive: true });
  const key = newImageKey();
  const unavailable = { code: 'store_unavailable', headers: { 'Retry-After': '5' } };
  await t.rejects(read(store, key, 0, 1), unavailable);
  await t.rejects(store.head(key), unavailable);
  await t.rejects(store.delete(key), unavailable);
  await t.rejects(store.put(key, hashed(Buffer.from('x'))), unavailable);
  await t.rejects(store.now(), unavailable);
});

t.test('an empty folder in place of the one of the pictures is not theirs', async (t) => {
  const dir = join(await tempDir(t), 'images');
  const store = await FolderStore.make(dir);
  const key = newImageKey();
  await store.put(key, hashed(Buffer.from('bytes')));
  await rename(dir, `${dir}.away`);
  await mkdir(dir);
  const unavailable = { code: 'store_unavailable' };
  await t.rejects(read(store, key, 0, 5), unavailable);
  await t.rejects(store.head(key), unavailable);
  await t.rejects(store.delete(key), unavailable);
  await t.rejects(store.put(newImageKey(), hashed(Buffer.from('x'))), unavailable);
  t.same(await readdir(dir), []);
  await rm(dir, { recursive: true });
  await rename(`${dir}.away`, dir);
  t.equal(String(await read(store, key, 0, 5)), 'bytes');
});

t.test('what a crash has left is removed at a start, but not what may still be written', async (t) => {
  const dir = await tempDir(t);
  const parts = join(dir, '.parts');
  await mkdir(parts);
  for (const name of ['old', 'new']) await writeFile(join(parts, name), 'x');
  await utimes(join(parts, 'old'), new Date(), new Date(Date.now() - 3_700_000));
  await FolderStore.make(dir);
  t.same(await readdir(parts), ['new']);
});
