/** Conditional requests and content codings, on every kind of view. */
import { writeFile } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import t from 'tap';
import { eventually, untilDated } from '../support/eventually.ts';
import { exactly } from '../support/exact-request.ts';
import { picture } from '../support/pictures.ts';
import { untilItRenders } from '../support/rendering.ts';
import { post, start } from '../support/service.ts';

const service = await start(t);
const { url, dir } = service;
await untilItRenders(url);

const first = await post(`${url}/key`, `# Note\n\n${'words and words '.repeat(200)}`);
const readId: string = first.json.read_url.split('/').at(-2);
const gif = picture('gif', 3000);
const second = await post(`${url}/key`, gif, { 'content-type': 'image/gif' });
const FILE = `/r/${readId}/${second.json.file}`;
const RSS = `/r/${readId}/feed.xml`;
const LIST = `/api/v1/read/${readId}/notes`;
const COMPRESSED = [
  ...[RSS, `/r/${readId}/feed.json`, LIST, `/api/v1/read/${readId}/notes/${first.json.id}`],
  ...['/api/v1/feeds/key/notes', `/api/v1/feeds/key/notes/${first.json.id}`],
];
const VIEWS = [...COMPRESSED, FILE, `/r/${readId}/${first.json.file}`, `/api/v1/read/${readId}`];

/** The fields that tell of the resource, and not of the request or its connection. */
const ofResource = ({
  date: _date,
  'x-request-id': _id,
  connection: _connection,
  uwebsockets: _server,
  ...fields
}: IncomingHttpHeaders) => fields;

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  exactly(url + path, { method, headers });

await untilDated();

for (const path of VIEWS) {
  const shown = path.replace(readId, '{id}').replace(/[\w-]{30,}/, '{note}');

  t.test(`validators of ${shown}`, async (t) => {
    const { status, headers } = await get(path);
    t.equal(status, 200);
    const etag = headers.etag!;
    t.match(etag, /^"[\x21\x23-\x7e]+"$/, 'a strong entity tag');
    t.equal(new Date(headers['last-modified']!).toUTCString(), headers['last-modified'], 'an HTTP date');
    t.ok(Math.abs(Date.parse(headers['last-modified']!) - Date.now()) < 60_000);

    for (const value of [etag, `W/${etag}`, `"a", ${etag}`, `"a",W/"b" , W/${etag},"c"`, '*'])
      for (const method of ['GET', 'HEAD']) {
        const reply = await get(path, { 'if-none-match': value }, method);
        t.equal(reply.status, 304, `${method} If-None-Match: ${value}`);
        t.equal(reply.bytes.length, 0);
        t.equal(reply.headers.etag, etag);
        for (const name of ['cache-control', 'last-modified', 'vary'])
          t.equal(reply.headers[name], headers[name], `${name} is that of the 200`);
        t.equal(reply.headers['content-type'], undefined);
      }
    for (const value of ['"a"', etag.slice(1, -1), `"${etag.slice(1, -1)}x"`, 'W/"*"'])
      t.equal((await get(path, { 'if-none-match': value })).status, 200, `If-None-Match: ${value}`);
    const later = new Date(Date.now() + 3_600_000).toUTCString();
    t.equal(
      (await get(path, { 'if-none-match': '"a"', 'if-modified-since': later })).status,
      200,
      'If-None-Match wins over If-Modified-Since',
    );
  });

  t.test(`HEAD of ${shown}`, async (t) => {
    for (const coding of ['', 'gzip', 'br']) {
      const accept: Record<string, string> = coding === '' ? {} : { 'accept-encoding': coding };
      const { headers, bytes } = await get(path, accept);
      const head = await get(path, accept, 'HEAD');
      t.equal(head.status, 200);
      t.equal(head.bytes.length, 0);
      t.strictSame(ofResource(head.headers), ofResource(headers));
      t.equal(head.headers['content-length'], String(bytes.length));
    }
  });
}

