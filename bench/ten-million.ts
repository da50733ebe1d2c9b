/**
 * Asks whether PostgreSQL stays fast when there is much in it: lists, RSS and posts of the service on a database with
 * few notes and on one with many, in turn; prints medians in ms and how many times as long the second takes.
 *
 * `node bench/ten-million.ts --few 10000 --many 10000000 --times 200`. Half of the notes are in one feed, the others in
 * feeds of 50. Ten million take about 10 GB in the system's folder for temporary files, and some minutes to make.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openPostgres } from '../src/storage/postgres/postgres.ts';
import type { PostgresServer } from '../test/support/postgres.ts';
import { startServer } from './backends-under-test.ts';
import { ServerProcess } from './server-process.ts';
import { median } from './statistics.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** Notes for each small feed: as many as RSS shows, and as many again in the large feed. */
const NOTES_PER_FEED = 100;
/** Notes made by one statement. */
const PART = 500_000;

/** Notes number $1 to $2 in one large feed and $3 small ones, with ids as the service makes them, a millisecond apart. */
const INSERT_NOTES = `
  WITH made AS (
    SELECT n, 1700000000000 + n AS ms, lpad(to_hex(1700000000000 + n), 12, '0') AS hex, md5(n::text) AS hash
    FROM generate_series($1::bigint, $2::bigint) AS n
  ), named AS (
    SELECT ms, 'feed-' || CASE WHEN n % 2 = 0 THEN 0 ELSE 1 + n / 2 % $3 END AS feed_name,
      substr(hex, 1, 8) || '-' || substr(hex, 9) || '-7' || substr(hash, 1, 3) || '-8' || substr(hash, 4, 3) || '-' ||
      substr(hash, 7, 12) AS uuid
    FROM made
  )
  INSERT INTO notes (feed, id, type, created_at, modified_at, size, content)
  SELECT feeds.id, to_char(to_timestamp(ms / 1000) AT TIME ZONE 'UTC', 'YYYYMMDD"T"HH24MISS"Z-"') || uuid, 0, ms, ms,
    length(uuid) * 5, convert_to(repeat(uuid, 5), 'UTF8')
  FROM named JOIN feeds ON name = feed_name`;

const { values: options } = parseArgs({
  options: {
    few: { type: 'string', default: '10000' },
    many: { type: 'string', default: '10000000' },
    times: { type: 'string', default: '200' },
  },
});
const times = Number(options.times);

const dir = temporaryFolder('ten-million');

const { server, stop } = await startServer();
try {
  const few = await filled(server, Number(options.few));
  const many = await filled(server, Number(options.many));
  await compare(few, many);
} finally {
  await stop();
}

/** A database with notes, and the service on it. */
interface Filled {
  readonly service: ServerProcess;
  /** How many small feeds there are: `feed-1` and so on, read by `read-1`. */
  readonly feeds: number;
  /** Ids of some notes of the large feed. */
  readonly ids: readonly string[];
}

async function filled(server: PostgresServer, notes: number): Promise<Filled> {
  const url = await server.database();
  const feeds = notes / NOTES_PER_FEED;
  await (await openPostgres({ url, maxFeeds: 0, maxBytes: 0, keepDays: 0, log: console })).close();
  await server.sql(
    url,
    `INSERT INTO feeds (name, read_id, changed_at) SELECT 'feed-' || n, 'read-' || n, 0 FROM generate_series(0, ${feeds}) AS n`,
  );
  for (let first = 0; first < notes; first += PART) {
    await server.sql(url, INSERT_NOTES, [first, Math.min(first + PART, notes) - 1, feeds]);
    console.error(`${first} of ${notes} notes made`);
  }
  await server.sql(url, `INSERT INTO tags SELECT feed, 'all', created_at, id, type FROM notes`);
  await server.sql(
    url,
    `UPDATE feeds SET note_count = counted.notes FROM (SELECT feed, count(*) AS notes FROM notes GROUP BY feed) AS counted
     WHERE feeds.id = feed`,
  );
  await server.sql(url, `UPDATE feed_counts SET feeds = ${feeds + 1} WHERE slot = 0`);
  await server.sql(url, 'VACUUM ANALYZE');
  const sample = `SELECT id FROM notes WHERE feed = (SELECT id FROM feeds WHERE name = 'feed-0')
    AND created_at = ANY (SELECT 1700000000000 + 2 * floor(random() * $1 / 2)::bigint FROM generate_series(1, $2))`;
  const rows = await server.sql(url, sample, [notes, 4 * times]);
  const service = await ServerProcess.startService(join(dir, String(notes)), {
    SERVICE_LOG_REQUESTS: '0',
    SERVICE_STORAGE: 'postgres',
    SERVICE_DATABASE_URL: url,
    SERVICE_SECRET: 'a secret that is long enough for the bench',
  });
  return { service, feeds, ids: rows.map(({ id }) => String(id)) };
}

