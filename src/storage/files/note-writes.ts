import { join } from 'node:path';
import { type FeedName, type NoteId, noteFile } from '../../feeds/names.ts';
import type { NoteType } from '../../feeds/note-types.ts';
import { NO_META, serializeMeta } from '../metadata.ts';
import { KINDS, refuseBeyond, refusePicture } from '../refused-writes.ts';
import type { AllowedFeed, Feed, FeedLimits, NewNote, Storage } from '../storage.ts';
import type { Change } from './durable.ts';
import type { IndexedFeed } from './feed-index.ts';
import { entriesOf, noteParts, settingsFile, textFile } from './file-parts.ts';
import { metaFile } from './names.ts';
import { type Entry, isDatedByFile } from './note-list.ts';
import { statFile } from './read-file.ts';
import { readMetaFile } from './read-metadata.ts';
import type { Stamp } from './stamp.ts';
import { changeFeed, forgetIfGone, limitsOf, type WriteParts } from './steps.ts';

/** A note as it is after a change. */
export interface ChangedNote {
  readonly feed: IndexedFeed;
  readonly entry: Entry;
}

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
  const { dir, index, locks, writer } = parts;
  return locks.shared(name, async () => {
    const feed = index.get(name);
    if (!feed || feed.files.passwordHash !== passwordHash) return undefined;
    const { posting, notes: stored } = feed;
    const taken = { ...stored.counts };
    for (const kind of KINDS) taken[kind] += posting[kind];
    const kept = refuseBeyond({ notes, limits: limitsOf(parts, limits, feed) }, taken);
    for (const kind of KINDS) posting[kind] += kept[kind];
    const files = notes.flatMap((note) => noteParts(note));
    // One note stands with its content alone, so it needs no intent.
    const last = notes.length === 1 ? [] : files.slice(-1);
    let stamps: readonly (Stamp | undefined)[];
    try {
      stamps = await writer.change(join(dir, name), last, files.slice(0, files.length - last.length));
    } catch (error) {
      return forgetIfGone(parts, feed, error);
    } finally {
      // In the turn in which the notes come into the index: else they would count twice meanwhile.
      for (const kind of KINDS) posting[kind] -= kept[kind];
    }
    index.apply(feed, { put: entriesOf(notes, files, stamps) });
    return feed.record();
  });
}

/** See `Storage.replace`. */
export function replaceNote(
  parts: WriteParts,
  ...[allowed, id, { type, bytes, sha256, added = [] }, limits]: Parameters<Storage['replace']>
): Promise<ChangedNote | undefined> {
  return editNote(parts, allowed, { id }, async (feed, entry, folder) => {
    if (entry.type !== type) return undefined;
    const limitsOfFeed = limitsOf(parts, limits, feed);
    refusePicture(type, limitsOfFeed);
    refuseBeyond({ notes: added, limits: limitsOfFeed }, feed.notes.counts);
    const dating = await datingOf(folder, entry);
    const files = added.flatMap((note) => noteParts(note));
    const stamps = await parts.writer.change(folder, [...dating, { name: entry.file, bytes }], files);
    const meta = dating.length > 0 ? stamps.at(-2) : entry.meta;
    const changed = { ...entry, stamp: stamps.at(-1)!, meta, sha256 };
    parts.index.apply(feed, { put: [...entriesOf(added, files, stamps), changed] });
    return { feed, entry: changed };
  });
}

/** See `Storage.setMeta`. */
export function setMeta(
  parts: WriteParts,
  ...[allowed, id, change]: Parameters<Storage['setMeta']>
): Promise<ChangedNote | undefined> {
  return editNote(parts, allowed, { id }, async (feed, entry, folder) => {
    const { meta, ...beside } = (await readMetaFile(folder, entry.file)) ?? NO_META;
    const changes = [textFile(metaFile(entry.file), serializeMeta(change(meta), beside))];
    const [stamp] = await parts.writer.change(folder, changes);
    const changed = { ...entry, meta: stamp };
    parts.index.apply(feed, { put: [changed] });
    return { feed, entry: changed };
  });
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

/** Undefined also if there is no such note, or its file was taken away by hand. */
function editNote<T>(
  parts: WriteParts,
  allowed: AllowedFeed,
  { id, type }: { readonly id: NoteId; readonly type?: NoteType | undefined },
  work: (feed: IndexedFeed, entry: Entry, folder: string) => Promise<T | undefined>,
): Promise<T | undefined> {
  return changeFeed(parts, allowed, async (feed) => {
    const folder = join(parts.dir, feed.name);
    const entry = type ? feed.notes.get(noteFile(id, type)) : feed.entryOfId(id);
    if (!entry || !(await statFile(join(folder, entry.file)))) return undefined;
    return work(feed, entry, folder);
  });
}

/** A note dated by its file's time keeps that date when the file changes: from then on its metadata says it. */
async function datingOf(folder: string, { id, file, createdAt }: Entry): Promise<Change[]> {
  if (!isDatedByFile(id)) return [];
  const { meta, created, others } = (await readMetaFile(folder, file)) ?? NO_META;
  if (created !== undefined) return [];
  return [textFile(metaFile(file), serializeMeta(meta, { created: createdAt, others }))];
}
