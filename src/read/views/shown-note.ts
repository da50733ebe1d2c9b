import { noteFile } from '../../feeds/names.ts';
import { mediaType } from '../../feeds/note-types.ts';
import { cutAt } from '../../feeds/text.ts';
import { markdownTitle, TITLE_LENGTH } from '../../feeds/title.ts';
import type { Note } from '../../storage/storage.ts';
import { absolutePictures } from '../absolute-pictures.ts';
import { escapedText, escapeHtml } from '../html.ts';
import { exactText } from '../text.ts';
import { filesUrl, fileUrl } from '../urls.ts';
import type { ReadPlace, ViewNote } from './document.ts';

/** The title of a note in JSON, pages and feeds (contract §3 "Title of a note"); empty when it has none. */
export function noteTitle(note: Note): string {
  const { title, alt } = note.meta;
  if (title) return cutAt(title, TITLE_LENGTH);
  return note.content === undefined ? cutAt(alt ?? '', TITLE_LENGTH) : markdownTitle(note.content);
}

/** The markdown as posted with references to the feed's pictures made absolute; a picture's alternative text. */
export function noteText(note: Note, { base, readId }: ReadPlace): string {
  if (note.content === undefined) return note.meta.alt ?? '';
  return absolutePictures(exactText(note.content), filesUrl(base, readId));
}

/** The note as HTML with absolute addresses. */
export function noteHtml(note: ViewNote, place: ReadPlace): string {
  if (note.content !== undefined) return note.html ?? escapedText(note.content);
  const { url } = picture(note, place);
  return `<p><img src="${escapeHtml(url)}" alt="${escapeHtml(note.meta.alt ?? '')}" /></p>`;
}

/** The file of a picture note as feeds announce it. */
export function picture(
  note: Note,
  { base, readId }: ReadPlace,
): { url: string; type: string; size: number } {
  return {
    url: fileUrl(base, readId, noteFile(note.id, note.type)),
    type: mediaType(note.type),
    size: note.size,
  };
}
