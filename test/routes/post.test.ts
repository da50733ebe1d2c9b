/** Posting raw notes, through HTTP. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { picture } from '../support/pictures.ts';
import { ask, post, start } from '../support/service.ts';

const service = await start(t, { SERVICE_RESERVED_FEEDS: 'news', SERVICE_MAX_IMAGE_BYTES: '300000' });
const { url, dir } = service;
const ID = /^\d{8}T\d{6}Z-[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

function everything(): string {
  return JSON.stringify(readdirSync(dir, { recursive: true }).sort());
}

for (const path of ['first', 'first/', 'api/v1/feeds/first/notes', 'api/v1/feeds/first/notes/'])
  t.test(`POST /${path} stores markdown byte for byte`, async (t) => {
    const text = '\ufeff# Größe\r\n\r\n\tand 😀\n\n';
    const { status, json, headers } = await post(`${url}/${path}`, text);
    t.equal(status, 201);
    t.match(json.id, ID);
    t.strictSame(json, {
      id: json.id,
      url: `${url}/first/${json.id}`,
      feed_url: `${url}/first`,
      read_url: json.read_url,
      file: `${json.id}.md`,
      file_url: json.read_url.replace('feed.xml', `${json.id}.md`),
    });
    t.match(json.read_url, /\/r\/[A-Za-z0-9_-]{22}\/feed\.xml$/);
    t.equal(headers.get('location'), json.url);
    t.equal(readFileSync(join(dir, 'first', json.file), 'utf8'), text);
    t.equal((await ask(json.file_url)).text, text);
    t.throws(() => readFileSync(join(dir, 'first', `.${json.file}.json`)), 'no metadata, no metadata file');
  });

for (const type of ['png', 'jpg', 'gif', 'webp'] as const)
  for (const size of [64, 200_000])
    t.test(`a ${type} of ${size} bytes`, async (t) => {
      const bytes = picture(type, size);
      const media = type === 'jpg' ? 'image/jpeg' : `image/${type}`;
      const { status, json } = await post(`${url}/pictures`, bytes, {
        'content-type': media,
        'x-note-alt': ' A cat ',
        'x-note-name': 'cat.file',
        'x-note-title': 'Cat',
        'x-note-tags': 'Pets, cats,pets',
      });
      t.equal(status, 201);
      t.equal(json.file, `${json.id}.${type}`);
      const file = await ask(json.file_url);
      t.ok(file.bytes.equals(bytes));
      t.equal(file.headers.get('content-type'), media);
      const note = await ask(`${url}/api/v1/feeds/pictures/notes/${json.id}`);
      t.match(note.json, {
        type: media,
        size,
        alt: 'A cat',
        name: 'cat.file',
        title: 'Cat',
        tags: ['pets', 'cats'],
      });
      t.notOk('content' in note.json);
    });

const MD = { 'content-type': 'text/markdown' };
const PNG = { 'content-type': 'image/png' };
const png = picture('png');

/** Refused posts: headers, body, status, code, and a word that the sentence must hold. */
const REFUSALS: [
  string,
  string,
  Record<string, string>,
  string | Uint8Array<ArrayBuffer>,
  number,
  string,
  string?,
][] = [
  ['a capital in the name', '/Feed', MD, 'x', 400, 'invalid_feed'],
  ['a name of 65', `/${'a'.repeat(65)}`, MD, 'x', 400, 'invalid_feed'],
  ['a dot in the name', '/a.b', MD, 'x', 400, 'invalid_feed'],
  ['an encoded slash in the name', '/a%2Fb', MD, 'x', 400, 'invalid_feed'],
  ['a bad encoding in the name', '/a%zz', MD, 'x', 400, 'invalid_request'],
  ['a name by the API', '/api/v1/feeds/A/notes', MD, 'x', 400, 'invalid_feed'],
  ...[
    'r',
    'api',
    'login',
    'mcp',
    'metrics',
    'n',
    '_next',
    'static',
    'health',
    'imprint',
    'privacy',
    'terms',
    'license',
    'news',
  ].flatMap((name) =>
    [`/${name}`, `/api/v1/feeds/${name}/notes`].map(
      (path) =>
        [`the reserved ${path}`, path, MD, 'x', 400, 'reserved_feed'] as [
          string,
          string,
          typeof MD,
          string,
          number,
          string,
        ],
    ),
  ),
  ['HTML', '/new', { 'content-type': 'text/html' }, 'x', 415, 'unsupported_type', 'text/markdown'],
  ['SVG', '/new', { 'content-type': 'image/svg+xml' }, '<svg/>', 415, 'unsupported_type'],
  [
    'markdown in Latin 1',
    '/new',
    { 'content-type': 'text/markdown; charset=iso-8859-1' },
    'x',
    415,
    'unsupported_type',
  ],
  ['markdown that is not UTF-8', '/new', MD, new Uint8Array([0x61, 0xff]), 415, 'unsupported_type', 'UTF-8'],
  ['an empty picture', '/new', PNG, '', 415, 'unsupported_type'],
  ['a picture of another type', '/new', PNG, picture('gif'), 415, 'unsupported_type'],
  ['a large picture of another type', '/new', PNG, picture('gif', 200_000), 415, 'unsupported_type'],
  ['a shortened signature', '/new', PNG, png.subarray(0, 7), 415, 'unsupported_type'],
  ['no text', '/new', MD, '', 400, 'empty_note'],
  ['a blank text', '/new', MD, '\ufeff \n\t\u00a0', 400, 'empty_note'],
  ['a text too large', '/new', MD, 'x'.repeat(102_401), 413, 'too_large', '102400'],
  ['a picture too large', '/new', PNG, picture('png', 300_001), 413, 'too_large', '300000'],
  [
    'a long title',
    '/new',
    { ...MD, 'x-note-title': 'x'.repeat(101) },
    'x',
    400,
    'invalid_request',
    'X-Note-Title',
  ],
  [
    'a title with a tab',
    '/new',
    { ...MD, 'x-note-title': 'a\tb' },
    'x',
    400,
    'invalid_request',
    'X-Note-Title',
  ],
  [
    'an override in the title',
    '/new',
    { ...MD, 'x-note-title*': "UTF-8''a%E2%80%AEb" },
    'x',
    400,
    'invalid_request',
  ],
  ['a malformed title*', '/new', { ...MD, 'x-note-title*': 'a' }, 'x', 400, 'invalid_request', 'RFC 8187'],
  [
    'a malformed encoded word',
    '/new',
    { ...MD, 'x-note-title': '=?x?y?z?=' },
    'x',
    400,
    'invalid_request',
    'RFC 2047',
  ],
  [
    'a tag with a space',
    '/new',
    { ...MD, 'x-note-tags': 'ok,not ok' },
    'x',
    400,
    'invalid_request',
    'not ok',
  ],
  ['eleven tags', '/new', { ...MD, 'x-note-tags': '1,2,3,4,5,6,7,8,9,10,11' }, 'x', 400, 'invalid_request'],
  ['alt on markdown', '/new', { ...MD, 'x-note-alt': 'a' }, 'x', 400, 'invalid_request', 'X-Note-Alt'],
  [
    'a long alt',
    '/new',
    { ...PNG, 'x-note-alt': 'x'.repeat(501) },
    png,
    400,
    'invalid_request',
    'X-Note-Alt',
  ],
  ['a read id too short', '/new', { ...MD, 'x-read-id': 'ab' }, 'x', 400, 'invalid_request', 'read id'],
  ['a read id with a capital', '/new', { ...MD, 'x-read-id': 'Abc' }, 'x', 400, 'invalid_request', 'read id'],
  ['a reserved read id', '/new', { ...MD, 'x-read-id': 'login' }, 'x', 400, 'invalid_request', 'reserved'],
  [
    'a read id of a reserved feed',
    '/new',
    { ...MD, 'x-read-id': 'news' },
    'x',
    400,
    'invalid_request',
    'reserved',
  ],
  ['the name as read id', '/new', { ...MD, 'x-read-id': 'new' }, 'x', 400, 'invalid_request', 'key'],
  ['a taken read id', '/new', { ...MD, 'x-read-id': 'taken-id' }, 'x', 409, 'taken'],
];

