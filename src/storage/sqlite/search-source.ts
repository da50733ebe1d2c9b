import type { Database } from 'better-sqlite3';
import { type FeedName, type NoteFile, noteFile, parseNoteFile } from '../../feeds/names.ts';
import { NOTE_TYPES } from '../../feeds/note-types.ts';
import { noteVersion } from '../note-version.ts';
import { type InsertedNote, type NoteRow, noteOf, typeNumber } from '../rows.ts';
import type { ListedNote, NoteSource, SourceNote } from '../search/note-source.ts';
import { Connection, preparer } from './connection.ts';
import { asRefusal } from './failures.ts';
import { NOTE_COLUMNS } from './note-rows.ts';

/** Rows of one statement. Each is over before what it brought is used, because a long read keeps the log from being copied. */
const ROWS_AT_ONCE = 1_000;

type ListedRow = Pick<
  InsertedNote,
  'id' | 'type' | 'created_at' | 'modified_at' | 'size' | 'sha256' | 'metadata'
>;

/** The notes of a database; waits for no writer. Throws `store_unavailable` with the error of SQLite, or without a code if the file is another one by now. */
export class SqliteSource implements NoteSource {
  readonly #connection: Connection;
  readonly #sql: ReturnType<typeof prepareStatements>;

  constructor(path: string) {
    this.#connection = Connection.forReading(path);
    this.#sql = asked(() => prepareStatements(this.#connection.db));
  }

  *feeds(): Generator<FeedName> {
    for (let last = ''; ; ) {
      this.#connection.mustBeThere();
      const names = asked(() => this.#sql.feeds.all(last)).map(({ name }) => name);
      yield* names;
      if (names.length < ROWS_AT_ONCE) return;
      last = names.at(-1)!;
    }
  }

  *list(feed: FeedName): Generator<ListedNote> {
    for (let last: Pick<ListedRow, 'created_at' | 'id' | 'type'> | undefined; ; ) {
      this.#connection.mustBeThere();
      const { created_at, id, type } = last ?? { created_at: Number.MIN_SAFE_INTEGER, id: '', type: 0 };
      const rows = asked(() => this.#sql.list.all(feed, created_at, id, type));
      for (const row of rows) yield listedOf(row);
      if (rows.length < ROWS_AT_ONCE) return;
      last = rows.at(-1);
    }
  }

  read(feed: FeedName, file: NoteFile): SourceNote | undefined {
    this.#connection.mustBeThere();
    const named = parseNoteFile(file);
    const row = named && asked(() => this.#sql.read.get(feed, named.id, typeNumber(named.type)));
    if (!row) return undefined;
    const { meta, content } = noteOf(row);
    return { ...listedOf(row), meta, content };
  }

  close(): void {
    this.#connection.db.close();
  }
}

/** Its errors as refusals: the index has the same engine, and must not be made again for damage of the database. */
function asked<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw asRefusal(error);
  }
}

function listedOf({ id, type, created_at, modified_at, size, sha256, metadata }: ListedRow): ListedNote {
  const version = noteVersion(modified_at, size, sha256, metadata);
  return { file: noteFile(id, NOTE_TYPES[type]!), createdAt: created_at, version };
}

function prepareStatements(db: Database) {
  const prepare = preparer(db);
  const ofFeed = 'FROM notes WHERE feed = (SELECT feeds.id FROM feeds WHERE name = ?)';
  return {
    feeds: prepare<[string], { name: FeedName }>`
      SELECT name FROM feeds WHERE name > ? ORDER BY name LIMIT ${String(ROWS_AT_ONCE)}`,
    list: prepare<[FeedName, number, string, number], ListedRow>`
      SELECT id, type, created_at, modified_at, size, sha256, metadata ${ofFeed}
      AND (created_at, id, type) > (?, ?, ?) ORDER BY created_at, id, type LIMIT ${String(ROWS_AT_ONCE)}`,
    read: prepare<[FeedName, string, number], NoteRow & ListedRow>`
      SELECT ${NOTE_COLUMNS}, notes.sha256 ${ofFeed} AND id = ? AND type = ?`,
  };
}
