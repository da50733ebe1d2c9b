import type { Database } from 'better-sqlite3';
import type { Feed } from '../../feeds/feed.ts';
import { type FeedName, type NoteFile, type NoteId, parseNoteFile, type ReadId } from '../../feeds/names.ts';
import type { Note } from '../../feeds/note.ts';
import type { Position } from '../../feeds/order.ts';
import type { Arrival, Arrivals } from '../arrivals.ts';
import type { LoadedNotes } from '../found-page.ts';
import type { OperatorRecord, OperatorRecordKind } from '../operator-records.ts';
import {
  FEED_COLUMNS,
  type FeedRow,
  feedOf,
  type NoteRow,
  noteOf,
  pageOf,
  positionValues,
  type RefValues,
  typeNumber,
} from '../rows.ts';
import {
  type FeedPage,
  type Neighbours,
  PAGE_TEXT_BYTES,
  type Page,
  type PageQuery,
  type TagCount,
} from '../storage.ts';
import { FILE_COLUMNS, type FileRow, type Piece } from '../stored-file.ts';
import { mostUsed } from '../tag-counts.ts';
import { ArrivalReads } from './arrival-reads.ts';
import { type Connection, preparer } from './connection.ts';
import { IS_LIVE, NOTE_COLUMNS, OF_FEED } from './note-rows.ts';

const TEXT = typeNumber('md');
/** The most feeds that `due` names. */
const DUE_FEEDS = '100';