t.test('refusals change nothing', async (t) => {
  await post(`${url}/owner`, 'x', { 'x-read-id': 'taken-id' });
  const before = everything();
  for (const [what, path, headers, body, status, code, word = ''] of REFUSALS) {
    const reply = await ask(`${url}${path}`, { method: 'POST', headers, body });
    t.equal(reply.status, status, what);
    t.equal(reply.json?.code, code, what);
    t.ok(reply.json?.error.includes(word), `${what}: ${reply.json?.error}`);
    t.notMatch(reply.json?.error, /taken-id|owner/, what);
  }
  t.equal(everything(), before);
});

t.test('pictures can be switched off, and so can choosing read ids', async (t) => {
  const strict = await start(t, { SERVICE_IMAGE_UPLOADS: '0', SERVICE_ALLOW_CUSTOM_IDS: '0' });
  t.match(await post(`${strict.url}/a`, png, PNG), { status: 403, json: { code: 'images_off' } });
  t.match(await post(`${strict.url}/a`, 'x', { 'x-read-id': 'mine' }), { status: 400 });
  t.equal((await post(`${strict.url}/a`, 'x', { 'x-read-id': '' })).status, 201);
});

t.test('the largest text and the largest picture are taken', async (t) => {
  t.equal((await post(`${url}/large`, 'x'.repeat(102_400))).status, 201);
  t.equal((await post(`${url}/large`, picture('png', 300_000), PNG)).status, 201);
});

