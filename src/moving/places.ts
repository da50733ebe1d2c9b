import { createHash } from 'node:crypto';
import { type Stats, statSync } from 'node:fs';
import { dirname, sep } from 'node:path';
import { makeOwnedFolder, type Owner } from '../privileges.ts';
import type { ImageSource, LockedPlace } from '../storage/archive.ts';
import { FilesArchive, type FilesArchiveOptions, NO_SECRET } from '../storage/files/files-archive.ts';
import { FolderLock } from '../storage/files/lock.ts';
import { type SecretSettings, secretOfFolder } from '../storage/files/secret.ts';
import { databaseName } from '../storage/postgres/connection-options.ts';
import { MoveLock } from '../storage/postgres/move-lock.ts';
import { PostgresArchive } from '../storage/postgres/postgres-archive.ts';
import { DatabaseFile, realPath } from '../storage/sqlite/database-file.ts';
import { SqliteArchive } from '../storage/sqlite/sqlite-archive.ts';
import type { Log } from '../telemetry/log.ts';

/** The place of an instance. Paths are absolute. */
export type Place =
  | { readonly kind: 'fs'; readonly dir: string }
  | { readonly kind: 'sqlite'; readonly file: string }
  /** A `postgres:` URL. A secret: it holds a password. */
  | { readonly kind: 'postgres'; readonly url: string };

interface PlaceSettings extends SecretSettings {
  /** Who owns the files and folders made in a data folder; the process's own user when undefined. */
  readonly ownerIn: (dataDir: string) => Owner | undefined;
  readonly log: Pick<Log, 'warn' | 'error'>;
  /** See `FilesArchiveOptions`. */
  readonly acceptReadIds?: boolean;
  /** The image store of databases whose pictures are not in rows. */
  readonly images?: ImageSource | undefined;
}

/**
 * Locks the place of an instance that is there, as the service would. Throws an error with a sentence for the operator
 * when there is none, or something else uses it.
 */
export async function lockSource(place: Place, settings: PlaceSettings): Promise<LockedPlace> {
  if (place.kind === 'fs') {
    if (!statIfAny(place.dir)?.isDirectory())
      throw new Error(`There is no folder ${JSON.stringify(place.dir)}.`);
    return lockFolder(place.dir, settings, () => secretOfFolder(place.dir, settings));
  }
  if (place.kind === 'sqlite') {
    if (!statIfAny(place.file)?.isFile()) throw new Error(`There is no file ${JSON.stringify(place.file)}.`);
    return lockFile(place.file, settings);
  }
  const lock = await MoveLock.take(place.url);
  if (await lock.isInstance()) return lockedDatabase(place.url, lock, settings.images);
  await lock.release();
  throw new Error('The database has no instance in it.');
}

/** Locks a place as `lockSource` does, and makes it if it does not exist. */
export async function lockTarget(place: Place, settings: PlaceSettings): Promise<LockedPlace> {
  if (place.kind === 'fs') {
    makeOwnedFolder(place.dir, settings.ownerIn(place.dir));
    // No read id is derived from it, because every moved feed brings its own.
    return lockFolder(place.dir, settings, async () => NO_SECRET);
  }
  if (place.kind === 'sqlite') return lockFile(place.file, settings);
  return lockedDatabase(place.url, await MoveLock.take(place.url));
}

/** Identifies a place without revealing it. */
export function digestOf(place: Place): string {
  const { kind } = place;
  const name = kind === 'postgres' ? nameOf(place.url) : [realPath(kind === 'fs' ? place.dir : place.file)];
  return createHash('sha256')
    .update(JSON.stringify([kind, ...name]))
    .digest('hex');
}

function nameOf(url: string): readonly unknown[] {
  const { hosts, database } = databaseName(url);
  return [...hosts.flatMap(({ host, port }) => [host, port]), database];
}

/** Whether one of two data folders is in the other, where it would be a feed. */
export function areNested(a: Place, b: Place): boolean {
  if (a.kind !== 'fs' || b.kind !== 'fs') return false;
  const [one, other] = [realPath(a.dir), realPath(b.dir)];
  return one.startsWith(other + sep) || other.startsWith(one + sep);
}

async function lockFolder(
  dir: string,
  settings: PlaceSettings,
  secret: FilesArchiveOptions['secret'],
): Promise<LockedPlace> {
  const owner = settings.ownerIn(dir);
  const lock = new FolderLock(dir, owner);
  return {
    open: () => FilesArchive.open({ ...settings, dir, owner, secret }),
    isLocked: async () => lock.isValid,
    release: async () => lock.release(),
  };
}

function lockFile(path: string, settings: PlaceSettings): LockedPlace {
  const file = DatabaseFile.take(path, settings.ownerIn(dirname(path)));
  return {
    open: async () => SqliteArchive.open(file.path, settings.images),
    isLocked: async () => file.isLocked,
    release: async () => file.release(),
  };
}

function lockedDatabase(url: string, lock: MoveLock, images?: ImageSource): LockedPlace {
  return {
    open: () => PostgresArchive.open(url, images),
    isLocked: () => lock.isHeld(),
    release: () => lock.release(),
  };
}

function statIfAny(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false });
}
