/** Nobody can find out by asking which read ids exist. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { exactly } from '../support/exact-request.ts';
import { NoteStream } from '../support/note-stream.ts';
import { ask, start, tempDir } from '../support/service.ts';

const data = await tempDir(t);
await mkdir(join(data, 'empty'));
await writeFile(join(data, 'empty', '.readid'), 'of-the-empty-feed');
const { url } = await start(t, { SERVICE_TRUST_PROXY: '1' }, data);
/** Of one length, so that the answers are. */
const EMPTY = 'of-the-empty-feed';
const UNKNOWN = 'of-no-feed-at-all';
t.equal(EMPTY.length, UNKNOWN.length);

const VIEWS = [
  ...['/r/{id}/feed.xml', '/r/{id}/feed.json', '/r/{id}/feed.xml?tag=a', '/r/{id}/feed.json?tag=a'],
  ...['/api/v1/read/{id}', '/api/v1/read/{id}/notes', '/api/v1/read/{id}/notes?limit=3&tag=a'],
  '/api/v1/read/{id}/notes?before=20260101T000000Z-00000000-0000-4000-8000-000000000000',
  ...['/api/v1/read/{id}/notes?before=a', '/api/v1/read/{id}/notes?before=1.a.md'],
  ...[
    '/api/v1/read/{id}/notes?q=a&from=2020-01-01',
    '/r/{id}/feed.xml?q=a',
    '/r/{id}/feed.json?to=2999-01-01',
  ],
  ...['/api/v1/read/{id}/tags', '/api/v1/read/{id}/tags?q=a'],
];
const ABSENT = ['/r/{id}/a.md', '/r/{id}/a.png', '/api/v1/read/{id}/notes/a', '/r/{id}/a', '/r/{id}/.readid'];
const FORMS: Record<string, string>[] = [
  {},
  { 'accept-encoding': 'gzip' },
  { 'accept-encoding': 'br' },
  { 'if-none-match': '*' },
  { 'if-modified-since': new Date(Date.now() + 60_000).toUTCString() },
  { range: 'bytes=0-9' },
];

t.test('an unknown read id is answered byte for byte like an empty feed', async (t) => {
  for (const path of [...VIEWS, ...ABSENT])
    for (const headers of FORMS)
      for (const method of ['GET', 'HEAD', 'OPTIONS', 'POST']) {
        const asked = async (id: string) => {
          const reply = await exactly(url + path.replace('{id}', id), { method, headers });
          const { date: _, 'x-request-id': __, etag, 'cache-tag': cacheTag, ...fields } = reply.headers;
          // The tag of a view that holds its own address differs with it, and must only have the same form.
          const tag = path.startsWith('/r/') ? etag?.length : etag;
          return {
            status: reply.status,
            fields,
            tag,
            cacheTag: String(cacheTag).replace(id, '{id}'),
            text: reply.bytes.toString('latin1').replaceAll(id, '{id}'),
          };
        };
        t.strictSame(
          await asked(UNKNOWN),
          await asked(EMPTY),
          `${method} ${path} ${JSON.stringify(headers)}`,
        );
      }
});

t.test('its streams of notes are those of an empty feed', async (t) => {
  const places: Record<string, string>[] = [
    {},
    { since: '0' },
    { since: 'a' },
    { since: '20260101T000000Z-00000000-0000-4000-8000-000000000000' },
    { since: 'a.b' },
  ];
  for (const place of places)
    for (const headers of [{}, { accept: 'application/x-ndjson' }]) {
      const query = new URLSearchParams({ notes: '1', ...place });
      const streams = await Promise.all(
        [UNKNOWN, EMPTY].map((id) => NoteStream.open(t, `${url}/r/${id}/events?${query}`, headers)),
      );
      // What an empty feed says at the beginning comes at once.
      if ('since' in place && place.since !== '0') for (const stream of streams) await stream.hears(1);
      t.equal(streams[0]!.text, streams[1]!.text, `${query} ${JSON.stringify(headers)}`);
      for (const stream of streams) stream.close();
    }
});

t.test('it is an empty feed', async (t) => {
  for (const path of VIEWS) t.equal((await ask(url + path.replace('{id}', UNKNOWN))).status, 200, path);
  t.strictSame((await ask(`${url}/api/v1/read/${UNKNOWN}/notes`)).json, { notes: [], next: null });
  t.strictSame((await ask(`${url}/api/v1/read/${UNKNOWN}`)).json, {
    title: '',
    description: '',
    image_url: null,
  });
  t.strictSame((await ask(`${url}/r/${UNKNOWN}/feed.json`)).json.items, []);
  const rss = await ask(`${url}/r/${UNKNOWN}/feed.xml`);
  t.match(rss.text, /<title>Note Feed<\/title>/);
  t.notMatch(rss.text, /<item>|lastBuildDate/);
  t.equal(rss.headers.get('last-modified'), null);
});

t.test('its notes and files are not there', async (t) => {
  for (const path of ABSENT) {
    const reply = await ask(url + path.replace('{id}', UNKNOWN));
    t.match(reply, { status: 404, json: { code: 'not_found' } }, path);
  }
});

t.test('a malformed read id is not there', async (t) => {
  for (const id of ['ab', 'a'.repeat(65), 'a.b', 'a%20b', 'caf%C3%A9', 'a%2Fb', 'a%00b', '..%2f..'])
    for (const path of [...VIEWS, ...ABSENT])
      t.match(
        await ask(url + path.replace('{id}', id)),
        { status: 404, json: { code: 'not_found' } },
        path.replace('{id}', id),
      );
});
