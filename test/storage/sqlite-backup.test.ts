import { join } from 'node:path';
import Database from 'better-sqlite3';
import t from 'tap';
import { backUp } from '../../src/storage/sqlite/backup.ts';
import { databaseIn } from '../support/open-backend.ts';
import { post } from '../support/storing.ts';
import { feedName, newNote } from './contract.ts';
import { dataFolder } from './files-support.ts';
import { opened } from './sqlite-support.ts';

t.test('writes between its steps neither make it begin anew nor get into it', async (t) => {
  const dir = await dataFolder(t);
  const storage = await opened(t, dir);
  const notes = Array.from({ length: 8 }, () => newNote(Buffer.alloc(4 * 1024 * 1024), 'png'));
  await post(storage, feedName('feed'), notes);
  const other = new Database(databaseIn(dir));
  let steps = 0;
  const target = join(dir, 'copy.db');
  await backUp(databaseIn(dir), target, () => {
    steps += 1;
    other.exec("UPDATE feeds SET title = title || 'x'");
    return steps < 20;
  });
  other.close();
  t.ok(steps >= 4, `${steps} steps`);
  const copy = new Database(target);
  t.match(copy.prepare('SELECT title, note_count FROM feeds').get(), { title: '', note_count: 8 });
  t.equal(copy.pragma('integrity_check', { simple: true }), 'ok');
  copy.close();
});
