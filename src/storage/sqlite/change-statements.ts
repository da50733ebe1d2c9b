import type { Database } from 'better-sqlite3';
import type { ImageKey } from '../../feeds/ids.ts';
import type { FeedName, NoteId, ReadId } from '../../feeds/names.ts';
import { FEED_COLUMNS, type FeedRow } from '../rows.ts';
import { preparer } from './connection.ts';

/** A feed's row as it will be when the transaction ends. */
export type OpenFeed = { -readonly [C in keyof FeedRow<number>]: FeedRow<number>[C] };

export type ChangeStatements = ReturnType<typeof changeStatements>;

/** The statements of `Changes`, prepared. */
export function changeStatements(db: Database) {
  const prepare = preparer(db);
  return {
    countFeeds: prepare<[], { count: number }>`SELECT count(*) AS count FROM feeds WHERE name IS NOT NULL`,
    feedByName: prepare<[FeedName], OpenFeed>`SELECT ${FEED_COLUMNS} FROM feeds WHERE name = ?`,
    readIdHolder: prepare<[ReadId], object>`SELECT 1 FROM feeds WHERE read_id = ?`,
    freeReadId: prepare<[ReadId, ReadId]>`UPDATE feeds SET read_id = ? WHERE read_id = ? AND name IS NULL`,
    makeFeed: prepare<object, OpenFeed>`
      INSERT INTO feeds (name, read_id, password_hash, changed_at) VALUES ($name, $readId, $passwordHash, 0)
      RETURNING ${FEED_COLUMNS}`,
    count: prepare<[number, number, number, number]>`
      UPDATE feeds SET note_count = ?, image_count = ?, changed_at = ? WHERE id = ?`,
    configure: prepare<object>`
      UPDATE feeds SET read_id = $read_id, title = $title, description = $description,
        show_sender = $show_sender, image = $image WHERE id = $id`,
    useToken: prepare<object, { turn: number }>`
      INSERT INTO token_series (id, turn, until) VALUES ($series, iif($place = 0, 1, -1), $until)
      ON CONFLICT (id) DO UPDATE SET turn = iif(turn = $place, $place + 1, -1) RETURNING turn`,
    forgetSeries: prepare<[number]>`DELETE FROM token_series WHERE until <= ?`,
    clearImage: prepare<[number]>`UPDATE feeds SET image = NULL WHERE id = ?`,
    setPassword: prepare<[string | null, number]>`UPDATE feeds SET password_hash = ? WHERE id = ?`,
    countLicensed: prepare<[string, number], { count: number }>`
      SELECT count(*) AS count FROM feeds WHERE license_id = ? AND id <> ?`,
    setLicense: prepare<[string | null, string | null, number]>`
      UPDATE feeds SET license = ?, license_id = ? WHERE id = ?`,
    deleteFeed: prepare<[number]>`
      UPDATE feeds SET name = NULL, password_hash = NULL, title = '', description = '', image = NULL,
        license = NULL, license_id = NULL WHERE id = ?`,
    noteOfType: prepare<[number, NoteId, number], object>`
      SELECT 1 FROM notes WHERE feed = ? AND id = ? AND type = ?`,
    ...clearStatements(db),
  };
}

/** Statements that remove the notes of deleted feeds in small steps. */
function clearStatements(db: Database) {
  const prepare = preparer(db);
  return {
    feedToClear: prepare<[], { id: number }>`
      SELECT id FROM feeds WHERE name IS NULL AND note_count > 0 LIMIT 1`,
    clearTags: prepare<[number, number]>`
      DELETE FROM tags WHERE (feed, tag, created_at, id, type) IN
        (SELECT feed, tag, created_at, id, type FROM tags WHERE feed = ? LIMIT ?)`,
    clearNotes: prepare<[number, number], { image_key: ImageKey | null }>`
      DELETE FROM notes WHERE row IN (SELECT row FROM notes WHERE feed = ? LIMIT ?) RETURNING image_key`,
    cleared: prepare<[number]>`UPDATE feeds SET note_count = 0, image_count = 0 WHERE id = ?`,
  };
}
