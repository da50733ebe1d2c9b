import { dateOfId, datePrefixOfId } from '../../feeds/ids.ts';
import { noteFile } from '../../feeds/names.ts';
import type { NewNote } from '../../feeds/note.ts';
import {
  otherSettings,
  type StoredMeta,
  type StoredSettings,
  serializeMeta,
  serializeSettings,
} from '../metadata.ts';
import { type Change, lineFile, type Part, textFile } from './durable.ts';
import { LICENSE_FILE, metaFile, PASSWORD_FILE, READ_ID_FILE, SETTINGS_FILE } from './names.ts';
import type { Entry } from './note-list.ts';
import { type FeedFiles, readSettingsFile } from './read-metadata.ts';
import { dateByFile, type Stamp } from './stamp.ts';

/** The dot files of a new feed. */
export function feedParts({ storedReadId, settings, passwordHash, license }: FeedFiles): Part[] {
  const files = [
    lineFile(READ_ID_FILE, storedReadId),
    lineFile(PASSWORD_FILE, passwordHash),
    lineFile(LICENSE_FILE, license?.text),
    textFile(SETTINGS_FILE, serializeSettings(settings)),
  ];
  return files.filter((file): file is Part => file.bytes !== undefined);
}

/** The files of a new note, metadata first: a note never shows without its metadata. */
export function noteParts({ id, type, meta, bytes, createdAt, modifiedAt, others }: NewNote): Part[] {
  const file = noteFile(id, type);
  const isSaid =
    createdAt === undefined ||
    dateOfId(id) !== undefined ||
    createdAt === dateByFile(id, { mtimeMs: modifiedAt ?? Date.now() });
  const json = serializeMeta(meta, { created: isSaid ? undefined : createdAt, others });
  const content = { name: file, bytes, modifiedAt };
  return json === undefined ? [content] : [{ name: metaFile(file), bytes: Buffer.from(json) }, content];
}

/** The entries of new notes, from the states of their files by name. */
export function entriesOf(
  notes: readonly NewNote[],
  stampOf: ReadonlyMap<string, Stamp | undefined>,
): Entry[] {
  return notes.map(({ id, type, sha256, createdAt: dated }) => {
    const file = noteFile(id, type);
    const stamp = stampOf.get(file)!;
    const createdAt = dated ?? dateOfId(id) ?? dateByFile(id, stamp);
    const meta = stampOf.get(metaFile(file));
    return { file, id, type, createdAt, size: stamp.size, stamp, meta, sha256 };
  });
}

/** A note dated by its file's time keeps that date when the file changes: from then on its metadata says it. */
export function withKeptDate({ id, createdAt }: Entry, stored: StoredMeta): StoredMeta {
  const isDated = datePrefixOfId(id) !== undefined || stored.created !== undefined;
  return isDated ? stored : { ...stored, created: createdAt };
}

/**
 * The settings file for the feed in a folder to have these settings; what others keep in the file stays. Throws an
 * `UnreadableFile`.
 */
export async function settingsFile(folder: string, settings: StoredSettings): Promise<Change> {
  const others = otherSettings((await readSettingsFile(folder)) ?? {});
  return textFile(SETTINGS_FILE, serializeSettings(settings, others));
}
