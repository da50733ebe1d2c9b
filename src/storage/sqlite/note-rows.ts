import type { Database } from 'better-sqlite3';
import type { ImageKey } from '../../feeds/ids.ts';
import type { NoteId } from '../../feeds/names.ts';
import type { NewNote, NoteContent, NoteMeta } from '../../feeds/note.ts';
import type { NoteType } from '../../feeds/note-types.ts';
import { SWEPT_NOTES } from '../../writing/due.ts';
import { OLDEST_NOTES } from '../due-rows.ts';
import {
  contentColumns,
  type InsertedNote,
  metadataColumns,
  metaOf,
  type NoteRow,
  type TaggedNote,
  typeNumber,
  typeRange,
} from '../rows.ts';
import { preparer } from './connection.ts';

const CONTENTLESS_COLUMNS =
  'notes.id, notes.type, notes.size, notes.created_at, notes.modified_at, notes.metadata';
/** The columns of `NoteRow`; the content of pictures is not wanted with the rest. */
export const NOTE_COLUMNS = `${CONTENTLESS_COLUMNS}, iif(notes.type = 0, notes.content, NULL) AS content`;

/** Whether a note is not expired at a time. A note without expiry costs a look into a small index, and none of its own pages. */
export const IS_LIVE = 'NOT EXISTS (SELECT 1 FROM expiries WHERE note = notes.row AND expires_at <= ?)';

/** The notes of the feed that a value, a `Feed.key`, names. The notes of a deleted feed stay for a while. */
export const OF_FEED =
  'FROM feeds JOIN notes ON notes.feed = feeds.id WHERE feeds.id = ? AND feeds.name IS NOT NULL';

/** A note as it is looked up to be changed. */
export type StoredNote = NoteRow & TaggedNote & { readonly row: number; readonly image_key: ImageKey | null };

const SWEPT_COLUMNS = `${CONTENTLESS_COLUMNS}, NULL AS content, row, notes.feed, image_key`;

/** The rows of notes with their tags, keys and expiries. The caller keeps the counters of feeds and the freed keys. */
export class NoteRows {
  readonly #sql: ReturnType<typeof prepareStatements>;
  readonly #lastRow: Float64Array;

  /**
   * @param lastRow the last row that was given to a note, in memory that outlives a writing thread which dies. Rows tell in which order
   * notes came, so no note gets the row of one that was removed, as long as the process runs
   */
  constructor(db: Database, lastRow: Float64Array = new Float64Array(1)) {
    this.#sql = prepareStatements(db);
    this.#lastRow = lastRow;
    lastRow[0] = Math.max(lastRow[0]!, this.#sql.lastRow.get()!.row ?? 0);
  }

  /** The first of those types, of all if undefined, that has not expired. */
  find(feed: number, id: NoteId, type: NoteType | undefined): StoredNote | undefined {
    return this.#sql.find.get(feed, id, ...typeRange(type), Date.now());
  }

  /** Whether that note is stored, also if it has expired. */
  has(feed: number, { id, type }: Pick<NewNote, 'id' | 'type'>): boolean {
    return this.#sql.has.get(feed, id, typeNumber(type)) !== undefined;
  }

  /** The note of that key, also if it has expired. Of several, which people can make on plain files, the first stored. */
  findByKey(feed: number, key: string): StoredNote | undefined {
    return this.#sql.findByKey.get(feed, key);
  }

  /** Notes that have expired, the first ones first; as many as a sweep removes. */
  expired(feed: number, now: number): StoredNote[] {
    return this.#sql.expired.all(feed, now, SWEPT_NOTES);
  }

  /** The oldest notes that have not expired, as many as a sweep looks at. */
  oldest(feed: number, now: number): StoredNote[] {
    return this.#sql.oldest.all(feed, now, OLDEST_NOTES);
  }

  /** When the next note expires; null for never. */
  nextExpiry(feed: number, now: number): number | null {
    return this.#sql.nextExpiry.get(feed, now)!.expires_at;
  }

  insert(note: InsertedNote): void {
    const { feed, id, type, created_at, modified_at, metadata, sha256, size, content, image_key } = note;
    const row = this.#lastRow[0]! + 1;
    this.#lastRow[0] = row;
    const place = [row, feed, id, type, created_at, modified_at] as const;
    this.#sql.insert.run(...place, metadata, sha256, size, content, image_key);
    this.#addBeside(note, row);
  }

  replace(row: number, content: NoteContent, modifiedAt: number): void {
    this.#sql.replace.run({ row, ...contentColumns(content), modified_at: modifiedAt });
  }

  /** Members of the metadata that belong to other programs stay. */
  setMeta(note: StoredNote, meta: NoteMeta): void {
    const columns = metadataColumns(meta, metaOf(note.metadata).others);
    this.#removeBeside(note);
    this.#sql.setMetadata.run(columns.metadata, note.row);
    this.#addBeside({ ...note, ...columns }, note.row);
  }

  remove(note: StoredNote): void {
    this.#removeBeside(note);
    this.#sql.remove.run(note.row);
  }

  /** Stores what the metadata are found by. */
  #addBeside(note: TaggedNote & Pick<InsertedNote, 'key' | 'expires_at'>, row: number): void {
    const { feed, id, type, created_at, metadata, key, expires_at } = note;
    for (const tag of metaOf(metadata).meta.tags) this.#sql.addTag.run(feed, tag, created_at, id, type, row);
    if (key !== null) this.#sql.addKey.run(feed, key, row);
    if (expires_at !== null) this.#sql.addExpiry.run(row, feed, expires_at);
  }

