/** The record of a feed: reading and changing it, through HTTP. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { picture } from '../support/pictures.ts';
import { type Refused, refusesAll } from '../support/refused.ts';
import { ask, start } from '../support/service.ts';

const ENV = { SERVICE_RESERVED_FEEDS: 'news' };
const service = await start(t, ENV);
const { url, dir } = service;
const PNG = { 'content-type': 'image/png' };

function feed(name: string): FeedClient {
  return new FeedClient(url, name);
}

/** What readers see under a read id. */
async function listed(readId: string): Promise<string[]> {
  const { json } = await ask(`${url}/api/v1/read/${readId}/notes?limit=100`);
  return json.notes.map(({ id }: { id: string }) => id);
}

t.test('a new feed has a read link and nothing else', async (t) => {
  const { json } = await feed('otter').post();
  const record = await feed('otter').get();
  t.equal(record.status, 200);
  t.equal(record.headers.get('cache-control'), 'private, no-store');
  t.strictSame(record.json, {
    name: 'otter',
    title: '',
    description: '',
    show_sender: true,
    listed: false,
    image_url: null,
    protected: false,
    read_url: json.read_url,
    keep: null,
  });
});

t.test('PUT replaces title and description and keeps what it does not name', async (t) => {
  const client = feed('otter-set');
  const first = (await client.post(picture('png'), PNG)).json;
  const all = {
    title: ' Größe ',
    description: ' Mine 😀 ',
    show_sender: false,
    listed: true,
    image: first.file,
  };
  const { json } = await client.set(all);
  const expected = {
    name: 'otter-set',
    title: 'Größe',
    description: 'Mine 😀',
    show_sender: false,
    listed: true,
    image_url: first.file_url,
    protected: false,
    read_url: first.read_url,
    keep: null,
  };
  t.strictSame(json, expected);
  t.strictSame((await client.get()).json, expected);
  const readId = readIdIn(first.read_url);
  const shown = { title: 'Größe', description: 'Mine 😀', image_url: first.file_url };
  t.strictSame((await ask(`${url}/api/v1/read/${readId}`)).json, shown);
  t.ok((await ask(first.read_url)).text.includes(`<url>${first.file_url}</url>`), 'in RSS');

  const cleared = await client.set({ unknown: [1] });
  t.strictSame(cleared.json, { ...expected, title: '', description: '' });
  t.equal((await client.set({ image: '' })).json.image_url, null);
  t.equal((await client.set({ show_sender: true })).json.show_sender, true);
  t.equal((await client.set({ listed: false })).json.listed, false);
});

t.test('PATCH changes what it names, and nothing else', async (t) => {
  const client = feed('otter-patched');
  const { file, file_url: fileUrl } = (await client.post(picture('png'), PNG)).json;
  await client.set({ title: 'Title', description: 'Mine', keep: { days: 9 } });
  const record = (await client.get()).json;
  const patch = (changes: object) => client.send('PATCH', '', JSON.stringify(changes));
  for (const [changes, changed] of [
    [{ image: file }, { image_url: fileUrl }],
    [{ title: 'Other', unknown: 1 }, { title: 'Other' }],
    [
      { description: '', show_sender: false },
      { description: '', show_sender: false },
    ],
    [{ keep: null }, { keep: null }],
    [{ image: '' }, { image_url: null }],
  ] as const) {
    Object.assign(record, changed);
    const { status, json, headers } = await patch(changes);
    t.equal(status, 200);
    t.strictSame(json, record);
    t.equal(headers.get('etag'), (await client.get()).headers.get('etag'));
  }
  for (const changes of [{}, { unknown: 1 }])
    t.match(await patch(changes), { status: 400, json: { code: 'invalid_request' } });
  t.match(await patch({ title: 1 }), { status: 400, json: { code: 'invalid_body' } });
  t.match(await client.with({ 'if-match': '"old"' }).send('PATCH', '', '{"title":"x"}'), { status: 412 });
  t.strictSame((await client.get()).json, record);
});

