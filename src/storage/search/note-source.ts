import type { FeedName, NoteFile } from '../../feeds/names.ts';
import type { NoteMeta } from '../../feeds/note.ts';

/** A note as a listing has it. */
export interface ListedNote {
  readonly file: NoteFile;
  /** The date that orders it, whole ms since the epoch. */
  readonly createdAt: number;
  /** Another one after every change of its file or metadata; a whole number below 2^48. */
  readonly version: number;
}

/** A note with what can be searched in it. */
export interface SourceNote extends ListedNote {
  readonly meta: NoteMeta;
  /** The markdown; undefined for a picture. */
  readonly content: Uint8Array | undefined;
}

/**
 * The notes of a storage as they are, read by the thread that makes the index: every call blocks. Notes that have expired may be among them.
 * Errors of the medium are thrown.
 */
export interface NoteSource {
  /** All feeds there are. */
  feeds(): Iterable<FeedName>;
  /** The notes of a feed, in any order; none for a feed that does not exist. */
  list(feed: FeedName): Iterable<ListedNote>;
  /** The note of a file as it is now; undefined if there is none. */
  read(feed: FeedName, file: NoteFile): SourceNote | undefined;
  close(): void;
}

/** Where the thread that makes the index reads the notes. */
export type SourceData =
  | { readonly kind: 'files'; readonly dir: string }
  | { readonly kind: 'sqlite'; readonly path: string };
