import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { ReadId } from '../../feeds/names.ts';
import type { Owner } from '../../privileges.ts';
import { errorCode } from '../../system-errors.ts';
import { KeyedLock } from '../keyed-lock.ts';
import { isGone, isPassing } from './failures.ts';
import { intentName, isIntended, LICENSE_FILE, PASSWORD_FILE, tempName } from './names.ts';
import { findAgainSync } from './read-file.ts';
import { folderIdentity, type Stamp } from './stamp.ts';
import * as sys from './syscalls.ts';

/** A file to be written, in place of the one of that name if there is one, or, without bytes, to be removed. */
export interface Change {
  readonly name: string;
  readonly bytes: Uint8Array | undefined;
  /** Only its owner may read it. */
  readonly private?: boolean;
  /** Modification time to set, whole ms since the epoch; now unless given. */
  readonly modifiedAt?: number | undefined;
}

/** A file to be written. */
export interface Part extends Change {
  readonly bytes: Uint8Array;
}

/** A dot file with a text, or, without one, none. */
export function textFile(name: string, text: string | undefined): Change {
  const isPrivate = name === PASSWORD_FILE || name === LICENSE_FILE;
  return { name, bytes: text === undefined ? undefined : Buffer.from(text), private: isPrivate };
}

/** A dot file of one line, or, without one, none. */
export function lineFile(name: string, line: string | undefined): Change {
  return textFile(name, line === undefined ? undefined : `${line}\n`);
}

/** The plan of a change of several files, which are written before. Once it is durable, the change is made. */
export interface Intent {
  /** Names that the files get. */
  readonly moves: readonly (readonly [temp: string, name: string])[];
  /** Names of files that go. */
  readonly removed: readonly string[];
}

/** Writes files so that each is complete and durable, or absent. */
export type FileWriter = Pick<DurableWriter, 'change' | 'placeFolder' | 'moveAway' | 'append' | 'finishUndo'>;

/** Files open for writing at once: a bound on descriptors. */
const OPEN_FILES = 256;
/** Syncs at once: enough to share the disk's flushes, and threads of the pool are left for reads. */
const PARALLEL_SYNCS = 16;
/** Files changed before other writes get their turn. */
const AT_ONCE = 16;

/** Error codes if a file cannot have a hard link, on this file system or at all. */
const NO_LINKS = new Set(['EPERM', 'EACCES', 'EOPNOTSUPP', 'ENOTSUP', 'ENOSYS', 'EMLINK', 'EXDEV']);

/** Pause before steps that failed are tried again, ms. */
const AGAIN_MS = 1_000;

/** The steps that undo a write, in the order of the write. */
type Undo = (() => unknown)[];

/** A change with the temp name under which its bytes wait for it. */
type Planned = Change & { readonly temp: string; readonly isNew: boolean };

/**
 * Writes in the thread that calls it, and blocks it: only syncs, which take long, go to the thread pool. Many threads of a
 * pool would wait for each other at the locks of one folder, and need half as much CPU again.
 */
export class DurableWriter {
  readonly #dir: string;
  readonly #owner: Owner | undefined;
  readonly #folders: Pick<FolderSync, 'sync'>;
  readonly #open = pLimit(OPEN_FILES);
  readonly #syncs = pLimit(PARALLEL_SYNCS);
  /** By folder: undo steps that are still to be done, because one failed. Until then nothing else is written there or below. */
  readonly #undoLeft = new Map<string, Undo>();
  readonly #undoing = new KeyedLock<string>();

  /** @param dir the data folder, in which or in whose folders it writes */
  constructor(dir: string, owner: Owner | undefined, folders: Pick<FolderSync, 'sync'> = new FolderSync()) {
    this.#dir = dir;
    this.#owner = owner;
    this.#folders = folders;
  }

