/**
 * What search costs: one large feed beside many small ones, filled in without the service. Prints how long the index takes to be made
 * and how large it is, what searchers wait beside posts, how soon a post is found, and what the index costs posts and memory, against
 * the service without it.
 *
 * `SERVICE_STORAGE=sqlite node bench/search.ts --notes 100000 --feeds 10000 --clients 64 --pause 1000 --posts 200 --seconds 20`:
 * `fs`, `sqlite` or `postgres`; each client pauses so many ms between two searches; posts a second, a tenth of them to the large feed.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { NoteIds } from '../src/feeds/ids.ts';
import { BACKENDS } from './backends-under-test.ts';
import { type FilledNote, openFilling } from './filling.ts';
import { ServerProcess } from './server-process.ts';
import { median, spread } from './statistics.ts';
import { size } from './table.ts';
import { temporaryFolder } from './temporary-folder.ts';

const NOTE_BYTES = 1024;
const SMALL_NOTES = 10;
/** Notes of the large feed with the rare word. */
const RARE_NOTES = 7;
/** One of so many has the phrase, one of so many its words in another order, and one of so many is Chinese in part. */
const [PHRASE_EVERY, WORDS_EVERY, CHINESE_EVERY] = [500, 50, 20];
const WARM_UP_MS = 3_000;
const FOUND_TIMES = 50;
const CPU_ROUNDS = 5;
const CPU_POSTS = 2_000;
const POSTERS = 16;
const LARGE = '/r/large-feed-of-the-bench';

const SEARCHES: Record<string, string> = {
  common: 'the',
  rare: 'xylophonist',
  phrase: '"walking sideways backwards"',
  prefix: 'stor*',
  Chinese: '檢索引擎',
};

const { values: options } = parseArgs({
  options: {
    notes: { type: 'string', default: '100000' },
    feeds: { type: 'string', default: '10000' },
    clients: { type: 'string', default: '64' },
    pause: { type: 'string', default: '1000' },
    posts: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '20' },
  },
});
const [notes, feeds, seconds] = [Number(options.notes), Number(options.feeds), Number(options.seconds)];
const kind = process.env.SERVICE_STORAGE ?? 'fs';
const dir = temporaryFolder('search');
const backend = await BACKENDS[kind === 'fs' ? 'files' : kind]!(dir);
const url = backend.settings.SERVICE_DATABASE_URL ?? '';
const settings = {
  SERVICE_LOG_REQUESTS: '0',
  SERVICE_SECRET: 'a secret that is long enough for the bench',
  SERVICE_MAX_CONNECTIONS_PER_CLIENT: '0',
  ...backend.settings,
};
const agent = new Agent({ keepAlive: true });
const words = wordsOfDocuments();

try {
  await fill();
  const without = await start('0');
  await measureCosts(without, 'without search');
  await without.stop();
  const service = await start('1');
  await measureMaking(service);
  await measureSearches(service);
  await measureFinding(service);
  await service.stop();
  const again = await start('1');
  await untilMade(again);
  await measureCosts(again, 'with search');
  await again.stop();
} finally {
  agent.destroy();
  await backend.stop();
}

