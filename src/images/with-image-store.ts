import { type ImageKey, newImageKey } from '../feeds/ids.ts';
import type { NoteContent } from '../feeds/note.ts';
import { Refusal } from '../refusals.ts';
import type { PictureRows } from '../storage/picture-rows.ts';
import type { Storage, StoredFile, Written } from '../storage/storage.ts';
import { FileReplaced } from '../storage/stored-file.ts';
import { type Command, contentsOf, lookupsOf, withContents } from '../writing/command.ts';
import { bytesInMemory, type ImageStore, imagesUnavailable } from './image-store.ts';
import { ObjectRemover } from './object-remover.ts';

/** How often a picture may be replaced or moved while somebody opens it. */
const MAX_ATTEMPTS = 5;
const NO_BYTES = new Uint8Array();

/**
 * A database with its pictures in an image store. An object is written before the row that refers to it, and removed
 * after that row (`ObjectRemover`). Pictures from before there was a store are read from their rows.
 */
export function withImageStore(
  database: Storage,
  {
    rows,
    store,
    keptMs,
  }: { readonly rows: PictureRows; readonly store: ImageStore; readonly keptMs: number },
): Storage {
  const remover = new ObjectRemover(rows, store, keptMs);
  return {
    ...bound(database, 'feed', 'feedToPost', 'feedByReadId', 'anyFeedByReadId', 'page', 'pageByReadId'),
    ...bound(database, 'note', 'neighbours', 'arrivals', 'totals', 'listFeeds'),
    records: database.records,
    ...bound(database, 'search', 'tags', 'useToken', 'due', 'onChange', 'onFreshness', 'check'),
    async stat(feed, file) {
      const found = await database.stat(feed, file);
      return found && withStore(store, found, () => database.stat(feed, file));
    },
    async write(command) {
      const written = await storeImages({ store, remover }, command, (stored) => database.write(stored));
      if (written && mayFree(command)) remover.wake();
      return written;
    },
    async close() {
      await remover.stop();
      await database.close();
      store.close();
    },
  };
}

/** Whether a command may remove or replace pictures, and so free keys. Those of a deleted feed are freed step by step. */
function mayFree(command: Command): boolean {
  const { kind } = command;
  if (kind === 'post') return lookupsOf(command).note !== undefined;
  return kind === 'replace' || kind === 'remove' || kind === 'delete' || kind === 'sweep';
}

/** Methods of the storage that the database serves without the image store. */
function bound<K extends Exclude<keyof Storage, 'records'>>(
  database: Storage,
  ...names: K[]
): Pick<Storage, K> {
  return Object.fromEntries(names.map((name) => [name, database[name]?.bind(database)])) as Pick<Storage, K>;
}

/**
 * Puts the pictures of a command into the store, then stores the notes that refer to them. If those are not stored, the
 * objects are removed. Nothing reads the bytes after it settles.
 */
async function storeImages(
  { store, remover }: { readonly store: ImageStore; readonly remover: ObjectRemover },
  command: Command,
  write: (command: Command) => Promise<Written | undefined>,
): Promise<Written | undefined> {
  const keys = new Map<NoteContent, ImageKey>();
  for (const content of contentsOf(command)) if (content.type !== 'md') keys.set(content, newImageKey());
  if (keys.size === 0) return write(command);
  if (store.isDown) throw imagesUnavailable(new Error('the image store is down'));
  const used = [...keys.values()];
  try {
    // All have to settle, because until then they read the bytes.
    const puts = await Promise.allSettled(
      [...keys].map(([{ bytes, sha256 }, key]) => store.put(key, bytesInMemory(bytes, sha256))),
    );
    for (const put of puts) if (put.status === 'rejected') throw put.reason;
    const written = await write(
      withContents(command, (content) => {
        const key = keys.get(content);
        const image = key && { key, size: content.bytes.byteLength };
        return image ? { ...content, bytes: NO_BYTES, image } : content;
      }),
    );
    if (written === undefined || written.isUnchanged) await remover.discard(used, true);
    else if (written.outcomes !== undefined) {
      const notStored = contentsOf(command).filter((_, n) => written.outcomes?.[n] !== 'stored');
      const unused = notStored.map((content) => keys.get(content)).filter((key) => key !== undefined);
      if (unused.length > 0) await remover.discard(unused, true);
    }
    return written;
  } catch (error) {
    // If the database could not be reached, it may have stored the notes all the same.
    const isSure = error instanceof Refusal && error.code !== 'store_unavailable';
    await remover.discard(used, isSure);
    throw error;
  }
}

/**
 * A file whose bytes are in its row or in the store. If they are gone, the picture may have been moved into its row, out of it, or to
 * another key, since it was looked up.
 */
function withStore(
  store: ImageStore,
  found: StoredFile,
  statAgain: () => Promise<StoredFile | undefined>,
): StoredFile {
  const { size, modifiedAt, sha256 } = found;
  async function* read(start: number, end: number): AsyncIterable<Uint8Array> {
    let current = found;
    let at = start;
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      const pieces = current.key ? store.get(current.key, at, end) : current.read(at, end);
      try {
        for await (const piece of pieces) {
          at += piece.byteLength;
          yield piece;
        }
        return;
      } catch (error) {
        const isGone = error instanceof Refusal && error.code === 'not_found';
        if (!isGone && !(error instanceof FileReplaced)) throw error;
        const again = await statAgain();
        if (again === undefined || again.key === current.key) throw error;
        const isSame = again.size === size && again.modifiedAt === modifiedAt && again.sha256 === sha256;
        if (!isSame) throw new FileReplaced();
        current = again;
      }
    }
    throw new FileReplaced();
  }
  return { ...found, read };
}
