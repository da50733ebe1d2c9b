import { constants } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { Random } from '../support/random.ts';

/** Where decisions come from. */
export type Chance = Pick<Random, 'below' | 'chance'>;

/** What a call did to the names in a folder, at once. */
interface Step {
  readonly removed?: string;
  readonly added?: readonly [name: string, inode: Inode];
}

type Names = Map<string, Inode>;

interface Times {
  mtimeMs: number;
  ctimeMs: number;
  readonly birthtimeMs: number;
}

interface FileInode extends Times {
  readonly kind: 'file';
  ino: number;
  bytes: Buffer;
  /** What a power cut leaves at least. */
  synced: Buffer;
  /** A sync has failed, so the kernel takes bytes for written that are not: no later sync helps. */
  isLost: boolean;
}

interface FolderInode extends Times {
  readonly kind: 'folder';
  ino: number;
  readonly names: Names;
  /** As of the last sync. */
  readonly synced: Names;
  /** What was done since. */
  steps: Step[];
}

type Inode = FileInode | FolderInode;

interface Descriptor {
  readonly inode: Inode;
  readonly isAppending: boolean;
}

/** Kernels date files by a clock that ticks, ms. */
const TICK_MS = 4;
/** Unlike any descriptor of the kernel. */
const FIRST_DESCRIPTOR = 1_000_000;

/** A file system in memory, as a process sees it, and what of it a power cut leaves. */
export class SimulatedDisk {
  readonly #root: string;
  readonly #now: () => number;
  #folder: FolderInode;
  readonly #descriptors = new Map<number, Descriptor>();
  #lastDescriptor = FIRST_DESCRIPTOR;
  /** There is nothing at the path of the root, as while a disk is not mounted. */
  isAway = false;

