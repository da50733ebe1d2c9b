import * as fs from 'node:fs';
import { join } from 'node:path';
import { Gate } from '../../gate.ts';
import type { Owner } from '../../privileges.ts';
import { FolderSync } from './folder-sync.ts';
import { serializeIntent } from './intents.ts';
import { intentName, tempName } from './names.ts';
import type { Stamp } from './stamp.ts';
import { APPEND, CREATE, fdatasync } from './syscalls.ts';
import { ignoreErrors, UndoableChanges } from './undo.ts';

/** A file to be written: its name in the folder and all its bytes. */
export interface Part {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** Only its owner may read it. */
  readonly private?: boolean;
  /** When it is said to have been changed last, whole ms since the epoch; now unless given. */
  readonly modifiedAt?: number;
}

/** A file to be written, in place of the one of that name if there is one, or, without bytes, to be removed. */
export interface Change {
  readonly name: string;
  readonly bytes: Uint8Array | undefined;
  /** Only its owner may read it. */
  readonly private?: boolean;
}

/** A folder that was made. */
export interface PlacedFolder {
  /** States of the files in it, in the order given. */
  readonly stamps: readonly Stamp[];
  /** See `folderIdentity`. */
  readonly identity: string;
}

/** Writes files so that they are whole and durable, or not there at all. */
export interface FileWriter {
  /**
   * Puts files into a folder that others see: each is written and synced under a temp name, then they are
   * renamed in the given order, then the folder is synced. After a failure none of them is there.
   */
  place(folder: string, parts: readonly Part[]): Promise<Stamp[]>;
  /**
   * Makes a folder with files in it: under a temp name first, then renamed to `name`. Fails with `ENOTEMPTY`
   * or `EEXIST` when there is one that is not empty. After a failure nothing of it is there.
   */
  placeFolder(parent: string, name: string, parts: readonly Part[]): Promise<PlacedFolder>;
  /**
   * Changes files of a folder: all new bytes are written and synced under temp names first, then the changes take
   * place in the given order, then the folder is synced. After a crash a prefix of the changes is on the disk, and each file is complete.
   * After a failure every file is as it was (`UndoableChanges`). Returns the new states.
   *
   * Files `added`, which must be new, come before the changes, and are there after a crash if the last of the changes
   * is made, which must have bytes, and else not (`Intent`). Their states come first.
   */
  change(folder: string, changes: readonly Change[], added?: readonly Part[]): Promise<(Stamp | undefined)[]>;
  /** Gives a folder a temp name, which is returned, and syncs its parent. After a failure it has its name again. */
  moveAway(parent: string, name: string): Promise<string>;
  /** Adds bytes to the end of a file, which is made if need be. After a failure a part of them may be there. */
  append(folder: string, name: string, bytes: Uint8Array): Promise<void>;
}

/** Syncs under way at once: so many share the disk's flushes, and threads of the pool are left for reads. */
const PARALLEL_SYNCS = 16;
/** Files open for writing at once, those that wait for their sync included: a bound on descriptors. */
const OPEN_FILES = 256;

/**
 * Writes in the thread that calls it, and blocks it: only syncs, which take long, go to the thread pool. So a
 * thread of its own does nothing but this; many threads of a pool would wait for each other at the locks of one
 * folder and need half as much CPU again (200 to 250 us a note for 130 to 170, in a bare loop over the same calls).
 */
export class DurableWriter implements FileWriter {
  readonly #owner: Owner | undefined;
  readonly #folders: Pick<FolderSync, 'sync'>;
  readonly #open = new Gate(OPEN_FILES);
  readonly #syncs = new Gate(PARALLEL_SYNCS);

  constructor(owner: Owner | undefined, folders: Pick<FolderSync, 'sync'> = new FolderSync()) {
    this.#owner = owner;
    this.#folders = folders;
  }

  async place(folder: string, parts: readonly Part[]): Promise<Stamp[]> {
    const temps = parts.map((part) => ({ ...part, name: tempName() }));
    const made = temps.map((temp) => temp.name);
    try {
      const stamps = await this.#writeAll(folder, temps);
      for (const [i, part] of parts.entries()) {
        fs.renameSync(join(folder, temps[i]!.name), join(folder, part.name));
        made[i] = part.name;
      }
      await this.#folders.sync(folder);
      return stamps;
    } catch (error) {
      removeFiles(folder, made.reverse());
      throw error;
    }
  }

