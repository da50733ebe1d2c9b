import { join } from 'node:path';
import type { AllowedFeed, Feed } from '../../feeds/feed.ts';
import { dateOfId, datePrefixOfId } from '../../feeds/ids.ts';
import { type FeedName, type NoteId, noteFile } from '../../feeds/names.ts';
import type { NewNote, Note, NoteMeta } from '../../feeds/note.ts';
import type { NoteType } from '../../feeds/note-types.ts';
import {
  type BesideMeta,
  NO_META,
  otherSettings,
  type StoredMeta,
  type StoredSettings,
  serializeMeta,
  serializeSettings,
} from '../metadata.ts';
import { KINDS, limitsNow, refuseBeyond, refusePicture } from '../refused-writes.ts';
import type { FeedLimits, Storage } from '../storage.ts';
import { type Change, type Part, textFile } from './durable.ts';
import type { IndexedFeed } from './feed-index.ts';
import { metaFile, SETTINGS_FILE } from './names.ts';
import type { Entry } from './note-list.ts';
import { readWhole, statFile } from './read-file.ts';
import { readMetaFile, readSettingsFile } from './read-metadata.ts';
import { dateByFile, type Stamp, settled, UNSEEN } from './stamp.ts';
import { changeFeed, forgetIfGone, type WriteParts } from './steps.ts';

/**
 * See `Storage.post`, with a target that exists. It runs beside others, because a batch that begins when the last is over posts
 * half as many notes a second. What is stored and what is being stored never pass the limits together.
 */
export function postNotes(
  parts: WriteParts,
  name: FeedName,
  notes: readonly NewNote[],
  passwordHash: string | undefined,
  limits: FeedLimits,
): Promise<Feed | undefined> {
  const { dir, index, isLicenseValid, locks, writer } = parts;
  return locks.shared(name, async () => {
    const feed = index.get(name);
    if (!feed || feed.files.passwordHash !== passwordHash) return undefined;
    const { posting, notes: stored } = feed;
    const taken = { ...stored.counts };
    for (const kind of KINDS) taken[kind] += posting[kind];
    const limitsOfFeed = limitsNow(limits, feed.files.license?.text, isLicenseValid);
    const kept = refuseBeyond({ notes, limits: limitsOfFeed }, taken);
    const files = notes.flatMap((note) => noteParts(note));
    // One note exists as soon as its content does, so it needs no intent.
    const last = notes.length === 1 ? [] : files.slice(-1);
    for (const kind of KINDS) posting[kind] += kept[kind];
    let stamps: readonly (Stamp | undefined)[];
    try {
      stamps = await writer.change(join(dir, name), last, files.slice(0, files.length - last.length));
    } catch (error) {
      return forgetIfGone(parts, feed, error);
    } finally {
      // In the turn in which the notes come into the index: else they would count twice meanwhile.
      for (const kind of KINDS) posting[kind] -= kept[kind];
    }
    return index.apply(feed, { put: entriesOf(notes, files, stamps) });
  });
}

/** See `Storage.replace`. */
export function replaceNote(
  parts: WriteParts,
  ...[allowed, id, { type, bytes, sha256, added = [] }, limits]: Parameters<Storage['replace']>
): Promise<Note | undefined> {
  return editNote(parts, allowed, { id }, async (feed, entry, folder) => {
    if (entry.type !== type) return undefined;
    const limitsOfFeed = limitsNow(limits, feed.files.license?.text, parts.isLicenseValid);
    refusePicture(type, limitsOfFeed);
    refuseBeyond({ notes: added, limits: limitsOfFeed }, feed.notes.counts);
    const stored = (await readMetaFile(folder, entry.file)) ?? NO_META;
    const dating = datingOf(entry, stored);
    const files = added.flatMap((note) => noteParts(note));
    const stamps = await parts.writer.change(folder, [...dating, { name: entry.file, bytes }], files);
    const meta = dating.length > 0 ? stamps.at(-2) : entry.meta;
    const changed = { ...entry, stamp: stamps.at(-1)!, meta, sha256 };
    parts.index.apply(feed, { put: [...entriesOf(added, files, stamps), changed] });
    return noteOf(changed, stored.meta, type === 'md' ? new Uint8Array(bytes) : undefined);
  });
}

