/** Statements that take long, as those that count the tags of a very large feed. */
import t from 'tap';
import { containerSettings } from '../support/containers.ts';
import { eventually } from '../support/eventually.ts';
import { readIdIn } from '../support/feed-client.ts';
import { connected, PostgresServer } from '../support/postgres.ts';
import { ask, post, start } from '../support/service.ts';

t.setTimeout(600_000);

t.test('while tags are counted, everything else is answered', async (t) => {
  const server = await PostgresServer.start(t);
  const database = await server.database();
  const { url } = await start(t, containerSettings(database));
  const listOf = async (feed: string) =>
    `${url}/api/v1/read/${readIdIn((await post(`${url}/${feed}`, 'text')).json.read_url)}`;
  const [large, small] = [await listOf('large'), await listOf('small')];
  const counting = `SELECT FROM pg_stat_activity WHERE query LIKE '%FROM tags%GROUP BY%' AND wait_event_type = 'Lock'`;
  const lock = await connected(t, database);
  await lock.query('BEGIN; LOCK TABLE tags IN ACCESS EXCLUSIVE MODE');
  const tags = [...'abcdefgh'].map((letter) => ask(`${large}/tags?q=${letter}`));
  t.ok(await eventually(async () => (await server.sql(database, counting)).length > 0));
  t.equal((await ask(`${small}/notes`)).status, 200);
  t.equal((await post(`${url}/small`, 'another text')).status, 201);
  await lock.query('COMMIT');
  // Where counting took too long, it was given up.
  for (const { status } of await Promise.all(tags)) t.match(status, /^(200|503)$/);
});
