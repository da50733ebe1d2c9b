import { type InsertedNote, metaOf, type TaggedNote } from '../rows.ts';
import { freeKeys } from './picture-rows.ts';
import { columnsOf, statement, type Transaction } from './transaction.ts';

/** The columns of `NoteRow`, but for the content. */
export const CONTENTLESS_COLUMNS = 'id, type, size, created_at, modified_at, metadata';
/** The columns of `NoteRow`; the content of pictures is not wanted with the rest. */
export const NOTE_COLUMNS = `${CONTENTLESS_COLUMNS}, CASE WHEN type = 0 THEN content END AS content`;
/** Whether a note has not expired at a time. */
export const isLive = (now: `$${number}`) => `(expires_at IS NULL OR expires_at > ${now})`;

/** Whether a note is of the feed that the first value, a `Feed.key`, names. The notes of a deleted feed stay for a while. */
export const OF_FEED = '= (SELECT id FROM feeds WHERE id = $1 AND name IS NOT NULL)';

/** Longest tag by which notes are found, in UTF-16 units: an index takes no row of more than 2,704 bytes. Only by hand can a note have a longer one. */
const TAG_LENGTH = 500;

const BYTEA_OID = 17;
const HEADER_BYTES = 20;
const LENGTH_BYTES = 4;
/** About what one statement brings: other work gets its turn between two of them. */
const STATEMENT_BYTES = 1024 * 1024;

const INSERT = statement('insert_notes')`
  INSERT INTO notes (feed, id, type, created_at, modified_at, metadata, sha256, size, image_key, key,
    expires_at, arrived_at, content)
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::smallint[], $4::bigint[], $5::bigint[], $6::text[],
    $7::text[], $8::integer[], $9::text[], $10::text[], $11::bigint[], $12::bigint[], $13::bytea[])`;
const INSERT_TAGS = statement('insert_tags')`
  INSERT INTO tags (feed, tag, created_at, id, type, expires_at)
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::smallint[], $6::bigint[])`;
const DELETE_TAGS = statement('delete_tags')`
  DELETE FROM tags USING unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::smallint[])
    AS gone (feed, tag, created_at, id, type)
  WHERE tags.feed = gone.feed AND tags.tag = gone.tag AND tags.created_at = gone.created_at AND tags.id = gone.id
    AND tags.type = gone.type`;
const DELETE = statement('delete_notes')`
  DELETE FROM notes USING unnest($1::bigint[], $2::text[], $3::smallint[]) AS gone (feed, id, type)
  WHERE notes.feed = gone.feed AND notes.id = gone.id AND notes.type = gone.type`;

/** A note, and when it came: `feeds.changed_at` of its transaction, or the date of one that another storage had. */
interface ArrivingNote extends InsertedNote {
  readonly arrived_at: number;
}

/** Stores notes with their tags, and leaves the feeds' counters alone. Waits for all but the last statement. */
export async function insertNotes(transaction: Transaction, notes: readonly ArrivingNote[]): Promise<void> {
  insertTags(transaction, notes);
  const parts = inParts(notes);
  for (const part of parts.slice(0, -1)) await transaction.run(INSERT, valuesOf(part));
  for (const part of parts.slice(-1)) transaction.send(INSERT, valuesOf(part));
}

/** Stores the tags of notes. */
export function insertTags(transaction: Transaction, notes: readonly TaggedNote[]): void {
  const tags = tagsOf(notes);
  if (tags.length === 0) return;
  transaction.send(INSERT_TAGS, columnsOf(tags, ...TAG_KEY, 'expires_at'));
}

/** Removes the tags of notes. */
export function deleteTags(transaction: Transaction, notes: readonly TaggedNote[]): void {
  const tags = tagsOf(notes);
  if (tags.length > 0) transaction.send(DELETE_TAGS, columnsOf(tags, ...TAG_KEY));
}

/** Removes notes with their tags, and frees the keys of their pictures. The feeds' counters are the caller's. */
export function deleteNotes(
  transaction: Transaction,
  notes: readonly (TaggedNote & Pick<InsertedNote, 'image_key'>)[],
): void {
  if (notes.length === 0) return;
  deleteTags(transaction, notes);
  transaction.send(DELETE, columnsOf(notes, 'feed', 'id', 'type'));
  freeKeys(transaction, notes);
}

const TAG_KEY = ['feed', 'tag', 'created_at', 'id', 'type'] as const;

/** A row for each tag of the notes. */
function tagsOf(notes: readonly TaggedNote[]) {
  return notes.flatMap((note) => {
    const { tags, expires: expires_at = null } = metaOf(note.metadata).meta;
    const indexed = tags.filter((tag) => tag.length <= TAG_LENGTH);
    return indexed.map((tag) => ({ ...note, tag, expires_at }));
  });
}

function valuesOf(notes: readonly ArrivingNote[]): unknown[] {
  const key = columnsOf(notes, 'feed', 'id', 'type', 'created_at', 'modified_at');
  const facts = columnsOf(
    notes,
    'metadata',
    'sha256',
    'size',
    'image_key',
    'key',
    'expires_at',
    'arrived_at',
  );
  return [...key, ...facts, byteaArray(notes.map(({ content }) => content))];
}

/** The rows in parts of `STATEMENT_BYTES`, or of one row that has more. */
function inParts<R extends InsertedNote>(rows: readonly R[]): R[][] {
  const parts: R[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const row of rows) {
    bytes += row.content.byteLength;
    if (bytes > STATEMENT_BYTES) {
      parts.push([]);
      bytes = row.content.byteLength;
    }
    parts.at(-1)!.push(row);
  }
  return parts;
}

/**
 * At least one value, as PostgreSQL's binary form of a `bytea[]`. The client would send an array as text, in which each
 * byte takes two.
 */
export function byteaArray(values: readonly Uint8Array[]): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  const [dimensions, hasNull, firstIndex] = [1, 0, 1];
  for (const [n, field] of [dimensions, hasNull, BYTEA_OID, values.length, firstIndex].entries())
    header.writeInt32BE(field, n * 4);
  const parts = values.flatMap((value) => {
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeInt32BE(value.byteLength);
    return [length, value];
  });
  return Buffer.concat([header, ...parts]);
}
