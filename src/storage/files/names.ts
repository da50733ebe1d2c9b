import { randomUUID } from 'node:crypto';
import type { Dirent } from 'node:fs';
import {
  type FeedName,
  isFeedName,
  isReadId,
  type NoteFile,
  parseNoteFile,
  type ReadId,
} from '../../feeds/names.ts';
import { filesOfIndex, indexOfFolder } from '../index-place.ts';

/** Lock of the data folder. */
export const LOCK_FILE = '.lock';
/** The server secret; see `secret.ts`. */
export const SECRET_FILE = '.secret';
/** Identifies the secret that the data folder is used with; see `secret.ts`. */
export const SECRET_MARK_FILE = '.secret-mark';
/** Read ids that deleted feeds had; see `line-files.ts`. */
export const RETIRED_FILE = '.deleted-read-ids';
/** Used tokens; see `line-files.ts`. */
export const TOKENS_FILE = '.used-tokens';
/** Names that the operator has closed, one a line, as the next three; see `record-lines.ts`. */
export const BLOCKED_FILE = '.blocked';
/** Read ids of feeds that were removed. */
export const TOMBSTONES_FILE = '.tombstones';
/** SHA-256 of pictures that nobody may post. */
export const BLOCKLIST_FILE = '.blocklist';
/** Reports of readers. */
export const REPORTS_FILE = '.reports';
/** Exists while an instance is being moved into the data folder; see `files-archive.ts`. */
export const MOVE_FILE = '.moving';

const ROOT_FILES: ReadonlySet<string> = new Set([
  LOCK_FILE,
  SECRET_FILE,
  SECRET_MARK_FILE,
  RETIRED_FILE,
  TOKENS_FILE,
  BLOCKED_FILE,
  TOMBSTONES_FILE,
  BLOCKLIST_FILE,
  REPORTS_FILE,
  MOVE_FILE,
  ...filesOfIndex(indexOfFolder('')),
]);

/** The read id of a feed. */
export const READ_ID_FILE = '.readid';
/** Title, description, title image and the like of a feed. */
export const SETTINGS_FILE = '.feed.json';
/** Hash of a feed's password. */
export const PASSWORD_FILE = '.password';
/** The license of a feed. */
export const LICENSE_FILE = '.license';

/** Keys and expiries of a feed's notes; see `mark-keeper.ts`. */
export const MARKS_FILE = '.marks';

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const TEMP_NAME = new RegExp(`^\\.tmp-nfs-${UUID}(?:-([a-z0-9_-]{3,64}))?$`);
const INTENT_NAME = new RegExp(`^\\.intent-nfs-${UUID}$`);
/** Half written files and half removed feeds of the reference. */
const LEFT_BY_REFERENCE = /^\.(?:[0-9a-f]{12}\.tmp|deleted-[0-9a-f]{12})$/;

/** The names in the data folder that are feeds: real folders with a valid name. */
export function feedsAmong(entries: readonly Dirent[]): FeedName[] {
  return entries
    .filter((one) => one.isDirectory())
    .map((one) => one.name)
    .filter(isFeedName);
}

/**
 * A fresh name for something unfinished: nobody else's files look like it, so leftovers can be removed.
 * @param readId of the deleted feed whose folder gets the name; it holds the read id until `.deleted-read-ids` does
 */
export function tempName(readId?: ReadId): string {
  return ['.tmp-nfs', randomUUID(), ...(readId === undefined ? [] : [readId])].join('-');
}

/** The read id of a deleted feed that a name holds. */
export function readIdOfTemp(name: string): ReadId | undefined {
  const readId = TEMP_NAME.exec(name)?.[1] ?? '';
  return isReadId(readId) ? readId : undefined;
}

export function isTempName(name: string): boolean {
  return TEMP_NAME.test(name);
}

/** Something that a crash left unfinished, of the service or of the reference. */
export function isLeftover(name: string): boolean {
  return isTempName(name) || LEFT_BY_REFERENCE.test(name);
}

/** A fresh name for an `Intent`. */
export function intentName(): string {
  return `.intent-nfs-${randomUUID()}`;
}

export function isIntentName(name: string): boolean {
  return INTENT_NAME.test(name);
}

/** The metadata file of a note: `.<id>.<ext>.json`. */
export function metaFile(file: NoteFile): string {
  return `.${file}.json`;
}

/** The note that a metadata file belongs to, or undefined for a name that is none. */
export function noteOfMetaFile(name: string): NoteFile | undefined {
  if (!name.startsWith('.') || !name.endsWith('.json')) return undefined;
  return parseNoteFile(name.slice(1, -'.json'.length))?.file;
}

/** Whether the name is that of a note or of its metadata file. */
export function isFileOfNote(name: string): boolean {
  return (parseNoteFile(name) ?? noteOfMetaFile(name)) !== undefined;
}

/** Whether an intent may name the file. The password and the license change alone. */
export function isIntended(name: string): boolean {
  return isFileOfNote(name) || name === SETTINGS_FILE || name === READ_ID_FILE;
}

/** A file of the service in the data folder, beside the feeds. */
export function isRootFile(name: string): boolean {
  return ROOT_FILES.has(name);
}

/** A dot file that says something of the whole feed. */
export function isFeedFile(name: string): boolean {
  return [READ_ID_FILE, SETTINGS_FILE, PASSWORD_FILE, LICENSE_FILE].includes(name);
}
