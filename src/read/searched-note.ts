import type { Note, NoteMeta } from '../feeds/note.ts';
import type { SearchedNote } from '../search/match.ts';
import type { CpuLimit } from './cpu-limit.ts';
import { withoutForbidden } from './markup.ts';
import { plainText } from './note-html.ts';
import { shownText } from './note-text.ts';

/**
 * CPU time for reading a text that is searched, in ms. It is the same where texts are indexed and where they are judged: otherwise a text that is slow
 * would be found by the words that people read, but judged by its markdown.
 */
export const READING_MS = 250;

/** What of a note is searched. */
export interface NoteToSearch extends Pick<Note, 'content'> {
  readonly meta: Pick<NoteMeta, 'title' | 'alt' | 'name' | 'tags'>;
}

/** What of a note is searched. A text that cannot be rendered within the limit is searched as written; a few take up to minutes longer. */
export function searchedNote(note: NoteToSearch, limit: CpuLimit): SearchedNote {
  const text = note.content && plainText(note.content, limit);
  return text === undefined ? searchedAsWritten(note) : searchedWithText(note, text);
}

/** The same of a note whose text is not rendered, because that takes too long. */
export function searchedAsWritten(note: NoteToSearch): SearchedNote {
  return searchedWithText(note, note.content ? withoutForbidden(shownText(note.content)) : '');
}

/** @param text of the note, as people read it */
export function searchedWithText({ meta }: NoteToSearch, text: string): SearchedNote {
  const { title = '', alt = '', name = '', tags } = meta;
  return { title, text, alt, name, tags };
}
