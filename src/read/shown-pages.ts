import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Feed } from '../feeds/feed.ts';
import type { NoteId } from '../feeds/names.ts';
import { isUnlisted, type Note } from '../feeds/note.ts';
import { encodeCursor } from '../feeds/order.ts';
import { type Neighbours, PAGE_TEXT_BYTES, type Storage } from '../storage/storage.ts';
import type { AskedNotes } from './asked-notes.ts';
import type { Attachments } from './attachments.ts';
import { type LoadedPage, positionOf } from './note-pages.ts';
import type { NotePage } from './views/note-json.ts';

/** Notes of a further page of the storage. */
const MORE_NOTES = 100;
/** The same behind a full view, to see whether anything follows but the pictures of its last text: a form has at most 10. */
const LOOK_AHEAD = 11;
/** Further pages of the storage for a view that has a note: 50 texts have at most 500 pictures of their posts. */
const MAX_MORE = 8;
/**
 * How often the first page of all notes loads `PAGE_TEXT_BYTES` of texts to find a note: 8 MiB, or 80 texts of the longest.
 * Their HTML is kept, and so is the page.
 */
const MAX_TEXT_LOADS = 8;
/** The most notes that are left out on the way to a neighbour, because each costs two calls of the storage. */
const MAX_LEFT_OUT = 100;

/** A page as views with rendered notes show it. */
export interface ShownPage extends NotePage<Note> {
  readonly feed: Feed | undefined;
}

/**
 * The notes of a view that begins with this page. Unlisted pictures, and those that their texts show, are left out; further
 * pages of the storage fill their places. The view gets at least one note if it can, because readers of RSS never ask for
 * another page. It has fewer notes than `limit` if their texts are long. If finding the first note would load too many texts,
 * the view shows the next listed picture without knowing whether a text shows it.
 * @throws Refusal `busy` if too many tasks wait
 */
export async function shownFrom(
  asked: Pick<AskedNotes, 'page' | 'has' | 'isFirst' | 'isOfAll'>,
  { feed, ...first }: LoadedPage,
  limit: number,
  attachments: Attachments,
): Promise<ShownPage> {
  const notes: Note[] = [];
  if (feed === undefined) return { feed, notes, next: undefined };
  // Only the first page of all notes is kept, so only for it a request may read more than for others.
  const isKept = asked.isFirst && asked.isOfAll;
  let [page, bytes, leftOut, textLoads] = [first, 0, 0, 1];
  let next: typeof page.next;
  for (let more = 0; ; more += 1) {
    const count = await attachments.add(feed, page.notes);
    for (const note of page.notes.slice(0, count)) {
      if (await isLeftOut(note, attachments, asked)) leftOut += 1;
      else {
        bytes += note.content?.byteLength ?? 0;
        const isFull = notes.length === limit || bytes > PAGE_TEXT_BYTES;
        if (isFull && notes.length > 0) return { feed, notes, next: next && encodeCursor(next) };
        notes.push(note);
      }
      next = positionOf(note);
    }
    if (count === page.notes.length) next = page.next;
    else if (notes.length > 0) break;
    else if (isKept && textLoads < MAX_TEXT_LOADS) {
      textLoads += 1;
      attachments.forgetTexts();
    } else {
      const listed = page.notes.slice(count).find((note) => !isUnlisted(note));
      if (listed === undefined) break;
      notes.push(listed);
      next = listed === page.notes.at(-1) ? page.next : positionOf(listed);
      break;
    }
    if (leftOut === 0 || next === undefined) break;
    if (more >= MAX_MORE) {
      // A search that has asked its index often enough gives empty pages.
      if (notes.length > 0 || page.notes.length === 0 || !isKept) break;
      // Pages of plain files may need no turn of the event loop.
      await nextTurn();
    }
    const missing = notes.length < limit ? MORE_NOTES : LOOK_AHEAD;
    page = await asked.page(feed, missing, next);
  }
  return { feed, notes, next: next && encodeCursor(next) };
}

/**
 * The notes before and after one, to which its page links. Leaves out what the feed's page leaves out. If the search for a
 * neighbour ends before it finds one, the note at its end is the neighbour, because its own links lead on.
 * @throws Refusal `busy` if too many tasks wait
 */
export async function shownNeighbours(
  storage: Pick<Storage, 'note' | 'neighbours'>,
  feed: Feed,
  note: Note,
  attachments: Attachments,
): Promise<Neighbours> {
  const found = await storage.neighbours(feed, positionOf(note));
  // Only pictures are left out.
  if (feed.imageCount === 0) return found;
  await attachments.add(feed, [note]);
  let { expires } = found;
  const shown = async (side: 'older' | 'newer'): Promise<NoteId | undefined> => {
    let id = found[side];
    for (let passed = 0; id !== undefined; passed += 1) {
      const next = await storage.note(feed, id);
      if (next === undefined || next.type === 'md') return id;
      if ((await attachments.add(feed, [next])) === 0 || passed === MAX_LEFT_OUT) return id;
      if (!(await isLeftOut(next, attachments, ALL_NOTES))) return id;
      const further = await storage.neighbours(feed, positionOf(next));
      expires = Math.min(expires, further.expires);
      id = further[side];
    }
    return undefined;
  };
  return { older: await shown('older'), newer: await shown('newer'), expires };
}

const ALL_NOTES = { has: async () => true };

/** Whether views leave out a note: one that only lists have, or that is shown in a text which is asked for as well. */
async function isLeftOut(
  note: Note,
  attachments: Attachments,
  asked: Pick<AskedNotes, 'has'>,
): Promise<boolean> {
  if (isUnlisted(note)) return true;
  const text = attachments.textOf(note);
  return text !== undefined && asked.has(text);
}
