/** Replacing, changing and deleting notes, through HTTP, by a note's own address and by the API's. */
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { PIXEL, picture } from '../support/pictures.ts';
import { type Refused, refusesAll } from '../support/refused.ts';
import { ask, start } from '../support/service.ts';

const service = await start(t, { SERVICE_MAX_IMAGE_BYTES: '300000' });
const { url, dir } = service;
const MD = { 'content-type': 'text/markdown' };
const PNG = { 'content-type': 'image/png' };
const JSON_TYPE = { 'content-type': 'application/json' };

/** The two paths of a note. */
const PATHS = [
  { kind: 'its own address', feed: 'walrus-one', path: (id: string) => `/walrus-one/${id}` },
  { kind: 'the API', feed: 'walrus-two', path: (id: string) => `/api/v1/feeds/walrus-two/notes/${id}` },
];

for (const { kind, feed, path } of PATHS) {
  const client = new FeedClient(url, feed);
  const at = (id: string) => url + path(id);

  t.test(`PUT of a text by ${kind} keeps all but its bytes`, async (t) => {
    const posted = await client.post('before', { 'x-note-title': 'Title', 'x-note-tags': 'a,b' });
    const { id, file, file_url: fileUrl, read_url: readUrl } = posted.json;
    const before = (await client.get(`/notes/${id}`)).json;
    const text = '\ufeffafter\r\n\r\n\t😀 \n\n';
    const ignored = { 'x-note-title': 'Other', 'x-note-tags': 'c' };
    const reply = await ask(at(id), { method: 'PUT', headers: { ...MD, ...ignored }, body: text });
    const size = Buffer.byteLength(text);
    t.equal(reply.status, 200);
    t.strictSame(reply.json, { ...before, content: text, size });
    t.strictSame((await client.get(`/notes/${id}`)).json, reply.json);
    t.equal(readFileSync(join(dir, feed, file), 'utf8'), text);
    t.equal((await ask(fileUrl)).text, text);
    t.ok((await ask(readUrl)).text.includes('after'));
  });

  t.test(`PUT of a picture by ${kind} takes another of its type`, async (t) => {
    const described = { 'x-note-alt': 'Alt', 'x-note-name': 'a.png', 'x-note-tags': 'pic' };
    const posted = await client.post(picture('png'), { ...PNG, ...described });
    const { id, file, file_url: fileUrl } = posted.json;
    for (const size of [100, 250_000]) {
      const bytes = picture('png', size, 3);
      const reply = await ask(at(id), { method: 'PUT', headers: PNG, body: bytes });
      t.equal(reply.status, 200);
      t.match(reply.json, { id, size, alt: 'Alt', name: 'a.png', tags: ['pic'], type: 'image/png' });
      t.ok((await ask(fileUrl)).bytes.equals(bytes), 'byte for byte');
      t.ok(readFileSync(join(dir, feed, file)).equals(bytes));
    }
  });

  t.test(`PATCH by ${kind} sets and removes titles, alts and tags`, async (t) => {
    const patch = async (id: string, change: unknown) => {
      const reply = await ask(at(id), { method: 'PATCH', headers: JSON_TYPE, body: JSON.stringify(change) });
      t.equal(reply.status, 200, reply.text);
      t.strictSame((await client.get(`/notes/${id}`)).json, reply.json);
      return reply.json;
    };
    const headers = { ...PNG, 'x-note-alt': 'Old', 'x-note-name': 'n.png', 'x-note-tags': 'kept' };
    const image = (await client.post(picture('png'), headers)).json.id;
    t.match(await patch(image, { title: ' Größe 😀 ' }), { title: 'Größe 😀', alt: 'Old' });
    t.match(await patch(image, { alt: 'New', other: 1 }), { title: 'Größe 😀', alt: 'New', tags: ['kept'] });
    t.match(await patch(image, { title: '' }), { title: 'New', alt: 'New', name: 'n.png' });
    t.notOk('alt' in (await patch(image, { alt: '' })));

    t.same((await patch(image, { tags: [' Z2 ', 'z1', '', 'z2'] })).tags, ['z2', 'z1']);
    t.same((await patch(image, { title: 'T' })).tags, ['z2', 'z1'], 'what is left out stays');
    t.same(
      (await client.list('?tag=z1')).json.notes.map((note: { id: string }) => note.id),
      [image],
    );
    t.same((await patch(image, { tags: [] })).tags, []);
    t.same((await client.list('?tag=z1')).json.notes, []);

    const text = (await client.post('# Heading')).json.id;
    t.match(await patch(text, { title: 'Set' }), { title: 'Set', content: '# Heading' });
    t.match(await patch(text, { title: '' }), { title: 'Heading', content: '# Heading' });
  });

  t.test(`DELETE by ${kind} leaves nothing of a note`, async (t) => {
    const posted = await client.post(picture('gif'), { 'content-type': 'image/gif', 'x-note-alt': 'gone' });
    const { id, file, file_url: fileUrl, read_url: readUrl } = posted.json;
    t.ok((await ask(readUrl)).text.includes(id));
    const reply = await ask(at(id), { method: 'DELETE' });
    t.equal(reply.status, 204);
    t.equal(reply.text, '');
    t.notOk(existsSync(join(dir, feed, file)), 'no file');
    t.notOk(existsSync(join(dir, feed, `.${file}.json`)), 'no metadata');
    t.equal((await ask(fileUrl)).status, 404);
    t.equal((await client.get(`/notes/${id}`)).status, 404);
    t.notOk((await client.list()).text.includes(id));
    t.notOk((await ask(readUrl)).text.includes(id));
    t.match(await ask(at(id), { method: 'DELETE' }), { status: 404, json: { code: 'not_found' } });
  });

  t.test(`DELETE of the title image by ${kind} clears it`, async (t) => {
    const { file, id } = (await client.post(picture('png'), PNG)).json;
    const other = (await client.post(picture('png'), PNG)).json;
    t.match((await client.set({ image: file })).json.image_url, file);
    await ask(at(other.id), { method: 'DELETE' });
    t.match((await client.get()).json.image_url, file, 'not by deleting another');
    await ask(at(id), { method: 'DELETE' });
    t.equal((await client.get()).json.image_url, null);
    t.notOk(existsSync(join(dir, feed, '.feed.json')), 'nor is it kept in the settings');
  });

  t.test(`what is wrong by ${kind} changes nothing`, async (t) => {
    const described = { 'x-note-title': 'T', 'x-note-alt': 'A', 'x-note-tags': 'x' };
    const text = (await client.post('text', { 'x-note-title': 'Kept' })).json;
    const image = (await client.post(picture('png'), { ...PNG, ...described })).json;
    const put = (what: string, id: string, headers: Record<string, string>, body: Refused['body']) => ({
      what,
      method: 'PUT',
      path: path(id),
      headers,
      body: body ?? '',
    });
    const patch = (what: string, id: string, body: string) => ({
      what,
      method: 'PATCH',
      path: path(id),
      headers: JSON_TYPE,
      body,
    });
    const NOBODY = '20260101T000000Z-00000000-0000-7000-8000-000000000000';
    const rows: Refused[] = [
      {
        ...put('HTML', text.id, { 'content-type': 'text/html' }, 'x'),
        status: 415,
        code: 'unsupported_type',
      },
      { ...put('a wrong type', text.id, JSON_TYPE, 'x'), status: 415, code: 'unsupported_type' },
      {
        ...put('SVG', image.id, { 'content-type': 'image/svg+xml' }, 'x'),
        status: 415,
        code: 'unsupported_type',
      },
      { ...put('a picture for a text', text.id, PNG, picture('png')), status: 415, code: 'unsupported_type' },
      { ...put('a text for a picture', image.id, MD, 'x'), status: 415, code: 'unsupported_type' },
      {
        ...put('another picture type', image.id, { 'content-type': 'image/gif' }, picture('gif')),
        status: 415,
        code: 'unsupported_type',
        word: 'same type',
      },
      {
        ...put('bytes of another type', image.id, PNG, picture('gif')),
        status: 415,
        code: 'unsupported_type',
      },
      { ...put('an empty picture', image.id, PNG, ''), status: 415, code: 'unsupported_type' },
      { ...put('an empty text', text.id, MD, ''), status: 400, code: 'empty_note' },
      { ...put('a blank text', text.id, MD, ' \n\t'), status: 400, code: 'empty_note' },
      {
        ...put('bytes not UTF-8', text.id, MD, new Uint8Array([255])),
        status: 415,
        code: 'unsupported_type',
      },
      { ...put('102,401 bytes of text', text.id, MD, 'x'.repeat(102_401)), status: 413, code: 'too_large' },
      {
        ...put('300,001 bytes of picture', image.id, PNG, picture('png', 300_001)),
        status: 413,
        code: 'too_large',
      },
      { ...put('an absent note', NOBODY, MD, 'x'), status: 404, code: 'not_found' },
      { ...put('a dot in the id', `${text.id}.md`, MD, 'x'), status: 404, code: 'not_found' },
      { ...patch('no JSON', text.id, '{title'), status: 400, code: 'invalid_body' },
      { ...patch('no body', text.id, ''), status: 400, code: 'invalid_body' },
      { ...patch('an array', text.id, '[]'), status: 400, code: 'invalid_body' },
      { ...patch('null', text.id, 'null'), status: 400, code: 'invalid_body' },
      {
        ...patch('a number as title', text.id, '{"title":1}'),
        status: 400,
        code: 'invalid_body',
        word: 'title',
      },
      { ...patch('null as alt', image.id, '{"alt":null}'), status: 400, code: 'invalid_body', word: 'alt' },
      {
        ...patch('a bad tag', text.id, '{"tags":["a b"]}'),
        status: 400,
        code: 'invalid_request',
        word: 'a b',
      },
      {
        ...patch('tags that are no array', text.id, '{"tags":"a"}'),
        status: 400,
        code: 'invalid_body',
        word: 'array',
      },
      { ...patch('nothing to change', text.id, '{}'), status: 400, code: 'invalid_request' },
      { ...patch('only what is not known', text.id, '{"sender":"a"}'), status: 400, code: 'invalid_request' },
      {
        ...patch('an alt for a text', text.id, '{"title":"a","alt":"b"}'),
        status: 400,
        code: 'invalid_request',
      },
      { ...patch('an empty alt for a text', text.id, '{"alt":""}'), status: 400, code: 'invalid_request' },
      {
        ...patch('101 characters of title', text.id, JSON.stringify({ title: '😀'.repeat(101) })),
        status: 400,
        code: 'invalid_request',
        word: 'title',
      },
      {
        ...patch('501 characters of alt', image.id, JSON.stringify({ alt: 'x'.repeat(501) })),
        status: 400,
        code: 'invalid_request',
        word: 'alt',
      },
      { ...patch('a line break', text.id, '{"title":"a\\nb"}'), status: 400, code: 'invalid_request' },
      { ...patch('an override', image.id, '{"alt":"a\\u202eb"}'), status: 400, code: 'invalid_request' },
      {
        ...patch('8 KB and more', text.id, `{"title":"${'x'.repeat(8192)}"}`),
        status: 413,
        code: 'too_large',
      },
      { ...patch('an absent note', NOBODY, '{"title":"a"}'), status: 404, code: 'not_found' },
      { what: 'an absent note', method: 'DELETE', path: path(NOBODY), status: 404, code: 'not_found' },
      { what: 'a file name', method: 'DELETE', path: path(text.file), status: 404, code: 'not_found' },
      { what: 'a dot file', method: 'DELETE', path: path('.readid'), status: 404, code: 'not_found' },
      { what: 'a way up', method: 'DELETE', path: path('..%2F.secret'), status: 404, code: 'not_found' },
      ...['PUT', 'PATCH', 'DELETE'].map((method) => ({
        what: 'an absent feed',
        method,
        path: path(text.id).replace(feed, 'nobody'),
        headers: method === 'PATCH' ? JSON_TYPE : MD,
        ...(method !== 'DELETE' && { body: '{"title":"a"}' }),
        status: 404,
        code: 'not_found',
      })),
      ...['PUT', 'PATCH', 'DELETE'].map((method) => ({
        what: 'a wrong feed name',
        method,
        path: path(text.id).replace(feed, 'Walrus'),
        headers: method === 'PATCH' ? JSON_TYPE : MD,
        ...(method !== 'DELETE' && { body: '{"title":"a"}' }),
        status: 400,
        code: 'invalid_feed',
      })),
    ];
    const readId = readIdIn(text.file_url);
    const views = [
      { path: `/api/v1/feeds/${feed}` },
      { path: `/api/v1/feeds/${feed}/notes` },
      { path: `/r/${readId}/feed.xml` },
      { path: `/r/${readId}/${image.file}` },
      { path: '/api/v1/feeds/nobody' },
    ];
    await refusesAll(t, { service, views, secrets: [feed, 'nobody'] }, rows);
  });
}

