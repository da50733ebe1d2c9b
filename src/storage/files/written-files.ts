import type { Feed } from '../../feeds/feed.ts';
import { dateOfId, datePrefixOfId } from '../../feeds/ids.ts';
import { type NoteFile, noteFile } from '../../feeds/names.ts';
import type { NewNote } from '../../feeds/note.ts';
import type { NoteEdit } from '../../writing/decide.ts';
import {
  otherSettings,
  type StoredMeta,
  type StoredSettings,
  serializeMeta,
  serializeSettings,
  settingsAsStored,
} from '../metadata.ts';
import { type Change, lineFile, type Part, textFile } from './durable.ts';
import type { IndexedFeed } from './indexed-feed.ts';
import type { NamedNote } from './look-ups.ts';
import { LICENSE_FILE, metaFile, PASSWORD_FILE, READ_ID_FILE, SETTINGS_FILE } from './names.ts';
import type { Entry } from './note-list.ts';
import { type FeedFiles, readSettingsFile, UNREADABLE_READ_ID, UnreadableFile } from './read-metadata.ts';
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
function withKeptDate({ id, createdAt }: Entry, stored: StoredMeta): StoredMeta {
  const isDated = datePrefixOfId(id) !== undefined || stored.created !== undefined;
  return isDated ? stored : { ...stored, created: createdAt };
}

/**
 * The settings file for the feed in a folder to have these settings; what others keep in the file stays. Throws an
 * `UnreadableFile`.
 */
async function settingsFile(folder: string, settings: StoredSettings): Promise<Change> {
  const others = otherSettings((await readSettingsFile(folder)) ?? {});
  return textFile(SETTINGS_FILE, serializeSettings(settings, others));
}

/** The dot files that differ for a feed as it is to be. Throws an `UnreadableFile` if what is in one would be lost. */
export async function feedChanges(
  { files, readId }: IndexedFeed,
  folder: string,
  after: Feed,
): Promise<{ readonly changes: readonly Change[]; readonly files: FeedFiles }> {
  const { passwordHash, license } = after;
  const settings = settingsOf(after);
  const changes: Change[] = [];
  if (serializeSettings(files.settings) !== serializeSettings(settings))
    changes.push(await settingsFile(folder, settings));
  if (passwordHash !== files.passwordHash) changes.push(lineFile(PASSWORD_FILE, passwordHash));
  if (license !== files.license) changes.push(lineFile(LICENSE_FILE, license?.text));
  if (after.readId !== readId) {
    if (files.storedReadId === UNREADABLE_READ_ID)
      throw new UnreadableFile(READ_ID_FILE, 'it holds no read id');
    changes.push(lineFile(READ_ID_FILE, after.readId));
  }
  const storedReadId = after.readId === readId ? files.storedReadId : after.readId;
  // The settings as a read of the file gives them, so that the watch finds no difference.
  return { changes, files: { storedReadId, settings: settingsAsStored(settings), passwordHash, license } };
}

/** The changes of files that an edit of a note makes. */
export function noteChanges({ before, after, content }: NoteEdit, { entry, stored }: NamedNote): Change[] {
  const { file } = entry;
  if (after === undefined) return removalChanges(file);
  const dated = content ? withKeptDate(entry, stored) : stored;
  const isSame = dated === stored && after.meta === before.meta;
  return [
    ...(isSame ? [] : [textFile(metaFile(file), serializeMeta(after.meta, dated))]),
    ...(content ? [{ name: file, bytes: content.bytes }] : []),
  ];
}

/** The files of a note that go with it. */
export function removalChanges(file: NoteFile): Change[] {
  return [file, metaFile(file)].map((name) => ({ name, bytes: undefined }));
}

/** The entry of an edited note, from the states of its files by name. */
export function editedEntry(
  { content }: NoteEdit,
  { entry }: NamedNote,
  stampOf: ReadonlyMap<string, Stamp | undefined>,
): Entry {
  const name = metaFile(entry.file);
  const meta = stampOf.has(name) ? stampOf.get(name) : entry.meta;
  if (!content) return { ...entry, meta };
  const stamp = stampOf.get(entry.file)!;
  return { ...entry, size: stamp.size, stamp, meta, sha256: content.sha256 };
}

/** The members of a feed that are in its settings file. */
export function settingsOf(feed: Feed): StoredSettings {
  const { title, description, showSender, listed, image, keepDays, keepNotes } = feed;
  return { title, description, showSender, listed, image, keepDays, keepNotes };
}
