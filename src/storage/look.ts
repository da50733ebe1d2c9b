import { accessSync, closeSync, constants, openSync, readSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Config } from '../config.ts';
import { errorCode } from '../system-errors.ts';
import { unfinishedMove } from './failures.ts';
import { mustNotBeNamedAsIndex } from './index-place.ts';
import { databasePath } from './open-storage.ts';

type Place = Pick<Config, 'storage' | 'dataDir' | 'database' | 'secret' | 'derivedReadIds'>;

/** Length of the header of a SQLite database (https://sqlite.org/fileformat.html §1.3). */
const HEADER_BYTES = 100;
/** Where the header has the version of the schema. */
const VERSION_AT = 60;
/** Where the header has the `application_id`. */
const APPLICATION_ID_AT = 68;

/**
 * Says what is in the place of the notes, without changing it, and while a service may use it.
 * @throws an error with a sentence for the operator, or the system's, if no service could start there
 */
export async function lookAtStorage(place: Place): Promise<string> {
  if (place.storage === 'fs') return lookAtFolder(place);
  if (place.storage === 'sqlite') return lookAtFile(databasePath(place));
  if (place.database?.kind !== 'server')
    throw new TypeError('Settings that were checked name the database server');
  const { lookAtDatabase } = await import('./postgres/look.ts');
  return lookAtDatabase(place.database.url);
}

/** Throws the system's error if this process cannot make files in the folder that the settings name. */
export function mustBeWritable(place: Place): void {
  if (place.storage === 'postgres') return;
  const folder = place.storage === 'fs' ? place.dataDir : dirname(databasePath(place));
  accessSync(nearest(folder), constants.R_OK | constants.W_OK | constants.X_OK);
}

/** The folder, or the nearest one above it that is there. */
function nearest(dir: string): string {
  return statSync(dir, { throwIfNoEntry: false }) ? dir : nearest(dirname(dir));
}

async function lookAtFolder({ dataDir, ...settings }: Place): Promise<string> {
  if (!statSync(dataDir, { throwIfNoEntry: false }))
    return 'there is no folder yet, the service will make it';
  const { MOVE_FILE } = await import('./files/names.ts');
  const { readLine } = await import('./files/read-file.ts');
  const { feedNames } = await import('./files/scan.ts');
  const { readSecret } = await import('./files/secret.ts');
  const names = await feedNames(dataDir);
  await readSecret(dataDir, settings);
  if ((await readLine(join(dataDir, MOVE_FILE))) !== undefined) throw unfinishedMove('DATA_DIR');
  return `feeds: ${names.length}`;
}

/** Only reads the header, because SQLite makes files beside a database that it opens. */
async function lookAtFile(path: string): Promise<string> {
  mustNotBeNamedAsIndex(path);
  const header = Buffer.alloc(HEADER_BYTES);
  let length: number;
  try {
    const fd = openSync(path, constants.O_RDONLY);
    length = readSync(fd, header);
    closeSync(fd);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return 'there is no database yet, the service will make it';
    throw error;
  }
  if (length === 0) return 'the database is empty';
  if (length < HEADER_BYTES || header.toString('latin1', 0, 16) !== 'SQLite format 3\0')
    throw new Error(`The file ${path} (SERVICE_DATABASE_URL) is no SQLite database.`);
  const { MOVE_TARGET_ID, mustBeKnown } = await import('./sqlite/schema.ts');
  const version = header.readUInt32BE(VERSION_AT);
  mustBeKnown(version);
  if (header.readUInt32BE(APPLICATION_ID_AT) === MOVE_TARGET_ID)
    throw unfinishedMove('The database (SERVICE_DATABASE_URL)');
  return `a database (schema ${version})`;
}
