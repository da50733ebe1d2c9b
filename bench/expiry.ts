/**
 * What posters and readers notice while notes that have expired are removed: the times of posts and of RSS that is in no
 * cache, quiet, and from the moment of expiry until all are gone, and how long that takes.
 *
 * `SERVICE_STORAGE=sqlite node bench/expiry.ts --notes 1000000 --feeds 10 --after 120`: the notes are filled in without the service, and
 * expire so many seconds after the start, by when the filling and the quiet measurement must be over. `fs`, `sqlite` or `postgres`.
 */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import Database from 'better-sqlite3';
import { NoteIds } from '../src/feeds/ids.ts';
import type { FeedName, ReadId } from '../src/feeds/names.ts';
import type { Archive, ArchivedFeed, ArchivedNote } from '../src/storage/archive.ts';
import { PostgresArchive } from '../src/storage/postgres/postgres-archive.ts';
import { SqliteArchive } from '../src/storage/sqlite/sqlite-archive.ts';
import { BACKENDS } from './backends-under-test.ts';
import { ServerProcess } from './server-process.ts';
import { spread } from './statistics.ts';
import { temporaryFolder } from './temporary-folder.ts';

const QUIET_S = 15;
/** Between two requests of a client, ms. */
const PAUSE_MS = 10;
const BATCH = 1_000;
const TEXT = Buffer.from('A note of the bench, which nobody reads any more.\n\n'.repeat(4));

const { values: options } = parseArgs({
  options: {
    notes: { type: 'string', default: '1000000' },
    feeds: { type: 'string', default: '10' },
    after: { type: 'string', default: '120' },
  },
});
const [notes, feeds] = [Number(options.notes), Number(options.feeds)];
const expires = Date.now() + Number(options.after) * 1000;
const kind = process.env.SERVICE_STORAGE ?? 'fs';
const dir = temporaryFolder('expiry');
const backend = await BACKENDS[kind === 'fs' ? 'files' : kind]!(dir);
const settings = {
  SERVICE_LOG_REQUESTS: '0',
  SERVICE_SECRET: 'a secret that is long enough for the bench',
  ...backend.settings,
};
const agent = new Agent({ keepAlive: true });
const ids = new NoteIds();

/** What counts the notes that are left, and what ends the counting. */
type Counter = () => number | Promise<number>;

try {
  const left = await fill();
  const service = await ServerProcess.startService(dir, settings);
  await post(service, 'busy', []);
  if (Date.now() > expires - QUIET_S * 1000)
    throw new Error('the notes expired too early: try a larger --after');
  await measure(service, 'quiet', () => Date.now() < expires);
  const begun = performance.now();
  await measure(service, 'while notes are removed', async () => (await left()) > 0);
  console.log(`all gone ${((performance.now() - begun) / 1000).toFixed(0)} s after they expired`);
  await service.stop();
} finally {
  agent.destroy();
  await backend.stop();
}

/** Makes the feeds and their notes; returns what counts those. */
async function fill(): Promise<Counter> {
  const begun = performance.now();
  const all = Array.from({ length: feeds }, (_, n) => `expiring-${n}`);
  let counter: Counter;
  if (kind === 'fs') {
    for (const [n, feed] of all.entries()) {
      mkdirSync(join(dir, feed));
      writeFileSync(join(dir, feed, '.readid'), `read-expiring-${n}`);
    }
    for (let n = 0; n < notes; n += 1) {
      const [folder, file] = [join(dir, all[n % feeds]!), `${ids.next()}.md`];
      writeFileSync(join(folder, file), TEXT);
      writeFileSync(
        join(folder, `.${file}.json`),
        JSON.stringify({ expires: new Date(expires).toISOString() }),
      );
    }
    counter = () =>
      all.reduce(
        (sum, feed) => sum + readdirSync(join(dir, feed)).filter((name) => /^[^.].*\.md$/.test(name)).length,
        0,
      );
  } else {
    const file = join(dir, 'notefeed.db');
    if (kind === 'sqlite') writeFileSync(file, '');
    const url = backend.settings.SERVICE_DATABASE_URL ?? '';
    const archive: Archive = kind === 'sqlite' ? SqliteArchive.open(file) : await PostgresArchive.open(url);
    for (const [n, feed] of all.entries()) await fillFeed(archive, feed, n);
    await archive.close();
    counter = kind === 'sqlite' ? sqliteCounter(file) : await postgresCounter(url);
  }
  console.log(
    `${kind}: ${notes} notes in ${feeds} feeds, filled in ${((performance.now() - begun) / 1000).toFixed(0)} s`,
  );
  return counter;
}

