import type { Feed } from '../feeds/feed.ts';
import { isNoteId, noteFile } from '../feeds/names.ts';
import type { Note } from '../feeds/note.ts';
import { encodeCursor, type Position } from '../feeds/order.ts';
import { notFound } from '../refusals.ts';
import { PAGE_TEXT_BYTES, type Page, type Storage } from '../storage/storage.ts';
import type { Attachments } from './attachments.ts';
import type { FoundNote } from './views/document.ts';
import type { NotePage } from './views/note-json.ts';

/** A page of a feed that need not exist. */
export interface LoadedPage extends Page {
  readonly feed: Feed | undefined;
  readonly notes: readonly FoundNote[];
}

/**
 * A page for a list, shorter if its texts are long or those of its pictures are.
 * @throws Refusal `busy` if too many tasks wait
 */
export async function listOf(
  page: LoadedPage,
  attachments: Attachments,
  maxBytes = PAGE_TEXT_BYTES,
): Promise<NotePage<Note>> {
  const { notes, next } = withinBudget(page, maxBytes);
  const count = page.feed ? await attachments.add(page.feed, notes) : 0;
  const isCut = count < notes.length;
  const end = isCut ? positionOf(notes[count - 1]!) : next;
  return { notes: attachments.shown(notes.slice(0, count)), next: end && encodeCursor(end) };
}

/** The note with this id, which may be any text. Throws a Refusal `not_found`. */
export async function loadNote(storage: Storage, feed: Feed | undefined, id: string): Promise<Note> {
  const note = feed && isNoteId(id) ? await storage.note(feed, id) : undefined;
  if (note === undefined) throw notFound('note');
  return note;
}

/**
 * The page up to the last note whose text is within `maxBytes` together with all before it; one note at least. The next
 * page starts with the notes that were cut off.
 */
export function withinBudget(page: Page, maxBytes: number): Page {
  let bytes = 0;
  for (const [index, { content }] of page.notes.entries()) {
    bytes += content?.byteLength ?? 0;
    const last = page.notes[index - 1];
    if (bytes > maxBytes && last) return { notes: page.notes.slice(0, index), next: positionOf(last) };
  }
  return page;
}

/** The position of a note in its feed's order. */
export function positionOf({ id, type, createdAt }: Note): Position {
  return { createdAt, file: noteFile(id, type) };
}
