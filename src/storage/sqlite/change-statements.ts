import type { Database, Statement } from 'better-sqlite3';
import type { ImageKey } from '../../feeds/image-keys.ts';
import type { FeedName, NoteId, ReadId } from '../../feeds/names.ts';
import type { NoteRow } from '../note-columns.ts';
import { FEED_COLUMNS, type FeedRow, NOTE_COLUMNS } from './rows.ts';

/** A note as it is looked up to be changed. */
export interface StoredNote {
  readonly row: number;
  readonly type: number;
  readonly created_at: number;
  readonly metadata: string | null;
  readonly image_key: ImageKey | null;
}

export type ChangeStatements = ReturnType<typeof changeStatements>;

/** The statements of `Changes`, prepared. */
export function changeStatements(db: Database) {
  const prepare = <P extends unknown[] | object, R = unknown>(sql: string) =>
    db.prepare(sql) as unknown as Statement<P extends unknown[] ? P : [P], R>;
  return {
    countFeeds: prepare<[], { count: number }>('SELECT count(*) AS count FROM feeds WHERE name IS NOT NULL'),
    feedByName: prepare<[FeedName], FeedRow>(`SELECT ${FEED_COLUMNS} FROM feeds WHERE name = ?`),
    readIdHolder: prepare<[ReadId], object>('SELECT 1 FROM feeds WHERE read_id = ?'),
    makeFeed: prepare<object, FeedRow>(
      `INSERT INTO feeds (name, read_id, password_hash, changed_at) VALUES ($name, $readId, $passwordHash, 0)
       RETURNING ${FEED_COLUMNS}`,
    ),
    count: prepare<[number, number, number, number]>(
      'UPDATE feeds SET note_count = ?, image_count = ?, changed_at = ? WHERE id = ?',
    ),
    configure: prepare<object>(
      `UPDATE feeds SET read_id = $read_id, title = $title, description = $description,
         show_sender = $show_sender, image = $image WHERE id = $id`,
    ),
    useToken: prepare<object, { turn: number }>(
      `INSERT INTO token_series (id, turn, until) VALUES ($series, iif($place = 0, 1, -1), $until)
       ON CONFLICT (id) DO UPDATE SET turn = iif(turn = $place, $place + 1, -1) RETURNING turn`,
    ),
    forgetSeries: prepare<[number]>('DELETE FROM token_series WHERE until <= ?'),
    clearImage: prepare<[number]>('UPDATE feeds SET image = NULL WHERE id = ?'),
    setPassword: prepare<[string | null, number]>('UPDATE feeds SET password_hash = ? WHERE id = ?'),
    countLicensed: prepare<[string, number], { count: number }>(
      'SELECT count(*) AS count FROM feeds WHERE license_id = ? AND id <> ?',
    ),
    setLicense: prepare<[string | null, string | null, number]>(
      'UPDATE feeds SET license = ?, license_id = ? WHERE id = ?',
    ),
    deleteFeed: prepare<[number]>(
      `UPDATE feeds SET name = NULL, password_hash = NULL, title = '', description = '', image = NULL,
         license = NULL, license_id = NULL WHERE id = ?`,
    ),
    note: prepare<[number, NoteId, number, number], StoredNote>(
      'SELECT row, type, created_at, metadata, image_key FROM notes WHERE feed = ? AND id = ? AND type BETWEEN ? AND ? ORDER BY type LIMIT 1',
    ),
    noteOfType: prepare<[number, NoteId, number], object>(
      'SELECT 1 FROM notes WHERE feed = ? AND id = ? AND type = ?',
    ),
    noteAt: prepare<[number], NoteRow>(`SELECT ${NOTE_COLUMNS} FROM notes WHERE row = ?`),
    // Named parameters would cost more than the rest of it.
    insert: prepare<
      [
        number,
        NoteId,
        number,
        number,
        number,
        string | null,
        string | null,
        number,
        Uint8Array,
        ImageKey | null,
      ]
    >(
      `INSERT INTO notes (feed, id, type, created_at, modified_at, metadata, sha256, size, content, image_key)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    // Two versions of a file never have the same time, because it tells a reader which one it is.
    replace: prepare<object>(
      `UPDATE notes SET content = $bytes, image_key = $key, size = $size, sha256 = $sha256, modified_at = max(modified_at + 1, $now)
       WHERE row = $row`,
    ),
    setMetadata: prepare<[string | null, number]>('UPDATE notes SET metadata = ? WHERE row = ?'),
    removeNote: prepare<[number]>('DELETE FROM notes WHERE row = ?'),
    addTag: prepare<[number, string, number, string, number, number]>(
      'INSERT INTO tags (feed, tag, created_at, id, type, note) VALUES (?, ?, ?, ?, ?, ?)',
    ),
    removeTag: prepare<[number, string, number, string, number]>(
      'DELETE FROM tags WHERE feed = ? AND tag = ? AND created_at = ? AND id = ? AND type = ?',
    ),
    feedToClear: prepare<[], { id: number }>(
      'SELECT id FROM feeds WHERE name IS NULL AND note_count > 0 LIMIT 1',
    ),
    clearTags: prepare<[number, number]>(
      `DELETE FROM tags WHERE (feed, tag, created_at, id, type) IN
         (SELECT feed, tag, created_at, id, type FROM tags WHERE feed = ? LIMIT ?)`,
    ),
    clearNotes: prepare<[number, number], { image_key: ImageKey | null }>(
      'DELETE FROM notes WHERE row IN (SELECT row FROM notes WHERE feed = ? LIMIT ?) RETURNING image_key',
    ),
    cleared: prepare<[number]>('UPDATE feeds SET note_count = 0, image_count = 0 WHERE id = ?'),
  };
}
