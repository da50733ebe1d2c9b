import type { ImageKey } from '../../feeds/image-keys.ts';
import { type NoteFile, type NoteId, noteFile, parseNoteFile, type ReadId } from '../../feeds/names.ts';
import { NOTE_TYPES, type NoteType } from '../../feeds/note-types.ts';
import type { LicenseCheck } from '../../licenses/licenses.ts';
import { settingsAsStored } from '../metadata.ts';
import {
  type Counts,
  countedIn,
  countOf,
  licenseTaken,
  limitsNow,
  NO_NOTES,
  readIdTaken,
  refuseBeyond,
  refusePicture,
} from '../refused-writes.ts';
import {
  type FeedRow,
  feedOf,
  insertedNote,
  isAllowed,
  metadataOf,
  type NoteRow,
  noteOf,
  typeNumber,
  typeRange,
  wholeMetaOf,
} from '../rows.ts';
import type {
  AllowedFeed,
  Feed,
  FeedLimits,
  FeedSettings,
  NewLicense,
  Note,
  NoteMeta,
  Replacement,
} from '../storage.ts';
import type { ChangedFeed } from './change-notice.ts';
import { isUniqueViolation } from './failures.ts';
import { countFeeds, lockFeeds, notifyChanges, setCounters, withCounts } from './feed-rows.ts';
import { deleteTags, insertNotes, insertTags, NOTE_COLUMNS, type TaggedNote } from './note-rows.ts';
import { freeKey } from './picture-rows.ts';
import { statement, type Transaction } from './transaction.ts';

/** The result of a change, and the changed feeds to report. */
export interface Changed<T> {
  readonly value: T;
  readonly changes?: readonly ChangedFeed[];
}

interface KeyedNote extends TaggedNote {
  readonly image_key: ImageKey | null;
}

/** A feed and one of its notes, as they are before a change. */
interface Found {
  readonly feed: FeedRow;
  readonly note: KeyedNote;
}

const NOTHING = { value: undefined };

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

/**
 * The changes of one feed in one transaction; see `Storage` for what they do. If they throw, the transaction is rolled
 * back.
 */
export class Changes {
  readonly #transaction: Transaction;
  readonly #isLicenseValid: LicenseCheck | undefined;

  /** @param isLicenseValid see `limitsNow` */
  constructor(transaction: Transaction, isLicenseValid: LicenseCheck | undefined) {
    this.#transaction = transaction;
    this.#isLicenseValid = isLicenseValid;
  }

