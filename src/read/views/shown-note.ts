import { noteFile } from '../../feeds/names.ts';
import type { Note } from '../../feeds/note.ts';
import { mediaType } from '../../feeds/note-types.ts';
import { cutTitle, markdownTitle } from '../../feeds/title.ts';
import { filesUrl, fileUrl } from '../../feeds/urls.ts';
import { escapeHtml } from '../markup.ts';
import { exactText, placedHtml } from '../note-text.ts';
import { withBaseAt } from '../prepared-text.ts';
import type { ReadPlace, ViewNote } from './document.ts';

/** The title of a note (contract §3 "Title of a note"); empty if it has none. */
export function noteTitle(note: Note): string {
  const { title, alt, name } = note.meta;
  if (title) return cutTitle(title);
  return note.content === undefined ? cutTitle(alt || name || '') : markdownTitle(note.content);
}

/** The markdown with absolute references to the feed's pictures; a picture's alternative text. */
export function noteText({ content, rendered, meta }: ViewNote, { base, readId }: ReadPlace): string {
  if (content === undefined) return meta.alt ?? '';
  return withBaseAt(rendered?.pictures ?? [], exactText(content), filesUrl(base, readId));
}

/** The beginning of the note in plain text; a picture's alternative text. */
export function noteExcerpt({ rendered, meta }: ViewNote): string {
  return rendered?.excerpt ?? meta.alt ?? '';
}

/** The note as HTML with absolute addresses. */
export function noteHtml(note: ViewNote, place: ReadPlace): string {
  const { base, readId } = place;
  if (note.rendered !== undefined) return placedHtml(note.rendered, filesUrl(base, readId));
  const { url } = picture(note, place);
  return `<p><img src="${escapeHtml(url)}" alt="${escapeHtml(note.meta.alt ?? '')}" /></p>`;
}

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
