import type { Client, ClientBase } from 'pg';
import { unfinishedMove } from '../failures.ts';
import { APPLICATION_NAME, connect } from './connection-options.ts';
import { asStartFailure, UnusableDatabase } from './failures.ts';
import { isThere, VERSION_TABLE } from './schema.ts';

/** A move holds this advisory lock on both its databases, and services share it: any number that nothing else uses. */
export const MOVE_LOCK = 6_478_236_892;

/** The server's ways to take a lock, `pg_try_advisory_…`. */
type LockWay = 'lock' | 'lock_shared' | 'xact_lock_shared';

/** The table of a database that is being moved into, which is there only as long: it is no part of the schema. */
export const MOVE_TABLE = 'note_feed_move';

/** A server may be set to end connections on which nothing is asked for long; before version 14 none does. */
const NEVER_TOO_IDLE =
  "SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'idle_session_timeout'";
const IN_USE = 'The database is in use by a process of this service; stop it first.';

/**
 * Keeps the service from starting on a database that is being moved from or into, and on one where that was stopped.
 * @throws UnusableDatabase with a sentence for the operator, or an error of the client
 */
export async function refuseDuringMove(url: string): Promise<void> {
  const client = await connect(url);
  try {
    await keepMovesOut(client, 'xact_lock_shared');
    await refuseUnfinishedMove(client);
  } finally {
    await client.end();
  }
}

/** Throws an `UnusableDatabase` if a move into the database was begun and is not finished. */
export async function refuseUnfinishedMove(client: Client): Promise<void> {
  if (await isThere(client, MOVE_TABLE))
    throw new UnusableDatabase(unfinishedMove('The database (SERVICE_DATABASE_URL)').message);
}

/**
 * Keeps moves from starting for as long as a connection, or transaction, lives; any number of them may.
 * @throws UnusableDatabase while the database is being moved
 */
export async function keepMovesOut(
  client: Pick<ClientBase, 'query'>,
  lock: LockWay = 'lock_shared',
): Promise<void> {
  if (await tryLock(client, lock)) return;
  throw new UnusableDatabase('The database is being moved from or into: wait until that is done.');
}

/** Makes this process the only one that uses a database, for as long as its connection lives. */
export class MoveLock {
  readonly #client: Client;

  private constructor(client: Client) {
    this.#client = client;
  }

  /** Throws an error with a sentence for the operator when a service or another move uses the database. */
  static async take(url: string): Promise<MoveLock> {
    let client: Client | undefined;
    try {
      client = await connect(url);
      await client.query(NEVER_TOO_IDLE);
      await refuseOthers(client);
      return new MoveLock(client);
    } catch (error) {
      await client?.end();
      throw asStartFailure(error);
    }
  }

  /** Whether it still is: the lock is gone with its connection. */
  isHeld(): Promise<boolean> {
    return this.#client.query('SELECT 1').then(
      () => true,
      () => false,
    );
  }

  /** Whether the service has made its tables there. */
  isInstance(): Promise<boolean> {
    return isThere(this.#client, VERSION_TABLE);
  }

  async release(): Promise<void> {
    await this.#client.end();
  }
}

/** The lock comes first: a service that starts after it does not get far. */
async function refuseOthers(client: Client): Promise<void> {
  if (!(await tryLock(client, 'lock'))) {
    const isOfServices = await tryLock(client, 'lock_shared');
    throw new UnusableDatabase(isOfServices ? IN_USE : 'The database is being moved from or into already.');
  }
  const { rows: users } = await client.query(
    `SELECT FROM pg_stat_activity
     WHERE datname = current_database() AND starts_with(application_name, $1) AND pid <> pg_backend_pid()`,
    [APPLICATION_NAME],
  );
  if (users.length > 0) throw new UnusableDatabase(IN_USE);
}

/** Tries to take the lock of moves. */
async function tryLock(client: Pick<ClientBase, 'query'>, way: LockWay): Promise<boolean> {
  const sql = `SELECT pg_try_advisory_${way}($1) AS is_ours`;
  const { rows } = await client.query<{ is_ours: boolean }>(sql, [MOVE_LOCK]);
  return rows[0]?.is_ours === true;
}
