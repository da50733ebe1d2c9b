/**
 * What posters and readers notice while notes that have expired are removed: the times of posts and of RSS that is in no
 * cache, quiet, and from the moment of expiry until all are gone, and how long that takes.
 *
 * `SERVICE_STORAGE=sqlite node bench/expiry.ts --notes 1000000 --feeds 10 --after 120`: the notes are filled in without the service, and
 * expire so many seconds after the start, by when the filling and the quiet measurement must be over. `fs`, `sqlite` or `postgres`.
 */
import { readdirSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import Database from 'better-sqlite3';
import { NoteIds } from '../src/feeds/ids.ts';
import { BACKENDS } from './backends-under-test.ts';
import { databaseFile, openFilling } from './filling.ts';
import { ServerProcess } from './server-process.ts';
import { spread } from './statistics.ts';
import { temporaryFolder } from './temporary-folder.ts';

const QUIET_S = 15;
/** Between two requests of a client, ms. */
const PAUSE_MS = 10;
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
  const url = backend.settings.SERVICE_DATABASE_URL ?? '';
  const filling = await openFilling(kind, dir, url, new NoteIds());
  const some = Array.from({ length: Math.ceil(notes / feeds) }, () => ({ text: TEXT, expires }));
  for (const [n, feed] of all.entries()) await filling.addFeed(feed, `read-expiring-${n}`, some);
  await filling.close();
  console.log(
    `${kind}: ${notes} notes in ${feeds} feeds, filled in ${((performance.now() - begun) / 1000).toFixed(0)} s`,
  );
  if (kind === 'fs') return folderCounter(all);
  return kind === 'sqlite' ? sqliteCounter(databaseFile(dir)) : await postgresCounter(url);
}

function folderCounter(all: readonly string[]): Counter {
  const count = (feed: string) =>
    readdirSync(join(dir, feed)).filter((name) => /^[^.].*\.md$/.test(name)).length;
  return () => all.reduce((sum, feed) => sum + count(feed), 0);
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
