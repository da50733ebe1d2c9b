import type { Feed } from '../feeds/feed.ts';
import { dateOfId, type ImageKey } from '../feeds/ids.ts';
import { type FeedName, type NoteFile, type NoteId, noteFile, type ReadId } from '../feeds/names.ts';
import { contentSize, type NewNote, type Note, type NoteContent, type NoteMeta } from '../feeds/note.ts';
import { NOTE_TYPES, type NoteType } from '../feeds/note-types.ts';
import { type Position, sortKeyOf } from '../feeds/order.ts';
import { type JsonObject, NO_META, parseMeta, type StoredMeta, serializeMeta } from './metadata.ts';
import type { FeedRef, Page } from './storage.ts';

/** The columns of `FeedRow`. */
export const FEED_COLUMNS =
  'feeds.id, name, read_id, password_hash, title, description, show_sender, listed, image, note_count, image_count, byte_count, changed_at, license, license_id, keep_days, keep_notes, blocked';

/** A feed as databases hold it. `Flag` is how they hold a boolean. */
export interface FeedRow<Flag extends boolean | number = boolean> {
  readonly id: number;
  readonly name: FeedName;
  readonly read_id: ReadId;
  readonly password_hash: string | null;
  readonly title: string;
  readonly description: string;
  readonly show_sender: Flag;
  readonly listed: Flag;
  readonly image: NoteFile | null;
  readonly note_count: number;
  readonly image_count: number;
  readonly byte_count: number;
  readonly changed_at: number;
  readonly license: string | null;
  readonly license_id: string | null;
  readonly keep_days: number | null;
  readonly keep_notes: number | null;
  readonly blocked: Flag;
}

export function feedOf(row: FeedRow<boolean | number>): Feed {
  return {
    key: String(row.id),
    name: row.name,
    readId: row.read_id,
    title: row.title,
    description: row.description,
    showSender: Boolean(row.show_sender),
    listed: Boolean(row.listed),
    image: row.image ?? undefined,
    passwordHash: row.password_hash ?? undefined,
    license: row.license === null ? undefined : { text: row.license, id: row.license_id ?? undefined },
    keepDays: row.keep_days ?? undefined,
    keepNotes: row.keep_notes ?? undefined,
    changedAt: row.changed_at,
    version: versionOf(row.changed_at),
    noteCount: row.note_count,
    imageCount: row.image_count,
    byteCount: row.byte_count,
    isBlocked: Boolean(row.blocked),
  };
}

/** A changed feed, dated later than before. Call it once in a transaction, because many changes would date it ahead of the clock. */
export function datedNow(feed: Feed): Feed {
  const changedAt = Math.max(feed.changedAt + 1, Date.now());
  return { ...feed, changedAt, version: versionOf(changedAt) };
}

function versionOf(changedAt: number): string {
  return changedAt.toString(36);
}

/** The columns of a feed that are no counts. */
export function settingColumns(feed: Feed) {
  return {
    read_id: feed.readId,
    password_hash: feed.passwordHash ?? null,
    title: feed.title,
    description: feed.description,
    show_sender: Number(feed.showSender),
    image: feed.image ?? null,
    license: feed.license?.text ?? null,
    license_id: feed.license?.id ?? null,
    keep_days: feed.keepDays ?? null,
    keep_notes: feed.keepNotes ?? null,
    listed: Number(feed.listed),
  };
}

/** The columns of a note that every database has. */
export interface InsertedNote {
  readonly feed: number;
  readonly id: NoteId;
  readonly type: number;
  readonly created_at: number;
  readonly modified_at: number;
  readonly metadata: string | null;
  readonly key: string | null;
  readonly expires_at: number | null;
  readonly sha256: string | null;
  readonly size: number;
  readonly image_key: ImageKey | null;
  readonly content: Uint8Array;
}

/** The members of a note by which its tags are stored. */
export type TaggedNote = Pick<InsertedNote, 'feed' | 'id' | 'type' | 'created_at' | 'metadata'>;

/** The row of a new note in the feed with that row id. */
export function insertedNote(feed: number, note: NewNote, now: number): InsertedNote {
  const { id, type, meta, createdAt, modifiedAt, others } = note;
  return {
    feed,
    id,
    type: typeNumber(type),
    created_at: createdAt ?? dateOfId(id) ?? now,
    modified_at: modifiedAt ?? now,
    ...metadataColumns(meta, others),
    ...contentColumns(note),
  };
}

/** The columns of a note's bytes. */
export function contentColumns(content: NoteContent) {
  const { bytes, sha256 = null, image } = content;
  return { sha256, size: contentSize(content), image_key: image?.key ?? null, content: bytes };
}

/** A note as databases read it; a picture without its content. */
export interface NoteRow
  extends Pick<InsertedNote, 'id' | 'type' | 'size' | 'created_at' | 'modified_at' | 'metadata'> {
  readonly content: Uint8Array | null;
}

export function noteOf(row: NoteRow): Note {
  const { meta, others } = metaOf(row.metadata);
  return {
    id: row.id,
    type: NOTE_TYPES[row.type]!,
    size: row.size,
    createdAt: row.created_at,
    modifiedAt: row.modified_at,
    meta,
    ...(others && { others }),
    content: row.content ?? undefined,
  };
}

/** A reference to a feed as databases take it: its row, or else its read id. */
export type RefValues = readonly [key: string | null, readId: ReadId | null];

export function refValues(feed: FeedRef): RefValues {
  return 'key' in feed ? [feed.key, null] : [null, feed.readId];
}

/** A page of notes; unless they are the last, with the position at which the next page goes on. */
export function pageOf(notes: readonly Note[], isLast: boolean): Page {
  const last = isLast ? undefined : notes.at(-1);
  return { notes, next: last && { createdAt: last.createdAt, file: noteFile(last.id, last.type) } };
}

/** A place in the order of notes as databases have it; before every note unless given. */
export function positionValues(
  position: Position | undefined,
): [createdAt: number, id: string, type: number] {
  if (!position) return [Number.MAX_SAFE_INTEGER, '', 0];
  const { createdAt, id, type } = sortKeyOf(position);
  return [createdAt, id, typeNumber(type)];
}

/** How databases hold a type: its place among all. */
export function typeNumber(type: NoteType): number {
  return NOTE_TYPES.indexOf(type);
}

/** The least and the greatest number of a type, or of all. */
export function typeRange(type: NoteType | undefined): [number, number] {
  return type === undefined ? [0, NOTE_TYPES.length - 1] : [typeNumber(type), typeNumber(type)];
}

/** The metadata in a column; null for none. */
export function metaOf(metadata: string | null): StoredMeta {
  return metadata === null ? NO_META : parseMeta(metadata);
}

/** The columns of a note's metadata: the JSON that the file backend has beside a note, and what is looked for in it. */
export function metadataColumns(meta: NoteMeta, others?: JsonObject) {
  const { key = null, expires: expires_at = null } = meta;
  return { metadata: serializeMeta(meta, { others }) ?? null, key, expires_at };
}
