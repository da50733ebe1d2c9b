import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import {
  chown,
  type FileHandle,
  mkdir,
  open,
  opendir,
  readdir,
  rename,
  rm,
  stat,
  unlink,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type ImageKey, isImageKey } from '../feeds/ids.ts';
import { makeDataFolder, type Owner } from '../privileges.ts';
import { isDiskFull, storageFull, withoutPath } from '../storage/failures.ts';
import { FolderSync } from '../storage/files/durable.ts';
import { errorCode } from '../system-errors.ts';
import {
  type ImageBytes,
  type ImageFacts,
  type ImageStore,
  imageGone,
  imagesUnavailable,
  type ListedImage,
} from './image-store.ts';

/**
 * Files are written in this folder, and renamed when they are complete. It also shows that the disk of the pictures is mounted, because the
 * empty folder under an unmounted disk lacks it.
 */
const PARTS = '.parts';
/** Age at which a part counts as left by a crash, ms. */
const PART_MAX_AGE_MS = 3_600_000;
const PAGE = 1_000;
const PIECE_BYTES = 256 * 1024;
const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;

/** Pictures as files in one folder, each named by its key. Those in folders of two characters (`ab/abcd…`) count too. */
export class FolderStore implements ImageStore {
  readonly kind = 'fs';
  readonly isDown = false;
  readonly listsInOrder = false;
  readonly #dir: string;
  readonly #owner: Owner | undefined;
  readonly #pageSize: number;
  readonly #syncs = new FolderSync();
  /** The path that shows that the folder of the pictures is there. */
  #proof: string;

  /** @param owner of the files it makes; the process's own user if undefined */
  constructor(dir: string, owner?: Owner, pageSize = PAGE) {
    this.#dir = dir;
    this.#pageSize = pageSize;
    this.#owner = owner;
    this.#proof = dir;
  }

  /**
   * Opens a store for pictures to be added, and makes its folder if that is missing. Without `make`, the constructor opens a store that
   * is only read and emptied. Throws the system's error if the folder cannot be made or written to.
   */
  static async make(dir: string, owner?: Owner, pageSize?: number): Promise<FolderStore> {
    makeDataFolder(dir);
    const store = new FolderStore(dir, owner, pageSize);
    store.#proof = join(dir, PARTS);
    await mkdir(store.#proof, { mode: 0o700 }).catch(ignoreExists);
    if (owner) for (const folder of [dir, store.#proof]) await chown(folder, owner.uid, owner.gid);
    await store.#removeOldParts();
    return store;
  }

  put(key: ImageKey, bytes: ImageBytes): Promise<void> {
    return this.#withPart(async (part, path) => {
      await part.writeFile(bytes.pieces());
      if (this.#owner) await part.chown(this.#owner.uid, this.#owner.gid);
      await part.sync();
      await rename(path, join(this.#dir, key));
      await this.#syncs.sync(this.#dir);
    });
  }

  async *get(key: ImageKey, start: number, end: number): AsyncIterable<Uint8Array> {
    const file = await this.#find(key, (path) => open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
    if (file === undefined) throw imageGone();
    try {
      if (start === end) return;
      let missing = end - start;
      const range = { start, end: end - 1, highWaterMark: PIECE_BYTES, autoClose: false };
      for await (const piece of file.createReadStream(range)) {
        missing -= piece.length;
        yield piece;
      }
      if (missing > 0) throw imagesUnavailable(new Error('a file is shorter than it should be'));
    } catch (error) {
      throw failure(error);
    } finally {
      await file.close();
    }
  }

  head(key: ImageKey): Promise<ImageFacts | undefined> {
    return this.#find(key, async (path) => {
      const found = await stat(path);
      return found.isFile() ? { size: found.size, modifiedAt: found.mtimeMs } : undefined;
    });
  }

  async delete(key: ImageKey): Promise<boolean> {
    const isRemoved = await this.#find(key, async (path) => {
      await unlink(path);
      return true;
    });
    // Also if it is absent: a removal that failed, or whose process was killed, may not be durable yet.
    await mapErrors(async () => {
      for (const path of this.#paths(key)) await undefinedIfAbsent(() => this.#syncs.sync(dirname(path)));
    });
    return isRemoved === true;
  }

  async *list(): AsyncIterable<readonly ListedImage[]> {
    let page: ListedImage[] = [];
    for await (const key of this.#keys()) {
      page.push({ key, facts: undefined });
      if (page.length < this.#pageSize) continue;
      yield page;
      page = [];
    }
    if (page.length > 0) yield page;
  }

  /** Dates a new file, because the clock of the file system may be another machine's. */
  now(): Promise<number> {
    return this.#withPart(async (part, path) => {
      await part.write('now');
      const { mtimeMs } = await part.stat();
      await unlink(path);
      return mtimeMs;
    });
  }

  close(): void {}

  #paths(key: ImageKey): readonly string[] {
    return [join(this.#dir, key), join(this.#dir, key.slice(0, 2), key)];
  }

  /** Runs the work at the two paths that a key can have, and returns its first result; undefined if there is none. */
  #find<T>(key: ImageKey, work: (path: string) => Promise<T | undefined>): Promise<T | undefined> {
    return mapErrors(async () => {
      for (let isRepeated = false; ; isRepeated = true) {
        for (const path of this.#paths(key)) {
          const found = await undefinedIfAbsent(() => work(path));
          if (found !== undefined) return found;
        }
        if (isRepeated) return undefined;
        // If the folder is not there, for example not mounted, a missing file proves nothing.
        await stat(this.#proof);
      }
    });
  }

  async *#keys(): AsyncIterable<ImageKey> {
    try {
      for await (const entry of await opendir(this.#dir, { bufferSize: PAGE })) {
        if (entry.isFile() && isImageKey(entry.name)) yield entry.name;
        if (!entry.isDirectory() || !/^[0-9a-f]{2}$/.test(entry.name)) continue;
        for await (const { name } of await opendir(join(this.#dir, entry.name), { bufferSize: PAGE }))
          if (isImageKey(name) && name.startsWith(entry.name)) yield name;
      }
    } catch (error) {
      throw failure(error);
    }
  }

  /** Makes a part; the work renames or removes it, unless it fails. */
  #withPart<T>(work: (part: FileHandle, path: string) => Promise<T>): Promise<T> {
    return mapErrors(async () => {
      const path = join(this.#dir, PARTS, randomBytes(16).toString('hex'));
      const part = await open(path, 'wx', 0o600);
      try {
        return await work(part, path);
      } catch (error) {
        await rm(path, { force: true });
        throw error;
      } finally {
        await part.close();
      }
    });
  }

  /** Only old parts: another process may be writing a fresh one. */
  async #removeOldParts(): Promise<void> {
    const now = await this.now();
    const parts = join(this.#dir, PARTS);
    for (const name of await readdir(parts)) {
      const path = join(parts, name);
      const found = await undefinedIfAbsent(() => stat(path));
      if (found && now - found.mtimeMs > PART_MAX_AGE_MS) await rm(path, { force: true });
    }
  }
}

async function mapErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw failure(error);
  }
}

async function undefinedIfAbsent<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(errorCode(error) ?? '')) return undefined;
    throw error;
  }
}

function ignoreExists(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}

/** The refusal for a system error, without the path that is in its message. */
function failure(error: unknown): unknown {
  const code = errorCode(error);
  if (code === undefined || !/^E[A-Z\d]+$/.test(code)) return error;
  const cause = withoutPath(error);
  return isDiskFull(code) ? storageFull(cause) : imagesUnavailable(cause);
}
