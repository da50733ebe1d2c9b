import { type FeedName, isReadId, type NoteId } from '../../feeds/names.ts';
import type { PixelSize } from '../../feeds/picture-bytes.ts';
import { fileUrl, noteUrl, noteUrlByName } from '../../feeds/urls.ts';
import type { Neighbours } from '../../storage/storage.ts';
import type { ArticleNote } from '../../web/article.ts';
import { UNTITLED } from '../../web/feed-name.ts';
import { namedFeedPage, publicFeedPage, type ShownNotes } from '../../web/feed-page.ts';
import type { Hit } from '../../web/hits.ts';
import { namedNotePage, publicNotePage } from '../../web/note-page.ts';
import type { Site } from '../../web/site.ts';
import { feedIdentity, noteEtag } from '../../writing/etags.ts';
import { exactText } from '../note-text.ts';
import type { FeedDocument, ViewNote } from './document.ts';
import { noteExcerpt, noteHtml, notePicture, noteTitle } from './shown-note.ts';

/** The input of every page with notes; plain data, because it is sent to a worker. */
interface PageDocument extends FeedDocument {
  readonly site: Site;
  /** Known sizes of the notes' pictures, by their addresses. */
  readonly sizes: ReadonlyMap<string, PixelSize>;
}

/** The input of a page that lists notes of a feed. */
export interface FeedPageDocument extends PageDocument {
  /** Of the feed; a client compares it with later ones. */
  readonly version: string;
  /** The notes are not the newest. */
  readonly isOlder: boolean;
  /** The cursor of the next page; undefined on the last. */
  readonly next: string | undefined;
}

/** The input of a page of one note, the only one of `notes`. */
export interface NotePageDocument extends PageDocument {
  readonly neighbours: Neighbours;
}

/** The input of a page for a client that knows the feed's name. */
export interface OfName {
  readonly name: FeedName;
}

export interface OfNamedFeed extends OfName {
  readonly isProtected: boolean;
  readonly hasNotes: boolean;
  /** Tells the feed from a later one of its name (`feedIdentity`); undefined for none. */
  readonly identity: string | undefined;
}

/** Levels of the headings above the notes of a feed. */
const DAY_LEVEL = 2;
/** The same above a note on its own page. */
const PAGE_LEVEL = 1;

/** The page at `/r/<read_id>`. */
export function readPage(document: FeedPageDocument): string {
  const { site, base, readId, feed } = document;
  const { description, listed } = feed;
  const shown = pageNotes(
    document,
    (note) => readArticle(note, document, DAY_LEVEL),
    (id) => noteUrl(base, readId, id),
  );
  return publicFeedPage(site, {
    base,
    readId,
    title: titleOf(document),
    description,
    listed,
    imageUrl: imageUrl(document),
    firstPictureUrl: firstOf(document.notes, (note) => notePicture(note, document)),
    ...shown,
  });
}

/** The page at `/<feed>`. */
export function feedPage(document: FeedPageDocument & OfNamedFeed): string {
  const { site, base, readId, name, feed, hasNotes, isProtected, identity } = document;
  const shown = pageNotes(
    document,
    (note) => namedArticle(note, document, DAY_LEVEL),
    (id) => noteUrlByName(base, name, id),
  );
  return namedFeedPage(site, {
    base,
    name,
    readId: isReadId(readId) ? readId : undefined,
    hasNotes,
    title: feed.title || UNTITLED,
    isUntitled: feed.title === '',
    description: feed.description,
    imageUrl: imageUrl(document),
    isProtected,
    identity,
    ...shown,
  });
}

/** The page at `/r/<read_id>/<id>`. */
export function readNotePageOf(document: NotePageDocument): string {
  const { site, base, readId, neighbours } = document;
  const note = document.notes[0]!;
  const article = readArticle(note, document, PAGE_LEVEL);
  const feedTitle = titleOf(document);
  return publicNotePage(site, {
    base,
    readId,
    feedTitle,
    listed: document.feed.listed,
    note: article,
    title: noteTitle(note) || feedTitle,
    excerpt: noteExcerpt(note),
    imageUrl: notePicture(note, document) ?? imageUrl(document),
    neighbours,
  });
}