async function fillFeed(archive: Archive, name: string, n: number): Promise<void> {
  const feed: ArchivedFeed = {
    ...{ name: name as FeedName, readId: `read-expiring-${n}` as ReadId, title: '', description: '' },
    ...{ showSender: true, image: undefined, passwordHash: undefined, license: undefined },
    ...{ keepDays: undefined, keepNotes: undefined, changedAt: Date.now(), noteCount: 0, imageCount: 0 },
  };
  await archive.addFeed(feed);
  for (let left = Math.ceil(notes / feeds); left > 0; left -= BATCH) {
    const batch = Array.from({ length: Math.min(left, BATCH) }, (): ArchivedNote => {
      const now = Date.now();
      return {
        id: ids.next(),
        type: 'md',
        createdAt: now,
        modifiedAt: now,
        meta: { tags: [], expires },
        bytes: TEXT,
      };
    });
    await archive.addNotes(feed, batch);
  }
}

function sqliteCounter(file: string): Counter {
  const db = new Database(file, { readonly: true });
  const sum = db.prepare<[], number>("SELECT sum(note_count) FROM feeds WHERE name <> 'busy'").pluck();
  return () => sum.get()!;
}

async function postgresCounter(url: string): Promise<Counter> {
  const { Client } = await import('pg');
  const client = new Client(url);
  await client.connect();
  await client.query('VACUUM ANALYZE');
  return async () => {
    const { rows } = await client.query(
      "SELECT sum(note_count)::integer AS sum FROM feeds WHERE name <> 'busy'",
    );
    if (rows[0].sum === 0) await client.end();
    return rows[0].sum;
  };
}

/** Posts to a feed of its own and reads what is new, by turns; prints the times. */
async function measure(
  service: ServerProcess,
  name: string,
  goesOn: () => boolean | Promise<boolean>,
): Promise<void> {
  const [posts, busy, expiring]: [number[], number[], number[]] = [[], [], []];
  let isOver = false;
  const client = async () => {
    for (let n = 0; !isOver; n += 1) {
      const readUrl = await post(service, 'busy', posts);
      busy.push(await ask(service, `${readUrl}feed.xml`));
      if (n % 10 === 0) expiring.push(await ask(service, '/r/read-expiring-0/feed.xml'));
      await wait(PAUSE_MS);
    }
  };
  const watch = async () => {
    while (await goesOn()) await wait(500);
    isOver = true;
  };
  await Promise.all([watch(), client(), client()]);
  console.log(`${name}\n  posts                ${spread(posts)}\n  RSS after a post     ${spread(busy)}`);
  console.log(`  RSS of expired notes ${spread(expiring)}`);
}

/** Posts a note and adds its time, ms; returns the path of the feed's public page. */
async function post(service: ServerProcess, feed: string, times: number[]): Promise<string> {
  const { ms, body } = await send(service, 'POST', `/${feed}`, 'A note of the bench.');
  times.push(ms);
  return new URL(JSON.parse(body.toString()).read_url).pathname.replace(/[^/]*$/, '');
}

async function ask(service: ServerProcess, path: string): Promise<number> {
  return (await send(service, 'GET', path)).ms;
}

function send(service: ServerProcess, method: string, path: string, text?: string) {
  return new Promise<{ ms: number; body: Buffer }>((resolve, reject) => {
    const begun = performance.now();
    const headers = text === undefined ? {} : { 'content-type': 'text/markdown' };
    const sent = request(service.url + path, { agent, method, headers }, async (response) => {
      const body = await buffer(response);
      if (response.statusCode! >= 300) reject(new Error(`${method} ${path}: ${response.statusCode} ${body}`));
      else resolve({ ms: performance.now() - begun, body });
    });
    sent.on('error', reject);
    sent.end(text);
  });
}
