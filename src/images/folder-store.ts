import { randomBytes } from 'node:crypto';
import { constants, createReadStream, mkdirSync, type Stats } from 'node:fs';
import { type FileHandle, mkdir, open, opendir, readdir, rename, rm, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type ImageKey, isImageKey } from '../feeds/image-keys.ts';
import type { Owner } from '../privileges.ts';
import { FolderSync } from '../storage/files/folder-sync.ts';
import { storageFull } from '../storage/refused-writes.ts';
import { errorCode } from '../system-errors.ts';
import {
  type ImageBytes,
  type ImageFacts,
  type ImageStore,
  imageGone,
  imagesUnavailable,
  type ListedImage,
} from './image-store.ts';

/** Files are written in this folder, and renamed when they are complete. */
const PARTS = '.parts';
/** Age at which a part counts as left by a crash, ms. */
const PART_MAX_AGE_MS = 3_600_000;
const PAGE = 1_000;
const PIECE_BYTES = 256 * 1024;
const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK } = constants;

/** Pictures as files in one folder, each named by its key. Those in folders of two characters (`ab/abcd…`) count too. */
export class FolderStore implements ImageStore {
  readonly kind = 'fs';
  readonly isDown = false;
  readonly listsInOrder = false;
  readonly #dir: string;
  readonly #owner: Owner | undefined;
  readonly #pageSize: number;
  readonly #syncs = new FolderSync();

  /** @param owner of the files it makes; the process's own user if undefined */
  constructor(dir: string, owner?: Owner, pageSize = PAGE) {
    this.#dir = dir;
    this.#pageSize = pageSize;
    this.#owner = owner;
  }

  /** Makes the folder if it is missing. Throws the system's error if it cannot be made or written to. */
  static async make(dir: string, owner?: Owner, pageSize?: number): Promise<FolderStore> {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    const store = new FolderStore(dir, owner, pageSize);
    if (owner) await store.#chown(await open(dir, O_RDONLY));
    await store.#removeOldParts();
    return store;
  }

  put(key: ImageKey, bytes: ImageBytes): Promise<void> {
    return this.#mapErrors(async () => {
      const part = await this.#write(bytes);
      try {
        await rename(part, join(this.#dir, key));
      } catch (error) {
        await rm(part, { force: true });
        throw error;
      }
      await this.#syncs.sync(this.#dir);
    });
  }

  async *get(key: ImageKey, start: number, end: number): AsyncIterable<Uint8Array> {
    const file = await this.#mapErrors(() => this.#open(key));
    if (file === undefined) throw imageGone();
    try {
      if (start === end) return;
      let missing = end - start;
      const range = { start, end: end - 1, highWaterMark: PIECE_BYTES };
      for await (const piece of createReadStream('', { fd: file, autoClose: false, ...range })) {
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
    return this.#mapErrors(async () => {
      for (const path of this.#places(key)) {
        const found = await undefinedIfAbsent(() => stat(path));
        if (found?.isFile()) return { size: found.size, modifiedAt: found.mtimeMs };
      }
      await this.#mustBeThere();
      return undefined;
    });
  }

  delete(key: ImageKey): Promise<boolean> {
    return this.#mapErrors(async () => {
      for (const path of this.#places(key)) {
        const isRemoved = await undefinedIfAbsent(async () => {
          await unlink(path);
          return true;
        });
        if (isRemoved) return true;
      }
      await this.#mustBeThere();
      return false;
    });
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
    return this.#mapErrors(async () => {
      const path = await this.#newPart();
      const file = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
      try {
        await file.write('now');
        return (await file.stat()).mtimeMs;
      } finally {
        await file.close();
        await rm(path, { force: true });
      }
    });
  }

  close(): void {}

  /** Where a key can be; files are written to the first. */
  #places(key: ImageKey): [string, string] {
    return [join(this.#dir, key), join(this.#dir, key.slice(0, 2), key)];
  }

  async #open(key: ImageKey): Promise<FileHandle | undefined> {
    for (const path of this.#places(key)) {
      const file = await undefinedIfAbsent(() => open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
      if (file) return file;
    }
    await this.#mustBeThere();
    return undefined;
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

  /** Writes the bytes durably into a part. */
  async #write(bytes: ImageBytes): Promise<string> {
    const path = await this.#newPart();
    const file = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    try {
      for await (const piece of bytes.read(0, bytes.size)) await writeAll(file, piece);
      if (this.#owner) await file.chown(this.#owner.uid, this.#owner.gid);
      await file.sync();
      return path;
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    } finally {
      await file.close();
    }
  }

  async #newPart(): Promise<string> {
    const parts = join(this.#dir, PARTS);
    const made = await undefinedIfAbsent(() => mkdir(parts, { mode: 0o700 }).catch(ignoreExists));
    if (made === undefined && this.#owner) await this.#chown(await open(parts, O_RDONLY));
    return join(parts, randomBytes(16).toString('hex'));
  }

  async #chown(folder: FileHandle): Promise<void> {
    try {
      if (this.#owner) await folder.chown(this.#owner.uid, this.#owner.gid);
    } finally {
      await folder.close();
    }
  }

  /** Only old parts: another process may be writing a fresh one. */
  async #removeOldParts(): Promise<void> {
    const now = await this.now();
    const parts = join(this.#dir, PARTS);
    for (const name of await readdir(parts)) {
      const path = join(parts, name);
      const found: Stats | undefined = await undefinedIfAbsent(() => stat(path));
      if (found && now - found.mtimeMs > PART_MAX_AGE_MS) await rm(path, { force: true });
    }
  }

  /** Throws if the folder is missing, for example not mounted: then a missing file proves nothing. */
  async #mustBeThere(): Promise<void> {
    await stat(this.#dir);
  }

  async #mapErrors<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw failure(error);
    }
  }
}

async function writeAll(file: FileHandle, piece: Uint8Array): Promise<void> {
  for (let at = 0; at < piece.byteLength; ) at += (await file.write(piece, at)).bytesWritten;
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
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code === undefined || !/^E[A-Z\d]+$/.test(code)) return error;
  const cause = Object.assign(new Error(`${code} from ${syscall}`), { code });
  return ['ENOSPC', 'EDQUOT', 'EFBIG'].includes(code) ? storageFull(cause) : imagesUnavailable(cause);
}