t.test('a note path takes no other methods', async (t) => {
  const { id } = (await new FeedClient(url, 'walrus-one').post()).json;
  const byApi = await ask(`${url}/api/v1/feeds/walrus-one/notes/${id}`, { method: 'POST' });
  t.match(byApi, {
    status: 405,
    json: { code: 'method_not_allowed', error: /GET, HEAD, PUT, PATCH, DELETE/ },
  });
  for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE'])
    t.ok(byApi.headers.get('allow')?.includes(method), method);
});

t.test('the longest texts are taken', async (t) => {
  const client = new FeedClient(url, 'walrus-long');
  const text = (await client.post()).json.id;
  const image = (await client.post(picture('png'), PNG)).json.id;
  const replaced = await ask(`${url}/walrus-long/${text}`, {
    method: 'PUT',
    headers: MD,
    body: 'x'.repeat(102_400),
  });
  t.match(replaced, { status: 200, json: { size: 102_400 } });
  const largest = picture('png', 300_000);
  t.equal(
    (await ask(`${url}/walrus-long/${image}`, { method: 'PUT', headers: PNG, body: largest })).status,
    200,
  );
  const change = { title: '😀'.repeat(100), alt: 'é'.repeat(500) };
  t.match((await client.send('PATCH', `/notes/${image}`, JSON.stringify(change))).json, change);
});

