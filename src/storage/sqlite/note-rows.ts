import type { Database } from 'better-sqlite3';
import type { ImageKey } from '../../feeds/ids.ts';
import type { NoteId } from '../../feeds/names.ts';
import type { NoteContent, NoteMeta } from '../../feeds/note.ts';
import type { NoteType } from '../../feeds/note-types.ts';
import {
  contentColumns,
  type InsertedNote,
  metadataOf,
  metaOf,
  type NoteRow,
  type TaggedNote,
  typeRange,
} from '../rows.ts';
import { preparer } from './connection.ts';

/** The columns of `NoteRow`; the content of pictures is not wanted with the rest. */
export const NOTE_COLUMNS =
  'notes.id, notes.type, notes.size, notes.created_at, notes.modified_at, notes.metadata, iif(notes.type = 0, notes.content, NULL) AS content';

/** A note as it is looked up to be changed. */
export type StoredNote = NoteRow & TaggedNote & { readonly row: number; readonly image_key: ImageKey | null };

/** The rows of notes with their tags. The counters of feeds and freed keys are the caller's. */
export class NoteRows {
  readonly #sql: ReturnType<typeof prepareStatements>;

  constructor(db: Database) {
    this.#sql = prepareStatements(db);
  }

  /** The first of those types; of all if undefined. */
  find(feed: number, id: NoteId, type: NoteType | undefined): StoredNote | undefined {
    return this.#sql.find.get(feed, id, ...typeRange(type));
  }

  insert(note: InsertedNote): void {
    const { feed, id, type, created_at, modified_at, metadata, sha256, size, content, image_key } = note;
    const place = [feed, id, type, created_at, modified_at] as const;
    const { lastInsertRowid } = this.#sql.insert.run(...place, metadata, sha256, size, content, image_key);
    this.#addTags(note, lastInsertRowid);
  }

  replace(row: number, content: NoteContent, modifiedAt: number): void {
    this.#sql.replace.run({ row, ...contentColumns(content), modified_at: modifiedAt });
  }

  /** Members of the metadata that belong to other programs stay. */
  setMeta(note: StoredNote, meta: NoteMeta): void {
    const metadata = metadataOf(meta, metaOf(note.metadata).others);
    this.#removeTags(note);
    this.#sql.setMetadata.run(metadata, note.row);
    this.#addTags({ ...note, metadata }, note.row);
  }

  remove(note: StoredNote): void {
    this.#removeTags(note);
    this.#sql.remove.run(note.row);
  }

  #addTags({ feed, id, type, created_at, metadata }: TaggedNote, row: number | bigint): void {
    for (const tag of metaOf(metadata).meta.tags) this.#sql.addTag.run(feed, tag, created_at, id, type, row);
  }

  #removeTags({ feed, id, type, created_at, metadata }: TaggedNote): void {
    for (const tag of metaOf(metadata).meta.tags) this.#sql.removeTag.run(feed, tag, created_at, id, type);
  }
}

function prepareStatements(db: Database) {
  const prepare = preparer(db);
  return {
    find: prepare<[number, NoteId, number, number], StoredNote>`
      SELECT ${NOTE_COLUMNS}, row, feed, image_key FROM notes
      WHERE feed = ? AND id = ? AND type BETWEEN ? AND ? ORDER BY type LIMIT 1`,
    // Named parameters would cost more than the rest of it.
    insert: prepare<
      [
        ...[feed: number, id: NoteId, type: number, createdAt: number, modifiedAt: number],
        ...[metadata: string | null, sha256: string | null, size: number],
        ...[content: Uint8Array, key: ImageKey | null],
      ]
    >`
      INSERT INTO notes (feed, id, type, created_at, modified_at, metadata, sha256, size, content, image_key)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    replace: prepare<object>`
      UPDATE notes SET content = $content, image_key = $image_key, size = $size, sha256 = $sha256,
        modified_at = $modified_at WHERE row = $row`,
    setMetadata: prepare<[string | null, number]>`UPDATE notes SET metadata = ? WHERE row = ?`,
    remove: prepare<[number]>`DELETE FROM notes WHERE row = ?`,
    addTag: prepare<[number, string, number, string, number, number | bigint]>`
      INSERT INTO tags (feed, tag, created_at, id, type, note) VALUES (?, ?, ?, ?, ?, ?)`,
    removeTag: prepare<[number, string, number, string, number]>`
      DELETE FROM tags WHERE feed = ? AND tag = ? AND created_at = ? AND id = ? AND type = ?`,
  };
}