  /**
   * Changes files of a folder: all new bytes are written and synced under temp names first, then the changes take
   * place in the given order, then the folder is synced. After a crash a prefix of the changes is on the disk, and each
   * file is complete. After a failure every file is as it was, at once or as soon as the disk lets it; but without hard links a
   * replaced file is lost.
   * Returns the new states.
   *
   * Files `added`, which must be new, come before the changes. Their states come first.
   * @param isWhole after a crash all of it is on the disk or nothing (`Intent`), but for a password or license
   */
  change(
    folder: string,
    changes: readonly Change[],
    added: readonly Part[] = [],
    isWhole = false,
  ): Promise<(Stamp | undefined)[]> {
    return this.#orUndone(folder, async (undo) => {
      const all = [...added.map((part) => plan(part, true)), ...changes.map((one) => plan(one))];
      const intent = isWhole ? planIntent(all) : undefined;
      const temps = (intent ? [...all, intent] : all).flatMap(tempPart);
      for (const { name } of temps) undo.push(() => ignoreErrors(() => fs.unlinkSync(join(folder, name))));
      const stamps = await this.#writeAll(folder, temps);
      const kept: string[] = [];
      if (intent) {
        const path = join(folder, intent.name);
        const sync = () => this.#folders.sync(folder);
        // The temp files that it names must not come after it.
        await sync();
        fs.renameSync(join(folder, intent.temp), path);
        // It goes after everything is as it was, and before the temp files that it names.
        undo.push(sync, () => fs.unlinkSync(path), sync);
        await sync();
      }
      for (const [n, one] of all.entries()) {
        if (n % AT_ONCE === AT_ONCE - 1) await nextTurn();
        make(this.#dir, folder, one, undo, kept);
      }
      await this.#folders.sync(folder);
      if (intent) await this.#run(folder, [() => fs.unlinkSync(join(folder, intent.name))]);
      for (const [n, path] of kept.entries()) {
        if (n % AT_ONCE === AT_ONCE - 1) await nextTurn();
        ignoreErrors(() => fs.unlinkSync(path));
      }
      return [...added, ...changes].map(({ bytes }) => (bytes ? stamps.shift() : undefined));
    });
  }

  /**
   * Makes a folder with files in it: under a temp name first, then renamed to `name`. Fails with `ENOTEMPTY`
   * or `EEXIST` when there is one that is not empty. After a failure nothing of it is there.
   * @returns the states of the files, and the folder's identity (see `folderIdentity`)
   */
  placeFolder(
    parent: string,
    name: string,
    parts: readonly Part[],
  ): Promise<{ readonly stamps: readonly Stamp[]; readonly identity: string }> {
    return this.#orUndone(parent, async (undo) => {
      const folder = join(parent, tempName());
      fs.mkdirSync(folder);
      undo.push(() => ignoreErrors(() => fs.rmdirSync(folder)));
      for (const part of parts) undo.push(() => ignoreErrors(() => fs.unlinkSync(join(folder, part.name))));
      if (this.#owner) fs.chownSync(folder, this.#owner.uid, this.#owner.gid);
      const stamps = await this.#writeAll(folder, parts);
      await this.#folders.sync(folder);
      const identity = folderIdentity(fs.lstatSync(folder));
      fs.renameSync(folder, join(parent, name));
      undo.push(() => fs.renameSync(join(parent, name), folder));
      await this.#folders.sync(parent);
      return { stamps, identity };
    });
  }

  /**
   * Gives a folder a temp name, which is returned, and syncs its parent. After a failure it has its name again.
   * @param readId see `tempName`
   */
  moveAway(parent: string, name: string, readId?: ReadId): Promise<string> {
    return this.#orUndone(parent, async (undo) => {
      // Undo steps left for this path would later run in a new folder of the same name.
      await this.#finishUndo(join(parent, name));
      const temp = tempName(readId);
      fs.renameSync(join(parent, name), join(parent, temp));
      undo.push(() => fs.renameSync(join(parent, temp), join(parent, name)));
      await this.#folders.sync(parent);
      return temp;
    });
  }

  /**
   * Settles when nothing that failed in a folder, or in its parent, is left to be undone.
   * @throws the system's error if there is
   */
  async finishUndo(folder: string): Promise<void> {
    await this.#finishUndo(dirname(folder));
    await this.#finishUndo(folder);
  }

  /** Adds bytes to the end of a file, which is made if need be. After a failure a part of them may be there. */
  async append(folder: string, name: string, bytes: Uint8Array): Promise<void> {
    await this.#finishUndo(folder);
    await this.#writeAll(folder, [{ name, bytes }], sys.APPEND);
    await this.#folders.sync(folder);
  }

  /**
   * Runs a write in a folder. If it fails, what it did is undone, the last first, and the folder is synced. Otherwise a power cut
   * could take the undoing back: a refused note would be there, or a feed whose deletion failed would be gone. Throws the first
   * failure.
   */
  async #orUndone<T>(folder: string, write: (undo: Undo) => Promise<T>): Promise<T> {
    await this.finishUndo(folder);
    const undo: Undo = [() => this.#folders.sync(folder)];
    try {
      return await write(undo);
    } catch (error) {
      await this.#run(folder, undo.reverse());
      throw error;
    }
  }

  /** Runs steps; those from the first on that the disk does not let be done now are left for later. */
  async #run(folder: string, steps: Undo): Promise<void> {
    for (const [n, step] of steps.entries())
      try {
        await this.#undo(step);
      } catch {
        const before = this.#undoLeft.get(folder);
        this.#undoLeft.set(folder, [...(before ?? []), ...steps.slice(n)]);
        if (!before) this.#undoLater(folder);
        return;
      }
  }

  /** Throws the system's error if the disk may let the step be done later; what cannot be done ever is as good as done. */
  async #undo(step: Undo[number]): Promise<void> {
    for (let isRepeated = false; ; isRepeated = true)
      try {
        await step();
        return;
      } catch (error) {
        if (isPassing(error)) throw error;
        if (!isGone(error) || isRepeated) return;
        // What is not found is not gone if all of the data folder is away.
        fs.lstatSync(this.#dir);
      }
  }

  /** Settles when no steps are left for a folder. Throws the system's error if there are. */
  async #finishUndo(folder: string): Promise<void> {
    if (!this.#undoLeft.has(folder)) return;
    await this.#undoing.exclusive(folder, async () => {
      for (;;) {
        const [step, ...others] = this.#undoLeft.get(folder) ?? [];
        if (!step) break;
        await this.#undo(step);
        // While the step ran, other writes that failed may have appended their steps.
        const behind = this.#undoLeft.get(folder)!.slice(1 + others.length);
        this.#undoLeft.set(folder, [...others, ...behind]);
      }
      this.#undoLeft.delete(folder);
    });
  }

  #undoLater(folder: string): void {
    setTimeout(() => this.#finishUndo(folder).catch(() => this.#undoLater(folder)), AGAIN_MS).unref();
  }

  async #writeAll(folder: string, parts: readonly Part[], flags = sys.CREATE): Promise<Stamp[]> {
    const writes = parts.map((part) => this.#open(() => this.#write(folder, part, flags)));
    await Promise.allSettled(writes);
    return Promise.all(writes);
  }

  async #write(folder: string, part: Part, flags: number): Promise<Stamp> {
    const { name, bytes, modifiedAt } = part;
    const fd = fs.openSync(join(folder, name), flags, part.private ? 0o600 : 0o666);
    try {
      if (this.#owner) fs.fchownSync(fd, this.#owner.uid, this.#owner.gid);
      for (let done = 0; done < bytes.length; ) done += fs.writeSync(fd, bytes, done);
      if (modifiedAt !== undefined) fs.futimesSync(fd, Date.now() / 1000, fileTime(modifiedAt));
      await this.#syncs(() => sys.fdatasync(fd));
      const { mtimeMs, size } = fs.fstatSync(fd);
      return { mtimeMs, size };
    } finally {
      fs.closeSync(fd);
    }
  }
}

