import type { ImageKey } from '../feeds/image-keys.ts';
import type { NoteId } from '../feeds/names.ts';
import { NOTE_TYPES, type NoteType } from '../feeds/note-types.ts';
import { type OtherMembers, parseMeta, type StoredMeta, serializeMeta } from './metadata.ts';
import type { NewNote, Note, NoteMeta } from './storage.ts';

/** What databases read of a note; of a picture without the content. */
export interface NoteRow {
  readonly id: NoteId;
  readonly type: number;
  readonly size: number;
  readonly created_at: number;
  readonly metadata: string | null;
  readonly content: Uint8Array | null;
}

export function noteOf(row: NoteRow): Note {
  return {
    id: row.id,
    type: NOTE_TYPES[row.type]!,
    size: row.size,
    createdAt: row.created_at,
    meta: metaOf(row.metadata),
    content: row.content ?? undefined,
  };
}

/** What the columns `size` and `image_key` hold of new bytes. */
export function placeOfBytes({ bytes, image }: Pick<NewNote, 'bytes' | 'image'>): {
  readonly size: number;
  readonly key: ImageKey | null;
} {
  return { size: image?.size ?? bytes.byteLength, key: image?.key ?? null };
}

/** How databases hold a type: its place among all. */
export function typeNumber(type: NoteType): number {
  return NOTE_TYPES.indexOf(type);
}

/** The least and the greatest number of a type, or of all. */
export function typeRange(type: NoteType | undefined): [number, number] {
  return type === undefined ? [0, NOTE_TYPES.length - 1] : [typeNumber(type), typeNumber(type)];
}

/** What is kept of a note by the text of its metadata column; null is nothing. */
export function metaOf(metadata: string | null): NoteMeta {
  return parseMeta(metadata ?? '{}').meta;
}

/** As `metaOf`, with what other programs kept beside the note when it was a file. */
export function wholeMetaOf(metadata: string | null): Pick<StoredMeta, 'meta' | 'others'> {
  const { meta, others } = parseMeta(metadata ?? '{}');
  return { meta, others };
}

/** The text of the metadata column: the JSON that the file backend has beside a note. */
export function metadataOf(meta: NoteMeta, others?: OtherMembers): string | null {
  return serializeMeta(meta, { others }) ?? null;
}
