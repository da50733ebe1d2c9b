import { noteFile } from '../../feeds/names.ts';
import type { Note } from '../../feeds/note.ts';
import { mediaType } from '../../feeds/note-types.ts';
import { cutTitle } from '../../feeds/text.ts';
import { filesUrl, fileUrl } from '../../feeds/urls.ts';
import { escapeHtml } from '../markup.ts';
import { exactText, firstPicture, type Page, placedHtml, type Rendered } from '../note-text.ts';
import { withBaseAt } from '../picture-places.ts';
import type { ReadPlace, TitledNote, ViewNote } from './document.ts';

/** The title of a note (contract §3 "Title of a note"); empty if it has none. */
export function noteTitle({ content, meta, rendered }: TitledNote): string {
  const { title, alt, name } = meta;
  if (title) return cutTitle(title);
  return content === undefined ? cutTitle(alt || name || '') : (rendered?.title ?? '');
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

/**
 * The note as HTML with absolute addresses.
 * @param page that it is to fit into
 */
export function noteHtml(note: ViewNote, place: ReadPlace, page?: Page): string {
  return placedHtml(shown(note, place), filesUrl(place.base, place.readId), page);
}

/** The address of the first picture that the note shows. */
export function notePicture(note: ViewNote, place: ReadPlace): string | undefined {
  return firstPicture(shown(note, place), filesUrl(place.base, place.readId));
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

function shown(note: ViewNote, place: ReadPlace): Pick<Rendered, 'html'> {
  if (note.rendered !== undefined) return note.rendered;
  const { url } = picture(note, place);
  return { html: ['<p><img', { picture: url }, ` alt="${escapeHtml(note.meta.alt ?? '')}" /></p>`] };
}
