/**
 * Prints how much memory the service takes: just started, after a few requests, and idle again; with many feeds, and when
 * the RSS of each has been read. Needs Linux (/proc), and takes four minutes.
 *
 * `node bench/memory.ts --project ../other-checkout --storage sqlite --feeds 10000 --notes 100000`: the checkout whose
 * service is measured; its storage, with which many feeds are measured on files only; how many feeds of 5 notes there are
 * beside one of so many notes (0 feeds leaves this part out).
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { NoteIds } from '../src/feeds/ids.ts';
import { FORM_TYPE, formOf } from './form-samples.ts';
import { FEED_PASSWORD } from './samples.ts';
import { ServerProcess } from './server-process.ts';
import { temporaryFolder } from './temporary-folder.ts';

const SETTLE_MS = 5_000;
const IDLE_MS = 120_000;
const REQUESTS = 100;
const CONNECTIONS = 64;
const NOTES_PER_FEED = 5;
const TEXT = '# A heading\n\nSome *text* with a [link](https://example.com/) and `code`.\n\n- one\n- two\n';

const { values: options } = parseArgs({
  options: {
    project: { type: 'string', default: join(import.meta.dirname, '..') },
    storage: { type: 'string', default: 'fs' },
    feeds: { type: 'string', default: '10000' },
    notes: { type: 'string', default: '100000' },
  },
});
const [feeds, notes] = [Number(options.feeds), Number(options.notes)];
const dir = temporaryFolder('memory');
await fewNotes();
if (options.storage === 'fs' && feeds > 0) await manyNotes();

async function fewNotes(): Promise<void> {
  const service = await start('few');
  await wait(SETTLE_MS);
  say('fresh', service);
  const headers = { 'x-feed-password': FEED_PASSWORD };
  await post(service, 'form', FORM_TYPE, formOf('![](0.png)', { count: 1, bytes: 200 * 1024 }));
  await post(service, 'protected', 'text/markdown', TEXT, headers);
  for (let n = 0; n < REQUESTS; n += 1) {
    const rss = await post(service, `feed-${n % 10}`, 'text/markdown', `${n}\n\n${TEXT}`);
    const list = rss.replace(/\/r\/(.*)\/feed.xml/, '/api/v1/read/$1/notes');
    await read([rss, rss.replace('.xml', '.json'), list][n % 3]!);
  }
  say(`after a form, a password, ${REQUESTS} posts and reads`, service);
  await wait(IDLE_MS);
  say('two minutes later', service);
  await service.stop();
}

async function manyNotes(): Promise<void> {
  makeFeeds(join(dir, 'many'));
  const begunAt = performance.now();
  const service = await start('many');
  const seconds = secondsSince(begunAt);
  await wait(SETTLE_MS);
  say(`${feeds} feeds of ${NOTES_PER_FEED} notes and one of ${notes}: started in ${seconds} s`, service);
  for (const what of ['asked for once', 'asked for again']) {
    const polledAt = performance.now();
    await readAll(service);
    say(`RSS of each ${what}, ${CONNECTIONS} at a time: ${secondsSince(polledAt)} s`, service);
  }
  await service.stop();
}

function start(name: string): Promise<ServerProcess> {
  const env = { SERVICE_LOG_REQUESTS: '0', SERVICE_STORAGE: options.storage };
  const secret = options.storage === 'fs' ? {} : { SERVICE_SECRET: 'a secret that is long enough for this' };
  const main = resolve(options.project, 'src/main.cjs');
  return ServerProcess.startService(join(dir, name), { ...env, ...secret }, main);
}

function say(what: string, service: ServerProcess): void {
  console.log(`${what.padEnd(70)} ${(service.residentBytes() / 1e6).toFixed(0).padStart(5)} MB`);
}

function secondsSince(begunAt: number): string {
  return ((performance.now() - begunAt) / 1000).toFixed(1);
}

/** Feeds `feed-0` and so on, read by `read-0` and so on; the last one is the large one. */
function makeFeeds(folder: string): void {
  let time = Date.now() - (feeds * NOTES_PER_FEED + notes);
  const ids = new NoteIds(() => time++);
  for (let feed = 0; feed <= feeds; feed += 1) {
    const path = join(folder, `feed-${feed}`);
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, '.readid'), `read-${feed}\n`);
    const count = feed === feeds ? notes : NOTES_PER_FEED;
    for (let n = 0; n < count; n += 1) writeFileSync(join(path, `${ids.next()}.md`), `${n}\n\n${TEXT}`);
  }
}

async function readAll({ url }: ServerProcess): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  let next = 0;
  const readOn = async () => {
    while (next <= feeds) await read(`${url}/r/read-${next++}/feed.xml`, agent);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, readOn));
  agent.destroy();
}

function read(url: string, agent?: Agent): Promise<void> {
  return new Promise((done, fail) => {
    const request = get(url, { ...(agent && { agent }) }, (response) => {
      if (response.statusCode !== 200) fail(new Error(`GET was answered ${response.statusCode}`));
      response.resume().on('end', done);
    });
    request.on('error', fail);
  });
}

/** Returns the address of the feed's RSS. */
async function post(
  { url }: ServerProcess,
  feed: string,
  type: string,
  body: string | Buffer,
  headers: Record<string, string> = {},
): Promise<string> {
  const response = await fetch(`${url}/${feed}`, {
    method: 'POST',
    headers: { 'content-type': type, ...headers },
    body: new Uint8Array(Buffer.from(body)),
  });
  if (response.status !== 201) throw new Error(`a post was answered ${response.status}`);
  return ((await response.json()) as { read_url: string }).read_url;
}
