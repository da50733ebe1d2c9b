import type { Feed, FeedSettings } from '../../feeds/feed.ts';
import { type NoteFile, type NoteId, noteFile, parseNoteFile } from '../../feeds/names.ts';
import type { Note, NoteMeta } from '../../feeds/note.ts';
import { NOTE_TYPES, type NoteType } from '../../feeds/note-types.ts';
import { settingsAsStored } from '../metadata.ts';
import {
  type Counts,
  countedIn,
  countOf,
  licenseTaken,
  NO_NOTES,
  readIdTaken,
  refuseBeyond,
  refusePicture,
} from '../refused-writes.ts';
import {
  type FeedRow,
  feedOf,
  type InsertedNote,
  insertedNote,
  metadataOf,
  metaOf,
  type NoteRow,
  noteOf,
  type TaggedNote,
  typeNumber,
  typeRange,
} from '../rows.ts';
import type { FeedLimits, NewLicense, Replacement } from '../storage.ts';
import { isUniqueViolation } from './failures.ts';
import { countFeeds, notifyChanges, recordChanges, withCounts } from './feed-rows.ts';
import { deleteTags, insertNotes, insertTags, NOTE_COLUMNS } from './note-rows.ts';
import { freeKey } from './picture-rows.ts';
import { statement, type Transaction } from './transaction.ts';

/** A feed that a transaction has locked. If a change of it throws, the transaction is rolled back. */
export interface Locked {
  readonly transaction: Transaction;
  readonly feed: FeedRow;
}

type KeyedNote = TaggedNote & Pick<InsertedNote, 'image_key'>;

const FIND = statement<KeyedNote>('find_note')`
  SELECT feed, id, type, created_at, metadata, image_key FROM notes
  WHERE feed = $1 AND id = $2 AND type BETWEEN $3 AND $4 ORDER BY type LIMIT 1`;
// Two versions of a file never have the same time, because it tells a reader which one it is.
const REPLACE = statement<NoteRow>('replace_note')`
  UPDATE notes SET content = $4, size = $7, image_key = $8, sha256 = $5,
    modified_at = greatest(modified_at + 1, $6::bigint)
  WHERE feed = $1 AND id = $2 AND type = $3 RETURNING ${NOTE_COLUMNS}`;
const SET_METADATA = statement<NoteRow>('set_metadata')`
  UPDATE notes SET metadata = $4 WHERE feed = $1 AND id = $2 AND type = $3 RETURNING ${NOTE_COLUMNS}`;
const DELETE_NOTE = statement('delete_note')`DELETE FROM notes WHERE feed = $1 AND id = $2 AND type = $3`;
const CLEAR_IMAGE = statement('clear_image')`UPDATE feeds SET image = NULL WHERE id = $1 AND image = $2`;
const HAS_NOTE = statement<object>('has_note')`SELECT FROM notes WHERE feed = $1 AND id = $2 AND type = $3`;
const CONFIGURE = statement('configure')`
  UPDATE feeds SET read_id = $2, title = $3, description = $4, show_sender = $5, image = $6 WHERE id = $1`;
const SET_PASSWORD = statement('set_password')`UPDATE feeds SET password_hash = $2 WHERE id = $1`;
// The other key of these locks says that they are of licenses; two ids that have the same number only wait longer.
const LOCK_LICENSE = statement('lock_license')`SELECT pg_advisory_xact_lock(1818845540, hashtext($1))`;
const COUNT_LICENSED = statement<{ count: number }>('count_licensed')`
  SELECT count(*)::integer AS count FROM feeds WHERE license_id = $1 AND id <> $2`;
const SET_LICENSE = statement('set_license')`UPDATE feeds SET license = $2, license_id = $3 WHERE id = $1`;
const DELETE_FEED = statement('delete_feed')`
  UPDATE feeds SET name = NULL, password_hash = NULL, title = '', description = '', image = NULL,
    license = NULL, license_id = NULL, to_clear = true WHERE id = $1`;

/** @param limits those of this feed, see `limitsNow` */
export async function replace(
  locked: Locked,
  id: NoteId,
  { type, bytes, sha256, image, added = [] }: Replacement,
  limits: FeedLimits,
): Promise<Note | undefined> {
  const { transaction, feed } = locked;
  const note = await find(locked, id);
  if (note?.type !== typeNumber(type)) return undefined;
  refusePicture(type, limits);
  refuseBeyond({ notes: added, limits }, countedIn(feed));
  const now = Date.now();
  const values = [bytes, sha256, now, image?.size ?? bytes.byteLength, image?.key];
  const [row] = await transaction.run(REPLACE, [...keyOf(note), ...values]);
  freeKey(transaction, note.image_key);
  await insertNotes(
    transaction,
    added.map((one) => insertedNote(feed.id, one, now)),
  );
  count(locked, countOf(added));
  return noteOf(row!);
}

