import { execFileSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import type { NoteFile } from '../../../src/feeds/names.ts';
import { eventually } from '../../support/eventually.ts';
import { missing, program } from '../../support/installed.ts';
import { FEEDS, IndexedFolder } from './indexed-folder.ts';

t.setTimeout(600_000);

const onLinux = { skip: missing('prlimit') };
const DESCRIPTORS = 2_000;

t.test('while a note cannot be read, no search is current', onLinux, async (t) => {
  const folder = await IndexedFolder.make(t, { notes: 3 });
  const indexer = folder.start();
  await folder.mustBecomeRight(t, 'at first');
  const file = '20210101T000000Z-new.md' as NoteFile;
  await writeFile(join(folder.dir, FEEDS[0]!, file), 'fresh');
  execFileSync(program('prlimit'), [`--pid=${process.pid}`, `--nofile=${DESCRIPTORS}`]);
  const held: number[] = [];
  const holdAll = () => {
    for (;;) held.push(openSync('/dev/null', 'r'));
  };
  t.throws(holdAll, { code: 'EMFILE' });
  indexer.changed(FEEDS[0]!, [file]);
  await eventually(() => folder.lines.some((line) => line.includes('cannot be read')));
  for (const fd of held) closeSync(fd);
  const found = () => folder.found(FEEDS[0]!, 'fresh');
  t.equal(await found(), undefined);
  t.ok(await eventually(async () => (await found())?.join() === file));
});
