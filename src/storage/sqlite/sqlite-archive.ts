import { createHash } from 'node:crypto';
import type { Database, Statement } from 'better-sqlite3';
import type { ImageKey } from '../../feeds/image-keys.ts';
import type { FeedName, NoteId, ReadId } from '../../feeds/names.ts';
import { NOTE_TYPES } from '../../feeds/note-types.ts';
import type { Ordered } from '../../feeds/order.ts';
import { licenseId } from '../../licenses/format.ts';
import {
  type Archive,
  type ArchivedFeed,
  type ArchivedNote,
  type ImageSource,
  wholePicture,
} from '../archive.ts';
import { metadataOf, typeNumber, wholeMetaOf } from '../note-columns.ts';
import { countOf } from '../refused-writes.ts';
import { Connection } from './connection.ts';
import { readMoveMark, writeMoveMark } from './move-mark.ts';
import { FEED_COLUMNS, type FeedRow, feedOf } from './rows.ts';
import { migrate } from './schema.ts';
import { WriteLog } from './write-log.ts';

interface PlaceRow {
  readonly id: NoteId;
  readonly type: number;
  readonly created_at: number;
}

interface WholeNoteRow extends PlaceRow {
  readonly modified_at: number;
  readonly metadata: string | null;
  readonly content: Uint8Array;
  readonly size: number;
  readonly image_key: ImageKey | null;
}

/** A place that is before every note. */
const OLDEST = { createdAt: Number.MIN_SAFE_INTEGER, id: '', type: 'md' } as const;

/** The instance in a database file. Nothing else runs beside it, so it works in the thread that calls it. */
export class SqliteArchive implements Archive {
  readonly #db: Database;
  readonly #log: WriteLog;
  readonly #sql: ReturnType<typeof statements>;
  readonly #images: ImageSource | undefined;

  private constructor(db: Database, images: ImageSource | undefined) {
    this.#images = images;
    this.#db = db;
    this.#log = new WriteLog(db);
    this.#sql = statements(db);
  }

  /** Makes and upgrades the tables as the start of the service does, and throws as it does when it cannot be used. */
  static open(path: string, images?: ImageSource): SqliteArchive {
    const { db } = Connection.forWriting(path);
    migrate(db);
    // After a power cut the last commits may be gone, but nothing is half there, and the move goes on behind it.
    db.pragma('synchronous = NORMAL');
    return new SqliteArchive(db, images);
  }

  async *feeds(): AsyncIterable<ArchivedFeed> {
    for (let row = this.#sql.feedAfter.get(''); row; row = this.#sql.feedAfter.get(row.name)) {
      const { key: _key, version: _version, ...feed } = feedOf(row);
      yield feed;
    }
  }

  async *notes(name: FeedName, after: Ordered = OLDEST as Ordered): AsyncIterable<ArchivedNote> {
    for (let place = after; ; ) {
      const row = this.#sql.noteAfter.get(name, place.createdAt, place.id, typeNumber(place.type));
      if (!row) return;
      place = placeOf(row);
      yield {
        ...place,
        modifiedAt: row.modified_at,
        ...wholeMetaOf(row.metadata),
        bytes: await wholePicture(row, this.#images),
      };
    }
  }

  async *retiredReadIds(): AsyncIterable<ReadId> {
    for (let row = this.#sql.retiredAfter.get(''); row; row = this.#sql.retiredAfter.get(row.read_id))
      yield row.read_id;
  }

  async countStrays(): Promise<number> {
    return 0;
  }

  async mark(): Promise<string | undefined> {
    return readMoveMark(this.#db);
  }

  async begin(mark: string): Promise<void> {
    writeMoveMark(this.#db, mark);
  }

  async addFeed(feed: ArchivedFeed): Promise<Ordered | undefined> {
    this.#sql.addFeed.run({
      ...feed,
      showSender: feed.showSender ? 1 : 0,
      image: feed.image ?? null,
      passwordHash: feed.passwordHash ?? null,
      license: feed.license ?? null,
      licenseId: (feed.license && licenseId(feed.license)) ?? null,
    });
    const row = this.#sql.newestNote.get(feed.name);
    return row && placeOf(row);
  }

  async addNotes({ name }: ArchivedFeed, notes: readonly ArchivedNote[]): Promise<void> {
    this.#db.transaction(() => {
      const { id: feed } = this.#sql.feedId.get(name)!;
      for (const note of notes) this.#addNote(feed, note);
      const { notes: texts, images } = countOf(notes);
      this.#sql.count.run(texts + images, images, feed);
    })();
    this.#log.bound();
  }

