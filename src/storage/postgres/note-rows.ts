import { dateOfId } from '../../feeds/ids.ts';
import type { ImageKey } from '../../feeds/image-keys.ts';
import type { NoteId } from '../../feeds/names.ts';
import { metadataOf, metaOf, placeOfBytes, typeNumber } from '../note-columns.ts';
import type { NewNote } from '../storage.ts';
import { byteaArray } from './bytea-array.ts';
import { statement } from './statement.ts';
import type { Transaction } from './transaction.ts';

/** A note that is stored in a feed. */
export interface NoteOfFeed {
  /** Id of the feed's row. */
  readonly feed: number;
  readonly note: NewNote;
}

/** What the tags of a note are stored by. */
export interface TaggedNote {
  readonly feed: number;
  readonly id: NoteId;
  readonly type: number;
  readonly created_at: number;
  readonly metadata: string | null;
}

interface NoteToInsert extends TaggedNote {
  readonly bytes: Uint8Array;
  readonly size: number;
  readonly key: ImageKey | null;
  readonly sha256: string | undefined;
}

/** About what one statement brings: other work gets its turn between two of them. */
const STATEMENT_BYTES = 1024 * 1024;

const INSERT = statement(
  'insert_notes',
  `INSERT INTO notes (feed, id, type, created_at, modified_at, metadata, sha256, size, image_key, content)
   SELECT feed, id, type, created_at, $1, metadata, sha256, size, image_key, content
   FROM unnest($2::bigint[], $3::text[], $4::smallint[], $5::bigint[], $6::text[], $7::text[], $8::integer[], $9::text[],
     $10::bytea[]) AS new (feed, id, type, created_at, metadata, sha256, size, image_key, content)`,
);
const INSERT_TAGS = statement(
  'insert_tags',
  `INSERT INTO tags (feed, tag, created_at, id, type)
   SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::smallint[])`,
);
const DELETE_TAGS = statement(
  'delete_tags',
  `DELETE FROM tags WHERE feed = $1 AND tag = ANY ($2) AND created_at = $3 AND id = $4 AND type = $5`,
);

/** Stores notes with their tags, and leaves the feeds' counters alone. Waits for all but the last statement. */
export async function insertNotes(
  transaction: Transaction,
  notes: readonly NoteOfFeed[],
  now: number,
): Promise<void> {
  const rows = notes.map((one) => rowOf(one, now));
  insertTags(transaction, rows);
  const parts = inParts(rows);
  for (const part of parts.slice(0, -1)) await transaction.run(INSERT, valuesOf(part, now));
  for (const part of parts.slice(-1)) transaction.send(INSERT, valuesOf(part, now));
}

/** Stores the tags of notes. */
export function insertTags(transaction: Transaction, notes: readonly TaggedNote[]): void {
  const tags = notes.flatMap((note) => tagsOf(note).map((tag) => ({ ...note, tag })));
  if (tags.length === 0) return;
  transaction.send(INSERT_TAGS, [
    tags.map(({ feed }) => feed),
    tags.map(({ tag }) => tag),
    tags.map(({ created_at }) => created_at),
    tags.map(({ id }) => id),
    tags.map(({ type }) => type),
  ]);
}

/** Removes the tags of a note. */
export function deleteTags(transaction: Transaction, note: TaggedNote): void {
  const { feed, id, type, created_at } = note;
  const tags = tagsOf(note);
  if (tags.length > 0) transaction.send(DELETE_TAGS, [feed, tags, created_at, id, type]);
}

function valuesOf(rows: readonly NoteToInsert[], now: number): unknown[] {
  return [
    now,
    rows.map(({ feed }) => feed),
    rows.map(({ id }) => id),
    rows.map(({ type }) => type),
    rows.map(({ created_at }) => created_at),
    rows.map(({ metadata }) => metadata),
    rows.map(({ sha256 }) => sha256),
    rows.map(({ size }) => size),
    rows.map(({ key }) => key),
    byteaArray(rows.map(({ bytes }) => bytes)),
  ];
}

function rowOf({ feed, note }: NoteOfFeed, now: number): NoteToInsert {
  const { id, type, meta, bytes, sha256 } = note;
  return {
    feed,
    id,
    type: typeNumber(type),
    created_at: dateOfId(id) ?? now,
    metadata: metadataOf(meta),
    bytes,
    ...placeOfBytes(note),
    sha256,
  };
}

/** The rows in parts of `STATEMENT_BYTES`, or of one row that has more. */
function inParts(rows: readonly NoteToInsert[]): NoteToInsert[][] {
  const parts: NoteToInsert[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const row of rows) {
    bytes += row.bytes.byteLength;
    if (bytes > STATEMENT_BYTES) {
      parts.push([]);
      bytes = row.bytes.byteLength;
    }
    parts.at(-1)!.push(row);
  }
  return parts;
}

function tagsOf({ metadata }: TaggedNote): readonly string[] {
  return metadata === null ? [] : metaOf(metadata).tags;
}
