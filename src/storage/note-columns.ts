import { NOTE_TYPES, type NoteType } from '../feeds/note-types.ts';
import { parseMeta, serializeMeta } from './metadata.ts';
import type { NoteMeta } from './storage.ts';

/** How databases hold a type: its place among all. */
export function typeNumber(type: NoteType): number {
  return NOTE_TYPES.indexOf(type);
}

/** What is kept of a note by the text of its metadata column; null is nothing. */
export function metaOf(metadata: string | null): NoteMeta {
  return parseMeta(metadata ?? '{}').meta;
}

/** The text of the metadata column: the JSON that the file backend has beside a note. */
export function metadataOf(meta: NoteMeta): string | null {
  return serializeMeta(meta) ?? null;
}
