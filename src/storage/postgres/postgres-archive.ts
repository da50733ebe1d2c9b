import type { FeedName, ReadId } from '../../feeds/names.ts';
import type { ArchivedFeed, ArchivedNote, ImageSource } from '../archive.ts';
import {
  ARCHIVED_COLUMNS,
  archivedRow,
  DatabaseArchive,
  gainOf,
  type SortColumns,
  type WholeNoteRow,
} from '../database-archive.ts';
import type { OperatorRecord } from '../operator-records.ts';
import { FEED_COLUMNS, type FeedRow } from '../rows.ts';
import { Database } from './database.ts';
import { asStartFailure } from './failures.ts';
import { addToCounts } from './feed-counts.ts';
import { MOVE_TABLE } from './move-lock.ts';
import { insertNotes } from './note-rows.ts';
import { migrate } from './schema.ts';
import { COMMIT_LATER, columnsOf, type Statement, statement, type Transaction } from './transaction.ts';

/** Limits of one answer: rows, and bytes of notes, but at least one note. */
const ROWS = 100;
const BYTES = 4 * 1024 * 1024;
/** How long a batch or an answer may take on the slowest line, in ms, because only the move waits for it. */
const TIMEOUT_MS = 30 * 60_000;

const FEEDS_AFTER = statement<FeedRow>('feeds_after')`
  SELECT ${FEED_COLUMNS} FROM feeds WHERE name > $1 ORDER BY name LIMIT ${ROWS}`;
const RETIRED_AFTER = statement<{ read_id: ReadId }>('retired_after')`
  SELECT read_id FROM feeds WHERE read_id > $1 AND name IS NULL ORDER BY read_id LIMIT ${ROWS}`;
const NOTES_AFTER = statement<WholeNoteRow>('notes_after')`
  SELECT id, type, created_at, modified_at, metadata, content, size, image_key FROM (
    SELECT *, sum(size) OVER (ORDER BY created_at, id, type ROWS UNBOUNDED PRECEDING) - size AS bytes_before
    FROM notes
    WHERE feed = (SELECT feeds.id FROM feeds WHERE name = $1) AND (created_at, id, type) > ($2, $3, $4)
    ORDER BY created_at, id, type LIMIT ${ROWS}
  ) AS next WHERE bytes_before < ${BYTES} ORDER BY created_at, id, type`;
const NEWEST = statement<SortColumns>('newest')`
  SELECT id, type, created_at FROM notes WHERE feed = (SELECT feeds.id FROM feeds WHERE name = $1)
  ORDER BY created_at DESC, id DESC, type DESC LIMIT 1`;
const INSERT_FEED = statement<object>('insert_feed')`
  INSERT INTO feeds (${ARCHIVED_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
  ON CONFLICT (name) DO NOTHING RETURNING 1`;
const COUNT = statement<{ id: number }>('count_moved')`
  UPDATE feeds SET note_count = note_count + $2, image_count = image_count + $3,
    byte_count = byte_count + $4, due_at = coalesce($5, due_at) WHERE name = $1 RETURNING id`;
const RETIRE = statement('retire')`
  INSERT INTO feeds (read_id, changed_at) SELECT unnest($1::text[]), 0 ON CONFLICT (read_id) DO NOTHING`;
const RECORDS_AFTER = statement<OperatorRecord>('records_after')`
  SELECT kind, key, value, at FROM operator_records WHERE (kind, key) > ($1, $2) ORDER BY kind, key LIMIT ${ROWS}`;
const ADD_RECORDS = statement('add_records')`
  INSERT INTO operator_records (kind, key, value, at)
  SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) ON CONFLICT DO NOTHING`;
const CLOSE_FEEDS = statement('close_feeds')`UPDATE feeds SET blocked = true WHERE name = ANY ($1)`;

const TABLE_IS_THERE = statement<{ is_there: boolean }>('table_is_there')`
  SELECT to_regclass($1) IS NOT NULL AS is_there`;