t.test('what a feed keeps is set, stays if it is left out, and ends with null', async (t) => {
  const client = feed('otter-kept');
  await client.post();
  for (const keep of [{ days: 1 }, { notes: 1_000_000 }, { days: 3650, notes: 1 }]) {
    t.strictSame((await client.set({ keep })).json.keep, keep);
    t.strictSame((await client.set()).json.keep, keep);
    t.strictSame((await client.get()).json.keep, keep);
  }
  const wrong = [{ days: 0 }, { days: 3651 }, { days: 1.5 }, { notes: 0 }, { notes: 1_000_001 }];
  for (const keep of wrong) {
    const member = `keep.${Object.keys(keep)[0]}`;
    t.match(await client.set({ keep }), {
      status: 400,
      json: { code: 'invalid_request', error: new RegExp(member) },
    });
  }
  for (const keep of [{ days: '1' }, 1, { notes: null }])
    t.match(await client.set({ keep }), {
      status: 400,
      json: { code: 'invalid_body', error: /"keep/ },
    });
  t.strictSame((await client.get()).json.keep, { days: 3650, notes: 1 });
  for (const keep of [null, {}]) t.equal((await client.set({ keep })).json.keep, null);
});

t.test('the longest texts are taken, in a body of just 8 KB', async (t) => {
  const client = feed('otter-long');
  await client.post();
  const settings = { title: '😀'.repeat(100), description: '😀'.repeat(500) };
  t.match(await client.set(settings), { status: 200, json: settings });
  const body = JSON.stringify(settings);
  const padded = body + ' '.repeat(8192 - Buffer.byteLength(body));
  t.equal((await client.send('PUT', '', padded)).status, 200);
  t.match(await client.send('PUT', '', `${padded} `), { status: 413, json: { code: 'too_large' } });
});

t.test('a feed without notes has no addresses, and gets them back', async (t) => {
  const client = feed('otter-empty');
  const { id, file } = (await client.post(picture('png'), PNG)).json;
  await client.set({ title: 'T', image: file });
  await client.send('DELETE', `/notes/${id}`);
  t.match((await client.get()).json, { title: 'T', image_url: null, read_url: null });
  const again = (await client.post()).json;
  t.match((await client.get()).json, { title: 'T', image_url: null, read_url: again.read_url });
});

t.test('a title image removed by hand is none', async (t) => {
  const client = feed('otter-hand');
  await client.post();
  const { file } = (await client.post(picture('png'), PNG)).json;
  t.match((await client.set({ image: file })).json.image_url, file);
  rmSync(join(dir, 'otter-hand', file));
  t.ok(await eventually(async () => (await client.get()).json.image_url === null));
});

t.test('settings outlive a restart', async (t) => {
  const first = await start(t, ENV);
  const before = new FeedClient(first.url, 'otter-stay');
  const { file } = (await before.post(picture('png'), PNG)).json;
  const settings = { title: 'Title', description: 'Text', show_sender: false };
  await before.set({ ...settings, image: file, read_id: 'otter-readers' });
  const second = await first.restart();
  const { json } = await new FeedClient(second.url, 'otter-stay').get();
  t.match(json, {
    ...settings,
    image_url: `${second.url}/r/otter-readers/${file}`,
    read_url: `${second.url}/r/otter-readers/feed.xml`,
  });
});

t.test('a chosen read id moves all that readers see', async (t) => {
  const client = feed('otter-move');
  const { id, file, read_url: readUrl } = (await client.post()).json;
  const old = readIdIn(readUrl);
  const { json } = await client.set({ read_id: 'otters_read-1' });
  t.equal(json.read_url, `${url}/r/otters_read-1/feed.xml`);
  t.strictSame(await listed('otters_read-1'), [id]);
  t.strictSame(await listed(old), [], 'the old link reads as empty');
  t.equal((await ask(`${url}/r/${old}/${file}`)).status, 404);
  t.equal((await ask(`${url}/r/otters_read-1/${file}`)).status, 200);
  t.equal((await client.post()).json.read_url, json.read_url);
  t.strictSame((await client.set({ read_id: 'otters_read-1' })).json, json, 'the same as now is no change');

  const random = (await client.set({ read_id: '' })).json.read_url;
  t.match(readIdIn(random), /^[A-Za-z0-9_-]{22}$/);
  t.not(random, readUrl);
  t.equal((await listed(readIdIn(random))).length, 2);
  const heir = await feed('otter-heir').post('x', { 'x-read-id': 'otters_read-1' });
  t.equal(heir.status, 201, 'one that was changed away from is free');
  t.strictSame(await listed('otters_read-1'), [heir.json.id]);
});

t.test('a random read id stays as it is when it is named', async (t) => {
  const client = feed('otter-same');
  const { read_url: readUrl } = (await client.post()).json;
  t.match(await client.set({ read_id: readIdIn(readUrl) }), { status: 200, json: { read_url: readUrl } });
});

t.test('what is wrong changes nothing', async (t) => {
  const name = 'otter-wrong';
  const client = feed(name);
  const text = (await client.post()).json;
  const image = (await client.post(picture('png'), PNG)).json;
  const foreign = (await feed('otter-other').post(picture('png'), PNG)).json;
  await feed('otter-third').post('x', { 'x-read-id': 'otter-taken' });
  await client.set({ title: 'Kept', description: 'Kept too', show_sender: false, image: image.file });
  const path = `/api/v1/feeds/${name}`;
  const put = (what: string, body: unknown, code = 'invalid_request', word = ''): Refused => ({
    what,
    method: 'PUT',
    path,
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    status: 400,
    code,
    word,
  });
  const texts = { title: 'New', description: 'New' };
  const rows: Refused[] = [
    put('no body', '', 'invalid_body', 'JSON'),
    put('no JSON', '{"title":"a","description":"b"', 'invalid_body', 'JSON'),
    {
      ...put('no UTF-8', '', 'invalid_body'),
      body: new Uint8Array(Buffer.from('{"title":"\xff"}', 'latin1')),
    },
    put('an array', [], 'invalid_body'),
    put('null', null, 'invalid_body'),
    put('no title', { description: '' }, 'invalid_body', 'title'),
    put('no description', { title: '' }, 'invalid_body', 'description'),
    put('a number as title', { ...texts, title: 1 }, 'invalid_body', 'title'),
    put('null as description', { ...texts, description: null }, 'invalid_body', 'description'),
    put('a text as show_sender', { ...texts, show_sender: 'true' }, 'invalid_body', 'show_sender'),
    put('a number as listed', { ...texts, listed: 1 }, 'invalid_body', 'listed'),
    put('null as image', { ...texts, image: null }, 'invalid_body', 'image'),
    put('a number as read_id', { ...texts, read_id: 1 }, 'invalid_body', 'read_id'),
    put('101 characters of title', { ...texts, title: 'é'.repeat(101) }, undefined, 'title'),
    put(
      '501 characters of description',
      { ...texts, description: 'x'.repeat(501) },
      undefined,
      'description',
    ),
    ...[
      '\n',
      '\t',
      '\0',
      '\x7f',
      '\u0085',
      '\u2028',
      '\u2029',
      '\u202a',
      '\u202e',
      '\u2066',
      '\u2069',
    ].flatMap((character) => {
      const text = `a${character}b`;
      const shown = `U+${character.charCodeAt(0).toString(16)}`;
      return [
        put(`${shown} in the title`, { ...texts, title: text }),
        put(`${shown} in the description`, { ...texts, description: text }),
      ];
    }),
    put('a text note as image', { ...texts, image: text.file }, undefined, 'image'),
    put('an absent image', { ...texts, image: 'absent.png' }, undefined, 'image'),
    put('an id as image', { ...texts, image: image.id }, undefined, 'image'),
    put('an image of another feed', { ...texts, image: foreign.file }, undefined, 'image'),
    put('a path as image', { ...texts, image: `../otter-other/${foreign.file}` }, undefined, 'image'),
    put('a dot file as image', { ...texts, image: '.feed.json' }, undefined, 'image'),
    put('a read id of 2', { ...texts, read_id: 'ab' }, undefined, 'read id'),
    put('a read id of 65', { ...texts, read_id: 'a'.repeat(65) }, undefined, 'read id'),
    put('a capital in the read id', { ...texts, read_id: 'Abc' }, undefined, 'read id'),
    put('a slash in the read id', { ...texts, read_id: 'a/b/c' }, undefined, 'read id'),
    put('a space as read id', { ...texts, read_id: '   ' }, undefined, 'read id'),
    put('a route as read id', { ...texts, read_id: 'static' }, undefined, 'reserved'),
    put('a reserved feed as read id', { ...texts, read_id: 'news' }, undefined, 'reserved'),
    put('its own name as read id', { ...texts, read_id: name }, undefined, 'key'),
    { ...put('a taken read id', { ...texts, read_id: 'otter-taken' }, 'taken'), status: 409 },
    { ...put('too much', { ...texts, more: 'x'.repeat(8192) }, 'too_large'), status: 413 },
    ...['GET', 'PUT', 'DELETE'].flatMap((method) => {
      const body = method === 'PUT' && { body: JSON.stringify(texts) };
      const headers = { 'content-type': 'application/json' };
      const request = { method, headers, ...body };
      return [
        { ...request, what: 'an absent feed', path: '/api/v1/feeds/absent', status: 404, code: 'not_found' },
        { ...request, what: 'a route name', path: '/api/v1/feeds/login', status: 400, code: 'reserved_feed' },
        { ...request, what: 'no feed name', path: '/api/v1/feeds/A.b', status: 400, code: 'invalid_feed' },
      ];
    }),
    { what: 'a record', method: 'POST', path, body: '{}', status: 405, code: 'method_not_allowed' },
  ];
  const readId = readIdIn(text.read_url);
  const views = [
    { path },
    { path: `${path}/notes` },
    { path: '/api/v1/feeds/otter-third' },
    { path: `/api/v1/read/${readId}` },
    { path: `/r/${readId}/feed.xml` },
    { path: '/r/otter-taken/feed.xml' },
    { path: '/r/static/feed.xml' },
  ];
  await refusesAll(t, { service, views, secrets: [name, 'otter-third', 'absent'] }, rows);
});

t.test('where read ids cannot be chosen, only random ones are had', async (t) => {
  const strict = await start(t, { ...ENV, SERVICE_ALLOW_CUSTOM_IDS: '0' });
  const client = new FeedClient(strict.url, 'otter-strict');
  const { read_url: readUrl } = (await client.post()).json;
  const headers = { 'content-type': 'application/json' };
  const path = '/api/v1/feeds/otter-strict';
  await refusesAll(t, { service: strict, views: [{ path }], secrets: ['otter-strict'] }, [
    {
      what: 'a chosen read id',
      method: 'PUT',
      path,
      headers,
      body: '{"title":"a","description":"","read_id":"chosen"}',
      status: 400,
      code: 'invalid_request',
    },
  ]);
  t.equal((await client.set({ read_id: readIdIn(readUrl) })).status, 200, 'the one it has is no choice');
  const random = (await client.set({ read_id: '' })).json.read_url;
  t.match(random, /\/r\/[A-Za-z0-9_-]{22}\//);
  t.not(random, readUrl);
});

t.test('of many feeds that choose one read id at once, one gets it', async (t) => {
  const clients = Array.from({ length: 20 }, (_, i) => feed(`otter-race-${i}`));
  await Promise.all(clients.map((client) => client.post()));
  const replies = await Promise.all(
    clients.map((client, i) => (i % 2 ? client.set({ read_id: 'one-only' }) : postChoosing(i))),
  );
  t.equal(replies.filter(({ status }) => status === 200 || status === 201).length, 1);
  t.equal(replies.filter(({ status, json }) => status === 409 && json.code === 'taken').length, 19);

  function postChoosing(i: number) {
    return feed(`otter-new-${i}`).post('x', { 'x-read-id': 'one-only' });
  }
});

t.test('a read id changes while requests run', async (t) => {
  const client = feed('otter-busy');
  await client.post();
  const changes = Array.from({ length: 20 }, (_, i) => client.set({ read_id: `otter-turn-${i}` }));
  const posts = Array.from({ length: 40 }, () => client.post());
  const replies = await Promise.all([...changes, ...posts]);
  t.ok(replies.every(({ status }) => status === 200 || status === 201));
  const now = readIdIn((await client.get()).json.read_url);
  t.equal((await listed(now)).length, 41, 'nothing is lost');
  const turns = Array.from({ length: 20 }, (_, i) => `otter-turn-${i}`);
  for (const turn of turns) if (turn !== now) t.strictSame(await listed(turn), [], turn);
});
