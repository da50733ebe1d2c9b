import {
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  statSync,
} from 'node:fs';
import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';

/** The user and group of the service's files. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

interface PrivilegesOptions {
  /** The folder of the data, or of the pictures if only they are in files; undefined if nothing is. */
  readonly dataDir: string | undefined;
  /** With false no owner is changed, and the process stays root if one would have to be. */
  readonly mayGive?: boolean;
  /** Files that the new user must own, such as a database that root restored; those that are absent are ignored. */
  readonly dataFiles?: readonly string[];
  /** By default the owner of DATA_DIR, else 1000. */
  readonly puid?: number | undefined;
  readonly pgid?: number | undefined;
  /** Files that the new user must be able to read; by default those of the program. */
  readonly programFiles?: readonly string[];
}

export interface Privileges {
  /** Set if the process stays root: the owner for all files that it makes. */
  readonly owner?: Owner;
  /** One sentence to log. */
  readonly warning?: string;
}

const FALLBACK: Owner = { uid: 1000, gid: 1000 };
const PROGRAM_FILES = [
  process.execPath,
  import.meta.filename,
  join(import.meta.dirname, '../workers'),
  join(findPackageJSON(import.meta.url) ?? '', '../node_modules'),
];

/**
 * Makes a process that was started as root run as PUID and PGID, else the owner of DATA_DIR, else 1000:1000. A DATA_DIR
 * that is absent or root's is made and given to that owner first. If the owner could not read the program or DATA_DIR (a
 * checkout in root's private home), the process stays root with a warning.
 *
 * Call it before the data is opened. Throws the system's error if DATA_DIR cannot be made or given.
 */
export function dropPrivileges({
  dataDir,
  dataFiles = [],
  mayGive = true,
  puid,
  pgid,
  programFiles,
}: PrivilegesOptions): Privileges {
  if (process.getuid?.() !== 0) {
    if (puid === undefined && pgid === undefined) return {};
    return { warning: 'PUID and PGID have no effect because the service was not started as root' };
  }
  const owner = dataOwner({ dataDir, puid, pgid });
  if (owner === undefined) return {};
  const files = [...(programFiles ?? PROGRAM_FILES)];
  if (dataDir !== undefined) {
    const current = ownerOf(dataDir);
    if (!current || current.uid === 0) {
      if (!mayGive) return {};
      chownData(dataDir, owner);
    }
    files.push(dataDir);
  }
  // Files with a second hard link stay as they are: the owner of the folder may have linked a file of the system there.
  if (mayGive) giveFromRoot(dataFiles.filter(isOnlyFile), owner);
  const unreadable = firstUnreadable(files, owner);
  if (unreadable !== undefined) {
    const { uid, gid } = owner;
    const reason = `The service stays root because user ${uid} cannot read ${unreadable}`;
    return { owner, warning: `${reason}; every file it makes is given to ${uid}:${gid}` };
  }
  process.setgroups?.([]);
  process.setgid?.(owner.gid);
  process.setuid?.(owner.uid);
  return {};
}

/** The owner for files that root makes in DATA_DIR: see `dropPrivileges`. Undefined if that is root, or if the process is not root. */
export function dataOwner({
  dataDir,
  puid,
  pgid,
}: Omit<PrivilegesOptions, 'programFiles'>): Owner | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const current = dataDir === undefined ? undefined : ownerOf(dataDir);
  const fallback = current && current.uid !== 0 ? current : FALLBACK;
  const owner = { uid: puid ?? fallback.uid, gid: pgid ?? fallback.gid };
  return owner.uid === 0 ? undefined : owner;
}

function ownerOf(path: string): Owner | undefined {
  return statSync(path, { throwIfNoEntry: false });
}

/**
 * Gives DATA_DIR and root's files in it to the owner, without following links. Visits only two levels, the depth of our
 * data, because a wrong DATA_DIR must not change a whole system. The folder itself is last, so that the next start
 * repeats an interrupted one.
 */
function chownData(dataDir: string, owner: Owner): void {
  makeDataFolder(dataDir);
  giveFromRoot(foldersAndFiles(dataDir, 2), owner);
  chownSync(dataDir, owner.uid, owner.gid);
}

function isOnlyFile(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isFile() === true && stats.nlink === 1;
}

function giveFromRoot(paths: readonly string[], { uid, gid }: Owner): void {
  for (const path of paths) if (lstatSync(path).uid === 0) lchownSync(path, uid, gid);
}

/** The entries of a folder and of root's folders in it, down to that many levels. */
function foldersAndFiles(dir: string, levels: number): string[] {
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    const path = join(dir, entry.name);
    const enter = levels > 1 && entry.isDirectory() && lstatSync(path).uid === 0;
    return enter ? [...foldersAndFiles(path, levels - 1), path] : [path];
  });
}

/** The first path that this user cannot open; tries as that user. */
function firstUnreadable(paths: readonly string[], owner: Owner): string | undefined {
  const groups = process.getgroups?.() ?? [];
  process.setgroups?.([]);
  process.setegid?.(owner.gid);
  process.seteuid?.(owner.uid);
  try {
    return paths.find((path) => !canOpen(path));
  } finally {
    process.seteuid?.(0);
    process.setegid?.(0);
    process.setgroups?.(groups);
  }
}

function canOpen(path: string): boolean {
  try {
    closeSync(openSync(path, 'r'));
    return true;
  } catch {
    return false;
  }
}

/** The mode bits with which other users can list a folder or open files in it. */
const READ_BY_OTHERS = 0o055;

/**
 * Makes DATA_DIR, or another folder of data, if it is absent, durably and readable by its owner only: the folders in DATA_DIR
 * have the names of feeds, which are keys. Throws the system's error.
 */
export function makeDataFolder(dir: string): void {
  makeParents(dirname(dir));
  makeFolder(dir, 0o700);
}

/** Makes a folder as `makeDataFolder` does, and gives it to the owner. One that is there stays as it is. */
export function makeOwnedFolder(dir: string, owner: Owner | undefined): void {
  if (existsSync(dir)) return;
  makeDataFolder(dir);
  if (owner) chownSync(dir, owner.uid, owner.gid);
}

/** The mode of a folder that other users can read, such as `755`; else undefined. */
export function modeReadByOthers(dir: string): string | undefined {
  const { mode } = statSync(dir);
  return mode & READ_BY_OTHERS ? (mode & 0o777).toString(8) : undefined;
}

/** Node 22 would hang with `recursive: true` in a folder such as /proc. */
function makeParents(dir: string): void {
  if (existsSync(dir)) return;
  makeParents(dirname(dir));
  makeFolder(dir, 0o777);
}

function makeFolder(dir: string, mode: number): void {
  try {
    mkdirSync(dir, mode);
  } catch (error) {
    const isThere = statSync(dir, { throwIfNoEntry: false })?.isDirectory();
    if (!isThere) throw error;
  }
  syncFolder(dirname(dir));
}

/** Else a power cut could take a new folder away, with what is durable in it. */
function syncFolder(dir: string): void {
  // One that may not be listed cannot be opened.
  if (!canOpen(dir)) return;
  const fd = openSync(dir, 'r');
  fsyncSync(fd);
  closeSync(fd);
}
