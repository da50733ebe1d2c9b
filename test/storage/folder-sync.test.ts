import { join } from 'node:path';
import t from 'tap';
import { FolderSync } from '../../src/storage/files/durable.ts';

t.test('an observer of folder syncs learns how many writes each was for', async (t) => {
  const dir = t.testdir();
  const seen: number[] = [];
  const folders = new FolderSync((writes) => seen.push(writes));
  const first = folders.sync(dir);
  const others = [folders.sync(dir), folders.sync(dir), folders.sync(dir)];
  await first;
  t.same(seen, [1], 'it knows before the one who asked goes on');
  await Promise.all(others);
  t.same(seen, [1, 3]);
  await folders.sync(dir);
  t.same(seen, [1, 3, 1]);
});

t.test('a sync that failed made nothing durable', async (t) => {
  const seen: number[] = [];
  const folders = new FolderSync((writes) => seen.push(writes));
  const missing = join(t.testdir(), 'missing');
  await t.rejects(folders.sync(missing), { code: 'ENOENT' });
  t.same(seen, []);
});
