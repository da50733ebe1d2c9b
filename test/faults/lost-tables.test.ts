/** A database whose tables are gone: nothing is served in their place, and all is well when they are back. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import t, { type Test } from 'tap';
import { migrate } from '../../src/storage/postgres/schema.ts';
import { eventually } from '../support/eventually.ts';
import { PostgresServer } from '../support/postgres.ts';
import { ask, post, start } from '../support/service.ts';

t.setTimeout(600_000);

const SERVICE_SECRET = 'a secret of tests that is long enough';
const FILE = 'lost.db';
/** The names of tables that are made of the others. */
const OF_SEARCH = /^(?:note_words|words_to_make)/;

/** What happens to a database. */
interface Loss {
  /** Keeps a copy of what is there. */
  keep(): Promise<unknown> | unknown;
  lose(): Promise<unknown> | unknown;
  /** Brings the copy back. */
  restore(): Promise<unknown> | unknown;
}

async function outlives(t: Test, env: Record<string, string>, dir: string | undefined, loss: Loss) {
  const { url } = await start(t, { SERVICE_SECRET, ...env }, dir);
  const list = `${url}/api/v1/feeds/feed/notes`;
  const first = await post(`${url}/feed`, 'first');
  const { file_url: file, read_url: rss } = first.json;
  await loss.keep();
  t.equal((await post(`${url}/feed`, 'second')).status, 201);
  t.equal((await post(`${url}/later`, 'lost')).status, 201);
  t.match((await ask(rss)).text, /second/);

  await loss.lose();
  for (let i = 0; i < 3; i += 1) {
    t.equal((await ask(`${url}/health/ready`)).status, 503);
    for (const feed of ['feed', 'new']) {
      const { status, json } = await post(`${url}/${feed}`, 'refused');
      t.match({ status, json }, { status: 503, json: { code: 'store_unavailable' } });
    }
    t.equal((await ask(list)).status, 503);
    t.equal((await ask(file)).status, 503);
  }
  t.equal((await ask(`${url}/health`)).status, 200);

  await loss.restore();
  t.ok(await eventually(async () => (await ask(`${url}/health/ready`)).status === 200));
  t.ok(
    await eventually(async () => !(await ask(rss)).text.includes('second')),
    'nothing is shown that is gone',
  );
  t.match((await ask(list)).json.notes, [{ content: 'first' }]);
  t.equal((await ask(list)).json.notes.length, 1);
  t.equal((await ask(file)).text, 'first');
  for (const feed of ['feed', 'later', 'new'])
    t.equal((await post(`${url}/${feed}`, `again in ${feed}`)).status, 201);
  t.match((await ask(rss)).text, /again in feed/);
  t.equal((await ask(`${url}/api/v1/feeds/later/notes`)).json.notes.length, 1);
}

const server = await PostgresServer.start(t);

t.test('PostgreSQL', async (t) => {
  const url = await server.database();
  const tablesIn = (schema: string) =>
    server
      .sql(url, 'SELECT tablename FROM pg_tables WHERE schemaname = $1', [schema])
      .then((rows) => rows.map(({ tablename }) => String(tablename)));
  await outlives(t, { SERVICE_STORAGE: 'postgres', SERVICE_DATABASE_URL: url }, undefined, {
    async keep() {
      await server.sql(url, 'CREATE SCHEMA kept');
      for (const table of await tablesIn('public'))
        if (!OF_SEARCH.test(table))
          await server.sql(url, `CREATE TABLE kept.${table} AS TABLE public.${table}`);
    },
    async lose() {
      for (const table of await tablesIn('public'))
        await server.sql(url, `DROP TABLE public.${table} CASCADE`);
    },
    async restore() {
      await migrate(url);
      await server.sql(url, 'TRUNCATE feed_counts, note_feed_schema');
      for (const table of await tablesIn('kept'))
        await server.sql(
          url,
          `INSERT INTO ${table} OVERRIDING SYSTEM VALUE SELECT * FROM kept.${table} ON CONFLICT DO NOTHING`,
        );
      await server.sql(
        url,
        "SELECT setval(pg_get_serial_sequence('feeds', 'id'), (SELECT max(id) FROM feeds))",
      );
    },
  });
});

/** Runs statements on a database file as another program does. */
function sqlite(dir: string, work: (db: Database.Database) => void): void {
  const db = new Database(join(dir, FILE));
  work(db);
  db.close();
}

const SQLITE: Record<string, (dir: string) => Pick<Loss, 'lose' | 'restore'>> = {
  'tables that are dropped': (dir) => ({
    lose: () =>
      sqlite(dir, (db) => {
        for (const table of [
          'notes',
          'tags',
          'note_keys',
          'expiries',
          'feeds',
          'sweeper',
          'freed_keys',
          'token_series',
          'operator_records',
        ])
          db.exec(`DROP TABLE ${table}`);
      }),
    restore: () =>
      sqlite(dir, (db) => {
        db.exec(`ATTACH '${join(dir, 'kept')}' AS kept`);
        const made = db.prepare(
          "SELECT name, type, sql FROM kept.sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%'",
        );
        const parts = made.all() as { name: string; type: string; sql: string }[];
        db.transaction(() => {
          for (const { sql } of parts) db.exec(sql);
          for (const { name, type } of parts)
            if (type === 'table') db.exec(`INSERT INTO main.${name} SELECT * FROM kept.${name}`);
        })();
      }),
  }),
  'one table that is dropped': (dir) => ({
    lose: () => sqlite(dir, (db) => db.exec('ALTER TABLE notes RENAME TO gone')),
    restore: () =>
      sqlite(dir, (db) =>
        db.exec(
          "DELETE FROM gone WHERE content = CAST('second' AS BLOB); ALTER TABLE gone RENAME TO notes; UPDATE feeds SET note_count = 1, name = iif(name = 'later', NULL, name)",
        ),
      ),
  }),
};

for (const [what, lossOf] of Object.entries(SQLITE))
  t.test(`SQLite: ${what}`, async (t) => {
    const dir = t.testdir();
    const env = { SERVICE_STORAGE: 'sqlite', SERVICE_DATABASE_URL: `file:${join(dir, FILE)}` };
    const keep = () => sqlite(dir, (db) => db.exec(`VACUUM INTO '${join(dir, 'kept')}'`));
    await outlives(t, env, dir, { keep, ...lossOf(dir) });
  });
