import { type ImageKey, newImageKey } from '../feeds/ids.ts';
import type { NewNote } from '../feeds/note.ts';
import { Refusal } from '../refusals.ts';
import type { PictureRows } from '../storage/picture-rows.ts';
import { storeUnavailable } from '../storage/refused-writes.ts';
import type { Storage, StoredFile } from '../storage/storage.ts';
import { bytesInMemory, type ImageStore, imagesUnavailable } from './image-store.ts';
import { Sweeper } from './sweeper.ts';

/** How often a picture may be replaced or moved while somebody opens it. */
const MAX_ATTEMPTS = 5;
const NO_BYTES = new Uint8Array();

/** What the database does by itself. */
const DATABASE_ONLY = [
  'feed',
  'feedToPost',
  'feedByReadId',
  'page',
  'note',
  'neighbours',
  'setMeta',
  'configure',
  'setPassword',
  'setLicense',
  'create',
  'useToken',
  'onChange',
  'onFreshness',
  'check',
] as const satisfies readonly (keyof Storage)[];

type DatabaseOnly = Pick<Storage, (typeof DATABASE_ONLY)[number]>;
type IncomingNote = Pick<NewNote, 'type' | 'bytes' | 'sha256' | 'image'>;

/**
 * A database with its pictures in an image store. An object is written before the row that refers to it, and removed
 * after that row (`Sweeper`). Pictures from before there was a store are read from their rows.
 */
export function withImageStore(database: Storage, rows: PictureRows, store: ImageStore): Storage {
  const sweeper = new Sweeper(rows, store);
  const sweepIf = (isFreed: boolean) => {
    if (isFreed) sweeper.wake();
    return isFreed;
  };
  return {
    ...databaseOnly(database),
    async open(feed, file) {
      const found = await database.open(feed, file);
      if (found?.key === undefined) return found;
      return inStore(store, found, () => database.open(feed, file));
    },
    post: (name, notes, target, limits) =>
      storeImages({ store, sweeper }, notes, (stored) => database.post(name, stored, target, limits)),
    async replace(feed, id, replacement, limits) {
      const { added = [] } = replacement;
      const incoming: readonly IncomingNote[] = [replacement, ...added];
      const replaced = await storeImages({ store, sweeper }, incoming, ([first, ...rest]) =>
        database.replace(feed, id, { ...replacement, ...first, added: rest as NewNote[] }, limits),
      );
      sweepIf(replaced !== undefined && replaced.type !== 'md');
      return replaced;
    },
    remove: async (feed, id, type) => sweepIf(await database.remove(feed, id, type)),
    // Its keys are freed step by step, as its notes are cleared away.
    deleteFeed: async (feed) => sweepIf(await database.deleteFeed(feed)),
    async close() {
      await sweeper.stop();
      await database.close();
      store.close();
    },
  };
}

function databaseOnly(database: Storage): DatabaseOnly {
  const bound = DATABASE_ONLY.map((name) => [name, database[name]?.bind(database)]);
  return Object.fromEntries(bound) as DatabaseOnly;
}

/**
 * Puts pictures into the store, then stores the notes that refer to them. If those are not stored, the objects are removed.
 * Nothing reads the bytes after it settles.
 */
async function storeImages<N extends IncomingNote, T>(
  { store, sweeper }: { readonly store: ImageStore; readonly sweeper: Sweeper },
  notes: readonly N[],
  storeNotes: (notes: readonly N[]) => Promise<T | undefined>,
): Promise<T | undefined> {
  if (store.isDown && notes.some(({ type }) => type !== 'md'))
    throw imagesUnavailable(new Error('the image store is down'));
  const keys: ImageKey[] = [];
  const put = async (note: N): Promise<N> => {
    const { type, bytes, sha256 } = note;
    if (type === 'md') return note;
    const key = newImageKey();
    keys.push(key);
    await store.put(key, bytesInMemory(bytes, sha256));
    return { ...note, bytes: NO_BYTES, image: { key, size: bytes.byteLength } };
  };
  try {
    // All have to settle, because until then they read the bytes.
    const puts = await Promise.allSettled(notes.map(put));
    const stored = puts.map((put) => {
      if (put.status === 'rejected') throw put.reason;
      return put.value;
    });
    const result = await storeNotes(stored);
    if (result === undefined) await sweeper.discard(keys, true);
    return result;
  } catch (error) {
    // If the database could not be reached, it may have stored the notes all the same.
    const isSure = error instanceof Refusal && error.code !== 'store_unavailable';
    await sweeper.discard(keys, isSure);
    throw error;
  }
}

/**
 * A file whose bytes are in the store. If the object is gone, the picture may have been moved into its row, or to another
 * key, since it was looked up.
 */
function inStore(
  store: ImageStore,
  found: StoredFile,
  reopen: () => Promise<StoredFile | undefined>,
): StoredFile {
  const { size, modifiedAt, sha256, key } = found;
  async function* read(start: number, end: number): AsyncIterable<Uint8Array> {
    let current = found;
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      let isBegun = false;
      const pieces = current.key ? store.get(current.key, start, end) : current.read(start, end);
      try {
        for await (const piece of pieces) {
          isBegun = true;
          yield piece;
        }
        return;
      } catch (error) {
        if (isBegun || !(error instanceof Refusal && error.code === 'not_found')) throw error;
        const again = await reopen();
        if (again === undefined || again.key === current.key) throw error;
        if (again.size !== size || again.modifiedAt !== modifiedAt) throw replacedMeanwhile();
        current = again;
      }
    }
    throw replacedMeanwhile();
  }
  return { size, modifiedAt, sha256, key, read, close: () => found.close() };
}

function replacedMeanwhile(): Refusal {
  return storeUnavailable(new Error('the picture was replaced while it was read'));
}
