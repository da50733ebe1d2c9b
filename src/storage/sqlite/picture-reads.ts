import type { Statement } from 'better-sqlite3';
import type { ImageKey } from '../../feeds/image-keys.ts';
import type { NoteId } from '../../feeds/names.ts';
import type { PicturePage, PicturePlace, PictureRow } from '../picture-rows.ts';
import type { Connection } from './connection.ts';

/** A place before every picture. */
const NEWEST = { createdAt: Number.MAX_SAFE_INTEGER, feed: 0, id: '', type: 0 } as const;
const PLACE = '(created_at, feed, id, type) < (?, ?, ?, ?)';

interface Row {
  readonly feed: number;
  readonly id: NoteId;
  readonly type: number;
  readonly created_at: number;
  readonly modified_at: number;
  readonly size: number;
  readonly sha256: string | null;
  readonly image_key: ImageKey | null;
}

/** What is read of the pictures of all feeds together; see `PictureRows`. */
export class PictureReads {
  readonly #connection: Connection;
  readonly #pictures: Statement<[number, number, string, number, number], Row>;
  readonly #left: Statement<[number, number, string, number], { count: number }>;
  readonly #isReferenced: Statement<[string], object>;
  readonly #keys: Statement<[string, string, number], { image_key: ImageKey }>;
  readonly #bytes: Statement<[number, string, number, number], { content: Uint8Array }>;
  readonly #elsewhere: Statement<[string, number], { key: ImageKey }>;
  readonly #countFreed: Statement<[], { count: number }>;

  constructor(connection: Connection) {
    const { db } = connection;
    this.#connection = connection;
    this.#pictures = db.prepare(
      `SELECT feed, id, type, created_at, modified_at, size, sha256, image_key FROM notes WHERE type > 0 AND ${PLACE}
       ORDER BY created_at DESC, feed DESC, id DESC, type DESC LIMIT ?`,
    );
    this.#left = db.prepare(`SELECT count(*) AS count FROM notes WHERE type > 0 AND ${PLACE}`);
    this.#isReferenced = db.prepare('SELECT 1 FROM notes WHERE image_key = ?');
    this.#keys = db.prepare(
      'SELECT image_key FROM notes WHERE image_key > ? AND image_key <= ? ORDER BY image_key LIMIT ?',
    );
    this.#bytes = db.prepare(
      'SELECT content FROM notes WHERE feed = ? AND id = ? AND type = ? AND modified_at = ? AND image_key IS NULL',
    );
    this.#elsewhere = db.prepare(
      'SELECT key FROM freed_keys WHERE due_at IS NULL AND key > ? ORDER BY key LIMIT ?',
    );
    this.#countFreed = db.prepare('SELECT count(*) AS count FROM freed_keys WHERE due_at IS NOT NULL');
  }

  pictures(after: PicturePlace | undefined, limit: number): PicturePage {
    this.#connection.mustBeThere();
    const pictures = this.#pictures.all(...valuesOf(after ?? NEWEST), limit).map(pictureOf);
    const last = pictures.at(-1);
    return { pictures, left: last ? this.#left.get(...valuesOf(last))!.count : 0 };
  }

  referenced(keys: readonly ImageKey[]): readonly ImageKey[] {
    this.#connection.mustBeThere();
    return keys.filter((key) => this.#isReferenced.get(key) !== undefined);
  }

  keysBetween(after: string, upTo: string, limit: number): readonly ImageKey[] {
    this.#connection.mustBeThere();
    return this.#keys.all(after, upTo, limit).map(({ image_key }) => image_key);
  }

  bytes({ feed, id, type, modifiedAt }: PictureRow): Uint8Array | undefined {
    this.#connection.mustBeThere();
    return this.#bytes.get(feed, id, type, modifiedAt)?.content;
  }

  elsewhere(after: string, limit: number): readonly ImageKey[] {
    this.#connection.mustBeThere();
    return this.#elsewhere.all(after, limit).map(({ key }) => key);
  }

  countFreed(): number {
    return this.#countFreed.get()!.count;
  }
}

function valuesOf({
  createdAt,
  feed,
  id,
  type,
}: PicturePlace | typeof NEWEST): [number, number, string, number] {
  return [createdAt, feed, id, type];
}

function pictureOf({ feed, id, type, created_at, modified_at, size, sha256, image_key }: Row): PictureRow {
  return {
    feed,
    id,
    type,
    createdAt: created_at,
    modifiedAt: modified_at,
    size,
    sha256: sha256 ?? undefined,
    key: image_key ?? undefined,
  };
}
