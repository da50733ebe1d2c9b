import { join } from 'node:path';
import { type NoteFile, type NoteId, noteFile, parseNoteFile } from '../../feeds/names.ts';
import type { Note } from '../../feeds/note.ts';
import type { NoteType } from '../../feeds/note-types.ts';
import type { Command, Lookups } from '../../writing/command.ts';
import type { State } from '../../writing/decide.ts';
import type { KeyedLock } from '../keyed-lock.ts';
import { NO_META, type StoredMeta } from '../metadata.ts';
import type { FileWriter } from './durable.ts';
import type { IndexedFeed } from './indexed-feed.ts';
import type { MarkKeeper } from './mark-keeper.ts';
import { metaFile } from './names.ts';
import type { Entry } from './note-list.ts';
import { findAgain, isThere, readWhole, statFile } from './read-file.ts';
import { readMetaFile, UnreadableFile } from './read-metadata.ts';
import { stampToKeep, UNSEEN } from './stamp.ts';

interface NoteOfCommand {
  readonly kind: Command['kind'];
  readonly ifMatch?: readonly string[] | undefined;
  readonly id: NoteId;
  readonly type: NoteType | undefined;
}

/** The note that a command names. */
export interface NamedNote {
  /** As it was before the command. */
  readonly entry: Entry;
  readonly stored: StoredMeta;
  readonly note: Note;
}

/** What look-ups need. */
interface LookupParts {
  readonly dir: string;
  readonly locks: KeyedLock<string>;
  readonly keeper: Pick<MarkKeeper, 'whenMarked'>;
  readonly writer: Pick<FileWriter, 'finishUndo'>;
}

/** Runs a step alone with a key, and gives it the note that has the key. */
export function withHolder<T>(
  parts: LookupParts,
  feed: IndexedFeed,
  { key, command, now }: { readonly key: string; readonly command: Command; readonly now: number },
  step: (holder?: NamedNote) => Promise<T>,
): Promise<T> {
  return parts.locks.exclusive(`${feed.name}/${key}`, async () => {
    await parts.keeper.whenMarked(feed);
    for (const file of feed.marks?.holdersOf(key, now) ?? []) {
      const { id, type } = parseNoteFile(file)!;
      // Somebody may have just removed it, or changed its key, while another has the key.
      const held = await withNote(parts, feed, { ...command, id, type }, async (named) =>
        named?.note.meta.key === key ? { done: await step(named) } : undefined,
      );
      if (held) return held.done;
    }
    return step();
  });
}

/** Whether the feed has the file of a chosen title image. */
export async function hasFile(dir: string, feed: IndexedFeed, { image }: Lookups): Promise<boolean> {
  if (image === undefined || !feed.notes.get(image)) return false;
  return (await statFile(join(dir, feed.name, image))) !== undefined;
}

/** Which notes to be imported are there, also those that the watch has not reported yet, and which of their keys are taken. */
export async function presentOf(
  { dir, keeper, writer }: LookupParts,
  feed: IndexedFeed,
  { imported = [] }: Lookups,
  now: number,
): Promise<Pick<State, 'present' | 'heldKeys'>> {
  const present = new Set<NoteFile>();
  const heldKeys = new Set<string>();
  if (imported.length > 0) await writer.finishUndo(join(dir, feed.name));
  for (const { id, type, meta } of imported) {
    const file = noteFile(id, type);
    if (feed.notes.get(file) || (await isThere(join(dir, feed.name, file)))) present.add(file);
    if (meta.key === undefined) continue;
    await keeper.whenMarked(feed);
    if (feed.marks?.holdersOf(meta.key, now).length) heldKeys.add(meta.key);
  }
  return { present, heldKeys };
}

/**
 * Runs a step on a note and gives it the note as it is now, or nothing if there is no such note or somebody removed its file.
 * Reads that meet the mark of the edit meanwhile are repeated after it.
 */
export async function withNote<T>(
  { dir, writer }: Pick<LookupParts, 'dir' | 'writer'>,
  feed: IndexedFeed,
  { id, type, kind, ifMatch }: NoteOfCommand,
  step: (named?: NamedNote) => Promise<T>,
): Promise<T> {
  const folder = join(dir, feed.name);
  const entry = type ? feed.notes.get(noteFile(id, type)) : feed.entryOfId(id);
  if (!entry) return step();
  // What a refused write has left is no state of the note.
  await writer.finishUndo(folder);
  const stats = await findAgain(dir, () => statFile(join(folder, entry.file)));
  if (!stats) return step();
  // Known before the edit, so that the watch finds no difference if it is taken back.
  if (entry.stamp === UNSEEN) entry.stamp = stampToKeep(stats);
  if (entry.meta === UNSEEN) {
    const found = await statFile(join(folder, metaFile(entry.file)));
    if (found) entry.meta = stampToKeep(found);
  }
  const copy = { ...entry };
  entry.isEdited = true;
  try {
    const readMeta = () =>
      readMetaFile(folder, entry.file).catch((error) => {
        // A note whose metadata cannot be read can still be removed.
        if (kind !== 'remove' || !(error instanceof UnreadableFile)) throw error;
      });
    const found = await (entry.meta ? findAgain(dir, readMeta) : readMeta());
    const stored = found ?? NO_META;
    // The ETag of a text is that of its bytes.
    const isAnswer = kind === 'describe' || kind === 'post' || ifMatch !== undefined;
    const isText = isAnswer && entry.type === 'md';
    const text = isText && (await findAgain(dir, () => readWhole(join(folder, entry.file))));
    if (text === undefined) return step();
    const { id, type, createdAt } = entry;
    // Of the bytes that are shown: somebody may have changed the file by hand since the first look at it.
    const { size, mtimeMs: modifiedAt } = text ? text.stamp : stats;
    const content = text ? text.bytes : undefined;
    const note = { id, type, size, createdAt, modifiedAt, meta: stored.meta, content };
    return await step({ entry: copy, stored, note });
  } finally {
    if (feed.notes.get(entry.file) === entry) feed.takeBack(copy);
  }
}
