/** Transactions to which others come first each time. */
import { Client } from 'pg';
import t from 'tap';
import { openPostgres } from '../../src/storage/postgres/postgres.ts';
import { BLOCKS_LOCK } from '../../src/storage/postgres/writes.ts';
import { eventually } from '../support/eventually.ts';
import { PostgresServer } from '../support/postgres.ts';
import { post, start } from '../support/service.ts';
import { name } from './contract-support.ts';
import { keptLog } from './files-support.ts';

t.setTimeout(600_000);

const server = await PostgresServer.start(t);

for (const [what, loses] of [
  ['the row of a feed that others make', 'RETURN NULL'],
  ['a read id that others take', "RAISE EXCEPTION USING ERRCODE = 'unique_violation'"],
])
  t.test(`a write that loses each race is refused as busy: ${what}`, async (t) => {
    const database = await server.database();
    const { url } = await start(t, {
      SERVICE_STORAGE: 'postgres',
      SERVICE_DATABASE_URL: database,
      SERVICE_SECRET: 'a secret of tests that is long enough',
    });
    await server.sql(
      database,
      `CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN ${loses?.replaceAll("'", "''")}; END'`,
    );
    await server.sql(
      database,
      'CREATE TRIGGER lost BEFORE INSERT ON feeds FOR EACH ROW EXECUTE FUNCTION lose()',
    );
    const refused = await post(`${url}/feed`, 'text');
    t.same([refused.status, refused.json.code, refused.headers.get('retry-after')], [503, 'busy', '1']);
    await server.sql(database, 'DROP TRIGGER lost ON feeds');
    t.equal((await post(`${url}/feed`, 'text')).status, 201);
  });

t.test('a feed that is made while its name is closed is closed, too', async (t) => {
  const url = await server.database();
  const storage = await openPostgres({ url, maxFeeds: 0, maxBytes: 0, keepDays: 0, log: keptLog() });
  const client = new Client(url);
  await client.connect();
  t.teardown(() => Promise.all([storage.close(), client.end()]));
  // As whoever makes a feed, until its end.
  await client.query(`BEGIN; SELECT pg_advisory_xact_lock_shared(${BLOCKS_LOCK});
    INSERT INTO feeds (name, read_id, changed_at) VALUES ('feed', 'read-id', 0)`);
  const closing = storage.records.add({ kind: 'name', key: name, value: '', at: 0 });
  const waiting = 'SELECT FROM pg_locks WHERE NOT granted';
  t.ok(await eventually(async () => (await client.query(waiting)).rowCount === 1));
  await client.query('COMMIT');
  t.equal(await closing, true);
  t.match(await storage.feed(name), { isBlocked: true });
});
