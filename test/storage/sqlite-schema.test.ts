/** `schemas/sqlite-<version>.sql` is a database as each version of the schema made it, as text: see `checkKept`. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import t from 'tap';
import { migrate, SCHEMA_VERSION } from '../../src/storage/sqlite/schema.ts';
import { databaseIn } from '../support/open-backend.ts';
import { feedName } from './contract.ts';
import { dataFolder } from './files-support.ts';
import { checkKept, KEPT_KEYS, KEPT_LICENSE } from './kept-database.ts';
import { opened } from './sqlite-support.ts';

const SCHEMAS = join(import.meta.dirname, 'schemas');

const fixtureOf = (version: number) => `sqlite-${version}.sql`;
const versions = Array.from({ length: SCHEMA_VERSION }, (_, i) => i + 1);

/** A database as that version left it. */
function databaseOf(version: number, path = ':memory:'): Database.Database {
  const db = new Database(path);
  db.exec(readFileSync(join(SCHEMAS, fixtureOf(version)), 'utf8'));
  return db;
}

/** The statements that make its tables and indexes. */
const schemaOf = (db: Database.Database) =>
  db.prepare('SELECT name, sql FROM sqlite_schema ORDER BY name').all();

t.test('every version of the schema has its fixture', async (t) => {
  const kept = readdirSync(SCHEMAS).filter((file) => file.startsWith('sqlite-'));
  t.same(kept.sort(), versions.map(fixtureOf).sort());
  for (const version of versions)
    t.equal(databaseOf(version).pragma('user_version', { simple: true }), version);
});

for (const version of versions) {
  t.test(`version ${version} is upgraded to what a new database is`, async (t) => {
    const [upgraded, made] = [databaseOf(version), new Database(':memory:')];
    for (const db of [upgraded, made]) migrate(db);
    t.same(schemaOf(upgraded), schemaOf(made));
    t.equal(upgraded.pragma('user_version', { simple: true }), SCHEMA_VERSION);
  });

  t.test(`all that version ${version} stored is there`, async (t) => {
    const dir = await dataFolder(t);
    databaseOf(version, databaseIn(dir)).close();
    const storage = await opened(t, dir);
    const db = new Database(databaseIn(dir), { readonly: true });
    t.teardown(() => db.close());
    const count = db.prepare<[], { count: number }>('SELECT count(*) AS count FROM notes');
    await checkKept(t, storage, () => count.get()!.count, {
      keys: version >= 3,
      listed: version >= 4,
      records: version >= 5,
    });
    if (version >= 2) t.match(await storage.feed(feedName('diary')), KEPT_LICENSE);
    if (version >= 2) t.same(db.prepare('SELECT key FROM freed_keys ORDER BY key').pluck().all(), KEPT_KEYS);
  });
}
