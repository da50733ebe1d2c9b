import { Client } from 'pg';
import t from 'tap';
import { connectionOptions } from '../../src/storage/postgres/connection-options.ts';
import { openPostgres } from '../../src/storage/postgres/postgres.ts';
import '../../src/storage/postgres/postgres-archive.ts';
import { WORD_INDEX } from '../../src/storage/postgres/search-schema.ts';
import { STATEMENTS } from '../../src/storage/postgres/transaction.ts';
import '../../src/storage/postgres/word-maker.ts';
import { eventually } from '../support/eventually.ts';
import { PostgresServer } from '../support/postgres.ts';
import { keptLog } from './files-support.ts';

t.setTimeout(600_000);

const server = await PostgresServer.start(t);
const url = await server.database();
const storage = await openPostgres({
  url,
  maxFeeds: 0,
  maxBytes: 0,
  keepDays: 0,
  search: true,
  log: keptLog(),
});
await eventually(
  async () => (await server.sql(url, 'SELECT to_regclass($1) AS made', [WORD_INDEX]))[0]!.made !== null,
);
await storage.close();

/** 200 feeds of 100 notes, and one of 20,000, each with a tag: one feed is far larger than most. A few have a key, and expire. */
async function fill(): Promise<void> {
  const statements = [
    `INSERT INTO feeds (name, read_id, changed_at, note_count)
     SELECT 'feed-' || n, 'read-id-' || n, 0, CASE n WHEN 7 THEN 20000 ELSE 100 END FROM generate_series(1, 201) AS n`,
    `INSERT INTO notes (feed, id, type, created_at, modified_at, size, content, key, expires_at)
     SELECT CASE WHEN n <= 20000 THEN 7 ELSE 1 + n % 201 END, 'note-' || n, 0, n, n, 100, convert_to(repeat('x', 100), 'UTF8'),
       CASE n % 50 WHEN 0 THEN 'key-' || n END, CASE n % 50 WHEN 0 THEN n END
     FROM generate_series(1, 40000) AS n`,
    `INSERT INTO tags (feed, tag, created_at, id, type)
     SELECT feed, CASE WHEN created_at % 10 = 0 THEN 'tenth' ELSE 'other' END, created_at, id, type FROM notes`,
    `INSERT INTO note_words (feed, created_at, id, type, words)
     SELECT feed, created_at, id, type, array_to_tsvector(ARRAY['word', 'n' || created_at]) FROM notes`,
    'VACUUM ANALYZE',
  ];
  for (const sql of statements) await server.sql(url, sql);
}

/** The plan that EXPLAIN shows, after other statements on the same connection. */
async function planOf(explain: string, ...before: string[]): Promise<string> {
  const usesBitmaps = explain.includes('note_words');
  const client = new Client(connectionOptions(url, { usesBitmaps }));
  await client.connect();
  try {
    for (const sql of before) await client.query(sql);
    const { rows } = await client.query(explain);
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  } finally {
    await client.end();
  }
}

t.test('every statement finds its rows by an index, in a new database as in a full one', async (t) => {
  t.ok(STATEMENTS.size > 20);
  for (const isFull of [false, true]) {
    if (isFull) await fill();
    for (const [name, text] of STATEMENTS)
      t.notMatch(
        await planOf(`EXPLAIN (GENERIC_PLAN) ${text}`),
        /Seq Scan on (feeds|notes|tags|note_words\b|words_to_make)/,
        name,
      );
  }
});

