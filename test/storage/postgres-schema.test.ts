/** `schemas/postgres-<version>.sql` is a database as each version of the schema made it, as text: see `checkKept`. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from 'pg';
import t from 'tap';
import { migrate, SCHEMA_VERSION } from '../../src/storage/postgres/schema.ts';
import { connected, PostgresServer } from '../support/postgres.ts';
import { feedName } from './contract.ts';
import { checkKept, KEPT_KEYS, KEPT_LICENSE } from './kept-database.ts';
import { opened } from './postgres-support.ts';

const SCHEMAS = join(import.meta.dirname, 'schemas');

const fixtureOf = (version: number) => `postgres-${version}.sql`;
const versions = Array.from({ length: SCHEMA_VERSION }, (_, i) => i + 1);

const server = await PostgresServer.start(t);

/** A database as that version left it. */
async function databaseOf(version: number): Promise<{ url: string; client: Client }> {
  const url = await server.database();
  const client = await connected(t, url);
  await client.query(readFileSync(join(SCHEMAS, fixtureOf(version)), 'utf8'));
  return { url, client };
}

/** Its version, tables, columns and indexes. */
async function schemaOf(client: Client): Promise<unknown> {
  const { rows: version } = await client.query('SELECT version FROM note_feed_schema');
  const { rows: tables } = await client.query(
    `SELECT relname, relpersistence, reloptions FROM pg_class
     WHERE relnamespace = 'public'::regnamespace ORDER BY relname`,
  );
  const { rows: columns } = await client.query(
    `SELECT attrelid::regclass::text AS table, attname, atttypid::regtype::text AS type, attcollation, attnotnull,
       attidentity, attstorage, pg_get_expr(adbin, adrelid) AS default
     FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
     WHERE relnamespace = 'public'::regnamespace AND attnum > 0 ORDER BY relname, attnum`,
  );
  const { rows: indexes } = await client.query(
    `SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY indexname`,
  );
  return { version, tables, columns, indexes };
}

async function checkUpgraded(url: string): Promise<void> {
  const fresh = await server.database();
  for (const one of [url, fresh]) await migrate(one);
  t.same(await schemaOf(await connected(t, url)), await schemaOf(await connected(t, fresh)));
}

t.test('every version of the schema has its fixture', async (t) => {
  const kept = readdirSync(SCHEMAS).filter((file) => file.startsWith('postgres-'));
  t.same(kept.sort(), versions.map(fixtureOf).sort());
});

for (const version of versions) {
  t.test(`version ${version} is upgraded to what a new database is`, async () => {
    const { url } = await databaseOf(version);
    await checkUpgraded(url);
  });

  t.test(`all that version ${version} stored is there`, async (t) => {
    const { url, client } = await databaseOf(version);
    const storage = await opened(t, url);
    await checkKept(t, storage, async () => (await client.query('SELECT FROM notes')).rows.length, {
      keys: version >= 4,
      listed: version >= 5,
      records: version >= 6,
    });
    const { rows: keys } = await client.query('SELECT key FROM freed_keys ORDER BY key');
    if (version < 3) return;
    t.same(
      keys.map(({ key }) => key),
      KEPT_KEYS,
    );
    t.match(await storage.feed(feedName('diary')), KEPT_LICENSE);
  });
}

t.test('version 1 that has the table of version 2 already is upgraded as well', async () => {
  const { url, client } = await databaseOf(2);
  await client.query('UPDATE note_feed_schema SET version = 1');
  await checkUpgraded(url);
});
