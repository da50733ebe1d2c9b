import { randomBytes, randomInt } from 'node:crypto';
import { mkdir, open, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import Database from 'better-sqlite3';
import t from 'tap';
import { filesOfIndex } from '../../../src/storage/index-place.ts';
import { times } from '../../support/effort.ts';
import { FEEDS, IndexedFolder } from './indexed-folder.ts';

t.setTimeout(600_000);

/** Ways to break the index of a path. */
const BREAKAGES: Record<string, (path: string) => Promise<unknown>> = {
  deleted: (path) => Promise.all(filesOfIndex(path).map((file) => rm(file, { force: true }))),
  'deleted without its log': (path) => rm(path),
  'of no length': (path) => truncate(path),
  truncated: async (path) => truncate(path, randomInt((await stat(path)).size)),
  'a text': async (path) => {
    await rm(path);
    await writeFile(path, 'This is not a database.'.repeat(1000));
  },
  'another database': async (path) => {
    await rm(path);
    new Database(path).exec('CREATE TABLE notes (row INTEGER); INSERT INTO notes VALUES (1)').close();
  },
  // As after a cut within its last page.
  "without its engine's version": async (path) => {
    new Database(path).unsafeMode().exec('DELETE FROM texts_config').close();
  },
  'a folder': async (path) => {
    await rename(path, `${path}.away`);
    await rm(`${path}.away`);
    await mkdir(path);
  },
  noise: async (path) => {
    const file = await open(path, 'r+');
    const { size } = await file.stat();
    for (let n = 0; n < 20; n += 1) await file.write(randomBytes(64), 0, 64, randomInt(size));
    await file.close();
  },
};

t.test('a broken index is made again at the start', async (t) => {
  const folder = await IndexedFolder.make(t);
  folder.start();
  await folder.mustBecomeRight(t, 'at first');
  for (const [name, breakIt] of Object.entries(BREAKAGES))
    for (let n = 0; n < times(1, 20); n += 1) {
      await folder.stop();
      await breakIt(folder.file);
      folder.start();
      await folder.mustBecomeRight(t, name);
    }
});

t.test('an index that is broken while it is used is made again', async (t) => {
  for (const [name, breakIt] of Object.entries(BREAKAGES)) {
    const folder = await IndexedFolder.make(t);
    folder.start();
    await folder.mustBecomeRight(t, `before it is ${name}`);
    await breakIt(folder.file);
    await folder.put(FEEDS[0]!, 100);
    await folder.mustBecomeRight(t, name);
    await folder.stop();
    folder.start();
    await folder.mustBecomeRight(t, `${name}, at the next start`);
  }
});

t.test('an index of an older schema is made again', async (t) => {
  const folder = await IndexedFolder.make(t);
  folder.start();
  await folder.mustBecomeRight(t, 'at first');
  await folder.stop();
  const db = new Database(folder.file);
  db.exec('DELETE FROM texts; PRAGMA user_version = 1');
  db.close();
  folder.start();
  await folder.mustBecomeRight(t, 'after it');
});

t.test('noise in what only the engine reads is seen', async (t) => {
  const folder = await IndexedFolder.make(t);
  folder.start();
  await folder.mustBecomeRight(t, 'at first');
  for (let n = 0; n < times(8, 300); n += 1) {
    await folder.stop();
    const db = new Database(folder.file);
    db.unsafeMode();
    const rows = db.prepare<[], { id: number; block: Buffer }>('SELECT id, block FROM texts_data').all();
    const { id, block } = rows[randomInt(rows.length)]!;
    if (block.length > 0) block[randomInt(block.length)]! ^= 1 << randomInt(8);
    db.prepare('UPDATE texts_data SET block = ? WHERE id = ?').run(block, id);
    db.close();
    folder.start();
    await folder.mustBecomeRight(t, `${n}`);
  }
});
