import { lstatSync, readdirSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import type { FeedName } from '../src/feeds/names.ts';
import { isFeedFile, isFileOfNote } from '../src/storage/files/names.ts';
import type { FileSeen } from '../src/storage/files/reconciler.ts';
import {
  folderIdentity,
  isFresh,
  type Stamp,
  sameStamp,
  stampToKeep,
  UNSEEN,
  UNSURE,
} from '../src/storage/files/stamp.ts';

/** The files of a folder that matter. One string of all names takes half the memory of one each. */
interface Listing {
  /** Each with a `/` behind it. */
  readonly names: string;
  /** By file, as of the last look of a round. */
  readonly mtimesMs: number[];
  readonly sizes: number[];
}

/** A listing may take a twentieth of the time: a large folder is listed less often. */
const LISTING_SHARE = 20;
/** The longest pause between two listings, ms: a listing of a small folder may take seconds, too, if the machine does much else. */
const MAX_PAUSE_MS = 60_000;

/** One feed's folder as the rounds of the watch know it. A round may report what an event has reported already. */
export class WatchedFolder {
  readonly #dir: string;
  readonly #name: FeedName;
  readonly #path: string;
  readonly #identity: string;
  readonly #changedSince: number;
  #listing: Listing = { names: '', mtimesMs: [], sizes: [] };
  /** Files that a round reported from an older listing. The current listing still has the states from before that report. */
  readonly #overtaken = new Set<string>();
  #listedMtimeMs = Number.NaN;
  #mayListAt = 0;

  /**
   * Throws when the folder is gone.
   * @param changedSince a file that has changed since then counts as changed at its first look, ms since the epoch
   */
  constructor(dir: string, name: FeedName, changedSince = Number.POSITIVE_INFINITY) {
    this.#changedSince = changedSince;
    this.#dir = dir;
    this.#name = name;
    this.#path = join(dir, name);
    this.#identity = folderIdentity(lstatSync(this.#path));
    // The service knows only the names of notes until it reads them, so a round looks at them later.
    this.#list((file) => (isFeedFile(file) ? stampToKeep(this.#stats(file) ?? UNSEEN) : UNSEEN));
  }

  /** Whether the folder is still the same one; `undefined` when it is gone or no folder any more. */
  look(): 'same' | 'changed' | 'replaced' | undefined {
    const stats = folderStats(this.#path);
    if (!stats) return undefined;
    if (folderIdentity(stats) !== this.#identity) return 'replaced';
    return stats.mtimeMs === this.#listedMtimeMs || performance.now() < this.#mayListAt ? 'same' : 'changed';
  }

  /** Makes the next look list the folder, because its time does not show any more whether something came or went. */
  listAgain(): void {
    this.#listedMtimeMs = Number.NaN;
  }

  /** Lists the folder again; returns the files that came or went. Throws if the folder is gone. */
  compareListing(): (FileSeen | undefined)[] {
    const listing = this.#listing;
    const known = new Map([...filesOf(listing)].map(([i, file]) => [file, i]));
    const came: (FileSeen | undefined)[] = [];
    this.#list((file) => {
      const i = known.get(file);
      if (i !== undefined && known.delete(file)) return stampOf(listing, i);
      const seen = this.see(file);
      came.push(seen);
      // Not `UNSEEN`: if it cannot be looked at now, or is away for a moment, the next look has to report it.
      return seen?.stamp ? stampToKeep(seen.stamp) : UNSURE;
    });
    // The listing does not have them any more, so no later look would report them.
    const gone = [...known.keys()].map((file) => this.#seen(file, this.#stats(file)));
    return [...came, ...gone];
  }

  /** Looks at each file; yields those that are not as they were. */
  *lookAtFiles(): Generator<FileSeen | undefined> {
    const listing = this.#listing;
    for (const [i, file] of filesOf(listing)) {
      const before = this.#overtaken.delete(file) ? UNSURE : stampOf(listing, i);
      const found = this.#stats(file);
      if (!found && !folderStats(this.#dir)) {
        yield undefined;
        continue;
      }
      // Not `UNSEEN`, because the return of a file is a change.
      const stamp = found ?? UNSURE;
      const now = stampToKeep(stamp, before);
      listing.mtimesMs[i] = now.mtimeMs;
      listing.sizes[i] = now.size;
      if (sameStamp(before, stamp)) {
        yield undefined;
        continue;
      }
      const first = sameStamp(before, UNSEEN);
      if (listing !== this.#listing && !(first && found)) this.#overtaken.add(file);
      // As it was found: a second look could fail, and what it missed would not be looked for again.
      yield this.#seen(file, found, first);
    }
    if (listing === this.#listing) this.#overtaken.clear();
  }

  /** Looks at a file; undefined for one that does not matter, and while the whole data folder is absent. */
  see(file: string): FileSeen | undefined {
    if (!isInteresting(file)) return undefined;
    const seen = this.#seen(file, this.#stats(file));
    return seen.stamp || folderStats(this.#dir) ? seen : undefined;
  }

  #seen(file: string, stats: Stats | undefined, first = false): FileSeen {
    // By its ctime, which a copy or a move of a file into the folder sets, too.
    const isKnown = first && !(stats && stats.ctimeMs >= this.#changedSince);
    return {
      feed: this.#name,
      file,
      stamp: stats && { mtimeMs: stats.mtimeMs, size: stats.size },
      first: isKnown,
    };
  }

  #list(stampFor: (file: string) => Stamp): void {
    const begun = performance.now();
    const stats = lstatSync(this.#path);
    const all = readdirSync(this.#path, { withFileTypes: true });
    const names = all.filter((one) => one.isFile() && isInteresting(one.name)).map((one) => one.name);
    const stamps = names.map(stampFor);
    this.#listing = {
      names: names.map((file) => `${file}/`).join(''),
      mtimesMs: stamps.map(({ mtimeMs }) => mtimeMs),
      sizes: stamps.map(({ size }) => size),
    };
    // A time too young to tell the next change from this one is not remembered, so the folder is listed again.
    this.#listedMtimeMs = isFresh(stats) ? 0 : stats.mtimeMs;
    const now = performance.now();
    this.#mayListAt = now + Math.min((now - begun) * LISTING_SHARE, MAX_PAUSE_MS);
  }

  #stats(file: string): Stats | undefined {
    const stats = statsOf(join(this.#path, file));
    return stats?.isFile() ? stats : undefined;
  }
}

function* filesOf({ names }: Listing): Generator<[number, string]> {
  for (let i = 0, at = 0; at < names.length; i += 1) {
    const end = names.indexOf('/', at);
    yield [i, names.slice(at, end)];
    at = end + 1;
  }
}

function stampOf({ mtimesMs, sizes }: Listing, i: number): Stamp {
  return { mtimeMs: mtimesMs[i]!, size: sizes[i]! };
}

/** `lstat` of a folder; undefined if it is gone, no folder, or not readable. */
export function folderStats(path: string): Stats | undefined {
  const stats = statsOf(path);
  return stats?.isDirectory() ? stats : undefined;
}

/** `lstat`; undefined when it fails. */
export function statsOf(path: string): Stats | undefined {
  return valueOrUndefined(() => lstatSync(path, { throwIfNoEntry: false }));
}

/** A folder may go at any moment; then there is nothing to see in it. */
export function valueOrUndefined<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

function isInteresting(name: string): boolean {
  return isFeedFile(name) || isFileOfNote(name);
}
