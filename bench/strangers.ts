/**
 * What strangers cost the others: how long the first read of a feed with a note of 1 KB takes, and how many of these are shown
 * as plain text, while somebody else asks for 24 previews a second of texts that take the parser minutes and closes each
 * connection at once, or reads 12 feeds with such notes; or both. Prints a row for each.
 *
 * `node bench/strangers.ts --seconds 16 --against ../other-checkout`: how long each goes on, and another checkout of this
 * project (with its modules installed) whose service is measured as well.
 */
import { request } from 'node:http';
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { program, ServerProcess } from './server-process.ts';
import { spread } from './statistics.ts';
import { row } from './table.ts';
import { temporaryFolder } from './temporary-folder.ts';

const PREVIEWS_PER_SECOND = 24;
const HOSTILE_FEEDS = 12;
/** Between two first reads. */
const PAUSE_MS = 20;
/** From a preview to the end of its connection. */
const PREVIEW_MS = 20;

const { values: options } = parseArgs({
  options: { seconds: { type: 'string', default: '16' }, against: { type: 'string' } },
});
const seconds = Number(options.seconds);
const dir = temporaryFolder('strangers');
let made = 0;

const mains = { 'this checkout': program('../src/main.cjs') };
if (options.against !== undefined)
  Object.assign(mains, { [options.against]: resolve(options.against, 'src/main.cjs') });
for (const [name, main] of Object.entries(mains)) {
  console.log(`\n${name}`);
  for (const [load, strangers] of Object.entries({
    nobody: [],
    previews: [askForPreviews],
    notes: [readHostileFeeds],
    'previews and notes': [askForPreviews, readHostileFeeds],
  })) {
    const server = await ServerProcess.startService(
      join(dir, `${made++}`),
      { SERVICE_LOG_REQUESTS: '0' },
      main,
    );
    await firstReads(server.url, 2);
    const end = performance.now() + seconds * 1000;
    const loads = strangers.map((stranger) => stranger(server.url, end));
    const { times, plain } = await firstReads(server.url, seconds);
    await Promise.all(loads);
    row(load, [`${times.length} reads`, ` ${spread(times)},`, `${plain} as plain text`]);
    await server.stop();
  }
}

/** Reads new feeds one after the other, each once. */
async function firstReads(url: string, duration: number): Promise<{ times: number[]; plain: number }> {
  const times: number[] = [];
  let plain = 0;
  for (const end = performance.now() + duration * 1000; performance.now() < end; await wait(PAUSE_MS)) {
    const address = await post(`${url}/usual-${made++}`, usualText());
    const begunAt = performance.now();
    const text = await (await fetch(address)).text();
    times.push(performance.now() - begunAt);
    if (!text.includes('&lt;strong&gt;')) plain += 1;
  }
  return { times, plain };
}

async function askForPreviews(url: string, end: number): Promise<void> {
  while (performance.now() < end) {
    const sent = request(`${url}/api/v1/feeds/hostile/preview`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    });
    sent.on('error', () => undefined).end(JSON.stringify({ text: hostileText() }));
    setTimeout(() => sent.destroy(), PREVIEW_MS);
    await wait(1000 / PREVIEWS_PER_SECOND);
  }
}

/** Each feed gets a new note whenever it has been read. */
async function readHostileFeeds(url: string, end: number): Promise<void> {
  const postAndRead = async (_: unknown, feed: number) => {
    while (performance.now() < end) {
      const address = await post(`${url}/hostile-${feed}`, hostileText());
      await (await fetch(address)).text();
    }
  };
  await Promise.all(Array.from({ length: HOSTILE_FEEDS }, postAndRead));
}

async function post(url: string, text: string): Promise<string> {
  const response = await fetch(url, {
    method: 'POST',
    body: text,
    headers: { 'content-type': 'text/markdown' },
  });
  return ((await response.json()) as { read_url: string }).read_url;
}

/** 1 KB of markdown. */
function usualText(): string {
  return `# Note ${made}\n\n${'Some **bold** words, a [link](https://a.example/) and `code`.\n'.repeat(16)}`;
}

/** Nested quotes, for which the parser's time doubles with each line; no two alike. */
function hostileText(): string {
  const lines = Array.from({ length: 30 }, (_, n) => `${'>'.repeat(30 - n)}a`);
  return `${made++}\n\n${lines.join('\n')}`;
}