t.test('with pictures switched off none is replaced, and those that exist stay readable', async (t) => {
  const open = await start(t);
  const posted = (await new FeedClient(open.url, 'walrus-off').post(picture('png'), PNG)).json;
  await open.stop();
  const off = await start(t, { SERVICE_IMAGE_UPLOADS: '0' }, open.dir);
  const refused = { headers: PNG, body: picture('png', 70), status: 403, code: 'images_off' };
  const filePath = new URL(posted.file_url).pathname;
  await refusesAll(t, { service: off, views: [{ path: filePath }], secrets: ['walrus-off'] }, [
    { what: 'a picture', method: 'POST', path: '/walrus-off', ...refused },
    { what: 'a picture', method: 'POST', path: '/walrus-new', ...refused },
    { what: 'a picture', method: 'PUT', path: `/walrus-off/${posted.id}`, ...refused },
  ]);
  t.ok((await ask(off.url + filePath)).bytes.equals(picture('png')));
  const client = new FeedClient(off.url, 'walrus-off');
  t.equal((await client.send('PATCH', `/notes/${posted.id}`, '{"alt":"still"}')).status, 200);
  t.equal((await client.send('DELETE', `/notes/${posted.id}`)).status, 204);
});

/** A picture whose header says these sides, with some bytes more at its end. */
function sized(width: number, height: number, more = 0): Buffer<ArrayBuffer> {
  const bytes = Buffer.concat([PIXEL, Buffer.alloc(more)]);
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return bytes;
}