  async addRetiredReadIds(readIds: readonly ReadId[]): Promise<void> {
    this.#db.transaction(() => {
      for (const readId of readIds) this.#sql.retire.run(readId);
    })();
  }

  async end(): Promise<void> {
    // A commit in full makes all those before it durable.
    this.#db.pragma('synchronous = FULL');
    writeMoveMark(this.#db, undefined);
  }

  async close(): Promise<void> {
    this.#db.close();
  }

  #addNote(feed: number, { id, type, createdAt, modifiedAt, meta, others, bytes }: ArchivedNote): void {
    const { lastInsertRowid } = this.#sql.addNote.run({
      feed,
      id,
      type: typeNumber(type),
      createdAt,
      modifiedAt,
      metadata: metadataOf(meta, others),
      sha256: createHash('sha256').update(bytes).digest('base64url'),
      size: bytes.byteLength,
      bytes,
    });
    for (const tag of meta.tags)
      this.#sql.addTag.run(feed, tag, createdAt, id, typeNumber(type), lastInsertRowid);
  }
}

function placeOf({ id, type, created_at }: PlaceRow): Ordered {
  return { createdAt: created_at, id, type: NOTE_TYPES[type]! };
}

function statements(db: Database) {
  const prepare = <P extends unknown[] | object, R = unknown>(sql: string) =>
    db.prepare(sql) as unknown as Statement<P extends unknown[] ? P : [P], R>;
  const ofFeed = 'FROM feeds JOIN notes ON notes.feed = feeds.id WHERE feeds.name = ?';
  const order = (direction: string) =>
    ['created_at', 'id', 'type'].map((column) => `notes.${column} ${direction}`).join(', ');
  return {
    feedAfter: prepare<[string], FeedRow>(
      `SELECT ${FEED_COLUMNS} FROM feeds WHERE name > ? ORDER BY name LIMIT 1`,
    ),
    retiredAfter: prepare<[string], { read_id: ReadId }>(
      'SELECT read_id FROM feeds WHERE read_id > ? AND name IS NULL ORDER BY read_id LIMIT 1',
    ),
    noteAfter: prepare<[FeedName, number, string, number], WholeNoteRow>(
      `SELECT notes.id, notes.type, notes.created_at, notes.modified_at, notes.metadata, notes.content, notes.size, notes.image_key ${ofFeed}
         AND (notes.created_at, notes.id, notes.type) > (?, ?, ?) ORDER BY ${order('ASC')} LIMIT 1`,
    ),
    newestNote: prepare<[FeedName], PlaceRow>(
      `SELECT notes.id, notes.type, notes.created_at ${ofFeed} ORDER BY ${order('DESC')} LIMIT 1`,
    ),
    feedId: prepare<[FeedName], { id: number }>('SELECT id FROM feeds WHERE name = ?'),
    addFeed: prepare<object>(
      `INSERT INTO feeds (name, read_id, password_hash, title, description, show_sender, image, changed_at, license,
         license_id)
       VALUES ($name, $readId, $passwordHash, $title, $description, $showSender, $image, $changedAt, $license, $licenseId)
       ON CONFLICT (name) DO NOTHING`,
    ),
    addNote: prepare<object>(
      `INSERT INTO notes (feed, id, type, created_at, modified_at, metadata, sha256, size, content)
       VALUES ($feed, $id, $type, $createdAt, $modifiedAt, $metadata, $sha256, $size, $bytes)`,
    ),
    addTag: prepare<[number, string, number, string, number, number | bigint]>(
      'INSERT INTO tags (feed, tag, created_at, id, type, note) VALUES (?, ?, ?, ?, ?, ?)',
    ),
    count: prepare<[number, number, number]>(
      'UPDATE feeds SET note_count = note_count + ?, image_count = image_count + ? WHERE id = ?',
    ),
    retire: prepare<[ReadId]>(
      'INSERT INTO feeds (name, read_id, changed_at) VALUES (NULL, ?, 0) ON CONFLICT (read_id) DO NOTHING',
    ),
  };
}
