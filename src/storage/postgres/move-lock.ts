import { Client, type ClientBase } from 'pg';
import { unfinishedMove } from '../unfinished-move.ts';
import { APPLICATION_NAME, connectionOptions } from './connection-options.ts';
import { WrongDatabase } from './schema.ts';
import { asStartFailure } from './start-failure.ts';
import { statement } from './transaction.ts';

/** A move holds this advisory lock on both its databases, and services share it: any number that nothing else uses. */
export const MOVE_LOCK = 6_478_236_892;

/** The table of a database that is being moved into, which is there only as long: it is no part of the schema. */
export const MOVE_TABLE = 'note_feed_move';

/** A server may be set to end connections on which nothing is asked for long; before version 14 none does. */
const NEVER_TOO_IDLE =
  "SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'idle_session_timeout'";

/** Whether a table is there. */
export const TABLE_IS_THERE = statement<{ is_there: boolean }>('table_is_there')`
  SELECT to_regclass($1) IS NOT NULL AS is_there`;

/**
 * Keeps the service from starting on a database that is being moved from or into, and on one where that was stopped.
 * @throws WrongDatabase with a sentence for the operator, or an error of the client
 */
export async function refuseDuringMove(url: string): Promise<void> {
  const client = await connected(url);
  try {
    const { rows } = await client.query<{ is_free: boolean; is_marked: boolean }>(
      'SELECT pg_try_advisory_xact_lock_shared($1) AS is_free, to_regclass($2) IS NOT NULL AS is_marked',
      [MOVE_LOCK, MOVE_TABLE],
    );
    if (!rows[0]?.is_free) throw beingMoved();
    if (rows[0].is_marked)
      throw new WrongDatabase(unfinishedMove('The database (SERVICE_DATABASE_URL)').message);
  } finally {
    await client.end();
  }
}

/**
 * Keeps moves from starting for as long as a connection lives; any number of connections may.
 * @throws WrongDatabase while the database is being moved
 */
export async function keepMovesOut(client: Pick<ClientBase, 'query'>): Promise<void> {
  const { rows } = await client.query<{ is_free: boolean }>(
    'SELECT pg_try_advisory_lock_shared($1) AS is_free',
    [MOVE_LOCK],
  );
  if (!rows[0]?.is_free) throw beingMoved();
}

/** Makes this process the only one that uses a database, for as long as its connection lives. */
export class MoveLock {
  readonly #client: Client;

  private constructor(client: Client) {
    this.#client = client;
  }

  /** Throws an error with a sentence for the operator when a service or another move uses the database. */
  static async take(url: string): Promise<MoveLock> {
    try {
      const client = await connected(url);
      try {
        await client.query(NEVER_TOO_IDLE);
        await refuseOthers(client);
        return new MoveLock(client);
      } catch (error) {
        await client.end();
        throw error;
      }
    } catch (error) {
      throw asStartFailure(error);
    }
  }

  /** Whether it still is: the lock is gone with its connection. */
  async isHeld(): Promise<boolean> {
    try {
      await this.#client.query('SELECT 1');
      return true;
    } catch {
      return false;
    }
  }

  /** Whether the service has made its tables there. */
  async isInstance(): Promise<boolean> {
    const { rows } = await this.#client.query<{ is_there: boolean }>({
      ...TABLE_IS_THERE,
      values: ['note_feed_schema'],
    });
    return rows[0]?.is_there === true;
  }

  async release(): Promise<void> {
    await this.#client.end();
  }
}

function beingMoved(): WrongDatabase {
  return new WrongDatabase('The database is being moved from or into: wait until that is done.');
}

/** The lock comes first: a service that starts after it does not get far. */
async function refuseOthers(client: Client): Promise<void> {
  const { rows: locks } = await client.query<{ is_ours: boolean }>(
    'SELECT pg_try_advisory_lock($1) AS is_ours',
    [MOVE_LOCK],
  );
  if (!locks[0]?.is_ours) throw (await isShared(client)) ? inUse() : alreadyMoved();
  const { rows: users } = await client.query(
    `SELECT FROM pg_stat_activity
     WHERE datname = current_database() AND starts_with(application_name, $1) AND pid <> pg_backend_pid()`,
    [APPLICATION_NAME],
  );
  if (users.length > 0) throw inUse();
}

/** Whether those who have the lock are services, not a move. */
async function isShared(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ is_shared: boolean }>(
    'SELECT pg_try_advisory_lock_shared($1) AS is_shared',
    [MOVE_LOCK],
  );
  return rows[0]?.is_shared === true;
}

function inUse(): WrongDatabase {
  return new WrongDatabase('The database is in use by a process of this service; stop it first.');
}

function alreadyMoved(): WrongDatabase {
  return new WrongDatabase('The database is being moved from or into already.');
}

async function connected(url: string): Promise<Client> {
  const client = new Client(connectionOptions(url));
  // A waiting query fails with it.
  client.on('error', () => {});
  await client.connect();
  return client;
}