for (const path of COMPRESSED)
  t.test(`codings of ${path.replace(readId, '{id}').replace(/[\w-]{30,}/, '{note}')}`, async (t) => {
    const plain = await get(path);
    t.equal(plain.headers['content-encoding'], undefined);
    const gzip = await get(path, { 'accept-encoding': 'gzip' });
    const br = await get(path, { 'accept-encoding': 'gzip, deflate, br' });
    t.equal(gzip.headers['content-encoding'], 'gzip');
    t.equal(br.headers['content-encoding'], 'br');
    t.ok(gunzipSync(gzip.bytes).equals(plain.bytes));
    t.ok(brotliDecompressSync(br.bytes).equals(plain.bytes));
    t.ok(gzip.bytes.length < plain.bytes.length && br.bytes.length < plain.bytes.length);
    const tags = [plain, gzip, br].map(({ headers }) => headers.etag);
    t.equal(new Set(tags).size, 3, 'each coding has its own tag');
    for (const { headers } of [plain, gzip, br]) t.equal(headers.vary, 'Accept-Encoding');

    const forms: Record<string, string>[] = [{}, { 'accept-encoding': 'gzip' }, { 'accept-encoding': 'br' }];
    for (const [asked, accept] of forms.entries())
      for (const [known, tag] of tags.entries()) {
        const { status } = await get(path, { ...accept, 'if-none-match': tag! });
        t.equal(status, known === asked ? 304 : 200, `form ${asked} asked for, form ${known} known`);
      }
    for (const refused of ['identity', 'gzip;q=0', 'deflate', 'br;q=0, gzip;q=0', 'zstd'])
      t.equal(
        (await get(path, { 'accept-encoding': refused })).headers['content-encoding'],
        undefined,
        refused,
      );
    t.equal(
      (await get(path, { 'accept-encoding': 'gzip;q=1, br;q=0.5' })).headers['content-encoding'],
      'gzip',
    );
  });

t.test('pictures and files are sent as they are', async (t) => {
  for (const file of [FILE, `/r/${readId}/${first.json.file}`]) {
    const { headers } = await get(file, { 'accept-encoding': 'br, gzip' });
    t.equal(headers['content-encoding'], undefined);
    t.equal(headers.vary, undefined);
  }
});

t.test('a feed says when it last changed', async (t) => {
  const { json } = await post(`${url}/dated`, 'x');
  const id = json.read_url.split('/').at(-2);
  const views = [`/r/${id}/feed.xml`, `/r/${id}/feed.json`, `/api/v1/read/${id}/notes`];
  const dateOf = async (path: string) => (await get(path)).headers['last-modified']!;
  await untilDated();
  for (const path of [...views, `/r/${id}/${json.file}`]) {
    const modified = await dateOf(path);
    t.equal((await get(path, { 'if-modified-since': modified })).status, 304, `${path} unchanged`);
    t.equal((await get(path, { 'if-modified-since': 'yesterday' })).status, 200, 'what is no date');
    const before = new Date(Date.parse(modified) - 1000).toUTCString();
    t.equal((await get(path, { 'if-modified-since': before })).status, 200);
  }
  const before = await Promise.all(views.map(dateOf));
  await post(`${url}/dated`, 'y');
  for (const [n, path] of views.entries())
    t.equal((await get(path, { 'if-modified-since': before[n]! })).status, 200, `${path} changed`);
  await untilDated();
  for (const [n, path] of views.entries()) {
    const now = await dateOf(path);
    t.ok(Date.parse(now) > Date.parse(before[n]!));
    t.equal((await get(path, { 'if-modified-since': before[n]! })).status, 200, `${path} changed`);
    t.equal((await get(path, { 'if-modified-since': now })).status, 304, `${path} unchanged again`);
  }
});

t.test('of two edits of a file at once the later has another tag', async (t) => {
  const path = join(dir, 'key', 'edited.md');
  const address = `/r/${readId}/edited.md`;
  const shows = (text: string) => eventually(async () => (await get(address)).text === text);
  for (let round = 0; round < 3; round += 1) {
    await writeFile(path, `one ${round}`);
    t.ok(await shows(`one ${round}`));
    const { etag } = (await get(address)).headers;
    await writeFile(path, `two ${round}`);
    t.ok(await shows(`two ${round}`));
    t.equal((await get(address, { 'if-none-match': etag! })).status, 200);
  }
});

t.test('a date is believed after a restart, too', async (t) => {
  let own = await start(t);
  // After a restart the date is that of the folder, some ms from that of the change, and so now and then another second.
  const isBelieved = async () => {
    const { json } = await post(`${own.url}/key`, 'x');
    const { pathname } = new URL(json.read_url);
    await untilDated();
    const modified = (await exactly(own.url + pathname)).headers['last-modified']!;
    own = await own.restart();
    const headers = { 'if-modified-since': modified };
    const reply = await exactly(own.url + pathname, { headers });
    return reply.status === 304 && reply.headers['last-modified'] === modified;
  };
  t.ok(await eventually(isBelieved));
});

t.test('the same bytes have the same tag after a restart', async (t) => {
  const before = await Promise.all(VIEWS.map((path) => get(path, { host: 'notes.example' })));
  const again = await service.restart();
  for (const [index, path] of VIEWS.entries()) {
    const after = await exactly(again.url + path, { headers: { host: 'notes.example' } });
    if (after.text === before[index]!.text) t.equal(after.headers.etag, before[index]!.headers.etag, path);
    else t.not(after.headers.etag, before[index]!.headers.etag, path);
  }
});
