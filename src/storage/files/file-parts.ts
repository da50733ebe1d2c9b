import { join } from 'node:path';
import { dateOfId } from '../../feeds/ids.ts';
import { noteFile } from '../../feeds/names.ts';
import {
  type BesideMeta,
  otherSettings,
  type StoredSettings,
  serializeMeta,
  serializeSettings,
} from '../metadata.ts';
import type { NewNote } from '../storage.ts';
import type { Change, Part } from './durable.ts';
import { LICENSE_FILE, metaFile, PASSWORD_FILE, SETTINGS_FILE } from './names.ts';
import type { Entry } from './note-list.ts';
import { readDotFile } from './read-file.ts';
import { dateOfFile, type Stamp } from './stamp.ts';

/** A dot file with a text, or, without one, none. */
export function textFile(name: string, text: string | undefined): Change {
  const isPrivate = name === PASSWORD_FILE || name === LICENSE_FILE;
  return { name, bytes: text === undefined ? undefined : Buffer.from(text), private: isPrivate };
}

/** A dot file of one line, or, without one, none. */
export function lineFile(name: string, line: string | undefined): Change {
  return textFile(name, line === undefined ? undefined : `${line}\n`);
}

/** Those of the files that there are. */
export function present(files: readonly Change[]): Part[] {
  return files.filter((file): file is Part => file.bytes !== undefined);
}

/** The files of a new note, metadata first: a note never shows without its metadata. */
export function noteParts(
  { id, type, meta, bytes, modifiedAt }: NewNote & Pick<Part, 'modifiedAt'>,
  beside?: BesideMeta,
): Part[] {
  const file = noteFile(id, type);
  return present([textFile(metaFile(file), serializeMeta(meta, beside)), { name: file, bytes, modifiedAt }]);
}

/** The entries of new notes, from the states of written files. */
export function entriesOf(
  notes: readonly NewNote[],
  parts: readonly Part[],
  stamps: readonly (Stamp | undefined)[],
): Entry[] {
  const stampOf = new Map(parts.map(({ name }, i) => [name, stamps[i]]));
  return notes.map(({ id, type, sha256 }) => {
    const file = noteFile(id, type);
    const stamp = stampOf.get(file)!;
    const createdAt = dateOfId(id) ?? dateOfFile(stamp);
    return { file, id, type, createdAt, stamp, meta: stampOf.get(metaFile(file)), sha256 };
  });
}

/** The settings file for the feed in a folder to have these settings; what others keep in the file stays. */
export async function settingsFile(folder: string, settings: StoredSettings): Promise<Change> {
  const found = await readDotFile(join(folder, SETTINGS_FILE));
  return textFile(SETTINGS_FILE, serializeSettings(settings, found && otherSettings(found.text)));
}
