/** A start that upgrades the tables while others use them, such as `pg_dump` and containers of an earlier version. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { containerSettings } from '../support/containers.ts';
import { eventually } from '../support/eventually.ts';
import { connected, PostgresServer } from '../support/postgres.ts';
import { ask } from '../support/service.ts';
import { ServiceProcess } from '../support/service-process.ts';

const EARLIER = join(import.meta.dirname, 'schemas', 'postgres-3.sql');
/** What a container may take for a statement, waiting for locks included. */
const PATIENCE = "SET statement_timeout = '5s'";
const WAITING = `SELECT FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'note-feed' AND wait_event_type = 'Lock'`;

const server = await PostgresServer.start(t);

t.test('it waits for a reader that takes long, and keeps nobody else from the tables', async (t) => {
  const url = await server.database();
  const container = await connected(t, url);
  await container.query(readFileSync(EARLIER, 'utf8'));
  await container.query(PATIENCE);
  const dump = await connected(t, url);
  await dump.query('BEGIN; LOCK TABLE feeds, notes, tags IN ACCESS SHARE MODE');
  const starting = ServiceProcess.start(t, { env: containerSettings(url) });
  t.ok(await eventually(async () => (await container.query(WAITING)).rows.length > 0));
  for (const table of ['feeds', 'notes', 'tags']) {
    await t.resolves(container.query(`SELECT FROM ${table}`), `${table} can be read`);
    await t.resolves(container.query(`DELETE FROM ${table} WHERE false`), `${table} can be changed`);
  }
  t.same((await container.query('SELECT version FROM note_feed_schema')).rows, [{ version: 3 }]);
  await dump.query('COMMIT');
  const service = await starting;
  await service.says('the tables are in use by others, such as a backup: the start waits for them');
  t.match(await ask(`${service.url}/api/v1/read/my-diary`), { status: 200, json: { title: 'Diary' } });
});
