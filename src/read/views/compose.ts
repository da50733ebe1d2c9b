import { createHash } from 'node:crypto';
import type { FeedDocument, TitledNote, ViewNote } from './document.ts';
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

interface OneNote {
  readonly notes: readonly [TitledNote];
}

/** What each view with rendered notes is made of: plain data, which can be sent to a worker. */
interface FeedDocuments {
  readonly rss: FeedDocument;
  readonly 'json-feed': FeedDocument;
  readonly 'read-page': FeedPageDocument;
  readonly 'read-note-page': NotePageDocument;
  readonly 'feed-page': FeedPageDocument & NamedFeed;
  readonly 'note-page': NotePageDocument & OfName;
}

interface JsonDocuments {
  readonly 'named-note-list': NamedPlace & NotePage;
  readonly 'public-note-list': PublicPlace & NotePage;
  readonly 'named-note': NamedPlace & OneNote;
  readonly 'public-note': PublicPlace & OneNote;
}

type Documents = FeedDocuments & JsonDocuments;

type TaskOf<D> = { [View in keyof D]: { readonly view: View; readonly document: D[View] } }[keyof D];

export type ComposeTask = TaskOf<Documents>;
/** A view that shows notes rendered. */
export type FeedTask = TaskOf<FeedDocuments>;
/** A view that shows no more than titles of texts. */
export type JsonTask = TaskOf<JsonDocuments>;

const TEXTS: { readonly [View in keyof Documents]: (document: Documents[View]) => string } = {
  rss,
  'json-feed': (document) => JSON.stringify(jsonFeed(document)),
  'read-page': readPage,
  'read-note-page': readNotePageOf,
  'feed-page': feedPage,
  'note-page': notePage,
  'named-note-list': (document) => JSON.stringify(namedNoteList(document)),
  'public-note-list': (document) => JSON.stringify(publicNoteList(document)),
  'named-note': (document) => JSON.stringify(namedNote(document.notes[0], document)),
  'public-note': (document) => JSON.stringify(publicNote(document.notes[0], document)),
};

export interface Composed {
  /** UTF-8, in a buffer of its own. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** SHA-256 of the bytes in base64url. */
  readonly sha256: string;
}

/** The bytes of a view. 20 KB take a fraction of a millisecond, 5 MB tens of milliseconds. */
export function compose({ view, document }: ComposeTask): Composed {
  const bytes = new TextEncoder().encode((TEXTS[view] as (document: unknown) => string)(document));
  return { bytes, sha256: createHash('sha256').update(bytes).digest('base64url') };
}

/** The same view with other notes. */
export function withNotes<T extends ComposeTask>(
  task: T,
  notes: readonly (T extends FeedTask ? ViewNote : TitledNote)[],
): T {
  return { ...task, document: { ...task.document, notes } };
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
