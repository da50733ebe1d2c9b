import { createHash, randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { type ImageKey, newImageKey } from '../../src/feeds/ids.ts';
import { bytesInMemory, type ImageStore, type ListedImage } from '../../src/images/image-store.ts';

export const PAGE = 25;

/** A kind of store under test. */
export interface TestedStore {
  readonly name: string;
  /** An empty store of its own, which lists `PAGE` keys at once. */
  create(t: Test): Promise<{
    readonly store: ImageStore;
    /** Puts something there that is no picture of ours. */
    placeOther(name: string): Promise<void>;
    /** Another view of the same place, as another container has it. */
    other(): ImageStore;
  }>;
}

/** Bytes as they are posted, with their hash. */
export function hashed(bytes: Uint8Array) {
  return bytesInMemory(bytes, createHash('sha256').update(bytes).digest('base64url'));
}

/** All bytes of an object from `start` to `end`. */
export async function read(store: ImageStore, key: ImageKey, start: number, end: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of store.get(key, start, end)) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
}

async function listed(store: ImageStore): Promise<ListedImage[]> {
  const all: ListedImage[] = [];
  for await (const page of store.list()) all.push(...page);
  return all;
}

/** What every image store must do. */
export function testStore({ name, create }: TestedStore): void {
  const test = (
    title: string,
    body: (t: Test, made: Awaited<ReturnType<TestedStore['create']>>) => Promise<void>,
  ) => t.test(`${name}: ${title}`, async (t) => body(t, await create(t)));

  test('nothing is there at first', async (t, { store }) => {
    const key = newImageKey();
    t.equal(await store.head(key), undefined);
    await t.rejects(read(store, key, 0, 1), { code: 'not_found' });
    t.equal(await store.delete(key), false);
    t.same(await listed(store), []);
  });

  test('bytes come back, whole and in part', async (t, { store, other }) => {
    for (const size of [1, 64, 300_000, 3_000_000]) {
      const [key, bytes] = [newImageKey(), randomBytes(size)];
      const before = await store.now();
      await store.put(key, hashed(bytes));
      const facts = await store.head(key);
      t.equal(facts?.size, size);
      t.ok(Math.abs(facts!.modifiedAt - before) < 60_000);
      for (const reader of [store, other()]) t.ok(bytes.equals(await read(reader, key, 0, size)), `${size}`);
      const [start, end] = [size >> 2, (size >> 1) + 1];
      t.ok(bytes.subarray(start, end).equals(await read(store, key, start, end)));
      t.equal((await read(store, key, 1, 1)).length, 0);
    }
  });

  test('memory that is shared between threads can be stored', async (t, { store }) => {
    const [key, bytes] = [newImageKey(), new Uint8Array(new SharedArrayBuffer(100_000))];
    bytes.set(randomBytes(100_000));
    await store.put(key, hashed(bytes));
    t.ok(Buffer.from(bytes).equals(await read(store, key, 0, 100_000)));
  });

  test('what is deleted is gone, for all', async (t, { store, other }) => {
    const key = newImageKey();
    await store.put(key, hashed(randomBytes(10)));
    t.equal(await other().delete(key), true);
    t.equal(await store.delete(key), false);
    t.equal(await store.head(key), undefined);
    await t.rejects(read(store, key, 0, 10), { code: 'not_found' });
  });

  test('the same bytes may be put several times, at once too', async (t, { store }) => {
    const [key, bytes] = [newImageKey(), randomBytes(200_000)];
    await Promise.all([1, 2, 3].map(() => store.put(key, hashed(bytes))));
    t.ok(bytes.equals(await read(store, key, 0, bytes.length)));
    t.equal((await listed(store)).length, 1);
  });

  test('bytes that fail while they are read leave nothing', async (t, { store }) => {
    const key = newImageKey();
    const broken = {
      size: 1_000_000,
      sha256: undefined,
      async *pieces() {
        yield randomBytes(1_000);
        throw new Error('broken');
      },
    };
    await t.rejects(store.put(key, broken));
    t.equal(await store.head(key), undefined);
    t.same(await listed(store), []);
  });

  test('a reader may stop in the middle', async (t, { store }) => {
    const [key, bytes] = [newImageKey(), randomBytes(3_000_000)];
    await store.put(key, hashed(bytes));
    for (let n = 0; n < 70; n += 1) for await (const _ of store.get(key, 0, bytes.length)) break;
    t.ok(
      bytes.equals(await read(store, key, 0, bytes.length)),
      'and takes nothing from those that come after it',
    );
  });

  test('readers at once, each at its own pace, get their own bytes', async (t, { store }) => {
    const all = Array.from({ length: 6 }, () => ({ key: newImageKey(), bytes: randomBytes(1_500_000) }));
    await Promise.all(all.map(({ key, bytes }) => store.put(key, hashed(bytes))));
    const isWhole = async ({ key, bytes }: (typeof all)[number], pace: number) => {
      let at = 0;
      for await (const piece of store.get(key, 0, bytes.length)) {
        for (let n = 0; n < pace; n += 1) await nextTurn();
        if (!bytes.subarray(at, at + piece.length).equals(piece)) return false;
        at += piece.length;
      }
      return at === bytes.length;
    };
    for (let round = 0; round < 3; round += 1)
      t.notOk((await Promise.all(all.map((one, n) => isWhole(one, n * 3)))).includes(false));
  });

  test('a list holds all keys once, and nothing else', async (t, { store, placeOther }) => {
    const keys = Array.from({ length: 60 }, newImageKey).sort();
    const bytes = randomBytes(10);
    for (let at = 0; at < keys.length; at += 20)
      await Promise.all(keys.slice(at, at + 20).map((key) => store.put(key, hashed(bytes))));
    for (const name of ['readme.txt', 'A'.repeat(32), 'a'.repeat(31), `${'a'.repeat(32)}.png`])
      await placeOther(name);
    const found = await listed(store);
    const names = found.map(({ key }) => key);
    t.same(store.listsInOrder ? names : names.sort(), keys);
    for (const { facts } of found) if (facts) t.equal(facts.size, 10);
    for await (const page of store.list()) t.ok(page.length <= PAGE);
  });
}
