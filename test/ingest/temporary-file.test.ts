import { watch } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { temporaryFile } from '../../src/ingest/temporary-file.ts';
import { eventually } from '../support/eventually.ts';
import { tempDir } from '../support/service.ts';

async function* pieces() {
  yield Buffer.from('one ');
  yield Buffer.from('two');
}

t.test('the file has no name at any moment, so that a kill leaves none', async (t) => {
  const folder = await tempDir(t);
  const seen: (string | null)[] = [];
  // Writing to a file without a name is a change of an inode.
  const watcher = watch(folder, (event, name) => event === 'rename' && seen.push(name));
  t.teardown(() => watcher.close());
  const file = await temporaryFile(folder, pieces());
  const { buffer, bytesRead } = await file.read(Buffer.alloc(10), 0, 10, 0);
  t.equal(buffer.toString('utf8', 0, bytesRead), 'one two');
  await file.close();
  await writeFile(join(folder, 'last'), '');
  t.ok(await eventually(() => seen.includes('last')));
  t.same(new Set(seen), new Set(['last']));
});
