import type { Database } from 'better-sqlite3';
import { newerSchema } from '../failures.ts';

/**
 * What makes each version of the schema from the one before; the place in the list, from 1, is the version. What has
 * been released is never changed: a new version is added at the end, and a database of it to `test/storage/schemas/`.
 *
 * A row of `feeds` without a name is a deleted feed: it keeps the read id from being given again, and says with
 * `note_count` that notes are still to be cleared away. `notes.type` is the place in md, png, jpg, gif, webp;
 * `content` is last but one, so that other columns are read without its overflow pages. `image_key` follows it: if null,
 * the row header says so; if set, `content` is empty. `freed_keys` are those whose objects are still to be
 * removed; without `due_at` they are in another store than the one of the settings. With `attempts` -1 a note still has the key, but
 * its object may be in two stores. `token_series.turn` is the index of
 * the next valid token, or -1 after a token was replayed: the whole series is revoked. `feeds.license_id` is what the text in `feeds.license` counts by.
 * `note_keys` and `expiries` say again what is in the metadata of notes, for those that have a key or expire; `note` is `notes.row`.
 * No note of a feed is to be removed before `feeds.due_at` (`dueAfter`). `sweeper.keep_days` is the instance's limit by which
 * that was found out. `operator_records` holds the records of `OperatorRecords`; `feeds.blocked` repeats whether it has the feed's name.
 */
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE feeds (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     name TEXT UNIQUE,
     read_id TEXT NOT NULL UNIQUE,
     password_hash TEXT,
     title TEXT NOT NULL DEFAULT '',
     description TEXT NOT NULL DEFAULT '',
     show_sender INTEGER NOT NULL DEFAULT 1,
     image TEXT,
     note_count INTEGER NOT NULL DEFAULT 0,
     image_count INTEGER NOT NULL DEFAULT 0,
     changed_at INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX feeds_to_clear ON feeds (id) WHERE name IS NULL AND note_count > 0;

   CREATE TABLE notes (
     row INTEGER PRIMARY KEY,
     feed INTEGER NOT NULL,
     id TEXT NOT NULL,
     type INTEGER NOT NULL,
     created_at INTEGER NOT NULL,
     modified_at INTEGER NOT NULL,
     metadata TEXT,
     sha256 TEXT,
     size INTEGER NOT NULL,
     content BLOB NOT NULL
   ) STRICT;
   CREATE UNIQUE INDEX notes_by_file ON notes (feed, id, type);
   CREATE INDEX notes_in_order ON notes (feed, created_at, id, type);

   CREATE TABLE tags (
     feed INTEGER NOT NULL,
     tag TEXT NOT NULL,
     created_at INTEGER NOT NULL,
     id TEXT NOT NULL,
     type INTEGER NOT NULL,
     note INTEGER NOT NULL,
     PRIMARY KEY (feed, tag, created_at, id, type)
   ) STRICT, WITHOUT ROWID;`,
  `ALTER TABLE notes ADD COLUMN image_key TEXT;
   CREATE UNIQUE INDEX notes_by_key ON notes (image_key) WHERE image_key IS NOT NULL;
   CREATE INDEX pictures_in_order ON notes (created_at, feed, id, type) WHERE type > 0;

   CREATE TABLE freed_keys (
     key TEXT PRIMARY KEY,
     due_at INTEGER,
     attempts INTEGER NOT NULL DEFAULT 0
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX freed_keys_due ON freed_keys (due_at) WHERE due_at IS NOT NULL;

   CREATE TABLE token_series (
     id TEXT PRIMARY KEY,
     turn INTEGER NOT NULL,
     until INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX token_series_to_forget ON token_series (until);

   ALTER TABLE feeds ADD COLUMN license TEXT;
   ALTER TABLE feeds ADD COLUMN license_id TEXT;
   CREATE INDEX feeds_by_license ON feeds (license_id) WHERE license_id IS NOT NULL;`,
  `ALTER TABLE feeds ADD COLUMN keep_days INTEGER;
   ALTER TABLE feeds ADD COLUMN keep_notes INTEGER;
   ALTER TABLE feeds ADD COLUMN due_at INTEGER;
   CREATE INDEX feeds_due ON feeds (due_at) WHERE due_at IS NOT NULL;
   CREATE TABLE sweeper (keep_days INTEGER NOT NULL) STRICT;
   INSERT INTO sweeper VALUES (0);

   CREATE TABLE note_keys (
     feed INTEGER NOT NULL,
     key TEXT NOT NULL,
     note INTEGER NOT NULL,
     PRIMARY KEY (feed, key, note)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE expiries (
     note INTEGER PRIMARY KEY,
     feed INTEGER NOT NULL,
     expires_at INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX expiries_by_feed ON expiries (feed, expires_at);`,
  'ALTER TABLE feeds ADD COLUMN listed INTEGER NOT NULL DEFAULT 0;',
  `ALTER TABLE feeds ADD COLUMN byte_count INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE feeds ADD COLUMN blocked INTEGER NOT NULL DEFAULT 0;
   -- By an index each note would be a read of its own from anywhere in the file.
   UPDATE feeds SET byte_count = sums.bytes FROM (SELECT feed, sum(size) AS bytes FROM notes NOT INDEXED GROUP BY feed) AS sums
   WHERE feeds.id = sums.feed AND name IS NOT NULL;
   CREATE TABLE operator_records (
     kind TEXT NOT NULL,
     key TEXT NOT NULL,
     value TEXT NOT NULL,
     at INTEGER NOT NULL,
     PRIMARY KEY (kind, key)
   ) STRICT, WITHOUT ROWID;`,
];

/** The version that this program reads and writes. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/**
 * Brings a database to the version of this program, each step in a transaction. Throws an error with a sentence for
 * the operator when it is of a newer version, or is something else.
 * @param keepDays the days that any feed keeps its notes, 0 for no limit; if they are others than before, every feed is swept anew
 */
export function migrate(db: Database, keepDays?: number): void {
  const version = Number(db.pragma('user_version', { simple: true }));
  mustBeKnown(version);
  if (version === 0 && db.prepare('SELECT 1 FROM sqlite_schema').get() !== undefined) {
    throw new Error('The file named by SERVICE_DATABASE_URL is a database of something else.');
  }
  for (const [done, sql] of MIGRATIONS.entries()) {
    if (done < version) continue;
    db.transaction(() => {
      db.exec(sql);
      db.pragma(`user_version = ${done + 1}`);
    }).immediate();
  }
  db.transaction(() => {
    if (keepDays === undefined || db.prepare('SELECT 1 FROM sweeper WHERE keep_days = ?').get(keepDays))
      return;
    db.prepare('UPDATE sweeper SET keep_days = ?').run(keepDays);
    db.exec('UPDATE feeds SET due_at = 0 WHERE name IS NOT NULL AND note_count > 0');
  }).immediate();
}

/** Throws an error with a sentence for the operator if a schema is of a newer version. */
export function mustBeKnown(version: number): void {
  if (version > SCHEMA_VERSION) throw newerSchema(version, SCHEMA_VERSION);
}

/**
 * The mark of an unfinished move into the database; undefined without one. Its table exists only as long, so it is no part
 * of the schema.
 */
export function readMoveMark(db: Database): string | undefined {
  const table = db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'move'").get();
  if (table === undefined) return undefined;
  return db.prepare<[], { mark: string }>('SELECT mark FROM move').get()?.mark ?? '';
}

/** The `application_id` of a database with a mark: a look at the header of the file alone finds it. 0 of every other one. */
export const MOVE_TARGET_ID = 0x6e666d76;

/** Writes the mark; undefined removes it. */
export function writeMoveMark(db: Database, mark: string | undefined): void {
  db.transaction(() => {
    db.exec('DROP TABLE IF EXISTS move');
    db.pragma(`application_id = ${mark === undefined ? 0 : MOVE_TARGET_ID}`);
    if (mark === undefined) return;
    db.exec('CREATE TABLE move (mark TEXT NOT NULL) STRICT');
    db.prepare('INSERT INTO move (mark) VALUES (?)').run(mark);
  }).immediate();
}