function plan(change: Change, isNew = false): Planned {
  return { ...change, temp: tempName(), isNew };
}

function planIntent(all: readonly Planned[]): Planned {
  const intended = all.filter(({ name }) => isIntended(name));
  const intent: Intent = {
    moves: intended.filter(({ bytes }) => bytes).map(({ temp, name }) => [temp, name]),
    removed: intended.filter(({ bytes }) => !bytes).map(({ name }) => name),
  };
  return plan({ name: intentName(), bytes: Buffer.from(JSON.stringify(intent)) }, true);
}

/** The temp file of a change, if it has bytes. */
function tempPart({ temp, bytes, ...change }: Planned): Part[] {
  return bytes ? [{ ...change, name: temp, bytes }] : [];
}

/** Makes a change whose bytes are written. The file before it stays under a name in `kept` until the change is durable. */
function make(
  dir: string,
  folder: string,
  { name, temp, bytes, isNew }: Planned,
  undo: Undo,
  kept: string[],
): void {
  const [path, written] = [join(folder, name), join(folder, temp)];
  const keepIt = () => keep(path, join(folder, tempName()), bytes !== undefined);
  const before = isNew ? undefined : findAgainSync(dir, keepIt);
  if (before) {
    kept.push(before);
    undo.push(() => {
      fs.renameSync(before, path);
      // If both names are links to one file, renaming one to the other keeps both.
      fs.rmSync(before, { force: true });
    });
  }
  if (!bytes) return;
  fs.renameSync(written, path);
  if (before === undefined) undo.push(() => fs.renameSync(path, written));
}