  async placeFolder(parent: string, name: string, parts: readonly Part[]): Promise<PlacedFolder> {
    let folder = join(parent, tempName());
    try {
      fs.mkdirSync(folder, 0o777);
      if (this.#owner) fs.chownSync(folder, this.#owner.uid, this.#owner.gid);
      const stamps = await this.#writeAll(folder, parts);
      await this.#folders.sync(folder);
      const identity = folderIdentity(fs.lstatSync(folder));
      fs.renameSync(folder, join(parent, name));
      folder = join(parent, name);
      await this.#folders.sync(parent);
      return { stamps, identity };
    } catch (error) {
      removeFiles(folder, parts.map((part) => part.name).reverse());
      ignoreErrors(() => fs.rmdirSync(folder));
      throw error;
    }
  }

  async change(
    folder: string,
    changes: readonly Change[],
    added: readonly Part[] = [],
  ): Promise<(Stamp | undefined)[]> {
    const all = [...added, ...changes].map(planned);
    const intent = added.length > 0 ? plannedIntent(added, all.at(-1)!) : undefined;
    const temps = [...all, ...(intent ? [intent] : [])].flatMap(tempPart);
    const undoable = new UndoableChanges(folder);
    try {
      const stamps = await this.#writeAll(folder, temps);
      if (intent) {
        // The sync also makes the temp file durable that the intent names: without it the intent says the opposite.
        fs.renameSync(join(folder, intent.temp), join(folder, intent.name));
        await this.#folders.sync(folder);
        await this.#make(folder, all.slice(0, -1), undoable);
      }
      await this.#make(folder, intent ? all.slice(-1) : all, undoable);
      if (intent) removeFiles(folder, [intent.name]);
      undoable.stand();
      return all.map(({ bytes }) => (bytes ? stamps.shift() : undefined));
    } catch (error) {
      undoable.takeBack();
      if (intent) {
        // The intent must not go before what was added: after a power cut that would seem to be meant.
        await this.#folders.sync(folder).catch(() => {});
        removeFiles(folder, [intent.name]);
      }
      removeFiles(
        folder,
        temps.map((temp) => temp.name),
      );
      throw error;
    }
  }

  async moveAway(parent: string, name: string): Promise<string> {
    const temp = tempName();
    fs.renameSync(join(parent, name), join(parent, temp));
    try {
      await this.#folders.sync(parent);
      return temp;
    } catch (error) {
      ignoreErrors(() => fs.renameSync(join(parent, temp), join(parent, name)));
      throw error;
    }
  }

  async append(folder: string, name: string, bytes: Uint8Array): Promise<void> {
    await this.#writeTo(join(folder, name), APPEND, 0o666, { bytes });
    await this.#folders.sync(folder);
  }

  /** Makes changes whose bytes are written; they are durable when the promise settles. */
  async #make(folder: string, changes: readonly Planned[], undoable: UndoableChanges): Promise<void> {
    for (const { name, temp, bytes } of changes) {
      if (bytes) undoable.put(temp, name);
      else undoable.remove(name);
    }
    await this.#folders.sync(folder);
  }

  async #writeAll(folder: string, parts: readonly Part[]): Promise<Stamp[]> {
    const writes = parts.map((part) =>
      this.#open.run(() =>
        this.#writeTo(join(folder, part.name), CREATE, part.private ? 0o600 : 0o666, part),
      ),
    );
    await Promise.allSettled(writes);
    return Promise.all(writes);
  }

  async #writeTo(
    path: string,
    flags: number,
    mode: number,
    { bytes, modifiedAt }: Pick<Part, 'bytes' | 'modifiedAt'>,
  ): Promise<Stamp> {
    const fd = fs.openSync(path, flags, mode);
    try {
      if (this.#owner) fs.fchownSync(fd, this.#owner.uid, this.#owner.gid);
      for (let done = 0; done < bytes.length; ) done += fs.writeSync(fd, bytes, done);
      if (modifiedAt !== undefined) fs.futimesSync(fd, Date.now() / 1000, fileTime(modifiedAt));
      await this.#syncs.run(() => fdatasync(fd));
      const { mtimeMs, size } = fs.fstatSync(fd);
      return { mtimeMs, size };
    } finally {
      fs.closeSync(fd);
    }
  }
}

/** A change with the temp name under which its bytes wait for it. */
interface Planned extends Change {
  readonly temp: string;
}

function planned(change: Change): Planned {
  return { ...change, temp: tempName() };
}

function plannedIntent(added: readonly Part[], last: Planned): Planned {
  const json = serializeIntent({ added: added.map(({ name }) => name), last: last.temp });
  return planned({ name: intentName(), bytes: Buffer.from(json) });
}

/** The temp file of a change, if it has bytes. */
function tempPart({ temp, bytes, ...change }: Planned): Part[] {
  return bytes ? [{ ...change, name: temp, bytes }] : [];
}

/**
 * Converts whole ms for `fs.utimes`: seconds plus a microsecond, because Node truncates. It rejects negative numbers, so a
 * time before 1970 is a `Date`.
 */
export function fileTime(ms: number): number | Date {
  return ms < 0 ? new Date(ms) : (ms + 0.001) / 1000;
}

/** What tells a folder from another one that has its name later. */
export function folderIdentity({ dev, ino }: fs.Stats): string {
  return `${dev}:${ino}`;
}

/** A file whose sync failed must never be taken for a good one, so it goes; the first failure is what counts. */
function removeFiles(folder: string, names: readonly string[]): void {
  for (const name of names) ignoreErrors(() => fs.unlinkSync(join(folder, name)));
}