  /** @param root the path of the only folder there is at first */
  constructor(root: string, now: () => number) {
    this.#root = root;
    this.#now = now;
    this.#folder = {
      kind: 'folder',
      ino: 1,
      names: new Map(),
      synced: new Map(),
      steps: [],
      ...this.#times(),
    };
  }

  get openDescriptors(): number {
    return this.#descriptors.size;
  }

  open(path: string, flags: number): number {
    let inode = this.#find(path);
    if (inode && flags & constants.O_CREAT && flags & constants.O_EXCL) throw failure('EEXIST', 'open');
    if (inode?.kind === 'file' && flags & constants.O_DIRECTORY) throw failure('ENOTDIR', 'open');
    if (inode?.kind === 'folder' && flags & (constants.O_WRONLY | constants.O_RDWR))
      throw failure('EISDIR', 'open');
    if (!inode) {
      if (!(flags & constants.O_CREAT)) throw failure('ENOENT', 'open');
      inode = this.#newFile(Buffer.alloc(0));
      this.#step(this.#parentOf(path, 'open'), { added: [basename(path), inode] });
    }
    this.#lastDescriptor += 1;
    this.#descriptors.set(this.#lastDescriptor, { inode, isAppending: (flags & constants.O_APPEND) !== 0 });
    return this.#lastDescriptor;
  }

  close(fd: number): void {
    this.#opened(fd, 'close');
    this.#descriptors.delete(fd);
  }

  /** At the end of the file, as all writes of the service are. */
  write(fd: number, bytes: Uint8Array): number {
    const file = this.#openedFile(fd, 'write');
    file.bytes = Buffer.concat([file.bytes, bytes]);
    file.mtimeMs = file.ctimeMs = this.#tick();
    return bytes.byteLength;
  }

  read(fd: number, into: Uint8Array, position: number): number {
    return this.#openedFile(fd, 'read').bytes.copy(into, 0, position);
  }

  /** Begins a sync. @returns a function that ends it, for what was there when it began */
  sync(fd: number): (hasFailed: boolean) => void {
    const { inode } = this.#opened(fd, 'fsync');
    if (inode.kind === 'folder') {
      const { steps } = inode;
      const done = steps.slice();
      return (hasFailed) => {
        if (hasFailed) return;
        for (const step of done) {
          const at = inode.steps.indexOf(step);
          // Another sync was earlier.
          if (at < 0) continue;
          apply(inode.synced, step);
          inode.steps.splice(at, 1);
        }
      };
    }
    const { bytes } = inode;
    return (hasFailed) => {
      inode.isLost ||= hasFailed;
      if (!inode.isLost && bytes.length >= inode.synced.length) inode.synced = bytes;
    };
  }

  stat(path: string) {
    const inode = this.#find(path);
    if (!inode) throw failure('ENOENT', 'lstat');
    return statsOf(inode);
  }

  statOpen(fd: number) {
    return statsOf(this.#opened(fd, 'fstat').inode);
  }

  list(path: string): { readonly name: string; isFile(): boolean; isDirectory(): boolean }[] {
    const inode = this.#find(path);
    if (!inode) throw failure('ENOENT', 'scandir');
    if (inode.kind !== 'folder') throw failure('ENOTDIR', 'scandir');
    return [...inode.names].map(([name, { kind }]) => ({
      name,
      isFile: () => kind === 'file',
      isDirectory: () => kind === 'folder',
    }));
  }

  makeFolder(path: string): void {
    if (this.#find(path)) throw failure('EEXIST', 'mkdir');
    const ino = this.#freeNumber();
    const inode: Inode = {
      kind: 'folder',
      ino,
      names: new Map(),
      synced: new Map(),
      steps: [],
      ...this.#times(),
    };
    this.#step(this.#parentOf(path, 'mkdir'), { added: [basename(path), inode] });
  }

  removeFolder(path: string): void {
    const inode = this.#find(path);
    if (!inode) throw failure('ENOENT', 'rmdir');
    if (inode.kind !== 'folder') throw failure('ENOTDIR', 'rmdir');
    if (inode.names.size > 0) throw failure('ENOTEMPTY', 'rmdir');
    this.#step(this.#parentOf(path, 'rmdir'), { removed: basename(path) });
  }

  unlink(path: string): void {
    const inode = this.#find(path);
    if (!inode) throw failure('ENOENT', 'unlink');
    if (inode.kind !== 'file') throw failure('EISDIR', 'unlink');
    inode.ctimeMs = this.#tick();
    this.#step(this.#parentOf(path, 'unlink'), { removed: basename(path) });
  }

  link(from: string, to: string): void {
    const inode = this.#find(from);
    if (!inode) throw failure('ENOENT', 'link');
    if (inode.kind !== 'file') throw failure('EPERM', 'link');
    if (this.#find(to)) throw failure('EEXIST', 'link');
    inode.ctimeMs = this.#tick();
    this.#step(this.#parentOf(to, 'link'), { added: [basename(to), inode] });
  }

  /** Within one folder, as the service renames. */
  rename(from: string, to: string): void {
    const [inode, replaced] = [this.#find(from), this.#find(to)];
    if (!inode) throw failure('ENOENT', 'rename');
    if (inode === replaced) return;
    if (replaced && inode.kind === 'file' && replaced.kind === 'folder') throw failure('EISDIR', 'rename');
    if (replaced && inode.kind === 'folder' && replaced.kind === 'file') throw failure('ENOTDIR', 'rename');
    if (replaced?.kind === 'folder' && replaced.names.size > 0) throw failure('ENOTEMPTY', 'rename');
    inode.ctimeMs = this.#tick();
    this.#step(this.#parentOf(to, 'rename'), { removed: basename(from), added: [basename(to), inode] });
  }

  setTimes(fd: number, mtimeMs: number): void {
    const { inode } = this.#opened(fd, 'futime');
    inode.mtimeMs = mtimeMs;
    inode.ctimeMs = this.#tick();
  }

  setTimesOf(path: string, mtimeMs: number): void {
    const inode = this.#find(path);
    if (!inode) throw failure('ENOENT', 'utime');
    inode.mtimeMs = mtimeMs;
  }

  /** Somebody puts a file in its place, or removes it, and syncs it. */
  placeByHand(path: string, bytes: Buffer | undefined): void {
    const folder = this.#parentOf(path, 'open');
    const name = basename(path);
    const file = bytes && { ...this.#newFile(bytes), synced: bytes };
    this.#step(folder, file ? { added: [name, file] } : { removed: name });
    syncNames(folder);
  }

  /** Somebody removes a file, or a folder with all that is in it, and syncs that. */
  removeByHand(path: string): void {
    const folder = this.#parentOf(path, 'unlink');
    this.#step(folder, { removed: basename(path) });
    syncNames(folder);
  }

  /** Somebody renames a file or folder within its folder, and syncs that. */
  renameByHand(from: string, to: string): void {
    this.rename(from, to);
    syncNames(this.#parentOf(to, 'rename'));
  }

  /** The process is dead: the kernel closes its files. What was not synced is still there. */
  closeAll(): void {
    this.#descriptors.clear();
  }

  /**
   * Cuts the power. Of the changes of a folder since its last sync, either the first ones are left, or any selection of them,
   * but always the first ones of the renames. Of the bytes of a file that were not synced any part is left.
   */
  cutPower(chance: Chance): void {
    this.closeAll();
    this.#folder = new PowerCut(chance).folder(this.#folder);
    let ino = 0;
    for (const inode of new Set(inodesIn(this.#folder))) {
      ino += 1;
      inode.ino = ino;
    }
  }

  /** All paths below the root. */
  *paths(): Generator<string> {
    yield* pathsIn(this.#root, this.#folder);
  }

  #find(path: string): Inode | undefined {
    if (path === this.#root) return this.isAway ? undefined : this.#folder;
    const parent = this.#find(dirname(path));
    if (parent?.kind === 'file') throw failure('ENOTDIR', 'open');
    return parent?.names.get(basename(path));
  }

  #parentOf(path: string, call: string): FolderInode {
    const parent = this.#find(dirname(path));
    if (parent?.kind !== 'folder') throw failure('ENOENT', call);
    return parent;
  }

  #step(folder: FolderInode, step: Step): void {
    apply(folder.names, step);
    folder.steps.push(step);
    folder.mtimeMs = folder.ctimeMs = this.#tick();
  }

  #newFile(bytes: Buffer): FileInode {
    const ino = this.#freeNumber();
    return { kind: 'file', ino, bytes, synced: Buffer.alloc(0), isLost: false, ...this.#times() };
  }

  /** Numbers are used again at once. */
  #freeNumber(): number {
    const used = new Set<number>();
    for (const { ino } of inodesIn(this.#folder)) used.add(ino);
    for (const { inode } of this.#descriptors.values()) used.add(inode.ino);
    let ino = 1;
    while (used.has(ino)) ino += 1;
    return ino;
  }

  #times(): Times {
    const now = this.#tick();
    return { mtimeMs: now, ctimeMs: now, birthtimeMs: now };
  }

  #tick(): number {
    return Math.floor(this.#now() / TICK_MS) * TICK_MS;
  }

  #opened(fd: number, call: string): Descriptor {
    const opened = this.#descriptors.get(fd);
    if (!opened) throw failure('EBADF', call);
    return opened;
  }

  #openedFile(fd: number, call: string): FileInode {
    const { inode } = this.#opened(fd, call);
    if (inode.kind !== 'file') throw failure('EISDIR', call);
    return inode;
  }
}

function isRename({ removed, added }: Step): boolean {
  return removed !== undefined && added !== undefined;
}

/** Copies the files that are left after a power cut. */
class PowerCut {
  readonly #random: Chance;
  /** File systems with a journal keep the order. */
  readonly #keepsOrder: boolean;
  readonly #copies = new Map<Inode, Inode>();

  constructor(random: Chance) {
    this.#random = random;
    this.#keepsOrder = random.chance(0.5);
  }

  folder(folder: FolderInode): FolderInode {
    const names = new Map(folder.synced);
    const end = this.#random.below(folder.steps.length + 1);
    for (const [n, step] of folder.steps.entries())
      if (this.#keepsOrder || isRename(step) ? n < end : this.#random.chance(0.5)) apply(names, step);
    const kept: Names = new Map();
    for (const [name, inode] of [...names].reverse()) {
      // A folder has one name.
      if (inode.kind === 'folder' && this.#copies.has(inode)) continue;
      kept.set(name, this.#copies.get(inode) ?? this.#copy(inode));
    }
    return { ...folder, names: kept, synced: new Map(kept), steps: [] };
  }

  #copy(inode: Inode): Inode {
    const copy = inode.kind === 'folder' ? this.folder(inode) : this.#file(inode);
    this.#copies.set(inode, copy);
    return copy;
  }

  #file(file: FileInode): FileInode {
    const bytes = file.bytes.equals(file.synced) ? file.synced : this.#part(file);
    return { ...file, bytes, synced: bytes, isLost: false };
  }

  /** Bytes behind the synced ones may be there, be zeros, or not be there. */
  #part({ bytes, synced }: FileInode): Buffer {
    const length = synced.length + this.#random.below(bytes.length - synced.length + 1);
    const part = Buffer.from(bytes.subarray(0, length));
    return this.#random.chance(0.3) ? part.fill(0, synced.length) : part;
  }
}

function apply(names: Names, { removed, added }: Step): void {
  if (removed !== undefined) names.delete(removed);
  if (added) names.set(...added);
}

function syncNames(folder: FolderInode): void {
  for (const step of folder.steps) apply(folder.synced, step);
  folder.steps = [];
}

function* inodesIn(folder: FolderInode): Generator<Inode> {
  yield folder;
  for (const inode of folder.names.values())
    if (inode.kind === 'folder') yield* inodesIn(inode);
    else yield inode;
}

function* pathsIn(path: string, folder: FolderInode): Generator<string> {
  for (const [name, inode] of folder.names) {
    yield `${path}/${name}`;
    if (inode.kind === 'folder') yield* pathsIn(`${path}/${name}`, inode);
  }
}

function statsOf(inode: Inode) {
  const { kind, ino, mtimeMs, ctimeMs, birthtimeMs } = inode;
  return {
    ...{
      dev: 1,
      ino,
      mtimeMs,
      ctimeMs,
      birthtimeMs,
      size: inode.kind === 'file' ? inode.bytes.length : 4096,
    },
    isFile: () => kind === 'file',
    isDirectory: () => kind === 'folder',
  };
}

/** The error of a call of the system. */
export function failure(code: string, syscall: string): Error {
  return Object.assign(new Error(`${code}: simulated, ${syscall}`), { code, syscall });
}
