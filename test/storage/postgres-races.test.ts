/** Transactions to which others come first each time. */
import t from 'tap';
import { PostgresServer } from '../support/postgres.ts';
import { post, start } from '../support/service.ts';

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
