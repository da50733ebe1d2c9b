import { createHash } from 'node:crypto';
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
import { byteaArray } from './bytea-array.ts';
import { Database } from './database.ts';
import { countFeeds } from './feed-rows.ts';
import { MOVE_TABLE, TABLE_IS_THERE } from './move-lock.ts';
import { insertTags } from './note-rows.ts';
import { FEED_COLUMNS, type FeedRow, feedOf } from './rows.ts';
import { migrate } from './schema.ts';
import { asStartFailure } from './start-failure.ts';
import { type Statement, statement } from './statement.ts';
import type { Transaction } from './transaction.ts';

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

/** What comes in one answer: so many rows, and notes only until they have so many bytes, one at least. */
const ROWS = 100;
const BYTES = 4 * 1024 * 1024;
/** How long a batch or an answer may take on the slowest line, in ms: nobody waits for it but the move. */
const PATIENCE_MS = 30 * 60_000;
/** A place that is before every note. */
const OLDEST = { createdAt: Number.MIN_SAFE_INTEGER, id: '', type: 'md' } as const;

const FEEDS_AFTER = statement<FeedRow>(
  'feeds_after',
  `SELECT ${FEED_COLUMNS} FROM feeds WHERE name > $1 ORDER BY name LIMIT ${ROWS}`,
);
const RETIRED_AFTER = statement<{ read_id: ReadId }>(
  'retired_after',
  `SELECT read_id FROM feeds WHERE read_id > $1 AND name IS NULL ORDER BY read_id LIMIT ${ROWS}`,
);
const NOTES_AFTER = statement<WholeNoteRow>(
  'notes_after',
  `SELECT id, type, created_at, modified_at, metadata, content, size, image_key FROM (
     SELECT *, sum(size) OVER (ORDER BY created_at, id, type ROWS UNBOUNDED PRECEDING) - size AS bytes_before FROM notes
     WHERE feed = (SELECT feeds.id FROM feeds WHERE name = $1) AND (created_at, id, type) > ($2, $3, $4)
     ORDER BY created_at, id, type LIMIT ${ROWS}
   ) AS next WHERE bytes_before < ${BYTES} ORDER BY created_at, id, type`,
);
const NEWEST = statement<PlaceRow>(
  'newest',
  `SELECT id, type, created_at FROM notes WHERE feed = (SELECT feeds.id FROM feeds WHERE name = $1)
   ORDER BY created_at DESC, id DESC, type DESC LIMIT 1`,
);
const ADD_FEED = statement<object>(
  'add_feed',
  `INSERT INTO feeds (name, read_id, password_hash, title, description, show_sender, image, changed_at, license, license_id)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (name) DO NOTHING RETURNING 1`,
);
const COUNT = statement<{ id: number }>(
  'count_moved',
  `UPDATE feeds SET note_count = note_count + $2, image_count = image_count + $3 WHERE name = $1 RETURNING id`,
);
const ADD_NOTES = statement(
  'add_notes',
  `INSERT INTO notes (feed, id, type, created_at, modified_at, metadata, sha256, size, content)
   SELECT $1, id, type, created_at, modified_at, metadata, sha256, octet_length(content), content
   FROM unnest($2::text[], $3::smallint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::bytea[])
     AS new (id, type, created_at, modified_at, metadata, sha256, content)`,
);
const RETIRE = statement(
  'retire',
  'INSERT INTO feeds (read_id, changed_at) SELECT unnest($1::text[]), 0 ON CONFLICT (read_id) DO NOTHING',
);

/** These find no rows by an index, or have no plan at all. */
const MARK: Statement<{ mark: string }> = { name: 'mark', text: `SELECT mark FROM ${MOVE_TABLE}` };
const MAKE_MARK_TABLE = { name: 'make_mark_table', text: `CREATE TABLE ${MOVE_TABLE} (mark text NOT NULL)` };
const SET_MARK = { name: 'set_mark', text: `INSERT INTO ${MOVE_TABLE} VALUES ($1)` };
const DROP_MARK_TABLE = { name: 'drop_mark_table', text: `DROP TABLE ${MOVE_TABLE}` };
const COMMIT_LATER = { name: 'commit_later', text: 'SET LOCAL synchronous_commit = off' };

/** The instance in a PostgreSQL database, which nothing else uses (`MoveLock`). */
export class PostgresArchive implements Archive {
  readonly #database: Database;
  readonly #images: ImageSource | undefined;

  private constructor(url: string, images: ImageSource | undefined) {
    this.#images = images;
    this.#database = new Database(url, { limits: { statementMs: PATIENCE_MS, idleMs: PATIENCE_MS } });
  }

