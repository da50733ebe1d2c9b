import type { Client } from 'pg';
import { MIGRATION_LOCK, type WaitingLog, withAdvisoryLock } from './schema.ts';

/** The version of the rules that split notes into words. If the database has words of another version, all are made again. */
export const SEARCH_VERSION = 1;
/** The feed of a row that is always in `note_words` and `words_to_make`, so that it shows when one of them was emptied. */
export const MARK_FEED = -1;
/** Whether both tables have that row. */
export const HAS_MARKS = `(EXISTS (SELECT FROM note_words WHERE feed = ${MARK_FEED})
    AND EXISTS (SELECT FROM words_to_make WHERE feed = ${MARK_FEED}))`;
/** The place of `note_words_state` behind all feeds: the words of all notes are made, and the index. */
export const ALL_FEEDS = Number.MAX_SAFE_INTEGER;

/** Held while the index is made. No start waits for that. Any number that nothing else uses. */
const INDEX_LOCK = 6_478_236_893;
const MARK = `${MARK_FEED}, 0, '', 0`;
const OF_NOTE = 'feed, created_at, id, type';

/**
 * `note_words` has the words of each note that has any (`tokensOf`). `words_to_make` has the notes that have changed since: triggers
 * add them, so that no writer has to know of it. The one row of `note_words_state` says which process makes words, and until when.
 * It also says up to which note, in the order of the columns, the notes that were there before are done.
 */
const TABLES = `
  DROP TABLE IF EXISTS note_words, words_to_make, note_words_state;
  CREATE TABLE note_words (
    feed bigint NOT NULL,
    created_at bigint NOT NULL,
    type smallint NOT NULL,
    id text COLLATE "C" NOT NULL,
    words tsvector NOT NULL,
    PRIMARY KEY (feed, created_at, id, type)
  );
  ALTER TABLE note_words ALTER words SET STATISTICS 0;

  CREATE TABLE words_to_make (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    feed bigint NOT NULL,
    created_at bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    type smallint NOT NULL
  );
  CREATE INDEX words_to_make_by_feed ON words_to_make (feed);

  CREATE TABLE note_words_state (
    version integer NOT NULL,
    holder text NOT NULL,
    until bigint NOT NULL,
    feed bigint NOT NULL,
    created_at bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    type smallint NOT NULL
  );
  INSERT INTO note_words_state VALUES (${SEARCH_VERSION}, '', 0, ${MARK});
  INSERT INTO note_words (${OF_NOTE}, words) VALUES (${MARK}, '');
  INSERT INTO words_to_make (${OF_NOTE}) VALUES (${MARK});`;

/** Only this index serves `ARRAY[feed]`. It is built after all words: filling it row by row takes ten times as long. */
export const WORD_INDEX = 'note_words_by_word';

/** Runs with the schema and rights of its owner, because who writes notes may lack them. Does nothing if there is no queue. */
const TRIGGERS = `
  CREATE OR REPLACE FUNCTION note_words_change() RETURNS trigger
  LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
  BEGIN
    IF to_regclass('words_to_make') IS NULL THEN RETURN NULL; END IF;
    IF TG_OP <> 'DELETE' THEN
      INSERT INTO words_to_make (${OF_NOTE}) SELECT ${OF_NOTE} FROM new_notes;
    END IF;
    IF TG_OP = 'UPDATE' THEN
      INSERT INTO words_to_make (${OF_NOTE})
      SELECT ${OF_NOTE} FROM old_notes EXCEPT SELECT ${OF_NOTE} FROM new_notes;
    ELSIF TG_OP = 'DELETE' THEN
      INSERT INTO words_to_make (${OF_NOTE}) SELECT ${OF_NOTE} FROM old_notes;
    END IF;
    RETURN NULL;
  END $$;
  CREATE OR REPLACE TRIGGER note_words_insert AFTER INSERT ON notes
    REFERENCING NEW TABLE AS new_notes FOR EACH STATEMENT EXECUTE FUNCTION note_words_change();
  CREATE OR REPLACE TRIGGER note_words_update AFTER UPDATE ON notes
    REFERENCING OLD TABLE AS old_notes NEW TABLE AS new_notes FOR EACH STATEMENT EXECUTE FUNCTION note_words_change();
  CREATE OR REPLACE TRIGGER note_words_delete AFTER DELETE ON notes
    REFERENCING OLD TABLE AS old_notes FOR EACH STATEMENT EXECUTE FUNCTION note_words_change();`;

const PARTS = `
  SELECT to_regclass('note_words') IS NOT NULL AND to_regclass('words_to_make_by_feed') IS NOT NULL
    AND to_regclass('note_words_state') IS NOT NULL AND (
      SELECT count(*) = 3 FROM pg_trigger
      WHERE tgrelid = 'notes'::regclass AND tgname LIKE 'note\\_words\\_%' AND tgenabled IN ('O', 'A')
    ) AS are_there`;

/**
 * Makes the tables of the search, and has them filled, unless they are there; several may do so at once. Those of a newer version stay.
 * Throws what the client does.
 */
export function ensureSearch(url: string, log?: WaitingLog): Promise<void> {
  const work = async (client: Client) => {
    const { rows: parts } = await client.query<{ are_there: boolean }>(PARTS);
    const { rows } = parts[0]!.are_there
      ? await client.query<{ version: number }>('SELECT version FROM note_words_state')
      : { rows: [] };
    if (rows[0] !== undefined && rows[0].version >= SEARCH_VERSION) return;
    // Writers hold this lock when their trigger asks for that of the queue.
    await client.query('LOCK TABLE notes IN SHARE ROW EXCLUSIVE MODE');
    await client.query(TABLES);
    await client.query(TRIGGERS);
  };
  return withAdvisoryLock(url, MIGRATION_LOCK, work, log);
}

/** Makes the index of words, unless it is there; that takes minutes where there are millions of notes. Throws what the client does. */
export function ensureWordIndex(url: string): Promise<void> {
  return withAdvisoryLock(url, INDEX_LOCK, (client) =>
    client.query(
      `CREATE INDEX IF NOT EXISTS ${WORD_INDEX} ON note_words USING gin ((ARRAY[feed]), words) WITH (fastupdate = off)`,
    ),
  );
}

/** Removes all that the search needs. Throws what the client does. */
export async function dropSearch(url: string, log?: WaitingLog): Promise<void> {
  const tables = ['note_words', 'words_to_make', 'note_words_state'].map(
    (table) => `TABLE IF EXISTS ${table}`,
  );
  // One after the other, so that none is locked while another one is waited for.
  for (const part of ['FUNCTION IF EXISTS note_words_change CASCADE', ...tables])
    await withAdvisoryLock(url, MIGRATION_LOCK, (client) => client.query(`DROP ${part}`), log);
}
