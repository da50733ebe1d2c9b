import { chownSync, closeSync, lchownSync, lstatSync, openSync, readdirSync, statSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { join } from 'node:path';
import { makeDataFolder } from './data-folder.ts';

/** User and group that the service's files belong to. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

export interface PrivilegesOptions {
  /** Undefined where nothing is kept in files. */
  readonly dataDir: string | undefined;
  /** Chosen user and group; the owner of DATA_DIR, else 1000, where undefined. */
  readonly puid?: number | undefined;
  readonly pgid?: number | undefined;
  /** Files the process opens later, which its new user must be able to read; the program's own unless given. */
  readonly programFiles?: readonly string[];
}

export interface Privileges {
  /** Set when the process stays root: every file and folder it makes is to be given to this owner. */
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
 * Makes a process that was started as root run as the owner of its data: PUID and PGID where set, else the owner
 * of DATA_DIR, else 1000:1000. A DATA_DIR that is absent or root's is made and given to that owner first.
 *
 * Call it before anything of the data is opened. Where the owner could not read the program or reach DATA_DIR (a
 * checkout in root's private home), the process stays root and says so. Throws the system's error when
 * DATA_DIR cannot be made or given.
 */
export function dropPrivileges({ dataDir, puid, pgid, programFiles }: PrivilegesOptions): Privileges {
  if (process.getuid?.() !== 0) return ignored({ puid, pgid });
  const owner = dataOwner({ dataDir, puid, pgid });
  if (owner === undefined) return {};
  const files = [...(programFiles ?? PROGRAM_FILES)];
  if (dataDir !== undefined) {
    const current = ownerOf(dataDir);
    if (!current || current.uid === 0) give(dataDir, owner);
    files.push(dataDir);
  }
  const unreadable = firstUnreadable(files, owner);
  if (unreadable !== undefined) return { owner, warning: stayingRoot(unreadable, owner) };
  process.setgroups?.([]);
  process.setgid?.(owner.gid);
  process.setuid?.(owner.uid);
  return {};
}

/**
 * Who the files in DATA_DIR are to belong to where root makes them: see `dropPrivileges`. Undefined for a process that
 * is not root, whose files are its own, and where root is to be the owner.
 */
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

function ignored(chosen: { puid: number | undefined; pgid: number | undefined }): Privileges {
  if (chosen.puid === undefined && chosen.pgid === undefined) return {};
  return { warning: 'PUID and PGID have no effect because the service was not started as root' };
}

function stayingRoot(path: string, { uid, gid }: Owner): string {
  return (
    `The service stays root because user ${uid} cannot read ${path}; ` +
    `every file it makes is given to ${uid}:${gid}`
  );
}

function ownerOf(path: string): Owner | undefined {
  return statSync(path, { throwIfNoEntry: false });
}

/**
 * Gives DATA_DIR and what root owns in it to the owner. Links are given, never followed, and only two levels are
 * looked at, which is as deep as data goes: a DATA_DIR set by mistake must not cost a whole system. The folder
 * itself comes last, so that an interrupted start is made good by the next one.
 */
function give(dataDir: string, owner: Owner): void {
  makeDataFolder(dataDir);
  for (const path of foldersAndFiles(dataDir, 2)) {
    if (lstatSync(path).uid === 0) lchownSync(path, owner.uid, owner.gid);
  }
  chownSync(dataDir, owner.uid, owner.gid);
}

/** What is in a folder, down to that many levels; folders that are not root's are not entered. */
function foldersAndFiles(dir: string, levels: number): string[] {
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    const path = join(dir, entry.name);
    const enter = levels > 1 && entry.isDirectory() && lstatSync(path).uid === 0;
    return enter ? [...foldersAndFiles(path, levels - 1), path] : [path];
  });
}

/** The first of the paths that this user may not open; found by trying, as that user. */
function firstUnreadable(paths: readonly string[], owner: Owner): string | undefined {
  const groups = process.getgroups?.() ?? [];
  process.setgroups?.([]);
  process.setegid?.(owner.gid);
  process.seteuid?.(owner.uid);
  try {
    return paths.find((path) => !opens(path));
  } finally {
    process.seteuid?.(0);
    process.setegid?.(0);
    process.setgroups?.(groups);
  }
}

function opens(path: string): boolean {
  try {
    closeSync(openSync(path, 'r'));
    return true;
  } catch {
    return false;
  }
}