/** These find no rows by an index, or have no plan at all. */
const MARK: Statement<{ mark: string }> = { name: 'mark', text: `SELECT mark FROM ${MOVE_TABLE}` };
const MAKE_MARK_TABLE = { name: 'make_mark_table', text: `CREATE TABLE ${MOVE_TABLE} (mark text NOT NULL)` };
const SET_MARK = { name: 'set_mark', text: `INSERT INTO ${MOVE_TABLE} VALUES ($1)` };
const DROP_MARK_TABLE = { name: 'drop_mark_table', text: `DROP TABLE ${MOVE_TABLE}` };
/** The next start of the service finds out what its limit makes due. */
const RESET_KEEP_DAYS = { name: 'reset_keep_days', text: 'UPDATE sweeper SET keep_days = 0' };

/** The instance in a PostgreSQL database, which nothing else uses (`MoveLock`). */
export class PostgresArchive extends DatabaseArchive {
  readonly #database: Database;
  protected readonly feedRows = (after: string) => this.#database.read(FEEDS_AFTER, [after]);
  protected readonly noteRows = (name: FeedName, { created_at, id, type }: SortColumns) =>
    this.#database.read(NOTES_AFTER, [name, created_at, id, type]);
  protected readonly retiredRows = (after: string) => this.#database.read(RETIRED_AFTER, [after]);
  protected readonly recordRows = (kind: string, key: string) =>
    this.#database.read(RECORDS_AFTER, [kind, key]);
  protected readonly newestNote = (name: FeedName) => this.#database.read(NEWEST, [name]);

  private constructor(url: string, images: ImageSource | undefined) {
    super(images);
    this.#database = new Database(url, { limits: { statementMs: TIMEOUT_MS, idleMs: TIMEOUT_MS } });
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

  async mark(): Promise<string | undefined> {
    const [table] = await this.#database.read(TABLE_IS_THERE, [MOVE_TABLE]);
    return table?.is_there ? (await this.#database.read(MARK, []))[0]?.mark : undefined;
  }

  begin(mark: string): Promise<void> {
    return this.#database.transaction(async (transaction) => {
      transaction.send(MAKE_MARK_TABLE, []);
      transaction.send(SET_MARK, [mark]);
      transaction.send(RESET_KEEP_DAYS, []);
    });
  }

  addNotes(feed: ArchivedFeed, notes: readonly ArchivedNote[]): Promise<void> {
    return this.#write(async (transaction) => {
      const [row] = await transaction.run(COUNT, [feed.name, ...gainOf(feed, notes)]);
      // Otherwise a note dated ahead would count as the newest arrival until its date has passed.
      const now = Date.now();
      await insertNotes(
        transaction,
        notes.map((note) => ({
          ...archivedRow(row!.id, note),
          arrived_at: Math.min(note.createdAt, now),
        })),
      );
    });
  }

  addRetiredReadIds(readIds: readonly ReadId[]): Promise<void> {
    return this.#write(async (transaction) => {
      transaction.send(RETIRE, [readIds]);
    });
  }

  addRecords(records: readonly OperatorRecord[]): Promise<void> {
    return this.#write(async (transaction) => {
      transaction.send(ADD_RECORDS, columnsOf(records, 'kind', 'key', 'value', 'at'));
      const names = records.filter(({ kind }) => kind === 'name').map(({ key }) => key);
      transaction.send(CLOSE_FEEDS, [names]);
    });
  }

  /** A commit that is waited for makes all those before it durable. */
  async end(): Promise<void> {
    await this.#database.write(DROP_MARK_TABLE, []);
  }

  close(): Promise<void> {
    return this.#database.close();
  }

  protected insertFeed(values: readonly unknown[]): Promise<void> {
    return this.#write(async (transaction) => {
      const made = await transaction.run(INSERT_FEED, [...values]);
      addToCounts(transaction, { feeds: made.length, bytes: 0 });
    });
  }

  /** The move goes on from what a crash of the server left. */
  #write(work: (transaction: Transaction) => Promise<void>): Promise<void> {
    return this.#database.transaction(async (transaction) => {
      transaction.send(COMMIT_LATER, []);
      await work(transaction);
    });
  }
}
