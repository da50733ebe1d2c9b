import { noteGuid } from '../../feeds/ids.ts';
import { isReadId, noteFile } from '../../feeds/names.ts';
import type { Note } from '../../feeds/note.ts';
import { mediaType, NOTE_TYPES } from '../../feeds/note-types.ts';
import { cutTitle, shownOneLine } from '../../feeds/text.ts';
import { filesUrl, fileUrl } from '../../feeds/urls.ts';
import { exactText, firstPicture, type Page, pictureHtml, placedHtml } from '../note-text.ts';
import { withBaseAt } from '../picture-places.ts';
import type { FeedDocument, ReadPlace, TitledNote, ViewNote } from './document.ts';

/** The title of a feed for its readers, with what its notes were searched for. */
export function feedTitle({ feed, serviceTitle, search }: Omit<FeedDocument, 'notes'>): string {
  const title = feed.title || serviceTitle;
  return search?.q === undefined ? title : `“${shownOneLine(search.q)}” · ${title}`;
}

/**
 * The guid of a note in a feed: its id, or its file if the id stands for another note. Somebody who places files by hand may give
 * several the same base name, which is their id, and a reader shows one item for each guid.
 */
export function guidOf({ id, type }: Note, { readId, notes }: FeedDocument): string {
  const rank = NOTE_TYPES.indexOf(type);
  const isSecond = notes.some((other) => other.id === id && NOTE_TYPES.indexOf(other.type) < rank);
  return noteGuid(readId, isSecond ? noteFile(id, type) : id);
}

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
 * The note as HTML with absolute addresses; without those of files in a feed without a read link, which has none.
 * @param page that it is to fit into
 */
export function noteHtml(note: ViewNote, place: ReadPlace, page?: Page): string {
  const files = isReadId(place.readId) ? filesUrl(place.base, place.readId) : undefined;
  if (note.rendered !== undefined) return placedHtml(note.rendered, files, page);
  return pictureHtml(ownUrl(note, place), note.meta, files, page);
}

/** The address of the first picture that the note shows. */
export function notePicture(note: ViewNote, place: ReadPlace): string | undefined {
  if (note.rendered === undefined) return ownUrl(note, place);
  return firstPicture(note.rendered, filesUrl(place.base, place.readId));
}

/** The files that belong to a note: a picture's own, and the pictures that came with a text. */
export function attachmentsOf(note: ViewNote): readonly Note[] {
  return note.content === undefined ? [note] : (note.attachments ?? []);
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

/** Of a picture; undefined in a feed without a read link. */
function ownUrl(note: Note, place: ReadPlace): string | undefined {
  return isReadId(place.readId) ? picture(note, place).url : undefined;
}
