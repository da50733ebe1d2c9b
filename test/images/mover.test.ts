import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { newImageKey } from '../../src/feeds/ids.ts';
import { noteFile } from '../../src/feeds/names.ts';
import { bytesInMemory, type ImageStore, imageGone } from '../../src/images/image-store.ts';
import { move } from '../../src/images/mover.ts';
import { withImageStore } from '../../src/images/with-image-store.ts';
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts';
import { newNote } from '../storage/contract.ts';
import { name } from '../storage/contract-support.ts';
import { keptLog } from '../storage/files-support.ts';
import { tempDir } from '../support/service.ts';
import { edits, post } from '../support/storing.ts';

/** A store in memory. */
function memoryStore(): ImageStore {
  const objects = new Map<string, Buffer>();
  const store: Pick<ImageStore, 'put' | 'get' | 'head' | 'delete'> = {
    put: async (key, { pieces }) => {
      objects.set(key, await buffer(pieces()));
    },
    async *get(key, start, end) {
      const bytes = objects.get(key);
      if (!bytes) throw imageGone();
      yield bytes.subarray(start, end);
    },
    head: async (key) => (objects.has(key) ? { size: objects.get(key)!.length, modifiedAt: 0 } : undefined),
    delete: async (key) => objects.delete(key),
  };
  return store as ImageStore;
}

async function opened(t: Test) {
  const file = join(await tempDir(t), 'notes.db');
  const storage = await openSqlite({ file, maxFeeds: 0, maxBytes: 0, keepDays: 0, log: keptLog() });
  t.teardown(() => storage.close());
  return storage;
}

const all = { after: undefined, limit: 10 };

t.test('two moves at once leave no mark on a picture that both of them copy', async (t) => {
  const storage = await opened(t);
  const rows = storage.pictureRows;
  const [source, target] = [memoryStore(), memoryStore()];
  const key = newImageKey();
  const image = { key, size: 5 };
  await source.put(key, bytesInMemory(Buffer.from('bytes'), undefined));
  const note = { ...newNote('', 'png'), bytes: new Uint8Array(), image };
  await post(storage, name, note);
  // The other move is over before this one marks the picture.
  const slowSource: ImageStore = {
    ...source,
    async head(asked) {
      const found = await source.head(asked);
      if (asked === key) t.match(await move({ rows, source, target }, all), { moved: { count: 1 } });
      return found;
    },
  };
  t.match(await move({ rows, source: slowSource, target }, all), { moved: { count: 0 }, skipped: 1 });
  t.ok(await target.head(key));
  t.equal(await edits(storage).remove(name, note.id), true);
  t.same(await rows.elsewhere('', 10), []);
  t.same(await rows.claim(10, 0), [key]);
});

t.test('a picture that is moved out of its row while it is read is read to its end', async (t) => {
  const database = await opened(t);
  const rows = database.pictureRows;
  const target = memoryStore();
  const storage = withImageStore(database, { rows, store: target, keptMs: 0 });
  const bytes = randomBytes(5 * 1024 * 1024);
  const note = newNote(bytes, 'png');
  await post(database, name, note);
  const feed = (await storage.feed(name))!;
  const found = (await storage.stat(feed, noteFile(note.id, 'png')))!;
  const read: Uint8Array[] = [];
  for await (const piece of found.read(10, bytes.length - 10)) {
    if (read.length === 0)
      t.match(await move({ rows, source: undefined, target }, all), { moved: { count: 1 } });
    read.push(Buffer.from(piece));
  }
  t.ok(Buffer.concat(read).equals(bytes.subarray(10, -10)));
});

t.test(
  'a picture that comes back with its old date and other bytes while it is moved keeps those',
  async (t) => {
    const database = await opened(t);
    const rows = database.pictureRows;
    const note = { ...newNote('old', 'png'), modifiedAt: Date.UTC(2020, 0), sha256: 'of the old' };
    const again = { ...note, bytes: Buffer.from('new'), sha256: 'of the new' };
    await post(database, name, note);
    const target = memoryStore();
    const slowTarget: ImageStore = {
      ...target,
      async put(key, bytes) {
        await target.put(key, bytes);
        await edits(database).remove(name, note.id);
        await post(database, name, again);
      },
    };
    t.match(await move({ rows, source: undefined, target: slowTarget }, all), { skipped: 1 });
    const storage = withImageStore(database, { rows, store: target, keptMs: 0 });
    const found = await storage.stat((await storage.feed(name))!, noteFile(note.id, 'png'));
    t.equal((await buffer(found!.read(0, found!.size))).toString(), 'new');
  },
);