/** The page at `/<feed>/<id>`. */
export function notePage(document: NotePageDocument & OfName): string {
  const { site, base, readId, name, feed, neighbours } = document;
  const note = document.notes[0]!;
  const { content, meta } = note;
  const feedTitle = feed.title || UNTITLED;
  const article = namedArticle(note, document, PAGE_LEVEL);
  return namedNotePage(site, {
    base,
    name,
    feedTitle,
    note: article,
    title: noteTitle(note) || 'Note',
    edited: {
      text: content && exactText(content),
      title: meta.title,
      alt: meta.alt,
      etag: article.etag,
      identity: feedIdentity({ readId }),
    },
    neighbours,
  });
}

/** What the page shows of its notes. A page of what a search has found shows no more than a piece of each. */
function pageNotes(
  document: FeedPageDocument,
  articleOf: (note: ViewNote) => ArticleNote,
  urlOf: (id: NoteId) => string,
): ShownNotes {
  const { notes, version, tag, search, isOlder, next } = document;
  const query = search ?? (tag === undefined ? undefined : { tag });
  const shown = { version, query, isOlder, next };
  return query?.q === undefined
    ? { ...shown, notes: notes.map(articleOf), hits: undefined }
    : { ...shown, notes: [], hits: notes.map((note) => hitOf(note, document, urlOf(note.id))) };
}

function hitOf(note: ViewNote, document: PageDocument, url: string): Hit {
  const { id, type, createdAt, meta, match = { text: '', marks: [] } } = note;
  const pictureUrl = type === 'md' ? undefined : notePicture(note, document);
  return { id, url, label: noteTitle(note) || 'Note', createdAt, tags: meta.tags, match, pictureUrl };
}

function readArticle(note: ViewNote, document: PageDocument, level: number): ArticleNote {
  const { base, readId, feed } = document;
  const sender = feed.showSender ? note.meta.sender : undefined;
  return { ...article(note, document, level), url: noteUrl(base, readId, note.id), sender };
}

function namedArticle(note: ViewNote, document: PageDocument & OfName, level: number) {
  return {
    ...article(note, document, level),
    etag: `"${noteEtag(note, document)}"`,
    url: noteUrlByName(document.base, document.name, note.id),
    readUrl: readUrlOf(document, note.id),
    sender: note.meta.sender,
  };
}

function article(note: ViewNote, document: PageDocument, level: number): Omit<ArticleNote, 'url' | 'sender'> {
  const { readId, sizes } = document;
  const { id, type, createdAt, meta } = note;
  const title = meta.title ? noteTitle(note) : undefined;
  // On the note's own page its title is the heading of the page.
  const isHeading = title !== undefined && level > PAGE_LEVEL;
  const html = noteHtml(note, document, { level: level + (isHeading ? 1 : 0), sizes, id });
  const label = noteTitle(note) || 'Note';
  const { tags, expires, edited } = meta;
  return { id, type, readId, title, label, body: html, createdAt, tags, expires, edited };
}

/** The first value that is there. */
function firstOf<T, R>(items: readonly T[], read: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const value = read(item);
    if (value !== undefined) return value;
  }
  return undefined;
}

function titleOf({ feed, serviceTitle }: FeedDocument): string {
  return feed.title || serviceTitle;
}

function imageUrl({ base, readId, feed }: FeedDocument): string | undefined {
  return feed.image && isReadId(readId) ? fileUrl(base, readId, feed.image) : undefined;
}

/** Null in a feed without a read link. */
function readUrlOf({ base, readId }: FeedDocument, id: NoteId): string | null {
  return isReadId(readId) ? noteUrl(base, readId, id) : null;
}
