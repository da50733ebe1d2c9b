import type { Database } from 'better-sqlite3';
import type { ImageKey } from '../../feeds/image-keys.ts';
import {
  NEWEST_PICTURE,
  PICTURE_COLUMNS,
  type PictureColumns,
  type PicturePage,
  type PicturePlace,
  type PictureRow,
  pictureOf,
  placeValues,
} from '../picture-rows.ts';
import { type Connection, preparer } from './connection.ts';

const PLACE = '(created_at, feed, id, type) < (?, ?, ?, ?)';

/** What is read of the pictures of all feeds together; see `PictureRows`. */
export class PictureReads {
  readonly #connection: Connection;
  readonly #sql: ReturnType<typeof prepareStatements>;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#sql = prepareStatements(connection.db);
  }

  pictures(after: PicturePlace | undefined, limit: number): PicturePage {
    this.#connection.mustBeThere();
    const pictures = this.#sql.pictures.all(...placeValues(after ?? NEWEST_PICTURE), limit).map(pictureOf);
    const last = pictures.at(-1);
    return { pictures, left: last ? this.#sql.left.get(...placeValues(last))!.count : 0 };
  }

  referenced(keys: readonly ImageKey[]): readonly ImageKey[] {
    this.#connection.mustBeThere();
    return keys.filter((key) => this.#sql.isReferenced.get(key) !== undefined);
  }

  keysBetween(after: string, upTo: string, limit: number): readonly ImageKey[] {
    this.#connection.mustBeThere();
    return this.#sql.keys.all(after, upTo, limit).map(({ image_key }) => image_key);
  }

  bytes({ feed, id, type, modifiedAt }: PictureRow): Uint8Array | undefined {
    this.#connection.mustBeThere();
    return this.#sql.bytes.get(feed, id, type, modifiedAt)?.content;
  }

  elsewhere(after: string, limit: number): readonly ImageKey[] {
    this.#connection.mustBeThere();
    return this.#sql.elsewhere.all(after, limit).map(({ key }) => key);
  }

  countFreed(): number {
    return this.#sql.countFreed.get()!.count;
  }
}

function prepareStatements(db: Database) {
  const prepare = preparer(db);
  type Place = [createdAt: number, feed: number, id: string, type: number];
  return {
    pictures: prepare<[...Place, number], PictureColumns>`
      SELECT ${PICTURE_COLUMNS} FROM notes WHERE type > 0 AND ${PLACE}
      ORDER BY created_at DESC, feed DESC, id DESC, type DESC LIMIT ?`,
    left: prepare<Place, { count: number }>`SELECT count(*) AS count FROM notes WHERE type > 0 AND ${PLACE}`,
    isReferenced: prepare<[string], object>`SELECT 1 FROM notes WHERE image_key = ?`,
    keys: prepare<[string, string, number], { image_key: ImageKey }>`
      SELECT image_key FROM notes WHERE image_key > ? AND image_key <= ? ORDER BY image_key LIMIT ?`,
    bytes: prepare<[number, string, number, number], { content: Uint8Array }>`
      SELECT content FROM notes
      WHERE feed = ? AND id = ? AND type = ? AND modified_at = ? AND image_key IS NULL`,
    elsewhere: prepare<[string, number], { key: ImageKey }>`
      SELECT key FROM freed_keys WHERE due_at IS NULL AND key > ? ORDER BY key LIMIT ?`,
    countFreed: prepare<[], { count: number }>`
      SELECT count(*) AS count FROM freed_keys WHERE due_at IS NOT NULL`,
  };
}