/** Prints how long each kind of request takes, one at a time, on both. No answer comes from the cache. */
async function compare(few: Filled, many: Filled): Promise<void> {
  const list = (query: string) => `/api/v1/read/read-0/notes?${query}`;
  const small = ({ feeds }: Filled, n: number) => 1 + (n % feeds);
  const kinds: [name: string, ask: (filled: Filled, n: number) => Promise<number>][] = [
    ['list, the first page', ({ service }) => getAfterPost(service, 'feed-0', list('limit=50'))],
    ['list, a page in the middle', ({ service, ids }, n) => get(service, list(`before=${ids[n]}`))],
    ['list by a tag', ({ service, ids }, n) => get(service, list(`tag=all&before=${ids[times + n]}`))],
    ['RSS of the large feed', ({ service }) => getAfterPost(service, 'feed-0', '/r/read-0/feed.xml')],
    [
      'RSS of a small feed',
      (filled, n) =>
        getAfterPost(filled.service, `feed-${small(filled, n)}`, `/r/read-${small(filled, n)}/feed.xml`),
    ],
    ['one note', ({ service, ids }, n) => get(service, `/api/v1/read/read-0/notes/${ids[2 * times + n]}`)],
    ['post to the large feed', ({ service }) => post(service, 'feed-0')],
    ['post to a small feed', (filled, n) => post(filled.service, `feed-${small(filled, n)}`)],
  ];
  for (const [name, ask] of kinds) {
    const results: [number[], number[]] = [[], []];
    for (let n = 0; n < times; n += 1) {
      results[0].push(await ask(few, n));
      results[1].push(await ask(many, n));
    }
    const [ours, theirs] = [median(results[0]), median(results[1])];
    console.log(
      `${name.padEnd(28)} ${ours.toFixed(2)} → ${theirs.toFixed(2)} ms, ratio ${(theirs / ours).toFixed(2)}`,
    );
  }
  await Promise.all([few.service.stop(), many.service.stop()]);
}

/** How long a GET takes, in ms, right after a post to the feed, so that the answer is not in the cache. */
async function getAfterPost(service: ServerProcess, feed: string, path: string): Promise<number> {
  await post(service, feed);
  return get(service, path);
}

/** How long a GET takes, in ms. */
async function get(service: ServerProcess, path: string): Promise<number> {
  const begun = performance.now();
  const response = await fetch(service.url + path);
  await response.arrayBuffer();
  if (response.status !== 200) throw new Error(`GET ${path} was answered with ${response.status}`);
  return performance.now() - begun;
}

/** How long a post takes, in ms. */
async function post(service: ServerProcess, feed: string): Promise<number> {
  const begun = performance.now();
  const response = await fetch(`${service.url}/${feed}`, {
    method: 'POST',
    body: 'A note of the bench',
    headers: { 'content-type': 'text/markdown' },
  });
  await response.arrayBuffer();
  if (response.status !== 201) throw new Error(`a post was answered with ${response.status}`);
  return performance.now() - begun;
}
