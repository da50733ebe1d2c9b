import { setTimeout as wait } from 'node:timers/promises';
import { Client } from 'pg';
import t, { type Test } from 'tap';
import { APPLICATION_NAME } from '../../src/storage/postgres/connection-options.ts';
import { MOVE_LOCK, MoveLock } from '../../src/storage/postgres/move-lock.ts';
import { openPostgres } from '../../src/storage/postgres/postgres.ts';
import { eventually } from '../support/eventually.ts';
import { PostgresServer } from '../support/postgres.ts';
import { NO_LIMITS, OPEN, post, reads, writes } from '../support/storing.ts';
import { feedName, newNote } from './contract.ts';
import { keptLog } from './files-support.ts';
import { opened } from './postgres-support.ts';

const server = await PostgresServer.start(t);
const name = feedName('feed');
const BEING_MOVED = { message: /^The database is being moved from or into/ };

/** A connection that is nobody's. */
async function connected(t: Test, url: string): Promise<{ release(): Promise<void>; client: Client }> {
  const client = new Client(url);
  await client.connect();
  let isOpen = true;
  const release = async () => {
    if (isOpen) await client.end();
    isOpen = false;
  };
  t.teardown(release);
  return { release, client };
}

t.test('neither a service nor a move starts beside a move', async (t) => {
  const url = await server.database();
  const lock = await MoveLock.take(url);
  t.teardown(() => lock.release());
  await t.rejects(openPostgres({ url, maxFeeds: 0, maxBytes: 0, keepDays: 0, log: keptLog() }), BEING_MOVED);
  await t.rejects(MoveLock.take(url), { message: /being moved from or into already/ });
});

t.test('a service that runs keeps the lock, so that no move starts between its connections', async (t) => {
  const url = await server.database();
  const storage = await opened(t, url);
  const { client } = await connected(t, url);
  const isFree = async () => {
    const { rows } = await client.query('SELECT count(*) = 0 AS is_free FROM pg_locks WHERE locktype = $1', [
      'advisory',
    ]);
    return rows[0].is_free as boolean;
  };
  t.notOk(await isFree());
  await t.rejects(MoveLock.take(url), { message: /is in use by a process/ });
  await storage.close();
  t.ok(await eventually(isFree));
});

t.test('a move that began while a service had lost its connections keeps it from writing', async (t) => {
  const url = await server.database();
  const storage = await opened(t, url);
  await post(storage, name, newNote('before'));
  const { client, release } = await connected(t, url);
  const lock = async () => {
    await client.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND starts_with(application_name, $1)`,
      [APPLICATION_NAME],
    );
    const { rows } = await client.query('SELECT pg_try_advisory_lock($1) AS is_ours', [MOVE_LOCK]);
    return rows[0].is_ours as boolean;
  };
  t.ok(await eventually(lock));
  await t.rejects(writes(storage).post(name, [newNote('meanwhile')], OPEN, NO_LIMITS), {
    code: 'store_unavailable',
  });
  await release();
  t.ok(
    await eventually(() =>
      writes(storage)
        .post(name, [newNote('after')], OPEN, NO_LIMITS)
        .then(
          () => true,
          () => false,
        ),
    ),
  );
  t.equal((await reads(storage).page(name, { limit: 9 })).notes.length, 2);
});

t.test('a server that ends what is idle leaves a move its lock', async (t) => {
  const url = await server.database();
  const { client } = await connected(t, url);
  await client.query(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET idle_session_timeout = 100`);
  const lock = await MoveLock.take(url);
  t.teardown(() => lock.release());
  await wait(500);
  t.ok(await lock.isHeld());
});
