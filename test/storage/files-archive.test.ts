/** A data folder of which the one who moves it may not read a part. */
import { chmodSync, chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { FilesArchive, NO_SECRET } from '../../src/storage/files/files-archive.ts';
import { placeFiles } from '../support/moving.ts';

const USER = 1234;
const TEMP = '.tmp-nfs-019a7f3c-0000-7000-8000-000000000000';
const FILES = [
  '.deleted-read-ids',
  '.moving',
  'feed/.readid',
  'feed/.password',
  'feed/.feed.json',
  'feed/note.md',
  'feed/.note.md.json',
  `feed/${TEMP.replace('tmp', 'intent')}`,
];
/** What is taken from a folder or file, and what is wrong without it. */
const FORBIDDEN: readonly (readonly [name: string, mode: number])[] = [
  ...FILES.filter((name) => name !== 'feed/note.md').map((name) => [name, 0] as const),
  ['feed', 0o444],
  ['feed', 0o555],
  ['feed', 0],
];

/** A data folder of a user whom it keeps nothing from; root becomes that user while it reads. */
function folder(t: Test): string {
  const dir = mkdtempSync(join(tmpdir(), 'archive-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  placeFiles(
    dir,
    [...FILES, `feed/${TEMP}`].map((name) => [name, name === 'feed/.readid' ? 'read-feed' : '{}', 0]),
  );
  if (process.getuid?.() === 0)
    for (const name of ['.', 'feed', ...FILES, `feed/${TEMP}`]) chownSync(join(dir, name), USER, USER);
  return dir;
}

async function opened(dir: string): Promise<FilesArchive> {
  const isRoot = process.getuid?.() === 0;
  if (isRoot) process.seteuid?.(USER);
  try {
    const log = { warn: () => {}, error: () => {} };
    return await FilesArchive.open({ dir, owner: undefined, secret: async () => NO_SECRET, log });
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

t.test('is refused, and not taken as if that part were not there', async (t) => {
  for (const [name, mode] of FORBIDDEN) {
    const dir = folder(t);
    chmodSync(join(dir, name), mode);
    await t.rejects(
      opened(dir),
      {
        message:
          'Some of the files there cannot be read or changed by this user: run the move as their owner.',
      },
      `${name} of mode ${mode.toString(8)}`,
    );
    chmodSync(join(dir, name), 0o700);
    const feeds = [];
    for await (const feed of (await opened(dir)).feeds()) feeds.push(feed);
    t.equal(feeds.length, 1, 'and is there');
  }
});
