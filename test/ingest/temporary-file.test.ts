import { readdirSync, readlinkSync, watch } from 'node:fs';
import { type FileHandle, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { FeedZip } from '../../src/ingest/feed-zip.ts';
import { temporaryFile } from '../../src/ingest/temporary-file.ts';
import { eventually } from '../support/eventually.ts';
import { tempDir } from '../support/service.ts';
import { zipOf } from '../support/zips.ts';

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
  t.equal((await file.stat()).mode & 0o777, 0o600, 'for its owner alone');
  const { buffer, bytesRead } = await file.read(Buffer.alloc(10), 0, 10, 0);
  t.equal(buffer.toString('utf8', 0, bytesRead), 'one two');
  await file.close();
  await writeFile(join(folder, 'last'), '');
  t.ok(await eventually(() => seen.includes('last')));
  t.same(new Set(seen), new Set(['last']));
});

t.test('where the folder takes no file, that of the system does', async (t) => {
  const file = await temporaryFile(join(await tempDir(t), 'gone'), pieces());
  t.equal((await file.stat()).size, 7);
  await file.close();
});

/** Where a link leads; empty if it is gone. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

t.test('a failure of the system is that of the storage', async (t) => {
  const { TMPDIR } = process.env;
  t.teardown(() => {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
  });
  const folder = await tempDir(t);
  process.env.TMPDIR = join(folder, 'gone');
  const unavailable = { code: 'store_unavailable' };
  await t.rejects(temporaryFile(join(folder, 'gone'), pieces()), unavailable, 'no folder takes it');
  const failing = async function* () {
    yield Buffer.from('one');
    throw Object.assign(new Error('EIO'), { code: 'EIO', syscall: 'write' });
  };
  await t.rejects(temporaryFile(folder, failing()), unavailable, 'a write fails');
  const open = readdirSync('/proc/self/fd').map((fd) => linkOf(`/proc/self/fd/${fd}`));
  t.notOk(
    open.some((path) => path.startsWith(folder)),
    'and leaves no file open',
  );
  const zip = zipOf([{ name: 'a.md' }]);
  const read = async () => {
    throw Object.assign(new Error('EIO'), { code: 'EIO', syscall: 'read' });
  };
  const handle = { stat: async () => ({ size: zip.length }), read } as unknown as FileHandle;
  await t.rejects(FeedZip.open(handle), unavailable, 'a read fails');
});
