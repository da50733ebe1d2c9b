import { type FeedName, isReadId, type NoteId } from '../../feeds/names.ts';
import type { PixelSize } from '../../feeds/picture-bytes.ts';
import { fileUrl, noteUrl, noteUrlByName } from '../../feeds/urls.ts';
import type { Neighbours } from '../../storage/storage.ts';
import type { ArticleNote } from '../../web/article.ts';
import { namedFeedPage, publicFeedPage, type ShownNotes } from '../../web/feed-page.ts';
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

export interface NamedFeed extends OfName {
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
  const { description } = feed;
  const shown = pageNotes(document, (note) => readArticle(note, document, DAY_LEVEL));
  return publicFeedPage(site, {
    base,
    readId,
    title: titleOf(document),
    description,
    imageUrl: imageUrl(document),
    ...shown,
  });
}

/** The page at `/<feed>`. */
export function feedPage(document: FeedPageDocument & NamedFeed): string {
  const { site, base, readId, name, feed, hasNotes, isProtected, identity } = document;
  const shown = pageNotes(document, (note) => namedArticle(note, document, DAY_LEVEL));
  return namedFeedPage(site, {
    base,
    name,
    readId: isReadId(readId) ? readId : undefined,
    hasNotes,
    title: feed.title || name,
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
  const feedTitle = feed.title || name;
  return namedNotePage(site, {
    base,
    name,
    feedTitle,
    note: namedArticle(note, document, PAGE_LEVEL),
    title: noteTitle(note) || feedTitle,
    edited: {
      text: content && exactText(content),
      title: meta.title,
      alt: meta.alt,
      etag: `"${noteEtag(note, { readId })}"`,
      identity: feedIdentity({ readId }),
    },
    neighbours,
  });
}

function pageNotes(
  { notes, version, tag, isOlder, next }: FeedPageDocument,
  articleOf: (note: ViewNote) => ArticleNote,
): ShownNotes {
  return { notes: notes.map(articleOf), version, tag, isOlder, next };
}

function readArticle(note: ViewNote, document: PageDocument, level: number): ArticleNote {
  const { base, readId, feed } = document;
  const sender = feed.showSender ? note.meta.sender : undefined;
  return { ...article(note, document, level), url: noteUrl(base, readId, note.id), sender };
}

function namedArticle(note: ViewNote, document: PageDocument & OfName, level: number): ArticleNote {
  return {
    ...article(note, document, level),
    url: noteUrlByName(document.base, document.name, note.id),
    readUrl: readUrlOf(document, note.id),
    sender: note.meta.sender,
  };
}

function article(note: ViewNote, document: PageDocument, level: number): Omit<ArticleNote, 'url' | 'sender'> {
  const { readId, sizes } = document;
  const { id, type, createdAt, meta } = note;
  const title = meta.title ? noteTitle(note) : undefined;
  const html = noteHtml(note, document, { level: level + (title === undefined ? 0 : 1), sizes });
  return { id, type, readId, title, body: html, createdAt, tags: meta.tags, expires: meta.expires };
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