t.test('a picture that is turned has another width and height, though as many bytes', async (t) => {
  const client = new FeedClient(url, 'turned');
  const { id, read_url } = (await client.post(sized(40, 30), PNG)).json;
  const page = () => ask(`${url}/r/${readIdIn(read_url)}`);
  t.match((await page()).text, 'width="40" height="30"');
  const put = { method: 'PUT', headers: PNG, body: sized(30, 40) };
  t.equal((await ask(`${url}/turned/${id}`, put)).status, 200);
  t.match((await page()).text, 'width="30" height="40"');
});

t.test(
  'a picture that is placed or replaced by hand has the width and height of its bytes',
  { skip: (process.env.SERVICE_STORAGE ?? 'fs') !== 'fs' },
  async (t) => {
    const shows = async (feed: string, file: string, width: number, height: number, more: number) => {
      await writeFile(join(dir, feed, file), sized(width, height, more));
      const size = `width="${width}" height="${height}"`;
      t.ok(
        await eventually(async () => (await ask(`${url}/${feed}`)).text.includes(size)),
        `${feed} ${size}`,
      );
    };
    const { file } = (await new FeedClient(url, 'by-hand').post(sized(40, 30), PNG)).json;
    await shows('by-hand', file, 30, 40, 1);
    await shows('by-hand', 'placed.png', 20, 10, 0);
    await shows('by-hand', 'placed.png', 50, 60, 1);
    await new FeedClient(url, 'by-hand-too').post();
    await shows('by-hand-too', 'placed.png', 70, 80, 1);
  },
);
