import { hash } from 'node:crypto';
import { jsonLine } from '../../http/answer.ts';
import { COMPRESS_MIN_BYTES, type Coding } from '../../http/representation.ts';
import { compress } from '../compress.ts';
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
  type NotePageDocument,
  notePage,
  type OfName,
  type OfNamedFeed,
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
  readonly 'feed-page': FeedPageDocument & OfNamedFeed;
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
  'json-feed': (document) => jsonLine(jsonFeed(document)),
  'read-page': readPage,
  'read-note-page': readNotePageOf,
  'feed-page': feedPage,
  'note-page': notePage,
  'named-note-list': (document) => jsonLine(namedNoteList(document)),
  'public-note-list': (document) => jsonLine(publicNoteList(document)),
  'named-note': (document) => jsonLine(namedNote(document.notes[0], document)),
  'public-note': (document) => jsonLine(publicNote(document.notes[0], document)),
};

/** A view to make, and the coding of a compressed form to make as well. */
export interface ViewTask<T extends ComposeTask = ComposeTask> {
  readonly task: T;
  readonly coding: Coding | undefined;
}

export interface Composed {
  /** UTF-8, in a buffer of its own. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** SHA-256 of the bytes in base64url. */
  readonly sha256: string;
  readonly encoded?: Encoded | undefined;
}

/** A compressed form, in a buffer of its own. */
interface Encoded {
  readonly coding: Coding;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/**
 * The bytes of a view. 20 KB take a fraction of a millisecond, 5 MB tens of milliseconds.
 * @param coding of a compressed form to make as well, if the view is long enough for one
 */
export function compose({ view, document }: ComposeTask, coding?: Coding): Composed {
  const bytes = new TextEncoder().encode((TEXTS[view] as (document: unknown) => string)(document));
  const isEncoded = coding !== undefined && bytes.length >= COMPRESS_MIN_BYTES;
  const encoded = isEncoded ? { coding, bytes: compress(bytes, coding) } : undefined;
  return { bytes, sha256: hash('sha256', bytes, 'base64url'), encoded };
}

/** About how much text a view is made of, in characters. */
export function textLength({ document: { notes } }: ComposeTask): number {
  let length = 0;
  for (const { content, rendered } of notes as readonly (TitledNote | ViewNote)[])
    length += (rendered && 'html' in rendered ? rendered.htmlLength : 0) + (content?.length ?? 0);
  return length;
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
  const notes = task.document.notes.map((note) =>
    note.content ? { ...note, content: ownBytes(note.content) } : note,
  );
  return { ...task, document: { ...task.document, notes } };
}

/** The bytes in a buffer of their own. */
export function ownBytes(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);
}