  async replace(
    allowed: AllowedFeed,
    id: NoteId,
    replacement: Replacement,
    limits: FeedLimits,
  ): Promise<Changed<Note | undefined>> {
    const { type, bytes, sha256, image, added = [] } = replacement;
    const found = await this.#find(allowed, id);
    if (found?.note.type !== typeNumber(type)) return NOTHING;
    const { feed, note } = found;
    const limitsOfFeed = limitsNow(limits, feed.license, this.#isLicenseValid);
    refusePicture(type, limitsOfFeed);
    refuseBeyond({ notes: added, limits: limitsOfFeed }, countedIn(feed));
    const now = Date.now();
    const values = [bytes, sha256, now, image?.size ?? bytes.byteLength, image?.key];
    const [row] = await this.#transaction.run(REPLACE, [...keyOf(note), ...values]);
    freeKey(this.#transaction, note.image_key);
    const rows = added.map((note) => insertedNote(feed.id, note, now));
    await insertNotes(this.#transaction, rows);
    return { ...this.#count(feed, countOf(added)), value: noteOf(row!) };
  }

  async setMeta(
    allowed: AllowedFeed,
    id: NoteId,
    change: (meta: NoteMeta) => NoteMeta,
  ): Promise<Changed<Note | undefined>> {
    const found = await this.#find(allowed, id);
    if (!found) return NOTHING;
    const { feed, note } = found;
    const { meta, others } = wholeMetaOf(note.metadata);
    const metadata = metadataOf(change(meta), others);
    deleteTags(this.#transaction, note);
    insertTags(this.#transaction, [{ ...note, metadata }]);
    const [row] = await this.#transaction.run(SET_METADATA, [...keyOf(note), metadata]);
    return { ...this.#count(feed, NO_NOTES), value: noteOf(row!) };
  }

  async remove(allowed: AllowedFeed, id: NoteId, wanted?: NoteType): Promise<Changed<boolean>> {
    const found = await this.#find(allowed, id, wanted);
    if (!found) return { value: false };
    const { feed, note } = found;
    const type = NOTE_TYPES[note.type]!;
    deleteTags(this.#transaction, note);
    this.#transaction.send(DELETE_NOTE, keyOf(note));
    freeKey(this.#transaction, note.image_key);
    this.#transaction.send(CLEAR_IMAGE, [feed.id, noteFile(id, type)]);
    const { notes, images } = countOf([{ type }]);
    return { ...this.#count(feed, { notes: -notes, images: -images }), value: true };
  }

  async configure(
    allowed: AllowedFeed,
    change: (feed: Feed) => FeedSettings,
  ): Promise<Changed<Feed | undefined>> {
    const feed = await this.#feed(allowed);
    if (!feed) return NOTHING;
    const { readId, ...wanted } = change(feedOf(feed));
    const { title, description, showSender, image } = settingsAsStored(wanted);
    const shownImage = image !== undefined && (await this.#hasPicture(feed, image)) ? image : null;
    const after = {
      ...feed,
      read_id: readId,
      title,
      description,
      show_sender: showSender,
      image: shownImage,
    };
    if (JSON.stringify(after) === JSON.stringify(feed)) return { value: feedOf(feed) };
    const values = [feed.id, readId, title, description, showSender, shownImage];
    await this.#transaction.run(CONFIGURE, values).catch((error) => {
      throw isUniqueViolation(error) ? readIdTaken() : error;
    });
    const row = withCounts(after, NO_NOTES, Date.now());
    setCounters(this.#transaction, [row]);
    return { ...this.#notify(feed, [...new Set([feed.read_id, readId])]), value: feedOf(row) };
  }

  async setPassword(allowed: AllowedFeed, passwordHash: string | undefined): Promise<Changed<boolean>> {
    const feed = await this.#feed(allowed);
    if (!feed) return { value: false };
    this.#transaction.send(SET_PASSWORD, [feed.id, passwordHash]);
    return { ...this.#count(feed, NO_NOTES), value: true };
  }

  /** If two run at once, the second waits with its own feed locked, which no other transaction waits for. */
  async setLicense(
    allowed: AllowedFeed,
    license: NewLicense | undefined,
  ): Promise<Changed<Feed | undefined>> {
    const feed = await this.#feed(allowed);
    if (!feed) return NOTHING;
    if (license) {
      this.#transaction.send(LOCK_LICENSE, [license.id]);
      const [others] = await this.#transaction.run(COUNT_LICENSED, [license.id, feed.id]);
      if (others!.count >= license.feeds) throw licenseTaken(license.feeds);
    }
    this.#transaction.send(SET_LICENSE, [feed.id, license?.text, license?.id]);
    const row = withCounts({ ...feed, license: license?.text ?? null }, NO_NOTES, Date.now());
    setCounters(this.#transaction, [row]);
    return { ...this.#notify(feed, [feed.read_id]), value: feedOf(row) };
  }

  /** The notes stay until `Clearing` removes them. */
  async deleteFeed(allowed: AllowedFeed): Promise<Changed<boolean>> {
    const feed = await this.#feed(allowed);
    if (!feed) return { value: false };
    countFeeds(this.#transaction, -1);
    this.#transaction.send(DELETE_FEED, [feed.id]);
    return { ...this.#notify(feed, [feed.read_id]), value: true };
  }

  async #feed(allowed: AllowedFeed): Promise<FeedRow | undefined> {
    const [feed] = await lockFeeds(this.#transaction, [allowed.name]);
    return feed && isAllowed(feed, allowed) ? feed : undefined;
  }

  async #find(allowed: AllowedFeed, id: NoteId, type?: NoteType): Promise<Found | undefined> {
    const feed = await this.#feed(allowed);
    const [note] = feed ? await this.#transaction.run(FIND, [feed.id, id, ...typeRange(type)]) : [];
    return feed && note && { feed, note };
  }

  async #hasPicture(feed: FeedRow, file: NoteFile): Promise<boolean> {
    const named = parseNoteFile(file);
    if (named === undefined || named.type === 'md') return false;
    const rows = await this.#transaction.run(HAS_NOTE, [feed.id, named.id, typeNumber(named.type)]);
    return rows.length > 0;
  }

  /** Counts notes that came or went, and with that the change itself. */
  #count(feed: FeedRow, more: Readonly<Counts>): { changes: readonly ChangedFeed[] } {
    setCounters(this.#transaction, [withCounts(feed, more, Date.now())]);
    return this.#notify(feed, [feed.read_id]);
  }

  #notify({ id }: FeedRow, readIds: readonly ReadId[]): { changes: readonly ChangedFeed[] } {
    const changes = [{ key: String(id), readIds }];
    notifyChanges(this.#transaction, changes);
    return { changes };
  }
}

/** The primary key of a note. */
function keyOf({ feed, id, type }: TaggedNote): [number, NoteId, number] {
  return [feed, id, type];
}
