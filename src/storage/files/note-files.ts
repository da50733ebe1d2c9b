import { join } from 'node:path';
import { dateOfId } from '../../feeds/ids.ts';
import { noteFile } from '../../feeds/names.ts';
import { otherSettings, type StoredSettings, serializeMeta, serializeSettings } from '../metadata.ts';
import type { NewNote } from '../storage.ts';
import type { Change, Part } from './durable.ts';
import type { Entry } from './entry.ts';
import { metaFile, SETTINGS_FILE } from './names.ts';
import { readDotFile } from './read-file.ts';
import { dateOfFile, type Stamp } from './stamp.ts';

/** The files of a new note, metadata first: a note never shows without its metadata. */
export function partsOf(note: NewNote): Part[] {
  const file = noteFile(note.id, note.type);
  const meta = serializeMeta(note.meta);
  const content = { name: file, bytes: note.bytes };
  return meta === undefined ? [content] : [{ name: metaFile(file), bytes: Buffer.from(meta) }, content];
}

/** The entries of new notes, from their files as `partsOf` gives them and the states of all of these. */
export function entriesOf(
  notes: readonly NewNote[],
  parts: readonly (readonly Part[])[],
  stamps: readonly (Stamp | undefined)[],
): Entry[] {
  const rest = [...stamps];
  return notes.map((note, i) => entryOf(note, rest.splice(0, parts[i]!.length)));
}

/** The entry of a new note, from the states of its files as `partsOf` orders them. */
export function entryOf({ id, type, sha256 }: NewNote, stamps: readonly (Stamp | undefined)[]): Entry {
  const stamp = stamps.at(-1)!;
  const createdAt = dateOfId(id) ?? dateOfFile(stamp);
  return { file: noteFile(id, type), id, type, createdAt, stamp, meta: stamps.at(-2), sha256 };
}

/** What has to be written for the feed in a folder to have these settings; what others keep in the file stays. */
export async function settingsChange(folder: string, settings: StoredSettings): Promise<Change> {
  const found = await readDotFile(join(folder, SETTINGS_FILE));
  const json = serializeSettings(settings, found && otherSettings(found.text));
  return { name: SETTINGS_FILE, bytes: json === undefined ? undefined : Buffer.from(json) };
}
