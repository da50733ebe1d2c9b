/** Keys of pictures that are being copied to another store, on the databases. */
import { join } from 'node:path';
import { Client } from 'pg';
import t from 'tap';
import { type ImageKey, newImageKey } from '../../src/feeds/ids.ts';
import type { PictureRows } from '../../src/storage/picture-rows.ts';
import { openPostgres } from '../../src/storage/postgres/postgres.ts';
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { eventually } from '../support/eventually.ts';
import { PostgresServer } from '../support/postgres.ts';
import { tempDir } from '../support/service.ts';
import { edits, post as store } from '../support/storing.ts';
import { newNote } from './contract.ts';
import { name } from './contract-support.ts';
import { keptLog } from './files-support.ts';

const HOUR_MS = 3_600_000;

const server = await PostgresServer.start(t);
const parts = { maxFeeds: 0, maxBytes: 0, keepDays: 0, log: keptLog() };

const OPENED = {
  async sqlite(): Promise<[Storage, PictureRows]> {
    const opened = await openSqlite({ ...parts, file: join(await tempDir(t), 'notes.db') });
    return [opened, opened.pictureRows];
  },
  async postgres(): Promise<[Storage, PictureRows]> {
    const opened = await openPostgres({ ...parts, url: await server.database() });
    return [opened, opened.pictureRows];
  },
};

for (const [backend, open] of Object.entries(OPENED))
  t.test(backend, async (t) => {
    const [storage, rows] = await open();
    t.teardown(() => storage.close());
    const { remove, deleteFeed } = edits(storage);
    const post = async (n: number, key = newImageKey()) => {
      const note = { ...newNote(`${n}`, 'png'), bytes: new Uint8Array(), image: { key, size: 5 } };
      await store(storage, name, note);
      return { key, id: note.id };
    };
    const elsewhere = () => rows.elsewhere('', 10);
    const [kept, copied, copying, plain, late] = [
      await post(0),
      await post(1),
      await post(2),
      await post(3),
      await post(4),
    ];

    for (const { key } of [kept, copied, copying, late]) t.equal(await rows.beginCopy(key), true);
    t.equal(await rows.beginCopy(newImageKey()), false, 'a key that no note has');
    t.equal(await rows.endCopy(kept.key), true);
    t.equal(await rows.endCopy(copied.key), true);
    const early = newImageKey();
    await rows.free([early], 0);
    await post(5, early);
    t.same(await rows.claim(10, 0), [], 'what is being copied is not due, nor what a note has by now');

    await store(storage, name, newNote('in its row', 'png'));
    const { pictures } = await rows.pictures(undefined, 1);
    const claimed = newImageKey();
    await rows.free([claimed], 0);
    t.same(await rows.claim(10, 0), [claimed]);
    t.equal(await rows.point(pictures[0]!, claimed), false, 'its object may be in removal');

    for (const { id } of [copied, copying, plain]) t.equal(await remove(name, id), true);
    t.same(await elsewhere(), [copying.key], 'the one that may be in two stores is left to a move');
    t.same(await rows.claim(10, HOUR_MS), [], 'what is kept for an hour is not due before');
    t.same(new Set(await rows.claim(10, 0)), new Set([copied.key, plain.key]));
    t.equal(await rows.endCopy(copying.key), false);
    await rows.forget([copying.key]);

    t.equal(await deleteFeed(name), true);
    t.ok(await eventually(async () => (await rows.referenced([late.key])).length === 0));
    t.same(await elsewhere(), [late.key], 'so is that of a feed that was deleted');
    const due: ImageKey[] = [];
    t.ok(await eventually(async () => due.push(...(await rows.claim(10, 0))) > 0));
    t.ok(due.includes(kept.key));
  });

t.test('postgres: a picture that is removed while it is moved out of its row leaves no object', async (t) => {
  const url = await server.database();
  const storage = await openPostgres({ ...parts, url });
  const client = new Client(url);
  await client.connect();
  t.teardown(() => Promise.all([storage.close(), client.end()]));
  const rows = storage.pictureRows;
  const note = newNote('picture', 'png', { tags: ['tag'] });
  await store(storage, name, note);
  const { pictures } = await rows.pictures(undefined, 1);
  const key = newImageKey();
  await rows.free([key], HOUR_MS);
  // Holds the removal between its look at the picture and its end.
  await client.query('BEGIN; LOCK TABLE tags IN SHARE MODE');
  const waiting = 'SELECT FROM pg_locks WHERE NOT granted';
  const countWaiting = async () => (await client.query(waiting)).rowCount;
  const removing = edits(storage).remove(name, note.id);
  t.ok(await eventually(async () => (await countWaiting()) === 1));
  let isPointed: boolean | undefined;
  const pointing = rows.point(pictures[0]!, key).then((is) => {
    isPointed = is;
  });
  t.ok(await eventually(async () => isPointed !== undefined || (await countWaiting()) === 2));
  await client.query('ROLLBACK');
  t.equal(await removing, true);
  await pointing;
  if (!isPointed) await rows.free([key], 0);
  t.same(await rows.claim(10, 0), [key]);
});
