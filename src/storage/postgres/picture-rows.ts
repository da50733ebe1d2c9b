import type { ImageKey } from '../../feeds/ids.ts';
import {
  CLAIM_MS,
  MAX_CLAIM_MS,
  PICTURE_COLUMNS,
  type PictureColumns,
  type PictureRow,
  type PictureRows,
  pictureOf,
  picturePlaceValues,
  RESERVED_MS,
} from '../picture-rows.ts';
import type { Database } from './database.ts';
import { NOW, type Statement, statement, type Transaction } from './transaction.ts';

/** How long the lease of the process that removes objects, and notes that are due, lasts after its last renewal, ms. */
const LEAD_MS = 10_000;
const PLACE = 'type > 0 AND (created_at, feed, id, type) < ($1, $2, $3, $4)';
const VERSION = 'feed = $1 AND id = $2 AND type = $3 AND modified_at = $4 AND sha256 IS NOT DISTINCT FROM $5';

interface KeyRow {
  readonly key: ImageKey;
}

const PICTURES = statement<PictureColumns>('pictures')`
  SELECT ${PICTURE_COLUMNS} FROM notes WHERE ${PLACE}
  ORDER BY created_at DESC, feed DESC, id DESC, type DESC LIMIT $5`;
const LEFT = statement<{ count: number }>('pictures_left')`
  SELECT count(*) AS count FROM notes WHERE ${PLACE}`;
const REFERENCED = statement<KeyRow>('referenced')`
  SELECT image_key AS key FROM notes WHERE image_key = ANY ($1)`;
const KEYS = statement<KeyRow>('keys_between')`
  SELECT image_key AS key FROM notes WHERE image_key > $1 AND image_key <= $2 ORDER BY image_key LIMIT $3`;
const CONTENT = statement<{ content: Buffer }>('content')`
  SELECT content FROM notes WHERE ${VERSION} AND image_key IS NULL`;
// As every change of a note does. Otherwise a removal that runs meanwhile frees the key that it found before, and the new object stays for good.
const LOCK_FEED = statement('lock_feed_of_picture')`SELECT FROM feeds WHERE id = $1 FOR UPDATE`;
// Only an unclaimed key, because a claimed one may be in removal.
const POINT = statement<object>('point')`
  UPDATE notes SET content = '', image_key = $6 WHERE ${VERSION} AND image_key IS NULL
  AND EXISTS (SELECT FROM freed_keys WHERE key = $6 AND attempts = 0 FOR UPDATE) RETURNING 1`;
const FILL = statement<object>('fill')`
  UPDATE notes SET content = $7, image_key = NULL WHERE ${VERSION} AND image_key = $6 RETURNING 1`;
/** The object of a key that was being copied may be in two stores. */
export const IF_FREED = `ON CONFLICT (key) DO UPDATE
  SET due_at = CASE WHEN freed_keys.attempts < 0 THEN NULL ELSE excluded.due_at END, attempts = 0`;
const FREE = statement('free')`
  INSERT INTO freed_keys (key, due_at) SELECT key, ${NOW} + $2 FROM unnest($1::text[]) AS key
  WHERE NOT EXISTS (SELECT FROM notes WHERE image_key = key) ${IF_FREED}`;
const FREE_ELSEWHERE = statement('free_elsewhere')`
  INSERT INTO freed_keys (key, due_at) VALUES ($1, NULL) ${IF_FREED}`;
// The lock on the note has its removal wait, so that it finds the mark.
const BEGIN_COPY = statement<object>('begin_copy')`
  INSERT INTO freed_keys (key, due_at, attempts)
  SELECT image_key, ${NOW} + ${RESERVED_MS}, -1 FROM notes WHERE image_key = $1 FOR SHARE
  ON CONFLICT (key) DO UPDATE SET due_at = excluded.due_at, attempts = -1 RETURNING 1`;
const END_COPY = statement('end_copy')`DELETE FROM freed_keys WHERE key = $1 AND attempts < 0`;
// An end that is further ahead than any lease lasts was written before the clock was set back.
const LEAD = statement<object>('lead')`
  UPDATE sweeper SET holder = $1, until = ${NOW} + ${LEAD_MS} 
  WHERE holder = $1 OR NOT until BETWEEN ${NOW} AND ${NOW} + ${LEAD_MS} RETURNING 1`;
const DUE = statement<KeyRow>('due')`
  SELECT key FROM freed_keys WHERE due_at <= ${NOW} - $2 ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED`;
const IS_DUE = statement<object>('is_due')`SELECT FROM freed_keys WHERE due_at <= ${NOW} - $1 LIMIT 1`;
const POSTPONE = statement('postpone')`
  UPDATE freed_keys SET attempts = attempts + 1,
    due_at = ${NOW} - $2 + least(${CLAIM_MS} * 2 ^ least(attempts, 20), ${MAX_CLAIM_MS})::bigint
  WHERE key = ANY ($1)`;
const FORGET = statement('forget')`DELETE FROM freed_keys WHERE key = ANY ($1)`;
const MARK_ELSEWHERE = statement('mark_elsewhere')`UPDATE freed_keys SET due_at = NULL WHERE key = ANY ($1)`;
const ELSEWHERE = statement<KeyRow>('elsewhere')`
  SELECT key FROM freed_keys WHERE due_at IS NULL AND key > $1 ORDER BY key LIMIT $2`;
