import { setTimeout as wait } from 'node:timers/promises';
import type { Client } from 'pg';
import { errorCode } from '../../system-errors.ts';
import type { Log } from '../../telemetry/log.ts';
import type { InstanceLimits } from '../../writing/decide.ts';
import { newerSchema } from '../failures.ts';
import { connect } from './connection-options.ts';
import { isLockedByOthers, UnusableDatabase } from './failures.ts';
import { LEVEL } from './feed-counts.ts';
import { BEGIN } from './transaction.ts';

/**
 * What makes each version of the schema from the one before; the place in the list, from 1, is the version. What has
 * been released is never changed: a new version is added at the end, and a database of it to `test/storage/schemas/`.
 *
 * A row of `feeds` without a name is a deleted feed: it keeps the read id from being given again, and says with
 * `to_clear` that notes are still to be cleared away. No index has a column that every post changes, so that posts
 * update the row in place. `notes.type` is
 * the place in md, png, jpg, gif, webp. Pictures do not get smaller by compression, and parts of what is not
 * compressed can be read. Ids and tags are ordered by their bytes. `client_counts` may be lost in a crash: it holds what
 * each client did within the last minute, by second at most (`ClientCounts`). A picture has its bytes in `content`, or an
 * empty one and an `image_key`. `freed_keys` are those whose objects are still to be removed; without `due_at` they are in
 * another store than the one of the settings. With `attempts` -1 a note still has the key, but
 * its object may be in two stores. The one row of `sweeper` says which process removes objects and notes that are due, and until when.
 * `token_series.turn` is the index of the next valid token, or -1 after a replay: the series is revoked. `feeds.license_id` is what
 * the text in `feeds.license` counts by. `notes.key` and `expires_at` say again what is in the metadata.
 * No note of a feed is to be removed before `feeds.due_at` (`dueAfter`). `sweeper.keep_days` is the instance's limit by which
 * that was found out. `operator_records` holds the records of `OperatorRecords`; `feeds.blocked` repeats whether it has the feed's name.
 * `feed_counts` is in slots (`CountLimits`), whose `bytes` are the sum of `feeds.byte_count`, but only while there is a limit of bytes. `notes.arrived_at` is
 * `feeds.changed_at` as of the transaction that stored the note, or the note's date if it was moved here; null for notes from before this column
 * existed.
 * `feed_changes` holds the changes of the last minute (`ChangeNotice`) by the transaction that made them.
 */
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE feeds (
     id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
     name text COLLATE "C" UNIQUE,
     read_id text COLLATE "C" NOT NULL UNIQUE,
     password_hash text,
     title text NOT NULL DEFAULT '',
     description text NOT NULL DEFAULT '',
     show_sender boolean NOT NULL DEFAULT true,
     image text,
     note_count integer NOT NULL DEFAULT 0,
     image_count integer NOT NULL DEFAULT 0,
     changed_at bigint NOT NULL,
     to_clear boolean NOT NULL DEFAULT false
   ) WITH (fillfactor = 50);
   CREATE INDEX feeds_to_clear ON feeds (id) WHERE to_clear;

   CREATE TABLE feed_count (feeds bigint NOT NULL);
   INSERT INTO feed_count VALUES (0);

   CREATE TABLE notes (
     feed bigint NOT NULL,
     id text COLLATE "C" NOT NULL,
     type smallint NOT NULL,
     created_at bigint NOT NULL,
     modified_at bigint NOT NULL,
     metadata text,
     sha256 text,
     size integer NOT NULL,
     content bytea NOT NULL,
     PRIMARY KEY (feed, id, type)
   );
   ALTER TABLE notes ALTER content SET STORAGE EXTERNAL;
   CREATE INDEX notes_in_order ON notes (feed, created_at, id, type);

   CREATE TABLE tags (
     feed bigint NOT NULL,
     tag text COLLATE "C" NOT NULL,
     created_at bigint NOT NULL,
     id text COLLATE "C" NOT NULL,
     type smallint NOT NULL,
     PRIMARY KEY (feed, tag, created_at, id, type)
   );`,
  // For some days version 1 had it already.
  `CREATE UNLOGGED TABLE IF NOT EXISTS client_counts (
     client text COLLATE "C" PRIMARY KEY,
     times bigint[] NOT NULL,
     counts integer[] NOT NULL,
     granted integer NOT NULL
   ) WITH (fillfactor = 50);`,
  `ALTER TABLE notes ADD image_key text COLLATE "C";
   CREATE UNIQUE INDEX notes_by_key ON notes (image_key) WHERE image_key IS NOT NULL;
   CREATE INDEX pictures_in_order ON notes (created_at, feed, id, type) WHERE type > 0;

   CREATE TABLE freed_keys (
     key text COLLATE "C" PRIMARY KEY,
     due_at bigint,
     attempts integer NOT NULL DEFAULT 0
   );
   CREATE INDEX freed_keys_due ON freed_keys (due_at) WHERE due_at IS NOT NULL;
   CREATE INDEX freed_keys_elsewhere ON freed_keys (key) WHERE due_at IS NULL;

   CREATE TABLE sweeper (holder text NOT NULL, until bigint NOT NULL);
   INSERT INTO sweeper VALUES ('', 0);

   CREATE TABLE token_series (
     id text COLLATE "C" PRIMARY KEY,
     turn integer NOT NULL,
     until bigint NOT NULL
   );
   CREATE INDEX token_series_to_forget ON token_series (until);

   ALTER TABLE feeds ADD license text, ADD license_id text COLLATE "C";
   CREATE INDEX feeds_by_license ON feeds (license_id) WHERE license_id IS NOT NULL;`,
  `ALTER TABLE feeds ADD keep_days integer, ADD keep_notes integer, ADD due_at bigint;
   CREATE INDEX feeds_due ON feeds (due_at) WHERE due_at IS NOT NULL;
   ALTER TABLE sweeper ADD keep_days integer NOT NULL DEFAULT 0;
   ALTER TABLE notes ADD key text COLLATE "C", ADD expires_at bigint;
   CREATE INDEX notes_by_post_key ON notes (feed, key) WHERE key IS NOT NULL;
   CREATE INDEX notes_to_expire ON notes (feed, expires_at) WHERE expires_at IS NOT NULL;
   ALTER TABLE tags ADD expires_at bigint;`,
  'ALTER TABLE feeds ADD listed boolean NOT NULL DEFAULT false;',
  `ALTER TABLE feeds ADD byte_count bigint NOT NULL DEFAULT 0, ADD blocked boolean NOT NULL DEFAULT false;
   UPDATE feeds SET byte_count = sums.bytes FROM (SELECT feed, sum(size) AS bytes FROM notes GROUP BY feed) AS sums
   WHERE feeds.id = sums.feed AND name IS NOT NULL;
   ALTER TABLE feed_count ADD bytes bigint NOT NULL DEFAULT 0;
   ALTER TABLE notes ADD arrived_at bigint;
   CREATE TABLE operator_records (
     kind text COLLATE "C" NOT NULL,
     key text COLLATE "C" NOT NULL,
     value text NOT NULL,
     at bigint NOT NULL,
     PRIMARY KEY (kind, key)
   );`,
  `CREATE TABLE feed_changes (tx xid8 NOT NULL DEFAULT pg_current_xact_id(), payload text NOT NULL);
   CREATE INDEX feed_changes_by_tx ON feed_changes (tx);
   -- A process of an earlier version cannot count in slots: without its table it makes and deletes no feed.
   LOCK TABLE feed_count;
   CREATE TABLE feed_counts (slot integer PRIMARY KEY, feeds bigint NOT NULL, bytes bigint NOT NULL);
   INSERT INTO feed_counts SELECT 0, feeds, bytes FROM feed_count;
   INSERT INTO feed_counts SELECT slot, 0, 0 FROM generate_series(1, 15) AS slot;
   DROP TABLE feed_count;
   CREATE UNLOGGED TABLE service_processes (name text COLLATE "C" PRIMARY KEY, until bigint NOT NULL);`,
];

/** Says that a transaction waits for tables. */
export type WaitingLog = Pick<Log, 'warn'>;

/** The version that this program reads and writes. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/** Held while tables are made or upgraded: any number that nothing else uses. */
export const MIGRATION_LOCK = 6_478_236_891;
/** How long one step, waiting for another container that does them, or waiting for tables, may take, in ms. */
const MIGRATION_MS = 30 * 60_000;
/**
 * How long one attempt waits for a lock, in ms. Whoever wants the table meanwhile waits behind it, containers for 5 s at most; autovacuum
 * gives way after the server's `deadlock_timeout` of 1 s.
 */
const LOCK_WAIT_MS = 2_000;
/** Pause before the next attempt, in which others get at the table, in ms. */
const LOCK_PAUSE_MS = 3_000;
const WAITS = 'the tables are in use by others, such as a backup: the start waits for them';
export const VERSION_TABLE = 'note_feed_schema';
const CREATED_TABLES = /CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?(\w+)/g;

/**
 * Brings a database to the version of this program, all in one transaction; several may do so at once. Throws
 * `UnusableDatabase` for one of a newer version or of something else, and any other error as the client does.
 * @param limits if `keepDays` are others than before, every feed is swept anew
 */
export async function migrate(
  url: string,
  { keepDays, maxBytes = 0, maxFeeds = 0, log }: Partial<InstanceLimits> & { readonly log?: WaitingLog } = {},
): Promise<void> {
  const work = async (client: Client) => {
    const version = await versionOf(client);
    for (const sql of MIGRATIONS.slice(version)) await client.query(sql);
    await client.query(`UPDATE ${VERSION_TABLE} SET version = $1 WHERE version <> $1`, [SCHEMA_VERSION]);
    // Transactions that are still to come have written nothing: these rows are of another server, from which they were restored.
    await client.query('DELETE FROM feed_changes WHERE tx >= pg_snapshot_xmax(pg_current_snapshot())');
    if (keepDays !== undefined) await keepDaysOf(client, keepDays);
    if (maxBytes > 0 || maxFeeds > 0) await countAll(client, maxBytes > 0);
  };
  await withAdvisoryLock(url, MIGRATION_LOCK, work, log);
}

/**
 * Runs a transaction that holds a lock, for which other processes wait. It is begun anew if it waits long for a table, because everybody
 * else who wants that table waits behind it.
 * @param log says once that it waits
 */
export async function withAdvisoryLock(
  url: string,
  lock: number,
  work: (client: Client) => Promise<unknown>,
  log?: WaitingLog,
): Promise<void> {
  const end = performance.now() + MIGRATION_MS;
  for (let isFirst = true; ; isFirst = false)
    try {
      await tryWithAdvisoryLock(url, lock, work);
      return;
    } catch (error) {
      if (!isLockedByOthers(error) || performance.now() > end) throw error;
      if (isFirst) log?.warn(WAITS, { code: errorCode(error) });
      await wait(LOCK_PAUSE_MS);
    }
}

/** The lock is not that of a connection, because a pooler keeps connections, with their locks, when their client is gone. */
async function tryWithAdvisoryLock(
  url: string,
  lock: number,
  work: (client: Client) => Promise<unknown>,
): Promise<void> {
  const client = await connect(url, { statementMs: MIGRATION_MS });
  try {
    await client.query(BEGIN);
    await client.query('SET LOCAL client_min_messages = error');
    await client.query('SELECT pg_advisory_xact_lock($1)', [lock]);
    await client.query(`SET LOCAL lock_timeout = ${LOCK_WAIT_MS}`);
    await work(client);
    await client.query('COMMIT');
  } finally {
    await client.end();
  }
}

/**
 * Makes the counts level, because the limits may be others than before. Nobody counted bytes while there was no limit of them.
 * Whoever adds some now waits, or is counted (`Writes`).
 */
async function countAll(client: Client, isOfBytes: boolean): Promise<void> {
  await client.query('SELECT FROM feed_counts ORDER BY slot FOR UPDATE');
  if (isOfBytes)
    await client.query(
      'UPDATE feed_counts SET bytes = CASE slot WHEN 0 THEN (SELECT coalesce(sum(byte_count), 0) FROM feeds) ELSE 0 END',
    );
  await client.query(LEVEL.text);
}

async function keepDaysOf(client: Client, keepDays: number): Promise<void> {
  const change = 'UPDATE sweeper SET keep_days = $1 WHERE keep_days <> $1';
  if (((await client.query(change, [keepDays])).rowCount ?? 0) === 0) return;
  // No write runs meanwhile, because one that has read the former days would store when its feed is due by them.
  await client.query('LOCK TABLE feeds IN EXCLUSIVE MODE');
  await client.query('UPDATE feeds SET due_at = 0 WHERE name IS NOT NULL AND note_count > 0');
}

/** The version of the schema; 0 of a new database, which is then marked as ours. */
async function versionOf(client: Client): Promise<number> {
  const version = await readVersion(client);
  if (version !== undefined) return version;
  await client.query(`CREATE TABLE ${VERSION_TABLE} (version integer NOT NULL)`);
  await client.query(`INSERT INTO ${VERSION_TABLE} VALUES (0)`);
  return 0;
}

/** The version of the schema; undefined of an empty database. Throws `UnusableDatabase` as `migrate` does. */
export async function readVersion(client: Client): Promise<number | undefined> {
  const { rows: settings } = await client.query<{ encoding: string }>(
    `SELECT current_setting('server_encoding') AS encoding`,
  );
  if (settings[0]?.encoding !== 'UTF8')
    throw new UnusableDatabase('The database named by SERVICE_DATABASE_URL must have the encoding UTF8.');
  if (await isThere(client, VERSION_TABLE)) {
    const { rows } = await client.query<{ version: number }>(`SELECT version FROM ${VERSION_TABLE}`);
    const version = rows[0]?.version ?? 0;
    if (version <= SCHEMA_VERSION) return version;
    throw new UnusableDatabase(newerSchema(version, SCHEMA_VERSION).message);
  }
  for (const [, table = ''] of MIGRATIONS.join().matchAll(CREATED_TABLES))
    if (await isThere(client, table))
      throw new UnusableDatabase(
        `The database named by SERVICE_DATABASE_URL is used by something else: it has a table "${table}".`,
      );
  return undefined;
}

/** Whether the database has that table. */
export async function isThere(client: Client, table: string): Promise<boolean> {
  const { rows } = await client.query('SELECT 1 WHERE to_regclass($1) IS NOT NULL', [table]);
  return rows.length > 0;
}