/** See `Storage.setMeta`. */
export function setMeta(
  parts: WriteParts,
  ...[allowed, id, change]: Parameters<Storage['setMeta']>
): Promise<Note | undefined> {
  return editNote(parts, allowed, { id }, async (feed, entry, folder) => {
    const { meta, ...beside } = (await readMetaFile(folder, entry.file)) ?? NO_META;
    const isText = entry.type === 'md';
    const text = isText ? await readWhole(join(folder, entry.file)) : undefined;
    if (isText && !text) return undefined;
    const changedMeta = change(meta);
    const changes = [textFile(metaFile(entry.file), serializeMeta(changedMeta, beside))];
    const [stamp] = await parts.writer.change(folder, changes);
    const changed = { ...entry, meta: stamp };
    parts.index.apply(feed, { put: [changed] });
    return noteOf(changed, changedMeta, text?.bytes);
  });
}

/** The answer of an edit, made within its step, because the next step may change the note again. */
function noteOf({ id, type, stamp, createdAt }: Entry, meta: NoteMeta, content: Note['content']): Note {
  return { id, type, size: stamp.size, createdAt, meta, content };
}

/** See `Storage.remove`. After a crash the note is gone or there; metadata alone is cleared away at the start. */
export async function removeNote(
  parts: WriteParts,
  ...[allowed, id, type]: Parameters<Storage['remove']>
): Promise<boolean> {
  const removed = await editNote(parts, allowed, { id, type }, async (feed, { file }, folder) => {
    const { settings } = feed.files;
    const changes: Change[] = [file, metaFile(file)].map((name) => ({ name, bytes: undefined }));
    const isTitleImage = settings.image === file;
    const cleared = { ...settings, image: undefined };
    if (isTitleImage) changes.push(await settingsFile(folder, cleared));
    await parts.writer.change(folder, changes);
    const files = isTitleImage ? { ...feed.files, settings: cleared } : undefined;
    parts.index.apply(feed, { gone: [file], files });
    return true;
  });
  return removed ?? false;
}

/** Undefined also if there is no such note, or somebody removed its file. */
function editNote<T>(
  parts: WriteParts,
  allowed: AllowedFeed,
  { id, type }: { readonly id: NoteId; readonly type?: NoteType | undefined },
  work: (feed: IndexedFeed, entry: Entry, folder: string) => Promise<T | undefined>,
): Promise<T | undefined> {
  return changeFeed(parts, allowed, async (feed) => {
    const folder = join(parts.dir, feed.name);
    const entry = type ? feed.notes.get(noteFile(id, type)) : feed.entryOfId(id);
    const stats = entry && (await statFile(join(folder, entry.file)));
    if (!stats) return undefined;
    // Known before the edit, so that the watch finds no difference if it is taken back.
    if (entry.stamp === UNSEEN) entry.stamp = settled(stats);
    if (entry.meta === UNSEEN) {
      const found = await statFile(join(folder, metaFile(entry.file)));
      if (found) entry.meta = settled(found);
    }
    const copy = { ...entry };
    entry.isEdited = true;
    try {
      return await work(feed, copy, folder);
    } finally {
      if (feed.notes.get(entry.file) === entry) feed.takeBack(copy);
    }
  });
}

/** A note dated by its file's time keeps that date when the file changes: from then on its metadata says it. */
function datingOf({ id, file, createdAt }: Entry, { meta, created, others }: StoredMeta): Change[] {
  if (datePrefixOfId(id) !== undefined || created !== undefined) return [];
  return [textFile(metaFile(file), serializeMeta(meta, { created: createdAt, others }))];
}

/** The files of a new note, metadata first: a note never shows without its metadata. */
export function noteParts(
  { id, type, meta, bytes, modifiedAt }: NewNote & Pick<Part, 'modifiedAt'>,
  beside?: BesideMeta,
): Part[] {
  const file = noteFile(id, type);
  const json = serializeMeta(meta, beside);
  const content = { name: file, bytes, modifiedAt };
  return json === undefined ? [content] : [{ name: metaFile(file), bytes: Buffer.from(json) }, content];
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
    const createdAt = dateOfId(id) ?? dateByFile(id, stamp);
    return { file, id, type, createdAt, stamp, meta: stampOf.get(metaFile(file)), sha256 };
  });
}

/**
 * The settings file for the feed in a folder to have these settings; what others keep in the file stays. Throws an
 * `UnreadableFile`.
 */
export async function settingsFile(folder: string, settings: StoredSettings): Promise<Change> {
  const others = otherSettings((await readSettingsFile(folder)) ?? {});
  return textFile(SETTINGS_FILE, serializeSettings(settings, others));
}