/** The words of this project's documents, as often as they are there. */
function wordsOfDocuments(): string[] {
  const docs = join(import.meta.dirname, '..', 'docs');
  const files = readdirSync(docs).filter((name) => name.endsWith('.md'));
  return files.flatMap((name) => readFileSync(join(docs, name), 'utf8').match(/[\w'-]+/g) ?? []);
}

function start(search: '0' | '1'): Promise<ServerProcess> {
  return ServerProcess.startService(dir, { ...settings, SERVICE_SEARCH: search });
}

async function fill(): Promise<void> {
  // Notes of the past, a second apart.
  let time = Date.now() - 1000 * (notes + feeds * SMALL_NOTES);
  const filling = await openFilling(kind, dir, url, new NoteIds(() => (time += 1000)));
  for (let n = 0; n < feeds; n += 1)
    await filling.addFeed(`small-${n}`, `small-feed-${n}`, someNotes(SMALL_NOTES));
  await filling.addFeed('large', LARGE.slice('/r/'.length), someNotes(notes));
  await filling.close();
  console.log(`${kind}: ${notes} notes of 1 KB in one feed, ${SMALL_NOTES} in each of ${feeds}`);
}

function* someNotes(count: number): Generator<FilledNote> {
  const rare = Math.ceil(count / RARE_NOTES);
  for (let n = 0; n < count; n += 1) {
    const special = [
      n % rare === 0 ? 'xylophonist' : '',
      n % PHRASE_EVERY === 0 ? 'walking sideways backwards' : '',
      n % WORDS_EVERY === 1 ? 'backwards sideways walking' : '',
      n % CHINESE_EVERY === 0 ? chinese() : '',
    ];
    yield { text: Buffer.from(noteOf(special.join(' '))) };
  }
}

/** A note with a heading, emphasis, a link and a list, of words that are as frequent as in the documents. */
function noteOf(special: string): string {
  let text = `# ${word()} ${word()}\n\n${special} *${word()}* and [${word()}](https://example.com/${word()}).\n\n`;
  for (let n = 1; text.length < NOTE_BYTES; n += 1) text += n % 40 === 0 ? '\n\n- ' : `${word()} `;
  return text.slice(0, NOTE_BYTES);
}

function word(): string {
  return words[Math.floor(Math.random() * words.length)]!;
}

/** Characters by chance, and in some the words that are searched for. */
function chinese(): string {
  const characters = Array.from({ length: 12 }, () => 0x4e00 + Math.floor(Math.random() * 500));
  return String.fromCodePoint(...characters) + (Math.random() < 0.2 ? '檢索引擎' : '檢引索擎');
}

/** How long the index takes while nothing but a reader of the feed asks, and how large it is. */
async function measureMaking(service: ServerProcess): Promise<void> {
  const begun = performance.now();
  const reads: number[] = [];
  let isMade = false;
  const reading = async () => {
    while (!isMade) {
      reads.push((await send(service, 'GET', `${LARGE}/feed.xml`)).ms);
      await wait(10);
    }
  };
  await Promise.all([
    reading(),
    untilMade(service).finally(() => {
      isMade = true;
    }),
  ]);
  const all = notes + feeds * SMALL_NOTES;
  console.log(`all of ${all} notes are found after ${((performance.now() - begun) / 1000).toFixed(1)} s`);
  console.log(`RSS meanwhile: ${spread(reads)}`);
  console.log(`index: ${((await indexBytes()) / all).toFixed(0)} bytes a note`);
}

/** Until the feeds that are compared first and last answer. */
async function untilMade(service: ServerProcess): Promise<void> {
  for (const feed of [LARGE, `/r/small-feed-0`, `/r/small-feed-${feeds - 1}`])
    while ((await send(service, 'GET', listOf(feed, 'the'), { mayFail: true })).status !== 200)
      await wait(50);
}

function listOf(feed: string, q: string): string {
  return `/api/v1/read/${feed.slice('/r/'.length)}/notes?q=${encodeURIComponent(q)}`;
}

async function indexBytes(): Promise<number> {
  if (kind !== 'postgres')
    return readdirSync(dir)
      .filter((name) => name.includes('search.db'))
      .reduce((sum, name) => sum + statSync(join(dir, name)).size, 0);
  const { Client } = await import('pg');
  const client = new Client(url);
  await client.connect();
  const { rows } = await client.query("SELECT pg_total_relation_size('note_words')::float8 AS bytes");
  await client.end();
  return rows[0].bytes;
}

/** What clients wait for each kind of search, beside posts. Not counted are the first seconds, in which threads start. */
async function measureSearches(service: ServerProcess): Promise<void> {
  const begin = performance.now() + WARM_UP_MS;
  const end = begin + seconds * 1000;
  const kinds = Object.entries(SEARCHES).map(([name, q]) => ({ name, q, waits: [] as number[] }));
  let refused = 0;
  const client = async (_: unknown, n: number) => {
    await wait(Math.random() * Number(options.pause));
    for (let turn = n; performance.now() < end; turn += 1) {
      const { q, waits } = kinds[turn % kinds.length]!;
      const { status, ms } = await send(service, 'GET', listOf(LARGE, q), { mayFail: true });
      if (status !== 200) refused += 1;
      else if (performance.now() > begin) waits.push(ms);
      await wait(Number(options.pause));
    }
  };
  const poster = async () => {
    const pause = 1000 / Number(options.posts);
    const running = new Set<Promise<unknown>>();
    for (let n = 0; performance.now() < end; n += 1) {
      const posting = send(service, 'POST', n % 10 === 0 ? '/large' : `/small-${n % feeds}`, {
        text: noteOf(''),
      });
      running.add(posting);
      void posting.finally(() => running.delete(posting));
      await wait(pause);
    }
    await Promise.all(running);
  };
  await Promise.all([poster(), ...Array.from({ length: Number(options.clients) }, client)]);
  console.log(
    `\n${options.clients} clients, each pauses ${options.pause} ms, beside ${options.posts} posts/s; ${refused} refused`,
  );
  for (const { name, waits } of kinds) console.log(`  ${name.padEnd(8)} ${waits.length} × ${spread(waits)}`);
}

/** How soon after its answer a post is found. */
async function measureFinding(service: ServerProcess): Promise<void> {
  const times: number[] = [];
  for (let n = 0; n < FOUND_TIMES; n += 1) {
    const name = `found${n}at${Date.now().toString(36)}`;
    await send(service, 'POST', '/large', { text: noteOf(name) });
    const begun = performance.now();
    for (;;) {
      const { body } = await send(service, 'GET', listOf(LARGE, name));
      if (JSON.parse(body.toString()).notes.length > 0) break;
      await wait(5);
    }
    times.push(performance.now() - begun);
  }
  console.log(`\na post is found after ${spread(times)}`);
}

/** CPU of the serving thread for a post, and memory. */
async function measureCosts(service: ServerProcess, name: string): Promise<void> {
  const cpu: number[] = [];
  for (let round = 0; round < CPU_ROUNDS; round += 1) {
    const before = service.loopMicros();
    let left = CPU_POSTS;
    const post = async () => {
      while (left-- > 0) await send(service, 'POST', `/small-${left % feeds}`, { text: noteOf('') });
    };
    await Promise.all(Array.from({ length: POSTERS }, post));
    cpu.push((service.loopMicros() - before) / CPU_POSTS);
  }
  await wait(2_000);
  const [first, ...others] = cpu.map((micros) => micros.toFixed(0));
  console.log(
    `\n${name}: ${size(service.residentBytes())} resident; a post takes ${median(cpu.slice(1)).toFixed(0)} µs of the serving thread (${others}; first ${first})`,
  );
}

function send(
  service: ServerProcess,
  method: string,
  path: string,
  { text, mayFail = false }: { readonly text?: string; readonly mayFail?: boolean } = {},
) {
  return new Promise<{ status: number; ms: number; body: Buffer }>((resolve, reject) => {
    const begun = performance.now();
    const headers = text === undefined ? {} : { 'content-type': 'text/markdown' };
    const sent = request(service.url + path, { agent, method, headers }, async (response) => {
      const body = await buffer(response);
      const status = response.statusCode!;
      if (status >= 300 && !mayFail) reject(new Error(`${method} ${path}: ${status} ${body}`));
      else resolve({ status, ms: performance.now() - begun, body });
    });
    sent.on('error', reject);
    sent.end(text);
  });
}
