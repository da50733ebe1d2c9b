import { lstatSync, readdirSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { parseNoteFile } from '../src/feeds/names.ts';
import { isFeedFile, noteOfMetaFile } from '../src/storage/files/names.ts';
import { isFresh, type Stamp, sameStamp, settled } from '../src/storage/files/stamp.ts';

/** What was seen of one file of a feed. */
export interface FileSeen {
  readonly feed: string;
  readonly file: string;
  /** Its state, or undefined when no regular file of that name is there (any more). */
  readonly stamp: Stamp | undefined;
  /** It was only looked at for the first time: it was there when the watching began. */
  readonly first: boolean;
}

/** A listing may take a twentieth of the time: a large folder is listed less often. */
const LISTING_SHARE = 20;

/** One feed's folder as the watcher knows it: which files that matter are in it, and their stamps once seen. */
export class WatchedFolder {
  readonly name: string;
  readonly #dir: string;
  readonly #path: string;
  readonly #files = new Map<string, Stamp | undefined>();
  readonly #identity: string;
  #listedMtimeMs = Number.NaN;
  #mayListAt = 0;

  /** Throws when the folder is gone. */
  constructor(dir: string, name: string) {
    this.name = name;
    this.#dir = dir;
    this.#path = join(dir, name);
    this.#identity = identity(lstatSync(this.#path));
    for (const file of this.#list()) {
      this.#files.set(file, isFeedFile(file) ? fileStamp(join(this.#path, file)) : undefined);
    }
  }

  /** Names of the files that matter. */
  files(): IterableIterator<string> {
    return this.#files.keys();
  }

  /** Whether the folder is still the same one; `undefined` when it is gone or no folder any more. */
  look(): 'same' | 'changed' | 'replaced' | undefined {
    const stats = folderStats(this.#path);
    if (!stats) return undefined;
    if (identity(stats) !== this.#identity) return 'replaced';
    const changed = stats.mtimeMs !== this.#listedMtimeMs && performance.now() >= this.#mayListAt;
    return changed ? 'changed' : 'same';
  }

  /** Lists the folder anew; returns the names that came or went, to be looked at. */
  compareListing(): string[] {
    const names = this.#list();
    const added = [...names].filter((file) => !this.#files.has(file));
    return [...added, ...[...this.#files.keys()].filter((file) => !names.has(file))];
  }

  /** Looks at one file; undefined when it is as it was. An `event` is passed on even when it seems to be. */
  lookAt(file: string, event: boolean): FileSeen | undefined {
    if (!isInteresting(file)) return undefined;
    const seen = fileStamp(join(this.#path, file));
    if (!seen && !folderStats(this.#dir)) return undefined;
    const known = this.#files.get(file);
    const first = !event && known === undefined && this.#files.has(file);
    if (!event && !first && sameStamp(known, seen)) return undefined;
    if (seen) this.#files.set(file, settled(seen));
    else this.#files.delete(file);
    return { feed: this.name, file, stamp: seen, first };
  }

  #list(): Set<string> {
    const begun = performance.now();
    const mtimeMs = trustedMtime(lstatSync(this.#path));
    const names = new Set(listing(this.#path));
    // Only now: a listing that failed has to be made again.
    this.#listedMtimeMs = mtimeMs;
    const now = performance.now();
    this.#mayListAt = now + (now - begun) * LISTING_SHARE;
    return names;
  }
}

/** `lstat` of a folder; undefined when it is gone, or a link, or a file, or cannot be looked at. */
export function folderStats(path: string): Stats | undefined {
  const stats = statsOf(path);
  return stats?.isDirectory() ? stats : undefined;
}

/** `lstat`; undefined when it fails. */
export function statsOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** A time too young to tell the next change from this one is not remembered, so the folder is listed again. */
function trustedMtime(stats: Stats): number {
  return isFresh(stats) ? 0 : stats.mtimeMs;
}

function identity(stats: Stats): string {
  return `${stats.dev}:${stats.ino}`;
}

function listing(path: string): string[] {
  const all = readdirSync(path, { withFileTypes: true });
  return all.filter((one) => one.isFile() && isInteresting(one.name)).map((one) => one.name);
}

function isInteresting(name: string): boolean {
  return isFeedFile(name) || parseNoteFile(name) !== undefined || noteOfMetaFile(name) !== undefined;
}

function fileStamp(path: string): Stamp | undefined {
  const stats = statsOf(path);
  return stats?.isFile() ? { mtimeMs: stats.mtimeMs, size: stats.size } : undefined;
}