export async function setMeta(
  locked: Locked,
  id: NoteId,
  change: (meta: NoteMeta) => NoteMeta,
): Promise<Note | undefined> {
  const { transaction } = locked;
  const note = await find(locked, id);
  if (!note) return undefined;
  const { meta, others } = metaOf(note.metadata);
  const metadata = metadataOf(change(meta), others);
  deleteTags(transaction, note);
  insertTags(transaction, [{ ...note, metadata }]);
  const [row] = await transaction.run(SET_METADATA, [...keyOf(note), metadata]);
  count(locked);
  return noteOf(row!);
}

export async function remove(locked: Locked, id: NoteId, wanted?: NoteType): Promise<boolean> {
  const { transaction, feed } = locked;
  const note = await find(locked, id, wanted);
  if (!note) return false;
  const type = NOTE_TYPES[note.type]!;
  deleteTags(transaction, note);
  transaction.send(DELETE_NOTE, keyOf(note));
  freeKey(transaction, note.image_key);
  transaction.send(CLEAR_IMAGE, [feed.id, noteFile(id, type)]);
  const { notes, images } = countOf([{ type }]);
  count(locked, { notes: -notes, images: -images });
  return true;
}

export async function configure(locked: Locked, change: (feed: Feed) => FeedSettings): Promise<Feed> {
  const { transaction, feed } = locked;
  const { readId, ...wanted } = change(feedOf(feed));
  const { title, description, showSender, image } = settingsAsStored(wanted);
  const shownImage = image !== undefined && (await hasPicture(locked, image)) ? image : null;
  const texts = { read_id: readId, title, description };
  const after = { ...feed, ...texts, show_sender: showSender, image: shownImage };
  if (JSON.stringify(after) === JSON.stringify(feed)) return feedOf(feed);
  const values = [feed.id, readId, title, description, showSender, shownImage];
  await transaction.run(CONFIGURE, values).catch((error) => {
    throw isUniqueViolation(error) ? readIdTaken() : error;
  });
  return feedOf(count(locked, NO_NOTES, after));
}

export async function setPassword(locked: Locked, passwordHash: string | undefined): Promise<boolean> {
  locked.transaction.send(SET_PASSWORD, [locked.feed.id, passwordHash]);
  count(locked);
  return true;
}

/** If two run at once, the second waits with its own feed locked, which no other transaction waits for. */
export async function setLicense(locked: Locked, license: NewLicense | undefined): Promise<Feed> {
  const { transaction, feed } = locked;
  if (license) {
    transaction.send(LOCK_LICENSE, [license.id]);
    const [others] = await transaction.run(COUNT_LICENSED, [license.id, feed.id]);
    if (others!.count >= license.feeds) throw licenseTaken(license.feeds);
  }
  transaction.send(SET_LICENSE, [feed.id, license?.text, license?.id]);
  return feedOf(count(locked, NO_NOTES, { ...feed, license: license?.text ?? null }));
}

/** The notes stay until `Clearing` removes them. */
export async function deleteFeed({ transaction, feed }: Locked): Promise<boolean> {
  countFeeds(transaction, -1);
  transaction.send(DELETE_FEED, [feed.id]);
  notifyChanges(transaction, [{ key: String(feed.id), readIds: [feed.read_id] }]);
  return true;
}

async function find(
  { transaction, feed }: Locked,
  id: NoteId,
  type?: NoteType,
): Promise<KeyedNote | undefined> {
  const [note] = await transaction.run(FIND, [feed.id, id, ...typeRange(type)]);
  return note;
}

async function hasPicture({ transaction, feed }: Locked, file: NoteFile): Promise<boolean> {
  const named = parseNoteFile(file);
  if (named === undefined || named.type === 'md') return false;
  return (await transaction.run(HAS_NOTE, [feed.id, named.id, typeNumber(named.type)])).length > 0;
}

/**
 * Counts notes that came or went, and with that the change itself.
 * @param changed the feed with its new settings
 * @returns it with the new counts, version and time
 */
function count({ transaction, feed }: Locked, more: Readonly<Counts> = NO_NOTES, changed = feed): FeedRow {
  const row = withCounts(changed, more, Date.now());
  recordChanges(transaction, [row], row.read_id === feed.read_id ? [] : [feed.read_id]);
  return row;
}

/** The primary key of a note. */
function keyOf({ feed, id, type }: TaggedNote): [number, NoteId, number] {
  return [feed, id, type];
}
