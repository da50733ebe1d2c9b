import type { Database } from 'better-sqlite3';
import type { ImageKey } from '../../feeds/image-keys.ts';
import { CLAIM_MS, MAX_CLAIM_MS, type PictureRow, RESERVED_MS } from '../picture-rows.ts';
import { preparer } from './connection.ts';

const NO_BYTES = new Uint8Array();

/** Changes of where the bytes of pictures are, each within a transaction of the caller; see `PictureRows`. */
export class PictureChanges {
  readonly #sql: ReturnType<typeof statements>;

  constructor(db: Database) {
    this.#sql = statements(db);
  }

  /** Frees the key of a removed or replaced picture, if it has one. */
  freeKey(key: ImageKey | null): void {
    if (key !== null) this.#sql.free.run(key, Date.now());
  }

  point({ feed, id, type, modifiedAt }: PictureRow, key: ImageKey): boolean {
    if (this.#sql.takeBack.run(key).changes === 0) return false;
    const { changes } = this.#sql.setKey.run(NO_BYTES, key, feed, id, type, modifiedAt, null);
    if (changes === 0) this.#sql.free.run(key, Date.now());
    return changes > 0;
  }

  fill({ feed, id, type, modifiedAt, key }: PictureRow, bytes: Uint8Array): boolean {
    const { changes } = this.#sql.setKey.run(bytes, null, feed, id, type, modifiedAt, key ?? null);
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

  claim(limit: number): readonly ImageKey[] {
    const now = Date.now();
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

  moveElsewhere(keys: readonly ImageKey[]): void {
    for (const key of keys) this.#sql.moveElsewhere.run(key);
  }

  #isReferenced(key: ImageKey): boolean {
    return this.#sql.isReferenced.get(key) !== undefined;
  }
}

function statements(db: Database) {
  const prepare = preparer(db);
  return {
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
    moveElsewhere: prepare<[ImageKey]>`UPDATE freed_keys SET due_at = NULL WHERE key = ?`,
    postpone: prepare<[number, ImageKey]>`
      UPDATE freed_keys SET due_at = ?, attempts = attempts + 1 WHERE key = ?`,
    due: prepare<[number, number], { key: ImageKey; attempts: number }>`
      SELECT key, attempts FROM freed_keys WHERE due_at <= ? ORDER BY due_at LIMIT ?`,
    isReferenced: prepare<[ImageKey], object>`SELECT 1 FROM notes WHERE image_key = ?`,
    setKey: prepare<[Uint8Array, ImageKey | null, number, string, number, number, ImageKey | null]>`
      UPDATE notes SET content = ?, image_key = ?
      WHERE feed = ? AND id = ? AND type = ? AND modified_at = ? AND image_key IS ?`,
  };
}
