import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { RecordedAnswer } from './bare-server.ts';

/** Headers that every server writes by itself. */
const OWN_HEADERS = [
  'content-length',
  'date',
  'uwebsockets',
  'connection',
  'keep-alive',
  'transfer-encoding',
];

/** What a PNG file begins with. */
export const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** A feed with a password. */
export const PROTECTED_FEED = 'bench-protected';
export const FEED_PASSWORD = 'the password of the protected feed';

/** A read that is measured. */
export interface Read {
  readonly name: string;
  readonly path: string;
  readonly headers: Record<string, string>;
}

/** Files with the bodies that are posted. */
export interface Bodies {
  readonly text: string;
  readonly picture: string;
}

/** Writes a text of 1 KB and a picture of 200 KB into a folder. */
export function writeBodies(dir: string): Bodies {
  const bodies = { text: join(dir, 'text.md'), picture: join(dir, 'picture.png') };
  writeFileSync(bodies.text, 'A line of a note.\n'.repeat(57).slice(0, 1024));
  writeFileSync(bodies.picture, Buffer.concat([PNG, randomBytes(200 * 1024 - PNG.length)]));
  return bodies;
}

/** Posts short notes (an RSS feed of about 20 KB, a list of 50, one with a password) and a picture, and says what is to be read of them. */
export async function seed(url: string, picture: Buffer): Promise<Read[]> {
  const rss = await seedTexts(`${url}/bench-rss`, 41);
  const list = await seedTexts(`${url}/bench-list`, 50);
  const { file_url: fileUrl } = await post(`${url}/bench-picture`, 'image/png', new Uint8Array(picture));
  await post(`${url}/${PROTECTED_FEED}`, 'text/markdown', 'The first note.', {
    'x-feed-password': FEED_PASSWORD,
  });
  const { headers } = await fetched(url + rss, {});
  return [
    { name: 'RSS', path: rss, headers: {} },
    { name: 'RSS 304', path: rss, headers: { 'if-none-match': headers.etag ?? '' } },
    { name: 'RSS gzip', path: rss, headers: { 'accept-encoding': 'gzip' } },
    { name: 'read-only page', path: rss.replace('/feed.xml', ''), headers: {} },
    { name: 'picture', path: new URL(fileUrl).pathname, headers: {} },
    { name: 'JSON list of 50', path: `/api/v1/read/${list.split('/')[2]}/notes`, headers: {} },
    { name: 'list by name, of 50', path: '/api/v1/feeds/bench-list/notes', headers: {} },
    { name: 'settings by name', path: '/api/v1/feeds/bench-list', headers: {} },
  ];
}

/** Posts that many notes to a feed and gives the path of its RSS. */
async function seedTexts(feed: string, count: number): Promise<string> {
  let path = '';
  for (let n = 0; n < count; n++) {
    const text = `Note ${n}: the quick brown fox jumps over it.`;
    path = new URL((await post(feed, 'text/markdown', text)).read_url).pathname;
  }
  return path;
}

/** Records what the service answers, for the bare server to answer the same. */
export async function record(
  url: string,
  read: Read,
  bodyFile: string,
): Promise<RecordedAnswer & { bytes: number }> {
  const response = await fetched(url + read.path, read.headers);
  const body = await response.body;
  writeFileSync(bodyFile, body);
  const headers = response.rawHeaders.filter(([name]) => !OWN_HEADERS.includes(name.toLowerCase()));
  return { status: response.status, headers, bodyFile, bytes: body.length };
}

async function post(
  url: string,
  type: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
): Promise<{ read_url: string; file_url: string }> {
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': type, ...headers }, body });
  if (response.status !== 201)
    throw new Error(`a post was answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as { read_url: string; file_url: string };
}

async function fetched(url: string, headers: Record<string, string>) {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, { headers }, resolve).on('error', reject);
  });
  const raw = response.rawHeaders;
  return {
    status: `${response.statusCode} ${response.statusMessage}`,
    headers: response.headers,
    rawHeaders: raw.flatMap((name, n) => (n % 2 ? [] : [[name, raw[n + 1] ?? ''] as [string, string]])),
    body: buffer(response),
  };
}