  /** Makes and upgrades the tables as the start of the service does, and throws as it does when it cannot be used. */
  static async open(url: string, images?: ImageSource): Promise<PostgresArchive> {
    try {
      await migrate(url);
      return new PostgresArchive(url, images);
    } catch (error) {
      throw asStartFailure(error);
    }
  }

  async *feeds(): AsyncIterable<ArchivedFeed> {
    for (let after = ''; ; ) {
      const rows = await this.#database.read(FEEDS_AFTER, [after]);
      for (const { key: _key, version: _version, ...feed } of rows.map(feedOf)) yield feed;
      if (rows.length === 0) return;
      after = rows.at(-1)!.name;
    }
  }

  async *notes(name: FeedName, after: Ordered = OLDEST as Ordered): AsyncIterable<ArchivedNote> {
    for (let { createdAt, id, type } = after; ; ) {
      const rows = await this.#database.read(NOTES_AFTER, [name, createdAt, id, typeNumber(type)]);
      for (const row of rows) {
        const { modified_at, metadata } = row;
        const bytes = await wholePicture(row, this.#images);
        yield { ...placeOf(row), modifiedAt: modified_at, ...wholeMetaOf(metadata), bytes };
      }
      if (rows.length === 0) return;
      ({ createdAt, id, type } = placeOf(rows.at(-1)!));
    }
  }

  async *retiredReadIds(): AsyncIterable<ReadId> {
    for (let after = ''; ; ) {
      const rows = await this.#database.read(RETIRED_AFTER, [after]);
      for (const { read_id } of rows) yield read_id;
      if (rows.length === 0) return;
      after = rows.at(-1)!.read_id;
    }
  }

  async countStrays(): Promise<number> {
    return 0;
  }

  async mark(): Promise<string | undefined> {
    const [table] = await this.#database.read(TABLE_IS_THERE, [MOVE_TABLE]);
    return table?.is_there ? (await this.#database.read(MARK, []))[0]?.mark : undefined;
  }

  begin(mark: string): Promise<void> {
    return this.#database.transaction(async (transaction) => {
      transaction.send(MAKE_MARK_TABLE, []);
      transaction.send(SET_MARK, [mark]);
    });
  }

  async addFeed(feed: ArchivedFeed): Promise<Ordered | undefined> {
    await this.#write(async (transaction) => {
      const { name, readId, passwordHash, title, description, showSender, image, changedAt } = feed;
      const { license } = feed;
      const values = [
        ...[name, readId, passwordHash, title, description, showSender, image, changedAt],
        ...[license, license && licenseId(license)],
      ];
      const made = await transaction.run(ADD_FEED, values);
      countFeeds(transaction, made.length);
    });
    const [newest] = await this.#database.read(NEWEST, [feed.name]);
    return newest && placeOf(newest);
  }

  addNotes({ name }: ArchivedFeed, notes: readonly ArchivedNote[]): Promise<void> {
    return this.#write(async (transaction) => {
      const { notes: texts, images } = countOf(notes);
      const [feed] = await transaction.run(COUNT, [name, texts + images, images]);
      const rows = notes.map((note) => ({
        feed: feed!.id,
        id: note.id,
        type: typeNumber(note.type),
        created_at: note.createdAt,
        metadata: metadataOf(note.meta, note.others),
      }));
      transaction.send(ADD_NOTES, [
        feed!.id,
        rows.map(({ id }) => id),
        rows.map(({ type }) => type),
        rows.map(({ created_at }) => created_at),
        notes.map(({ modifiedAt }) => modifiedAt),
        rows.map(({ metadata }) => metadata),
        notes.map(({ bytes }) => createHash('sha256').update(bytes).digest('base64url')),
        byteaArray(notes.map(({ bytes }) => bytes)),
      ]);
      insertTags(transaction, rows);
    });
  }

  addRetiredReadIds(readIds: readonly ReadId[]): Promise<void> {
    return this.#write(async (transaction) => {
      transaction.send(RETIRE, [readIds]);
    });
  }

  /** A commit that is waited for makes all those before it durable. */
  end(): Promise<void> {
    return this.#database.transaction(async (transaction) => {
      transaction.send(DROP_MARK_TABLE, []);
    });
  }

  close(): Promise<void> {
    return this.#database.close();
  }

  /**
   * After a crash of the server the last commits may be gone, but nothing is half there, and the move goes on behind
   * it.
   */
  #write(work: (transaction: Transaction) => Promise<void>): Promise<void> {
    return this.#database.transaction(async (transaction) => {
      transaction.send(COMMIT_LATER, []);
      await work(transaction);
    });
  }
}

function placeOf({ id, type, created_at }: PlaceRow): Ordered {
  return { createdAt: created_at, id, type: NOTE_TYPES[type]! };
}
