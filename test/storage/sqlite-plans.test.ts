import type { Database } from 'better-sqlite3';
import t from 'tap';
import { Connection } from '../../src/storage/sqlite/connection.ts';
import { Pictures } from '../../src/storage/sqlite/pictures.ts';
import { Reads } from '../../src/storage/sqlite/reads.ts';
import { Writes } from '../../src/storage/sqlite/writes.ts';
import { databaseIn } from '../support/open-backend.ts';
import { dataFolder } from './files-support.ts';
import { opened } from './sqlite-support.ts';

const dir = await dataFolder(t);
await (await opened(t, dir)).close();
const connection = Connection.forReading(databaseIn(dir));
const { db } = connection;
t.teardown(() => db.close());

/** The statements that are prepared while something is made. */
function preparedBy(make: (db: Database) => unknown): string[] {
  const prepare = db.prepare.bind(db);
  const statements: string[] = [];
  db.prepare = ((sql: string) => {
    statements.push(sql);
    return prepare(sql);
  }) as Database['prepare'];
  make(db);
  db.prepare = prepare;
  return statements;
}

/** What SQLite would do for a statement, a line for each step. */
function planOf(sql: string): string {
  const parameters = sql.match(/\$\w+/g)?.map((name) => [name.slice(1), null]);
  const places = sql.match(/\?/g)?.map(() => null) ?? [];
  const rows = db
    .prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
    .all(...(parameters ? [Object.fromEntries(parameters)] : places));
  return rows.map(({ detail }) => detail).join('\n');
}

const reads = preparedBy(() => new Reads(connection));
const pictures = preparedBy(() => new Pictures(db));
const changes = preparedBy(
  (db) =>
    new Writes(db, new Pictures(db), { maxFeeds: 0, maxBytes: 0, keepDays: 0, isLicenseValid: undefined }),
);

t.test('every statement finds its rows by an index, and sorts none', async (t) => {
  t.ok(reads.length >= 5 && changes.length > 15);
  // Done once, at the start and where a commit has failed.
  const counting = changes.filter((sql) => sql.trim().startsWith('SELECT count(*) AS count, '));
  t.equal(counting.length, 1);
  for (const sql of [...reads, ...pictures, ...changes].filter((one) => !counting.includes(one)))
    t.notMatch(planOf(sql), /SCAN (?!feeds USING COVERING INDEX feeds_to_clear)|TEMP B-TREE/, sql);
});

t.test('a page begins at its place in the index, however far it is from the first', async (t) => {
  // Arrivals begin at a date.
  const pages = reads.filter((sql) => sql.includes('LIMIT ?') && !sql.includes('created_at > ?'));
  t.equal(pages.length, 2);
  for (const sql of pages)
    t.match(
      planOf(sql),
      /SEARCH (notes|tags) USING .*\(feed=\? .*\(created_at,id,type\)<\(\?,\?,\?\)\)/,
      sql,
    );
});