t.test(
  'pages and notes that are due come in the order of an index, so that no more is read than they need',
  async (t) => {
    for (const [name, values] of [
      [
        'pages',
        "ARRAY[7]::bigint[], ARRAY[NULL]::text[], ARRAY[15000]::bigint[], ARRAY['note-15000'], ARRAY[0]::smallint[], ARRAY[51], 1",
      ],
      [
        'pages',
        "ARRAY[7]::bigint[], ARRAY[NULL]::text[], ARRAY[9000000000000000]::bigint[], ARRAY[''], ARRAY[0]::smallint[], ARRAY[101], 1",
      ],
      [
        'pages',
        "ARRAY[9]::bigint[], ARRAY[NULL]::text[], ARRAY[9000000000000000]::bigint[], ARRAY[''], ARRAY[0]::smallint[], ARRAY[51], 1",
      ],
      ['tagged_page', "7, NULL, 15000, 'note-15000', 0, 51, 1, 'tenth'"],
      ['tagged_page', "7, NULL, 15000, 'note-15000', 0, 51, 1, 'none'"],
      [
        'pages',
        "ARRAY[NULL]::bigint[], ARRAY['read-id-7']::text[], ARRAY[15000]::bigint[], ARRAY['note-15000'], ARRAY[0]::smallint[], ARRAY[51], 1",
      ],
      ['tagged_page', "NULL, 'read-id-7', 15000, 'note-15000', 0, 51, 1, 'tenth'"],
      ['note', "7, 'note-15000', 1"],
      ['expired', '7, 10000'],
      ['oldest', '7, 10000'],
      ['next_expiry', '7, 10000'],
      ['due_feeds', '10000'],
    ])
      for (const mode of ['force_generic_plan', 'force_custom_plan']) {
        const prepare = `PREPARE asked AS ${STATEMENTS.get(name!)}`;
        const plan = await planOf(
          `EXPLAIN EXECUTE asked (${values})`,
          `SET plan_cache_mode = ${mode}`,
          prepare,
        );
        t.notMatch(plan, /Seq Scan|Sort|Bitmap|Hash|Merge/, `${name} ${values} ${mode}`);
      }
  },
);

t.test('the notes that are found are looked up one by one', async (t) => {
  const explain = `EXPLAIN EXECUTE asked (7, ARRAY['note-1', 'note-2'], ARRAY[0, 0]::smallint[], 1)`;
  for (const mode of ['force_generic_plan', 'force_custom_plan']) {
    const prepare = `PREPARE asked AS ${STATEMENTS.get('notes')}`;
    const plan = await planOf(explain, `SET plan_cache_mode = ${mode}`, prepare);
    t.match(plan, /notes_pkey on notes.*\n *Index Cond: .*id = wanted/, mode);
  }
});

t.test('only the tags that begin with a prefix are counted', async (t) => {
  for (const mode of ['force_generic_plan', 'force_custom_plan']) {
    const prepare = `PREPARE asked AS ${STATEMENTS.get('tags')}`;
    const plan = await planOf("EXPLAIN EXECUTE asked (7, 'te', 1)", `SET plan_cache_mode = ${mode}`, prepare);
    t.match(plan, /Index Cond: .*tag >= .*tag < /, mode);
  }
});

t.test('a search walks through the newest notes, then finds all by the index of words', async (t) => {
  const values = "7, 9000000000000000, '', 0, 0, 9000000000000000, 51, '''word'' & ''n77'''";
  for (const mode of ['force_generic_plan', 'force_custom_plan'])
    for (const [name, wanted, unwanted] of [
      [
        'search_newest',
        /Limit.*\n.*Subquery Scan on near(?:.|\n)*Backward using note_words_pkey/,
        /note_words_by_word/,
      ],
      [
        'search_all',
        /Bitmap Index Scan on note_words_by_word/,
        /Index Scan( Backward)? using note_words_pkey/,
      ],
    ] as const) {
      const plan = await planOf(
        `EXPLAIN EXECUTE asked (${values}${name === 'search_newest' ? ', 1000' : ''})`,
        'SET enable_bitmapscan = on',
        `SET plan_cache_mode = ${mode}`,
        `PREPARE asked AS ${STATEMENTS.get(name)}`,
      );
      t.match(plan, wanted, `${name} ${mode}`);
      t.notMatch(plan, unwanted, `${name} ${mode}`);
      t.notMatch(plan, /Hash|Merge Join|Seq Scan on (?!note_words_state)/, `${name} ${mode}`);
    }
});
