import { type FeedName, isReadId, type NoteFile, noteFile } from '../../feeds/names.ts';
import { isUnlisted, type Note } from '../../feeds/note.ts';
import { mediaType } from '../../feeds/note-types.ts';
import { feedUrl, fileUrl, noteUrl, noteUrlByName, rssUrl } from '../../feeds/urls.ts';
import type { Json } from '../../schemas.ts';
import { exactText } from '../note-text.ts';
import type { ReadPlace, TitledNote, ViewFeed } from './document.ts';
import { noteTitle } from './shown-note.ts';

/** A feed seen by whoever knows its name: the addresses hold the key. */
export interface NamedPlace extends ReadPlace {
  readonly name: FeedName;
}

/** A feed seen by its readers: nothing holds its name. */
export interface PublicPlace extends ReadPlace {
  readonly showSender: boolean;
}

/** A page of a feed, for a list. */
export interface NotePage<N extends Note = TitledNote> {
  /** Newest first. */
  readonly notes: readonly N[];
  /** The cursor of the next page; undefined on the last. */
  readonly next: string | undefined;
}

/** A note for whoever knows the feed's name. */
export function namedNote(note: TitledNote, place: NamedPlace): Json<'Note'> {
  const url = noteUrlByName(place.base, place.name, note.id);
  return { ...noteJson(note, place, url, note.meta.sender), key: note.meta.key };
}

/** A note for the feed's readers. */
export function publicNote(note: TitledNote, place: PublicPlace): Json<'Note'> {
  const sender = place.showSender ? note.meta.sender : undefined;
  return noteJson(note, place, noteUrl(place.base, place.readId, note.id), sender);
}

/** A page for whoever knows the feed's name. */
export function namedNoteList(document: NamedPlace & NotePage): Json<'NoteList'> {
  return { notes: document.notes.map((note) => namedNote(note, document)), next: document.next ?? null };
}

/** A page for the feed's readers. */
export function publicNoteList(document: PublicPlace & NotePage): Json<'NoteList'> {
  return { notes: document.notes.map((note) => publicNote(note, document)), next: document.next ?? null };
}

/** The answer to a post. */
export function createdNote({ id, type }: Pick<Note, 'id' | 'type'>, place: NamedPlace): Json<'Created'> {
  const { base, readId, name } = place;
  const file = noteFile(id, type);
  return {
    id,
    url: noteUrlByName(base, name, id),
    feed_url: feedUrl(base, name),
    read_url: isReadId(readId) ? rssUrl(base, readId) : null,
    file,
    file_url: fileUrlIfAny({ base, readId }, file),
  };
}

/** What the public read API says of a feed. */
export function readFeed(feed: ViewFeed, { base, readId }: ReadPlace): Json<'ReadFeed'> {
  return {
    title: feed.title,
    description: feed.description,
    image_url: feed.image === undefined ? null : fileUrl(base, readId, feed.image),
  };
}

/** Null in a feed without a read link. */
function fileUrlIfAny({ base, readId }: ReadPlace, file: NoteFile): string | null {
  return isReadId(readId) ? fileUrl(base, readId, file) : null;
}

function noteJson(
  note: TitledNote,
  { base, readId }: ReadPlace,
  url: string,
  sender: string | undefined,
): Json<'Note'> {
  const { id, type, size, meta, content, createdAt } = note;
  const file = noteFile(id, type);
  return {
    id,
    type: mediaType(type),
    file,
    file_url: fileUrlIfAny({ base, readId }, file),
    size,
    title: noteTitle(note),
    content: content && exactText(content),
    alt: meta.alt,
    name: meta.name,
    created_at: new Date(createdAt).toISOString(),
    url,
    sender,
    tags: meta.tags,
    attached_to: meta.attachedTo,
    unlisted: isUnlisted(note) || undefined,
    expires_at: meta.expires === undefined ? undefined : new Date(meta.expires).toISOString(),
    match: note.match,
  };
}
