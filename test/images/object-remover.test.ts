import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { newImageKey } from '../../src/feeds/ids.ts';
import type { ImageStore } from '../../src/images/image-store.ts';
import { ObjectRemover, removeObjects } from '../../src/images/object-remover.ts';
import { withImageStore } from '../../src/images/with-image-store.ts';
import { Refusal } from '../../src/refusals.ts';
import type { PictureRows } from '../../src/storage/picture-rows.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { newNote } from '../storage/contract.ts';
import { name } from '../storage/contract-support.ts';
import { eventually } from '../support/eventually.ts';
import { NO_LIMITS, OPEN } from '../support/storing.ts';

const POSTS = 300;
const PICTURES = 1_000;
const MAX_BYTES = 8 * 1024 * 1024;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function bytesInUse(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

t.test('a process keeps few keys of failed posts while another one removes their objects', async (t) => {
  const rows = { free: async () => {}, claim: async () => [] };
  const remover = new ObjectRemover(rows as unknown as PictureRows, {} as ImageStore, 0);
  t.teardown(() => remover.stop());
  const fail = () => remover.discard(Array.from({ length: PICTURES }, newImageKey), true);
  await fail();
  const before = bytesInUse();
  for (let n = 0; n < POSTS; n += 1) await fail();
  const grown = bytesInUse() - before;
  t.ok(grown < MAX_BYTES, `grown by ${grown} bytes`);
});

t.test('keys that could not be freed for long are freed some at a time', async (t) => {
  const freed = new Set<string>();
  let [isAway, most] = [true, 0];
  const free = async (keys: readonly string[]) => {
    if (isAway) throw new Error('the database takes no writes');
    most = Math.max(most, keys.length);
    for (const key of keys) freed.add(key);
  };
  const rows = { free, claim: async () => [] };
  const remover = new ObjectRemover(rows as unknown as PictureRows, {} as ImageStore, 0);
  t.teardown(() => remover.stop());
  for (let n = 0; n < POSTS; n += 1) await remover.discard(Array.from({ length: 20 }, newImageKey), true);
  isAway = false;
  t.ok(await eventually(() => freed.size === POSTS * 20));
  t.ok(most <= 1_000, `${most} in one statement`);
});

t.test(
  'a key without an object here may have one in another store, and one that failed is kept',
  async (t) => {
    const [removed, absent, failing] = [newImageKey(), newImageKey(), newImageKey()];
    const remove = async (key: string) => {
      if (key === failing) throw new Error('the store is down');
      return key === removed;
    };
    const told: unknown[] = [];
    const tell = (what: string) => async (keys: readonly string[]) => void told.push([what, keys]);
    const rows = { forget: tell('forget'), markElsewhere: tell('elsewhere') };
    const store = { delete: remove } as unknown as ImageStore;
    await removeObjects(rows as unknown as PictureRows, [store], [removed, absent, failing]);
    t.same(told, [
      ['forget', [removed]],
      ['elsewhere', [absent]],
    ]);
  },
);

t.test('an object whose note may be stored after all is not removed at once', async (t) => {
  for (const [code, isAway] of [
    ['store_unavailable', false],
    ['store_unavailable', true],
    ['image_limit', false],
  ] as const) {
    const waits: number[] = [];
    let isBack = false;
    const free = async (_keys: unknown, inMs: number) => {
      if (isAway && !isBack) {
        isBack = true;
        throw new Error('the database is away');
      }
      waits.push(inMs);
    };
    const rows = { free, claim: async () => [] } as unknown as PictureRows;
    const write = async () => {
      throw new Refusal(code, 'It may be stored.');
    };
    const store = { put: async () => {}, close: () => {} } as unknown as ImageStore;
    const database = { write, close: async () => {} } as unknown as Storage;
    const storage = withImageStore(database, { rows, store, keptMs: 0 });
    t.teardown(() => storage.close());
    const notes = [newNote('x', 'png')];
    await t.rejects(storage.write({ kind: 'post', name, target: OPEN, notes, limits: NO_LIMITS }), { code });
    t.ok(await eventually(() => waits.length === 1));
    t.equal(waits[0]! >= 60_000, code === 'store_unavailable');
  }
});

t.test('a key that no note ever had is forgotten, whether it has an object or not', async (t) => {
  const freed: string[] = [];
  const [forgotten, elsewhere]: [string[], string[]] = [[], []];
  const rows = {
    free: async (keys: readonly string[]) => void freed.push(...keys),
    claim: async () => freed.splice(0),
    forget: async (keys: readonly string[]) => void forgotten.push(...keys),
    markElsewhere: async (keys: readonly string[]) => void elsewhere.push(...keys),
  } as unknown as PictureRows;
  const [failed, old] = [newImageKey(), newImageKey()];
  const remover = new ObjectRemover(rows, { delete: async () => false } as unknown as ImageStore, 0);
  t.teardown(() => remover.stop());
  await remover.discard([failed], true);
  freed.push(old);
  t.ok(await eventually(() => forgotten.length + elsewhere.length === 2));
  t.same([forgotten, elsewhere], [[failed], [old]]);
});
