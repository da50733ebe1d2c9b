import type { Database } from 'better-sqlite3';
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
import { Connection, preparer } from './connection.ts';
import { NoteRows } from './note-rows.ts';
import { migrate, readMoveMark, writeMoveMark } from './schema.ts';
import { WriteLog } from './write-log.ts';

/** The instance in a database file. Nothing else runs beside it, so it works in the thread that calls it. */
export class SqliteArchive extends DatabaseArchive {
  readonly #db: Database;
  readonly #log: WriteLog;
  readonly #notes: NoteRows;
  readonly #sql: ReturnType<typeof prepareStatements>;
  protected readonly feedRows = (after: string) => this.#sql.feedsAfter.all(after);
  protected readonly noteRows = (name: FeedName, { created_at, id, type }: SortColumns) =>
    this.#sql.notesAfter.all(name, created_at, id, type);
  protected readonly retiredRows = (after: string) => this.#sql.retiredAfter.all(after);
  protected readonly recordRows = (kind: string, key: string) => this.#sql.recordsAfter.all(kind, key);
  protected readonly newestNote = (name: FeedName) => this.#sql.newestNote.all(name);

  private constructor(db: Database, images: ImageSource | undefined) {
    super(images);
    this.#db = db;
    this.#log = new WriteLog(db);
    this.#notes = new NoteRows(db);
    this.#sql = prepareStatements(db);
  }

  /** Makes and upgrades the tables as the start of the service does, and throws as it does when it cannot be used. */
  static open(path: string, images?: ImageSource): SqliteArchive {
    const { db } = Connection.forWriting(path);
    migrate(db);
    // A power cut may lose the last commits, but none in part, and the move goes on from there.
    db.pragma('synchronous = NORMAL');
    return new SqliteArchive(db, images);
  }

  async mark(): Promise<string | undefined> {
    return readMoveMark(this.#db);
  }

  async begin(mark: string): Promise<void> {
    this.#writeMark(mark);
    // The next start of the service finds out what its limit makes due.
    this.#db.exec('UPDATE sweeper SET keep_days = 0');
  }

  async addNotes(feed: ArchivedFeed, notes: readonly ArchivedNote[]): Promise<void> {
    this.#db.transaction(() => {
      const { id } = this.#sql.feedId.get(feed.name)!;
      for (const note of notes) this.#notes.insert(archivedRow(id, note));
      this.#sql.count.run(...gainOf(feed, notes), id);
    })();
    this.#log.bound();
  }

  async addRetiredReadIds(readIds: readonly ReadId[]): Promise<void> {
    this.#db.transaction(() => {
      for (const readId of readIds) this.#sql.retire.run(readId);
    })();
  }

  async addRecords(records: readonly OperatorRecord[]): Promise<void> {
    this.#db.transaction(() => {
      for (const { kind, key, value, at } of records) {
        this.#sql.addRecord.run(kind, key, value, at);
        if (kind === 'name') this.#sql.close.run(key);
      }
    })();
  }

  async end(): Promise<void> {
    // A commit in full makes all those before it durable.
    this.#db.pragma('synchronous = FULL');
    this.#writeMark(undefined);
  }

  async close(): Promise<void> {
    this.#db.close();
  }

  #writeMark(mark: string | undefined): void {
    writeMoveMark(this.#db, mark);
    // Also in the header of the file, see `lookAtStorage`.
    this.#log.empty();
  }

  protected insertFeed(values: readonly unknown[]): void {
    this.#sql.insertFeed.run(...values.map((value) => (typeof value === 'boolean' ? Number(value) : value)));
  }
}

/** Notes come one by one, because each may be large. */
function prepareStatements(db: Database) {
  const prepare = preparer(db);
  const ofFeed = 'FROM feeds JOIN notes ON notes.feed = feeds.id WHERE feeds.name = ?';
  const order = (direction: string) =>
    ['created_at', 'id', 'type'].map((column) => `notes.${column} ${direction}`).join(', ');
  return {
    feedsAfter: prepare<[string], FeedRow<number>>`
      SELECT ${FEED_COLUMNS} FROM feeds WHERE name > ? ORDER BY name LIMIT 100`,
    retiredAfter: prepare<[string], { read_id: ReadId }>`
      SELECT read_id FROM feeds WHERE read_id > ? AND name IS NULL ORDER BY read_id LIMIT 100`,
    notesAfter: prepare<[FeedName, number, string, number], WholeNoteRow>`
      SELECT notes.id, notes.type, notes.created_at, notes.modified_at, notes.metadata, notes.content,
        notes.size, notes.image_key
      ${ofFeed} AND (notes.created_at, notes.id, notes.type) > (?, ?, ?)
      ORDER BY ${order('ASC')} LIMIT 1`,
    newestNote: prepare<[FeedName], SortColumns>`
      SELECT notes.id, notes.type, notes.created_at ${ofFeed} ORDER BY ${order('DESC')} LIMIT 1`,
    feedId: prepare<[FeedName], { id: number }>`SELECT id FROM feeds WHERE name = ?`,
    insertFeed: prepare<unknown[]>`
      INSERT INTO feeds (${ARCHIVED_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (name) DO NOTHING`,
    count: prepare<[number, number, number, number | null, number]>`
      UPDATE feeds SET note_count = note_count + ?, image_count = image_count + ?,
        byte_count = byte_count + ?, due_at = coalesce(?, due_at) WHERE id = ?`,
    recordsAfter: prepare<[string, string], OperatorRecord>`
      SELECT kind, key, value, at FROM operator_records WHERE (kind, key) > (?, ?) ORDER BY kind, key LIMIT 100`,
    addRecord: prepare<[string, string, string, number]>`
      INSERT INTO operator_records (kind, key, value, at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    close: prepare<[string]>`UPDATE feeds SET blocked = 1 WHERE name = ?`,
    retire: prepare<[ReadId]>`
      INSERT INTO feeds (name, read_id, changed_at) VALUES (NULL, ?, 0) ON CONFLICT (read_id) DO NOTHING`,
  };
}
