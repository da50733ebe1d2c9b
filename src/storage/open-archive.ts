import { createHash } from 'node:crypto';
import { chownSync, mkdirSync, realpathSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { dataOwner, type Owner } from '../privileges.ts';
import type { Log } from '../telemetry/log.ts';
import type { LockedPlace } from './archive.ts';
import { FilesArchive, type FilesArchiveOptions } from './files/files-archive.ts';
import { FolderLock } from './files/lock.ts';
import { secretOfFolder } from './files/secret.ts';
import { DatabaseFile } from './sqlite/database-file.ts';
import { SqliteArchive } from './sqlite/sqlite-archive.ts';

/** Where an instance is or will be. Paths are absolute. */
export type Place =
  | { readonly kind: 'fs'; readonly dir: string }
  | { readonly kind: 'sqlite'; readonly file: string };

export interface PlaceSettings {
  /** PUID and PGID. */
  readonly puid: number | undefined;
  readonly pgid: number | undefined;
  /** SERVICE_SECRET, where it is set. */
  readonly secret: Uint8Array | undefined;
  readonly log: Pick<Log, 'warn'>;
}

type Secret = FilesArchiveOptions['secret'];

/**
 * Locks the place of an instance that is there, as the service would. Throws an error with a sentence for the operator
 * when there is none, or something else uses it.
 */
export async function lockSource(place: Place, settings: PlaceSettings): Promise<LockedPlace> {
  const stats: Stats | undefined = statSync(pathOf(place), { throwIfNoEntry: false });
  if (place.kind === 'fs' ? !stats?.isDirectory() : !stats?.isFile())
    throw new Error(place.kind === 'fs' ? 'There is no such folder.' : 'There is no such file.');
  return lock(place, settings, () => secretOfFolder(pathOf(place), settings.secret));
}

/** Locks a place as `lockSource` does, and makes it where there is nothing. */
export async function lockTarget(place: Place, settings: PlaceSettings): Promise<LockedPlace> {
  if (place.kind === 'fs' && !statSync(place.dir, { throwIfNoEntry: false })) {
    const owner = ownerIn(place.dir, settings);
    mkdirSync(place.dir, { recursive: true });
    if (owner) chownSync(place.dir, owner.uid, owner.gid);
  }
  // Every feed that is moved has a read id of its own.
  return lock(place, settings, async () => new Uint8Array());
}

/** Tells a place from all others without saying where it is. */
export function digestOf(place: Place): string {
  const path = pathOf(place);
  const real = statSync(path, { throwIfNoEntry: false }) ? realpathSync(path) : path;
  return createHash('sha256').update(`${place.kind}:${real}`).digest('hex');
}

async function lock(place: Place, settings: PlaceSettings, secret: Secret): Promise<LockedPlace> {
  const { log } = settings;
  if (place.kind === 'fs') {
    const { dir } = place;
    const owner = ownerIn(dir, settings);
    const held = await FolderLock.take(dir, owner);
    return { open: () => FilesArchive.open({ dir, owner, secret, log }), release: () => held.release() };
  }
  const held = DatabaseFile.take(place.file, ownerIn(dirname(place.file), settings));
  return { open: async () => SqliteArchive.open(held.path), release: async () => held.release() };
}

function ownerIn(dataDir: string, { puid, pgid }: PlaceSettings): Owner | undefined {
  return dataOwner({ dataDir, puid, pgid });
}

function pathOf(place: Place): string {
  return place.kind === 'fs' ? place.dir : place.file;
}