  #removeBeside({ row, feed, id, type, created_at, metadata }: StoredNote): void {
    const { tags, key, expires } = metaOf(metadata).meta;
    for (const tag of tags) this.#sql.removeTag.run(feed, tag, created_at, id, type);
    if (key !== undefined) this.#sql.removeKey.run(feed, key, row);
    if (expires !== undefined) this.#sql.removeExpiry.run(row);
  }
}

function prepareStatements(db: Database) {
  const prepare = preparer(db);
  return {
    find: prepare<[number, NoteId, number, number, number], StoredNote>`
      SELECT ${NOTE_COLUMNS}, row, feed, image_key FROM notes
      WHERE feed = ? AND id = ? AND type BETWEEN ? AND ? AND ${IS_LIVE} ORDER BY type LIMIT 1`,
    has: prepare<[number, NoteId, number]>`SELECT 1 FROM notes WHERE feed = ? AND id = ? AND type = ?`,
    findByKey: prepare<[number, string], StoredNote>`
      SELECT ${NOTE_COLUMNS}, row, notes.feed, image_key FROM note_keys JOIN notes ON row = note
      WHERE note_keys.feed = ? AND key = ? ORDER BY note LIMIT 1`,
    expired: prepare<[number, number, number], StoredNote>`
      SELECT ${SWEPT_COLUMNS} FROM expiries JOIN notes ON row = note
      WHERE expiries.feed = ? AND expires_at <= ? ORDER BY expires_at LIMIT ?`,
    oldest: prepare<[number, number, number], StoredNote>`
      SELECT ${SWEPT_COLUMNS} FROM notes WHERE feed = ? AND ${IS_LIVE} ORDER BY created_at, id, type LIMIT ?`,
    nextExpiry: prepare<[number, number], { expires_at: number | null }>`
      SELECT min(expires_at) AS expires_at FROM expiries WHERE feed = ? AND expires_at > ?`,
    // Named parameters would cost more than the rest of it.
    insert: prepare<
      [
        ...[row: number, feed: number, id: NoteId, type: number, createdAt: number, modifiedAt: number],
        ...[metadata: string | null, sha256: string | null, size: number],
        ...[content: Uint8Array, key: ImageKey | null],
      ]
    >`
      INSERT INTO notes (row, feed, id, type, created_at, modified_at, metadata, sha256, size, content, image_key)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    replace: prepare<object>`
      UPDATE notes SET content = $content, image_key = $image_key, size = $size, sha256 = $sha256,
        modified_at = $modified_at WHERE row = $row`,
    setMetadata: prepare<[string | null, number]>`UPDATE notes SET metadata = ? WHERE row = ?`,
    lastRow: prepare<[], { row: number | null }>`SELECT max(row) AS row FROM notes`,
    remove: prepare<[number]>`DELETE FROM notes WHERE row = ?`,
    addTag: prepare<[number, string, number, string, number, number]>`
      INSERT INTO tags (feed, tag, created_at, id, type, note) VALUES (?, ?, ?, ?, ?, ?)`,
    removeTag: prepare<[number, string, number, string, number]>`
      DELETE FROM tags WHERE feed = ? AND tag = ? AND created_at = ? AND id = ? AND type = ?`,
    addKey: prepare<[number, string, number]>`
      INSERT INTO note_keys (feed, key, note) VALUES (?, ?, ?)`,
    removeKey: prepare<[number, string, number]>`
      DELETE FROM note_keys WHERE feed = ? AND key = ? AND note = ?`,
    addExpiry: prepare<[number, number, number]>`
      INSERT INTO expiries (note, feed, expires_at) VALUES (?, ?, ?)`,
    removeExpiry: prepare<[number]>`DELETE FROM expiries WHERE note = ?`,
  };
}