t.test('titles in the three forms of a header', async (t) => {
  const title = async (headers: Record<string, string>) => {
    const { json } = await post(`${url}/titles`, 'text', headers);
    return (await ask(`${url}/api/v1/feeds/titles/notes/${json.id}`)).json.title;
  };
  t.equal(await title({ 'x-note-title': 'plain' }), 'plain');
  t.equal(await title({ 'x-note-title*': "UTF-8''caf%C3%A9%20%F0%9F%98%80" }), 'café 😀');
  t.equal(await title({ 'x-note-title': '=?UTF-8?B?w6ljb2xl?=' }), 'école');
  t.equal(await title({ 'x-note-title': Buffer.from('Größe').toString('latin1') }), 'Größe', 'raw UTF-8');
  t.equal(await title({}), 'text', 'derived from the text');
});

t.test('a chosen read id names the feed, and only its first post chooses', async (t) => {
  const first = await post(`${url}/chosen`, 'x', { 'x-read-id': 'my_read-id' });
  t.equal(first.json.read_url, `${url}/r/my_read-id/feed.xml`);
  const second = await post(`${url}/chosen`, 'x', { 'x-read-id': 'Not even valid' });
  t.equal(second.json.read_url, first.json.read_url);
});

t.test('posts at once to a new name make one feed, in order', async (t) => {
  const replies = await Promise.all(Array.from({ length: 50 }, (_, i) => post(`${url}/burst`, `note ${i}`)));
  t.equal(new Set(replies.map(({ json }) => json.read_url)).size, 1);
  const { json } = await ask(`${url}/api/v1/feeds/burst/notes?limit=100`);
  t.equal(json.notes.length, 50);
  const ids = json.notes.map(({ id }: { id: string }) => id);
  t.strictSame(ids, [...ids].sort().reverse());
});

t.test('JSON ends with a line end, as the output of a command does', async (t) => {
  const { json } = await post(`${url}/lined`, 'text');
  const addresses = [
    '/api/v1/feeds/lined',
    '/api/v1/feeds/lined/notes',
    `/api/v1/feeds/lined/notes/${json.id}`,
    '/api/v1/feeds/lined/notes/none',
    '/api/v1/feeds/unknown/notes',
    json.read_url.slice(url.length).replace('.xml', '.json'),
    '/api/v1/openapi.json',
    '/health',
  ];
  t.match((await post(`${url}/lined`, 'text')).text, /^\{.*\}\n$/);
  for (const address of addresses) t.match((await ask(`${url}${address}`)).text, /[^\n]\n$/, address);
});

t.test('of two feeds that choose one read id at once, one gets it', async (t) => {
  const replies = await Promise.all(
    Array.from({ length: 10 }, (_, i) => post(`${url}/race-${i}`, 'x', { 'x-read-id': 'raced' })),
  );
  t.equal(replies.filter(({ status }) => status === 201).length, 1);
  t.equal(replies.filter(({ json }) => json.code === 'taken').length, 9);
});

t.test('nothing secret is logged', async (t) => {
  const log = JSON.stringify(service.lines);
  for (const secret of ['first', 'pictures', 'my_read-id', 'raced', '127.0.0.1"'])
    t.notOk(log.includes(`${secret}`), secret);
  t.match(service.lines.at(-1)?.fields, { method: String, route: String, status: Number, ms: Number });
});

t.test('the tag of a picture is made from its bytes, whoever hashed them', async (t) => {
  const first = await start(t);
  for (const size of [100, 200_000]) {
    const bytes = picture('png', size);
    const { json } = await post(`${first.url}/hashed`, bytes, PNG);
    const tag = (await ask(json.file_url)).headers.get('etag');
    t.equal(tag, `"${createHash('sha256').update(bytes).digest('base64url')}"`);
  }
  const { json } = await post(`${first.url}/hashed`, picture('gif', 100), { 'content-type': 'image/gif' });
  const changed = picture('gif', 100, 1);
  writeFileSync(join(first.dir, 'hashed', json.file), changed);
  const expected = `"${createHash('sha256').update(changed).digest('base64url')}"`;
  let tag: string | null = null;
  while (tag !== expected) tag = (await ask(json.file_url)).headers.get('etag');
  const second = await first.restart();
  const again = await ask(`${second.url}${new URL(json.file_url).pathname}`);
  t.equal(again.headers.get('etag'), expected, 'the same after a restart, when nobody knows it');
});
