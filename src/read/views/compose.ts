import { createHash } from 'node:crypto';
import type { Note } from '../../storage/storage.ts';
import type { FeedDocument, ViewNote } from './document.ts';
import { jsonFeed } from './json-feed.ts';
import {
  type NamedPlace,
  type NotePage,
  namedNote,
  namedNoteList,
  type PublicPlace,
  publicNote,
  publicNoteList,
} from './note-json.ts';
import {
  type FeedPageDocument,
  feedPage,
  type NamedFeed,
  type NotePageDocument,
  notePage,
  type OfName,
  readNotePageOf,
  readPage,
} from './pages.ts';
import { rss } from './rss.ts';

/** A view and the plain data it is made of; can be sent to a worker. */
export type ComposeTask =
  | FeedTask
  | { readonly view: 'named-note-list'; readonly document: NamedPlace & NotePage }
  | { readonly view: 'public-note-list'; readonly document: PublicPlace & NotePage }
  | { readonly view: 'named-note'; readonly document: NamedPlace & OneNote }
  | { readonly view: 'public-note'; readonly document: PublicPlace & OneNote };

/** A view that shows notes rendered. */
export type FeedTask =
  | { readonly view: 'rss' | 'json-feed'; readonly document: FeedDocument }
  | { readonly view: 'read-page'; readonly document: FeedPageDocument }
  | { readonly view: 'read-note-page'; readonly document: NotePageDocument }
  | { readonly view: 'feed-page'; readonly document: FeedPageDocument & NamedFeed }
  | { readonly view: 'note-page'; readonly document: NotePageDocument & OfName };

interface OneNote {
  readonly notes: readonly [Note];
}

export interface Composed {
  /** UTF-8, in a buffer of its own. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** SHA-256 of the bytes in base64url. */
  readonly sha256: string;
}

/** The bytes of a view. 20 KB take a fraction of a millisecond, 5 MB tens of milliseconds. */
export function compose(task: ComposeTask): Composed {
  const bytes = new TextEncoder().encode(text(task));
  return { bytes, sha256: createHash('sha256').update(bytes).digest('base64url') };
}

/** The same view with other notes. */
export function withNotes(task: FeedTask, notes: readonly ViewNote[]): FeedTask {
  return { ...task, document: { ...task.document, notes } } as FeedTask;
}

/** The task with each content in a buffer of its own, because the whole buffer is sent to the thread. */
export function sendable<T extends ComposeTask>(task: T): T {
  const notes = task.document.notes.map((note) => {
    const { content } = note;
    const isPart = content !== undefined && content.byteLength !== content.buffer.byteLength;
    return isPart ? { ...note, content: new Uint8Array(content) } : note;
  });
  return { ...task, document: { ...task.document, notes } };
}

function text(task: ComposeTask): string {
  switch (task.view) {
    case 'rss':
      return rss(task.document);
    case 'json-feed':
      return JSON.stringify(jsonFeed(task.document));
    case 'read-page':
      return readPage(task.document);
    case 'read-note-page':
      return readNotePageOf(task.document);
    case 'feed-page':
      return feedPage(task.document);
    case 'note-page':
      return notePage(task.document);
    case 'named-note-list':
      return JSON.stringify(namedNoteList(task.document));
    case 'public-note-list':
      return JSON.stringify(publicNoteList(task.document));
    case 'named-note':
      return JSON.stringify(namedNote(task.document.notes[0], task.document));
    case 'public-note':
      return JSON.stringify(publicNote(task.document.notes[0], task.document));
  }
}