/** Keeps the old file at the path `before`. Returns that path, '' if the file system has no hard links, or undefined if there is no file. */
function keep(path: string, before: string, isSecond: boolean): string | undefined {
  try {
    if (isSecond) fs.linkSync(path, before);
    else fs.renameSync(path, before);
    return before;
  } catch (error) {
    const code = errorCode(error) ?? '';
    // The name of a placed note may leave no room for that of its metadata file: then there is no such file.
    if (code === 'ENOENT' || code === 'ENAMETOOLONG') return undefined;
    if (isSecond && NO_LINKS.has(code)) return '';
    throw error;
  }
}

/** Ignores failures: a temp file that cannot be removed now is removed at the next start. */
function ignoreErrors(work: () => void): void {
  try {
    work();
  } catch {
    // The failure that led here, if any, is the one to tell.
  }
}

/**
 * Converts whole ms for `fs.utimes`: seconds plus a microsecond, because Node truncates. It rejects negative numbers, so a
 * time before 1970 is a `Date`.
 */
export function fileTime(ms: number): number | Date {
  return ms < 0 ? new Date(ms) : (ms + 0.001) / 1000;
}

interface Rounds {
  readonly current: Promise<void>;
  /** Writes that the next sync is for. */
  waiting: number;
  next?: Promise<void>;
}

/**
 * Makes renames in folders durable. Syncs are shared (group commit): all calls during a sync of that folder wait for the
 * one after it.
 */
export class FolderSync {
  readonly #rounds = new Map<string, Rounds>();
  readonly #synced: ((writes: number) => void) | undefined;

  /** @param synced called after each successful sync, before its callers go on, with their number */
  constructor(synced?: (writes: number) => void) {
    this.#synced = synced;
  }

  /** Settles when every change made in the folder before this call is durable. */
  sync(folder: string): Promise<void> {
    const rounds = this.#rounds.get(folder);
    if (!rounds) return this.#start(folder, 1);
    rounds.waiting += 1;
    const startNext = () => this.#start(folder, rounds.waiting);
    rounds.next ??= rounds.current.then(startNext, startNext);
    return rounds.next;
  }

  #start(folder: string, writes: number): Promise<void> {
    const current = syncFolder(folder)
      .then(() => this.#synced?.(writes))
      .finally(() => {
        if (rounds.next === undefined) this.#rounds.delete(folder);
      });
    const rounds: Rounds = { current, waiting: 0 };
    this.#rounds.set(folder, rounds);
    return current;
  }
}

/** Makes every change made in a folder so far durable. */
export async function syncFolder(folder: string): Promise<void> {
  const fd = await sys.open(folder, sys.FOLDER);
  try {
    await sys.fsync(fd);
  } finally {
    sys.close(fd);
  }
}