const COUNT_FREED = statement<{ count: number }>('count_freed')`
  SELECT count(*) AS count FROM freed_keys WHERE due_at IS NOT NULL`;

/** Frees the keys of removed or replaced pictures. Pictures without a key are left out. */
export function freeKeys(
  transaction: Transaction,
  notes: readonly { readonly image_key: ImageKey | null }[],
): void {
  const keys = notes.map(({ image_key }) => image_key).filter((key) => key !== null);
  if (keys.length > 0) transaction.send(FREE, [keys, 0]);
}

/** The pictures of a PostgreSQL database. */
export class PostgresPictures implements PictureRows {
  readonly #database: Database;
  #leadsUntil = 0;

  constructor(database: Database) {
    this.#database = database;
  }

  readonly pictures: PictureRows['pictures'] = async (after, limit) => {
    const rows = await this.#database.read(PICTURES, [...picturePlaceValues(after), limit]);
    const pictures = rows.map(pictureOf);
    const last = pictures.at(-1);
    const [left] = last ? await this.#database.read(LEFT, picturePlaceValues(last)) : [];
    return { pictures, left: left?.count ?? 0 };
  };

  readonly referenced: PictureRows['referenced'] = (keys) => this.#keys(REFERENCED, [keys]);
  readonly keysBetween: PictureRows['keysBetween'] = (after, upTo, limit) =>
    this.#keys(KEYS, [after, upTo, limit]);
  readonly elsewhere: PictureRows['elsewhere'] = (after, limit) => this.#keys(ELSEWHERE, [after, limit]);
  readonly bytes: PictureRows['bytes'] = async (picture) =>
    (await this.#database.read(CONTENT, versionOf(picture)))[0]?.content;
  readonly countFreed: PictureRows['countFreed'] = async () =>
    (await this.#database.read(COUNT_FREED, []))[0]?.count ?? 0;

  readonly point: PictureRows['point'] = (picture, key) =>
    this.#database.transaction(async (transaction) => {
      transaction.send(LOCK_FEED, [picture.feed]);
      const isPointed = (await transaction.run(POINT, [...versionOf(picture), key])).length > 0;
      if (isPointed) transaction.send(FORGET, [[key]]);
      return isPointed;
    });

  readonly fill: PictureRows['fill'] = (picture, bytes) =>
    this.#database.transaction(async (transaction) => {
      transaction.send(LOCK_FEED, [picture.feed]);
      const filled = await transaction.run(FILL, [...versionOf(picture), picture.key, bytes]);
      if (filled.length > 0) transaction.send(FREE_ELSEWHERE, [picture.key]);
      return filled.length > 0;
    });

  readonly endCopy: PictureRows['endCopy'] = (key) =>
    this.#database.transaction(async (transaction) => {
      transaction.send(END_COPY, [key]);
      return (await transaction.run(REFERENCED, [[key]])).length > 0;
    });

  /** Mostly there is nothing, so look without a transaction first. */
  readonly claim: PictureRows['claim'] = async (limit, keptMs) => {
    if ((await this.#database.read(IS_DUE, [keptMs])).length === 0) return [];
    return this.#database.transaction(async (transaction) => {
      if ((await transaction.run(LEAD, [this.#database.name])).length === 0) return [];
      const due = (await transaction.run(DUE, [limit, keptMs])).map(({ key }) => key);
      const referenced = (await transaction.run(REFERENCED, [due])).map(({ key }) => key);
      const claimed = due.filter((key) => !referenced.includes(key));
      transaction.send(FORGET, [referenced]);
      transaction.send(POSTPONE, [claimed, keptMs]);
      return claimed;
    });
  };

  /** Whether this process is the only one that removes notes that are due, for some seconds. */
  async leads(): Promise<boolean> {
    if (performance.now() < this.#leadsUntil) return true;
    const isLeading = (await this.#database.write(LEAD, [this.#database.name])).length > 0;
    if (isLeading) this.#leadsUntil = performance.now() + LEAD_MS / 2;
    return isLeading;
  }

  readonly beginCopy: PictureRows['beginCopy'] = async (key) =>
    (await this.#database.write(BEGIN_COPY, [key])).length > 0;
  readonly free: PictureRows['free'] = (keys, inMs) => this.#change(FREE, [keys, inMs]);
  readonly forget: PictureRows['forget'] = (keys) => this.#change(FORGET, [keys]);
  readonly markElsewhere: PictureRows['markElsewhere'] = (keys) => this.#change(MARK_ELSEWHERE, [keys]);

  async #keys(reading: Statement<KeyRow>, values: unknown[]): Promise<ImageKey[]> {
    return (await this.#database.read(reading, values)).map(({ key }) => key);
  }

  async #change(changing: Statement<never>, values: unknown[]): Promise<void> {
    await this.#database.write(changing, values);
  }
}

function versionOf({ feed, id, type, modifiedAt, sha256 }: PictureRow): unknown[] {
  return [feed, id, type, modifiedAt, sha256 ?? null];
}
