import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { type ImageKey, newImageKey } from '../../src/feeds/ids.ts';
import { noteFile } from '../../src/feeds/names.ts';
import {
  bytesInMemory,
  type ImageStore,
  imageGone,
  imagesUnavailable,
} from '../../src/images/image-store.ts';
import { move } from '../../src/images/mover.ts';
import { withImageStore } from '../../src/images/with-image-store.ts';
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { toFeed } from '../../src/writing/command.ts';
import { newNote } from '../storage/contract.ts';
import { name } from '../storage/contract-support.ts';
import { keptLog } from '../storage/files-support.ts';
import { eventually } from '../support/eventually.ts';
import { countOf } from '../support/image-settings.ts';
import { tempDir } from '../support/service.ts';
import { edits, NO_LIMITS, post } from '../support/storing.ts';

/** A store in memory. */
function memoryStore(): ImageStore {
  const objects = new Map<string, Buffer>();
  const store: Pick<ImageStore, 'put' | 'get' | 'head' | 'delete' | 'list'> = {
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
    async *list() {
      yield [...objects.keys()].map((key) => ({ key: key as ImageKey, facts: undefined }));
    },
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

/** A note whose picture is in a store. */
async function postKept(storage: Storage, store: ImageStore, sha256?: string) {
  const key = newImageKey();
  await store.put(key, bytesInMemory(Buffer.from('bytes'), undefined));
  const note = { ...newNote('', 'png'), bytes: new Uint8Array(), image: { key, size: 5 }, sha256 };
  await post(storage, name, note);
  return { key, note };
}

t.test('a store is not moved into itself, and no object that is not what was posted is moved', async (t) => {
  const storage = await opened(t);
  const rows = storage.pictureRows;
  const [source, target] = [memoryStore(), memoryStore()];
  const { key } = await postKept(storage, source, 'of other bytes');
  await t.rejects(move({ rows, source, target: { ...source } }, all), { code: 'same_store' });
  t.match(await move({ rows, source, target }, all), { moved: { count: 0 }, failed: 1 });
  t.match(await move({ rows, source, target: undefined }, all), { moved: { count: 0 }, failed: 1 });
  t.match([await source.head(key), await target.head(key)], [{ size: 5 }, undefined]);
});

t.test('what a store took before it failed goes', async (t) => {
  const storage = await opened(t);
  const rows = storage.pictureRows;
  await post(storage, name, newNote('bytes', 'png'));
  const target = memoryStore();
  const failing: ImageStore = {
    ...target,
    async put(...object) {
      await target.put(...object);
      throw imagesUnavailable(new Error('the connection was cut'));
    },
  };
  t.match(await move({ rows, source: undefined, target: failing }, all), { failed: 1 });
  t.equal((await rows.claim(10, 0)).length, 1);
});

t.test('two moves at once leave no mark on a picture that both of them copy', async (t) => {
  const storage = await opened(t);
  const rows = storage.pictureRows;
  const [source, target] = [memoryStore(), memoryStore()];
  const { key, note } = await postKept(storage, source);
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

t.test('pictures of an import that are there already leave no second object', async (t) => {
  const database = await opened(t);
  const store = memoryStore();
  const storage = withImageStore(database, { rows: database.pictureRows, store, keptMs: 0 });
  const [there, added] = [newNote('1', 'png'), newNote('2', 'png')];
  const feed = toFeed(await post(storage, name, there));
  const written = await storage.write({ kind: 'import', ...feed, notes: [there, added], limits: NO_LIMITS });
  t.same(written?.outcomes, ['skipped', 'stored']);
  t.ok(await eventually(async () => (await countOf(store)) === 2));
});

t.test('a picture that is replaced before its bytes are read ends the answer', async (t) => {
  const database = await opened(t);
  const store = memoryStore();
  const storage = withImageStore(database, { rows: database.pictureRows, store, keptMs: 0 });
  const note = newNote('bytes', 'png');
  await post(storage, name, note);
  const found = (await storage.stat((await storage.feed(name))!, noteFile(note.id, 'png')))!;
  await edits(storage).replace(name, note.id, Buffer.from('other'));
  await store.delete(found.key!);
  await t.rejects(buffer(found.read(0, 5)), { message: /replaced/ });
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
