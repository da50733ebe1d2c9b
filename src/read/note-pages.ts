import type { Feed } from '../feeds/feed.ts';
import { isNoteId, noteFile, type ReadId } from '../feeds/names.ts';
import type { Note } from '../feeds/note.ts';
import type { Position } from '../feeds/order.ts';
import { encodeCursor } from '../feeds/order.ts';
import { notFound } from '../refusals.ts';
import { PAGE_TEXT_BYTES, type Page, type Storage } from '../storage/storage.ts';
import { badBefore, type RequestedPage } from './page-query.ts';
import type { NotePage } from './views/note-json.ts';

/** A page of a feed that need not exist. */
export interface LoadedPage extends NotePage<Note> {
  readonly feed: Feed | undefined;
}

/**
 * The notes that a client asks for, fewer if their texts are long; none of a feed that does not exist.
 * @throws Refusal `invalid_request` if `before` names no note of the feed
 */
export async function loadPage(
  storage: Storage,
  feed: Feed | undefined,
  query: RequestedPage,
): Promise<LoadedPage> {
  // Before `before` is looked up, because a feed without notes must look like a read id that nobody has.
  if (feed === undefined || feed.noteCount === 0) return { feed, notes: [], next: undefined };
  let { before } = query;
  if (typeof before === 'string') {
    const note = await storage.note(feed, before);
    if (note === undefined) throw badBefore();
    before = positionOf(note);
  }
  return { feed, ...asSent(await storage.page(feed, { ...query, before })) };
}

/** As `loadPage`, of the feed that has the read id. */
export async function loadPageByReadId(
  storage: Storage,
  readId: ReadId,
  query: RequestedPage,
): Promise<LoadedPage> {
  const { before } = query;
  if (typeof before === 'string') return loadPage(storage, await storage.feedByReadId(readId), query);
  const page = await storage.pageByReadId(readId, { ...query, before });
  return page ? { feed: page.feed, ...asSent(page) } : { feed: undefined, notes: [], next: undefined };
}

function asSent(page: Page): NotePage<Note> {
  const { notes, next } = withinBudget(page, PAGE_TEXT_BYTES);
  return { notes, next: next && encodeCursor(next) };
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
