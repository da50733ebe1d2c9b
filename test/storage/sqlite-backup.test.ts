import { join } from 'node:path';
import Database from 'better-sqlite3';
import t from 'tap';
import type { OperatorRecord } from '../../src/storage/operator-records.ts';
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

t.test('what an operator closed is closed in a backup, too, and bytes are counted', async (t) => {
  const [dir, name] = [await dataFolder(t), feedName('feed')];
  const storage = await opened(t, dir);
  await post(storage, name, newNote('12345'));
  const records: OperatorRecord[] = [
    { kind: 'name', key: name, value: 'because', at: 1 },
    { kind: 'link', key: 'read-id', value: '', at: 2 },
  ];
  for (const one of records) await storage.records.add(one);
  const place = await dataFolder(t);
  await backUp(databaseIn(dir), databaseIn(place), () => true);
  const copy = await opened(t, place, { maxBytes: 6 });
  for (const one of records) t.same(await copy.records.find(one.kind, [one.key]), [one]);
  t.match(await copy.feed(name), { isBlocked: true, byteCount: 5 });
  await t.rejects(post(copy, feedName('other'), newNote('12')), { code: 'byte_limit' });
});
