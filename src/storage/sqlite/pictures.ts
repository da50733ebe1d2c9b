import type { Database } from 'better-sqlite3';
import type { ImageKey } from '../../feeds/ids.ts';
import {
  CLAIM_MS,
  MAX_CLAIM_MS,
  PICTURE_COLUMNS,
  type PictureColumns,
  type PicturePage,
  type PicturePlace,
  type PictureRow,
  pictureOf,
  picturePlaceValues,
  RESERVED_MS,
} from '../picture-rows.ts';
import { preparer } from './connection.ts';

const NO_BYTES = new Uint8Array();
const VERSION = 'feed = ? AND id = ? AND type = ? AND modified_at = ? AND sha256 IS ?';
const PLACE = 'type > 0 AND (created_at, feed, id, type) < (?, ?, ?, ?)';

/**
 * The pictures of all feeds; see `PictureRows`. A reading thread makes the calls that change nothing. The writing
 * thread makes all others, and its caller begins the transaction.
 */
export class Pictures {
  readonly #sql: ReturnType<typeof prepareStatements>;

  constructor(db: Database) {
    this.#sql = prepareStatements(db);
  }

  pictures(after: PicturePlace | undefined, limit: number): PicturePage {
    const pictures = this.#sql.pictures.all(...picturePlaceValues(after), limit).map(pictureOf);
    const last = pictures.at(-1);
    return { pictures, left: last ? this.#sql.left.get(...picturePlaceValues(last))!.count : 0 };
  }

  referenced(keys: readonly ImageKey[]): readonly ImageKey[] {
    return keys.filter((key) => this.#isReferenced(key));
  }

  keysBetween(after: string, upTo: string, limit: number): readonly ImageKey[] {
    return this.#sql.keys.all(after, upTo, limit).map(({ key }) => key);
  }

  bytes(picture: PictureRow): Uint8Array | undefined {
    return this.#sql.bytes.get(...versionOf(picture))?.content;
  }

  elsewhere(after: string, limit: number): readonly ImageKey[] {
    return this.#sql.elsewhere.all(after, limit).map(({ key }) => key);
  }

  countFreed(): number {
    return this.#sql.countFreed.get()!.count;
  }

  /** Frees the key of a removed or replaced picture, if it has one. */
  freeKey(key: ImageKey | null): void {
    if (key !== null) this.#sql.free.run(key, Date.now());
  }

  point(picture: PictureRow, key: ImageKey): boolean {
    if (this.#sql.takeBack.run(key).changes === 0) return false;
    const { changes } = this.#sql.setKey.run(NO_BYTES, key, ...versionOf(picture), null);
    if (changes === 0) this.#sql.free.run(key, Date.now());
    return changes > 0;
  }

  fill(picture: PictureRow, bytes: Uint8Array): boolean {
    const { key } = picture;
    const { changes } = this.#sql.setKey.run(bytes, null, ...versionOf(picture), key ?? null);
    if (changes > 0 && key !== undefined) this.#sql.free.run(key, null);
    return changes > 0;
  }

  beginCopy(key: ImageKey): boolean {
    const isReferenced = this.#isReferenced(key);
    if (isReferenced) this.#sql.beginCopy.run(key, Date.now() + RESERVED_MS);
    return isReferenced;
  }

  endCopy(key: ImageKey): boolean {
    this.#sql.endCopy.run(key);
    return this.#isReferenced(key);
  }

  free(keys: readonly ImageKey[], inMs: number): void {
    for (const key of keys) if (!this.#isReferenced(key)) this.#sql.free.run(key, Date.now() + inMs);
  }

  claim(limit: number, keptMs: number): readonly ImageKey[] {
    const now = Date.now() - keptMs;
    const claimed: ImageKey[] = [];
    for (const { key, attempts } of this.#sql.due.all(now, limit)) {
      if (this.#isReferenced(key)) this.#sql.forget.run(key);
      else {
        this.#sql.postpone.run(now + Math.min(CLAIM_MS * 2 ** attempts, MAX_CLAIM_MS), key);
        claimed.push(key);
      }
    }
    return claimed;
  }

  forget(keys: readonly ImageKey[]): void {
    for (const key of keys) this.#sql.forget.run(key);
  }

  markElsewhere(keys: readonly ImageKey[]): void {
    for (const key of keys) this.#sql.markElsewhere.run(key);
  }

  #isReferenced(key: ImageKey): boolean {
    return this.#sql.isReferenced.get(key) !== undefined;
  }
}

type Version = [feed: number, id: string, type: number, modifiedAt: number, sha256: string | null];

function versionOf({ feed, id, type, modifiedAt, sha256 }: PictureRow): Version {
  return [feed, id, type, modifiedAt, sha256 ?? null];
}

function prepareStatements(db: Database) {
  const prepare = preparer(db);
  type Place = [createdAt: number, feed: number, id: string, type: number];
  return {
    pictures: prepare<[...Place, number], PictureColumns>`
      SELECT ${PICTURE_COLUMNS} FROM notes WHERE ${PLACE}
      ORDER BY created_at DESC, feed DESC, id DESC, type DESC LIMIT ?`,
    left: prepare<Place, { count: number }>`SELECT count(*) AS count FROM notes WHERE ${PLACE}`,
    keys: prepare<[string, string, number], { key: ImageKey }>`
      SELECT image_key AS key FROM notes WHERE image_key > ? AND image_key <= ? ORDER BY image_key LIMIT ?`,
    bytes: prepare<Version, { content: Uint8Array }>`
      SELECT content FROM notes WHERE ${VERSION} AND image_key IS NULL`,
    elsewhere: prepare<[string, number], { key: ImageKey }>`
      SELECT key FROM freed_keys WHERE due_at IS NULL AND key > ? ORDER BY key LIMIT ?`,
    countFreed: prepare<[], { count: number }>`
      SELECT count(*) AS count FROM freed_keys WHERE due_at IS NOT NULL`,
    free: prepare<[ImageKey, number | null]>`
      INSERT INTO freed_keys (key, due_at) VALUES (?, ?)
      ON CONFLICT (key) DO UPDATE SET due_at = iif(attempts < 0, NULL, excluded.due_at), attempts = 0`,
    beginCopy: prepare<[ImageKey, number]>`
      INSERT INTO freed_keys (key, due_at, attempts) VALUES (?, ?, -1)
      ON CONFLICT (key) DO UPDATE SET due_at = excluded.due_at, attempts = -1`,
    endCopy: prepare<[ImageKey]>`DELETE FROM freed_keys WHERE key = ? AND attempts < 0`,
    /** A claimed key may be in removal. */
    takeBack: prepare<[ImageKey]>`DELETE FROM freed_keys WHERE key = ? AND attempts = 0`,
    forget: prepare<[ImageKey]>`DELETE FROM freed_keys WHERE key = ?`,
    markElsewhere: prepare<[ImageKey]>`UPDATE freed_keys SET due_at = NULL WHERE key = ?`,
    postpone: prepare<[number, ImageKey]>`
      UPDATE freed_keys SET due_at = ?, attempts = attempts + 1 WHERE key = ?`,
    due: prepare<[number, number], { key: ImageKey; attempts: number }>`
      SELECT key, attempts FROM freed_keys WHERE due_at <= ? ORDER BY due_at LIMIT ?`,
    isReferenced: prepare<[ImageKey], object>`SELECT 1 FROM notes WHERE image_key = ?`,
    setKey: prepare<[Uint8Array, ImageKey | null, ...Version, ImageKey | null]>`
      UPDATE notes SET content = ?, image_key = ? WHERE ${VERSION} AND image_key IS ?`,
  };
}
