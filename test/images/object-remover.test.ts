import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { newImageKey } from '../../src/feeds/ids.ts';
import type { ImageStore } from '../../src/images/image-store.ts';
import { ObjectRemover, removeObjects } from '../../src/images/object-remover.ts';
import type { PictureRows } from '../../src/storage/picture-rows.ts';
import { eventually } from '../support/eventually.ts';

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
