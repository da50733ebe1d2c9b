import type { Statement } from 'better-sqlite3';
import type { ImageKey } from '../../feeds/image-keys.ts';
import {
  type FeedName,
  type NoteFile,
  type NoteId,
  noteFile,
  parseNoteFile,
  type ReadId,
} from '../../feeds/names.ts';
import { placeOf } from '../../feeds/order.ts';
import type { KeyedBytes, LoadedBytes } from '../loaded-file.ts';
import { type NoteRow, noteOf, typeNumber } from '../note-columns.ts';
import {
  type Feed,
  type Neighbours,
  type Note,
  PAGE_TEXT_BYTES,
  type Page,
  type PageQuery,
  type Position,
} from '../storage.ts';
import type { Connection } from './connection.ts';
import { FEED_COLUMNS, type FeedRow, feedOf, NOTE_COLUMNS } from './rows.ts';

/** A place that is before every note, for the first page. */
const NEWEST = [Number.MAX_SAFE_INTEGER, '', 0] as const;

const TEXT = typeNumber('md');

/** What is read of the database. Each call sees one state of it: all that was committed before. */
export class Reads {
  readonly #connection: Connection;
  readonly #feed: Statement<[string], FeedRow>;
  readonly #feedByReadId: Statement<[string], FeedRow>;
  readonly #note: Statement<[string, string], NoteRow>;
  readonly #page: Statement<[string, number, string, number, number], NoteRow>;
  readonly #older: Statement<[string, number, string, number], { id: NoteId }>;
  readonly #newer: Statement<[string, number, string, number], { id: NoteId }>;
  readonly #tagged: Statement<[string, string, number, string, number, number], NoteRow>;
  readonly #bytes: Statement<
    [string, string, number],
    {
      content: Uint8Array;
      modified_at: number;
      sha256: string | null;
      size: number;
      image_key: ImageKey | null;
    }
  >;

  constructor(connection: Connection) {
    const { db } = connection;
    this.#connection = connection;
    this.#feed = db.prepare(`SELECT ${FEED_COLUMNS} FROM feeds WHERE name = ?`);
    this.#feedByReadId = db.prepare(
      `SELECT ${FEED_COLUMNS} FROM feeds WHERE read_id = ? AND name IS NOT NULL`,
    );
    const notesOfFeed = 'FROM feeds JOIN notes ON notes.feed = feeds.id WHERE feeds.name = ?';
    this.#note = db.prepare(
      `SELECT ${NOTE_COLUMNS} ${notesOfFeed} AND notes.id = ? ORDER BY notes.type LIMIT 1`,
    );
    this.#page = db.prepare(
      `SELECT ${NOTE_COLUMNS} ${notesOfFeed}
         AND (notes.created_at, notes.id, notes.type) < (?, ?, ?)
       ORDER BY notes.created_at DESC, notes.id DESC, notes.type DESC LIMIT ?`,
    );
    const place = '(notes.created_at, notes.id, notes.type)';
    this.#older = db.prepare(
      `SELECT notes.id ${notesOfFeed} AND ${place} < (?, ?, ?)
       ORDER BY notes.created_at DESC, notes.id DESC, notes.type DESC LIMIT 1`,
    );
    this.#newer = db.prepare(
      `SELECT notes.id ${notesOfFeed} AND ${place} > (?, ?, ?)
       ORDER BY notes.created_at, notes.id, notes.type LIMIT 1`,
    );
    this.#tagged = db.prepare(
      `SELECT ${NOTE_COLUMNS} FROM feeds JOIN tags ON tags.feed = feeds.id JOIN notes ON notes.row = tags.note
       WHERE feeds.name = ? AND tags.tag = ? AND (tags.created_at, tags.id, tags.type) < (?, ?, ?)
       ORDER BY tags.created_at DESC, tags.id DESC, tags.type DESC LIMIT ?`,
    );
    this.#bytes = db.prepare(
      `SELECT notes.content, notes.modified_at, notes.sha256, notes.size, notes.image_key ${notesOfFeed} AND notes.id = ? AND notes.type = ?`,
    );
  }

  /** Throws when nothing can be read, or the file cannot be written. */
  check(): void {
    this.#connection.mustBeWritable();
    this.feedByReadId('' as ReadId);
  }

  feed(name: FeedName): Feed | undefined {
    this.#connection.mustBeThere();
    const row = this.#feed.get(name);
    return row && feedOf(row);
  }

  feedByReadId(readId: ReadId): Feed | undefined {
    this.#connection.mustBeThere();
    const row = this.#feedByReadId.get(readId);
    return row && feedOf(row);
  }

  page(name: FeedName, { limit, before, tag }: PageQuery): Page {
    this.#connection.mustBeThere();
    const place = before && placeOf(before);
    const [createdAt, id, type] = place ? [place.createdAt, place.id, typeNumber(place.type)] : NEWEST;
    const rows =
      tag === undefined
        ? this.#page.iterate(name, createdAt, id, type, limit + 1)
        : this.#tagged.iterate(name, tag, createdAt, id, type, limit + 1);
    const notes: Note[] = [];
    let textBytes = 0;
    let isCut = false;
    for (const row of rows) {
      isCut = notes.length === limit || (row.type === TEXT && textBytes >= PAGE_TEXT_BYTES);
      if (isCut) break;
      notes.push(noteOf(row));
      if (row.type === TEXT) textBytes += row.size;
    }
    const last = isCut ? notes.at(-1) : undefined;
    return { notes, next: last && { createdAt: last.createdAt, file: noteFile(last.id, last.type) } };
  }

  note(name: FeedName, id: NoteId): Note | undefined {
    this.#connection.mustBeThere();
    const row = this.#note.get(name, id);
    return row && noteOf(row);
  }

  neighbours(name: FeedName, position: Position): Neighbours {
    this.#connection.mustBeThere();
    const { createdAt, id, type } = placeOf(position);
    const place = [name, createdAt, id, typeNumber(type)] as const;
    return { older: this.#older.get(...place)?.id, newer: this.#newer.get(...place)?.id };
  }

  bytes(name: FeedName, file: NoteFile): LoadedBytes | KeyedBytes | undefined {
    this.#connection.mustBeThere();
    const named = parseNoteFile(file);
    const row = named && this.#bytes.get(name, named.id, typeNumber(named.type));
    if (!row) return undefined;
    const version = { modifiedAt: row.modified_at, sha256: row.sha256 ?? undefined };
    if (row.image_key !== null) return { ...version, key: row.image_key, size: row.size };
    return { ...version, content: row.content };
  }
}