/** The reads of the database; those of notes by `Feed.key`. Each call sees one state: all that was committed before it. */
export class Reads {
  readonly #connection: Connection;
  readonly #sql: ReturnType<typeof prepareStatements>;
  readonly #arrivals: ArrivalReads;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#arrivals = new ArrivalReads(connection.db);
    this.#sql = prepareStatements(connection.db);
  }

  /** Throws when a table is missing, nothing can be read, or the file cannot be written. */
  check(): void {
    this.#connection.mustBeWritable();
    // A query of all tables that hold notes.
    this.page('0', { limit: 1, tag: '' });
  }

  feed(name: FeedName): Feed | undefined {
    const row = this.#sql.feed.get(name);
    return row && feedOf(row);
  }

  feedByReadId(readId: ReadId): Feed | undefined {
    const row = this.#sql.feedByReadId.get(readId);
    return row && feedOf(row);
  }

  anyFeedByReadId(readId: ReadId): Feed | undefined {
    const row = this.#sql.anyFeedByReadId.get(readId);
    return row && feedOf(row);
  }

  /** See `OperatorRecords`. */
  findRecords(kind: OperatorRecordKind, keys: readonly string[]): OperatorRecord[] {
    return keys.map((key) => this.#sql.record.get(kind, key)).filter((record) => record !== undefined);
  }

  page(key: string, { limit, before, tag }: PageQuery): Page {
    const place = positionValues(before);
    const now = Date.now();
    const rows =
      tag === undefined
        ? this.#sql.page.iterate(key, ...place, now, limit + 1)
        : this.#sql.tagged.iterate(key, tag, ...place, now, limit + 1);
    const notes: Note[] = [];
    let textBytes = 0;
    let isCut = false;
    for (const row of rows) {
      isCut = notes.length === limit || (row.type === TEXT && textBytes >= PAGE_TEXT_BYTES);
      if (isCut) break;
      notes.push(noteOf(row));
      if (row.type === TEXT) textBytes += row.size;
    }
    return pageOf(notes, !isCut);
  }

  pageByReadId(readId: ReadId, query: PageQuery): FeedPage | undefined {
    const feed = this.feedByReadId(readId);
    return feed && { feed, ...this.page(feed.key, query) };
  }

  note(key: string, id: NoteId): Note | undefined {
    const row = this.#sql.note.get(key, id, Date.now());
    return row && noteOf(row);
  }

  /** See `foundPage`. */
  notes(key: string, files: readonly NoteFile[]): LoadedNotes {
    const now = Date.now();
    const notes: Note[] = [];
    let textBytes = 0;
    let count = 0;
    for (const file of files) {
      if (textBytes >= PAGE_TEXT_BYTES) break;
      count += 1;
      const named = parseNoteFile(file);
      const row = named && this.#sql.noteOfFile.get(key, named.id, typeNumber(named.type), now);
      if (!row) continue;
      notes.push(noteOf(row));
      if (row.type === TEXT) textBytes += row.size;
    }
    return { notes, count };
  }

  tags(key: string, prefix: string): TagCount[] {
    return mostUsed(this.#sql.tags.iterate(key, prefix, prefix, Date.now()));
  }

  neighbours(key: string, position: Position): Neighbours {
    const values = [key, ...positionValues(position), Date.now()] as const;
    const [older, newer] = [this.#sql.older.get(...values), this.#sql.newer.get(...values)];
    const expiries = [older, newer].map((note) => note?.expires ?? Number.POSITIVE_INFINITY);
    return { older: older?.id, newer: newer?.id, expires: Math.min(...expiries) };
  }

  /** See `Storage.arrivals`. */
  arrivals(key: string, since: Arrival | NoteId | undefined, limit: number): Arrivals | undefined {
    return this.#arrivals.find(key, since, limit);
  }

  stat(ref: RefValues, file: NoteFile): FileRow | undefined {
    const named = parseNoteFile(file);
    return named && this.#sql.stat.get(...ref, named.id, typeNumber(named.type), Date.now());
  }

  due(now: number): readonly FeedName[] {
    return this.#sql.due.all(now).map(({ name }) => name);
  }

  /** Bytes of a version; undefined if the note has another by now. */
  bytes(row: FileRow, start: number, length: number): Piece | undefined {
    const { feed, id, type, modified_at, sha256 } = row;
    return this.#sql.bytes.get(start + 1, length, feed, id, type, modified_at, sha256);
  }
}

type Place = ReturnType<typeof positionValues>;

function prepareStatements(db: Database) {
  const prepare = preparer(db);
  const place = '(notes.created_at, notes.id, notes.type)';
  const newestFirst = 'notes.created_at DESC, notes.id DESC, notes.type DESC';
  return {
    feed: prepare<[string], FeedRow<number>>`SELECT ${FEED_COLUMNS} FROM feeds WHERE name = ?`,
    feedByReadId: prepare<[string], FeedRow<number>>`
      SELECT ${FEED_COLUMNS} FROM feeds WHERE read_id = ? AND name IS NOT NULL AND NOT blocked`,
    anyFeedByReadId: prepare<[string], FeedRow<number>>`
      SELECT ${FEED_COLUMNS} FROM feeds WHERE read_id = ? AND name IS NOT NULL`,
    record: prepare<[OperatorRecordKind, string], OperatorRecord>`
      SELECT kind, key, value, at FROM operator_records WHERE kind = ? AND key = ?`,
    due: prepare<[number], { name: FeedName }>`
      SELECT name FROM feeds WHERE due_at <= ? ORDER BY due_at LIMIT ${DUE_FEEDS}`,
    note: prepare<[string, string, number], NoteRow>`
      SELECT ${NOTE_COLUMNS} ${OF_FEED} AND notes.id = ? AND ${IS_LIVE} ORDER BY notes.type LIMIT 1`,
    noteOfFile: prepare<[string, string, number, number], NoteRow>`
      SELECT ${NOTE_COLUMNS} ${OF_FEED} AND notes.id = ? AND notes.type = ? AND ${IS_LIVE}`,
    page: prepare<[string, ...Place, number, number], NoteRow>`
      SELECT ${NOTE_COLUMNS} ${OF_FEED} AND ${place} < (?, ?, ?) AND ${IS_LIVE} ORDER BY ${newestFirst} LIMIT ?`,
    tagged: prepare<[string, string, ...Place, number, number], NoteRow>`
      SELECT ${NOTE_COLUMNS} FROM feeds JOIN tags ON tags.feed = feeds.id JOIN notes ON notes.row = tags.note
      WHERE feeds.id = ? AND feeds.name IS NOT NULL AND tags.tag = ? AND (tags.created_at, tags.id, tags.type) < (?, ?, ?)
      AND ${IS_LIVE}
      ORDER BY tags.created_at DESC, tags.id DESC, tags.type DESC LIMIT ?`,
    tags: prepare<[string, string, string, number], TagCount>`
      SELECT tags.tag, count(*) AS count FROM feeds JOIN tags ON tags.feed = feeds.id
      WHERE feeds.id = ? AND feeds.name IS NOT NULL AND tags.tag >= ? AND tags.tag < ? || char(0x10ffff)
      AND NOT EXISTS (SELECT 1 FROM expiries WHERE note = tags.note AND expires_at <= ?)
      GROUP BY tags.tag`,
    older: prepare<[string, ...Place, number], { id: NoteId; expires: number | null }>`
      SELECT notes.id, (SELECT expires_at FROM expiries WHERE note = notes.row) AS expires ${OF_FEED} AND ${place} < (?, ?, ?) AND ${IS_LIVE} ORDER BY ${newestFirst} LIMIT 1`,
    newer: prepare<[string, ...Place, number], { id: NoteId; expires: number | null }>`
      SELECT notes.id, (SELECT expires_at FROM expiries WHERE note = notes.row) AS expires ${OF_FEED} AND ${place} > (?, ?, ?) AND ${IS_LIVE}
      ORDER BY ${newestFirst.replaceAll(' DESC', '')} LIMIT 1`,
    stat: prepare<[...RefValues, string, number, number], FileRow>`
      SELECT ${FILE_COLUMNS}, (SELECT expires_at FROM expiries WHERE note = notes.row) AS expires_at
      FROM feeds JOIN notes ON notes.feed = feeds.id
      WHERE feeds.id = coalesce(?, (SELECT id FROM feeds WHERE read_id = ? AND NOT blocked)) AND feeds.name IS NOT NULL
      AND notes.id = ? AND notes.type = ? AND ${IS_LIVE}`,
    bytes: prepare<[number, number, number, string, number, number, string | null], Piece>`
      SELECT substr(content, ?, ?) AS content FROM notes
      WHERE feed = ? AND id = ? AND type = ? AND modified_at = ? AND sha256 IS ? AND image_key IS NULL`,
  };
}
