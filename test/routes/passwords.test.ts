/** The instance's password and the passwords of feeds, through HTTP. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { picture } from '../support/pictures.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { type Refused, refusesAll } from '../support/refused.ts';
import { ask, start } from '../support/service.ts';

const MD = { 'content-type': 'text/markdown' };
const NO_NOTE = '20260101T000000Z-00000000-0000-7000-8000-000000000000';
const AUTH = { status: 401, json: { code: 'auth' } };

const service = await start(t);
const { url, dir } = service;

function feed(name: string, password?: string): FeedClient {
  return new FeedClient(url, name, password === undefined ? {} : { 'x-feed-password': password });
}

/** One request for each operation by a feed's name. */
function everyOperation(name: string, id: string): Pick<Refused, 'method' | 'path' | 'headers' | 'body'>[] {
  const api = `/api/v1/feeds/${name}`;
  const json = { 'content-type': 'application/json' };
  const settings = JSON.stringify({ title: 'Stolen', description: 'Stolen' });
  const change = '{"title":"Stolen"}';
  return [
    { method: 'POST', path: `/${name}`, headers: MD, body: 'x' },
    { method: 'POST', path: `${api}/notes`, headers: MD, body: 'x' },
    { method: 'GET', path: `${api}/notes` },
    { method: 'GET', path: `${api}/notes/${id}` },
    ...[`/${name}/${id}`, `${api}/notes/${id}`].flatMap((path) => [
      { method: 'PUT', path, headers: MD, body: 'x' },
      { method: 'PATCH', path, headers: json, body: change },
      { method: 'DELETE', path },
    ]),
    { method: 'GET', path: api },
    { method: 'PUT', path: api, headers: json, body: settings },
    { method: 'DELETE', path: api },
    { method: 'PUT', path: `${api}/password`, headers: json, body: '{"password":"stolen"}' },
    { method: 'DELETE', path: `${api}/password` },
  ];
}

t.test('the first note sets a password, and only with it the feed opens', async (t) => {
  const owner = feed('heron', 'open sesame');
  const { status, json } = await owner.post('mine');
  t.equal(status, 201);
  const hash = readFileSync(join(dir, 'heron', '.password'), 'utf8');
  t.match(hash, /^\$argon2id\$/);
  t.notOk(hash.includes('sesame'));
  t.equal((await owner.get()).json.protected, true);

  const rows: Refused[] = everyOperation('heron', json.id).flatMap((request) => [
    { ...request, what: 'no password', status: 401, code: 'auth' },
    {
      ...request,
      what: 'a wrong password',
      headers: { ...request.headers, 'x-feed-password': 'Open sesame' },
      status: 401,
      code: 'auth',
    },
  ]);
  const views = [
    { path: '/api/v1/feeds/heron', headers: { 'x-feed-password': 'open sesame' } },
    { path: '/api/v1/feeds/heron/notes', headers: { 'x-feed-password': 'open sesame' } },
    { path: new URL(json.read_url).pathname },
  ];
  await refusesAll(t, { service, views, secrets: ['heron', 'sesame'] }, rows);

  for (let i = 0; i < 3; i++) t.equal((await owner.post(`note ${i}`)).status, 201);
  t.equal((await owner.set({ title: 'T' })).status, 200);
  t.equal((await owner.send('PATCH', `/notes/${json.id}`, '{"title":"N"}')).status, 200);
  t.equal((await owner.list()).json.notes.length, 4);
  t.equal((await owner.send('DELETE', `/notes/${json.id}`)).status, 204);
});

t.test('whoever has the read link reads without a password, and changes nothing', async (t) => {
  const owner = feed('heron-public', 'secret');
  const {
    id,
    file,
    read_url: readUrl,
  } = (await owner.post(picture('png'), { 'content-type': 'image/png' })).json;
  await owner.set({ title: 'Open to read' });
  const readId = readIdIn(readUrl);
  for (const path of [`/r/${readId}/feed.xml`, `/r/${readId}/feed.json`, `/r/${readId}/${file}`]) {
    t.equal((await ask(url + path)).status, 200, path);
  }
  for (const path of ['', '/notes', `/notes/${id}`]) {
    const reply = await ask(`${url}/api/v1/read/${readId}${path}`);
    t.equal(reply.status, 200, path);
    t.notMatch(reply.text, /heron-public/, path);
  }
  const body = '{"title":"a","description":"b"}';
  const put = await ask(`${url}/api/v1/feeds/${readId}`, { method: 'PUT', body });
  t.match(put, { json: { code: /not_found|invalid_feed/ } });
});

t.test('a password is only set by the first note', async (t) => {
  const open = feed('heron-open');
  const { read_url: readUrl } = (await open.post()).json;
  const refused = { headers: MD, body: 'x', status: 409, code: 'feed_exists' };
  const withPassword = { ...MD, 'x-feed-password': 'late' };
  const json = { 'content-type': 'application/json' };
  const path = '/api/v1/feeds/heron-open';
  const views = [{ path }, { path: `${path}/notes` }, { path: new URL(readUrl).pathname }];
  await refusesAll(t, { service, views, secrets: ['heron-open', 'late'] }, [
    { ...refused, what: 'a password', method: 'POST', path: '/heron-open', headers: withPassword },
    { ...refused, what: 'a password', method: 'POST', path: `${path}/notes`, headers: withPassword },
    {
      ...refused,
      what: 'no password to change',
      method: 'PUT',
      path: `${path}/password`,
      headers: json,
      body: '{"password":"late"}',
    },
    {
      what: 'no password to remove',
      method: 'DELETE',
      path: `${path}/password`,
      status: 409,
      code: 'feed_exists',
    },
  ]);
});

t.test('passwords that no feed can have make none', async (t) => {
  const path = '/heron-none';
  const row = {
    method: 'POST',
    path,
    body: 'x',
    status: 400,
    code: 'invalid_request',
  };
  const wrong = {
    'an empty password': '',
    '257 characters': 'p'.repeat(257),
    'a tab': 'a\tb',
    'no ASCII': 'caf\xe9s',
  };
  const views = [{ path: '/api/v1/feeds/heron-none' }];
  await refusesAll(
    t,
    { service, views, secrets: ['heron-none'] },
    Object.entries(wrong).map(([what, password]) => ({
      ...row,
      what,
      headers: { ...MD, 'x-feed-password': password },
    })),
  );
  t.equal((await feed('heron-256', 'p'.repeat(256)).post()).status, 201);
  t.match(await feed('heron-256', 'p'.repeat(255)).post(), AUTH);
});

t.test('a password is changed and removed', async (t) => {
  const owner = feed('heron-change', 'first one');
  await owner.post();
  const changed = await owner.send('PUT', '/password', '{"password":"second one","more":1}');
  t.equal(changed.status, 204);
  t.equal(changed.text, '');
  t.match(await owner.get(), AUTH, 'the old one is forgotten at once');
  const second = feed('heron-change', 'second one');
  t.equal((await second.post()).status, 201);

  const path = '/api/v1/feeds/heron-change';
  const headers = { 'content-type': 'application/json', 'x-feed-password': 'second one' };
  const put = (what: string, body: string, code: string): Refused => ({
    what,
    method: 'PUT',
    path: `${path}/password`,
    headers,
    body,
    status: 400,
    code,
  });
  await refusesAll(t, { service, views: [{ path, headers }], secrets: ['heron-change', 'second one'] }, [
    put('no JSON', 'x', 'invalid_body'),
    put('no password', '{}', 'invalid_body'),
    put('a number', '{"password":1}', 'invalid_body'),
    put('an empty password', '{"password":""}', 'invalid_request'),
    put('a space at its end', '{"password":"a "}', 'invalid_request'),
    put('no ASCII', '{"password":"café"}', 'invalid_request'),
    put('257 characters', JSON.stringify({ password: 'p'.repeat(257) }), 'invalid_request'),
    { ...put('8 KB and more', JSON.stringify({ password: 'p'.repeat(8192) }), 'too_large'), status: 413 },
  ]);

  t.equal((await second.send('DELETE', '/password')).status, 204);
  t.notOk(existsSync(join(dir, 'heron-change', '.password')));
  t.equal((await feed('heron-change').get()).json.protected, false);
  t.match(await second.post(), { status: 409, json: { code: 'feed_exists' } });
});

t.test('a password removed by hand opens the feed', async (t) => {
  const owner = feed('heron-hand', 'lost');
  await owner.post();
  const stranger = feed('heron-hand');
  t.match(await stranger.get(), AUTH);
  rmSync(join(dir, 'heron-hand', '.password'));
  t.ok(await eventually(async () => (await stranger.get()).status === 200));
  t.equal((await stranger.get()).json.protected, false);
  t.equal((await stranger.post()).status, 201);
});

t.test('a password outlives a restart', async (t) => {
  const first = await start(t);
  await new FeedClient(first.url, 'heron-stay', { 'x-feed-password': 'stay' }).post();
  const second = await first.restart();
  const stranger = new FeedClient(second.url, 'heron-stay');
  t.match(await stranger.get(), AUTH);
  t.match(await stranger.with({ 'x-feed-password': 'Stay' }).get(), AUTH);
  t.equal((await stranger.with({ 'x-feed-password': 'stay' }).get()).status, 200);
});

t.test('two first notes with different passwords make one feed with one of them', async (t) => {
  const passwords = Array.from({ length: 8 }, (_, i) => `password ${i}`);
  const replies = await Promise.all(passwords.map((password) => feed('heron-race', password).post(password)));
  t.equal(replies.filter(({ status }) => status === 201).length, 1);
  t.equal(replies.filter(({ status }) => status === 401).length, 7);
  const winner = replies.findIndex(({ status }) => status === 201);
  const { json } = await feed('heron-race', passwords[winner]).list();
  t.equal(json.notes.length, 1);
  t.equal(json.notes[0].content, passwords[winner]);
});

t.test('a post in flight does not get into a feed that was protected meanwhile', async (t) => {
  const name = 'heron-flight';
  await feed(name).post();
  const connection = await RawConnection.open(service.port);
  t.teardown(() => connection.close());
  connection.send(
    `POST /${name} HTTP/1.1\r\nhost: x\r\ncontent-type: text/markdown\r\ncontent-length: 4\r\n\r\nhe`,
  );
  await feed(name).get();
  await feed(name).delete();
  const owner = feed(name, 'mine now');
  t.equal((await owner.post('mine')).status, 201);
  connection.send('re');
  t.equal((await connection.response()).status, 401);
  t.equal((await owner.list()).json.notes.length, 1);
});

t.test('a deleted feed leaves no password behind', async (t) => {
  await feed('heron-again', 'old').post();
  t.equal((await feed('heron-again', 'old').delete()).status, 204);
  t.equal((await feed('heron-again').post()).status, 201);
  t.equal((await feed('heron-again').get()).json.protected, false);
  t.equal((await feed('heron-again').delete()).status, 204);
  t.equal((await feed('heron-again', 'new').post()).status, 201);
  t.match(await feed('heron-again', 'old').get(), AUTH);
});

t.test('after too many wrong passwords even the right one waits', async (t) => {
  const limited = await start(t, { SERVICE_RATE_LIMIT: '3', SERVICE_TRUST_PROXY: '1' });
  const from = (address: string, password?: string) =>
    new FeedClient(limited.url, 'heron-limit', {
      'x-forwarded-for': address,
      ...(password !== undefined && { 'x-feed-password': password }),
    });
  t.equal((await from('192.0.2.1', 'right').post()).status, 201);
  for (let i = 0; i < 10; i++) t.match(await from('192.0.2.1').get(), AUTH, 'a missing one is not counted');
  for (let i = 0; i < 3; i++) t.match(await from('192.0.2.1', `wrong ${i}`).get(), AUTH);
  const waiting = { status: 429, json: { code: 'too_many_attempts' } };
  for (const password of ['wrong 4', 'right']) {
    const reply = await from('192.0.2.1', password).get();
    t.match(reply, waiting, password);
    t.match(reply.headers.get('retry-after'), /^([1-9]|[1-5]\d|60)$/);
  }
  t.match(await from('192.0.2.1', 'right').post(), waiting);
  t.match(await from('192.0.2.1', 'right').delete(), waiting);
  t.match(await from('192.0.2.1').get(), AUTH, 'without one there is nothing to try');
  t.equal((await from('192.0.2.2', 'right').get()).status, 200, 'others are let in');
  t.equal((await from('192.0.2.2', 'right').list()).json.notes.length, 1);
});

t.test('right passwords are not counted as attempts', async (t) => {
  const limited = await start(t, { SERVICE_RATE_LIMIT: '3' });
  const owner = new FeedClient(limited.url, 'heron-right', { 'x-feed-password': 'right' });
  await owner.post();
  for (let i = 0; i < 10; i++) t.equal((await owner.get()).status, 200);
});

t.test('no more passwords are tried out at once than one after the other', async (t) => {
  const limited = await start(t, { SERVICE_RATE_LIMIT: '5' });
  const guess = (password: string) =>
    new FeedClient(limited.url, 'heron-flood', { 'x-feed-password': password }).get();
  await new FeedClient(limited.url, 'heron-flood', { 'x-feed-password': 'right' }).post();
  const replies = await Promise.all(Array.from({ length: 40 }, (_, i) => guess(`guess ${i}`)));
  t.equal(replies.filter(({ status }) => status === 401).length, 5);
  t.equal(replies.filter(({ status }) => status === 429).length, 35);
});

t.test('an instance with a password', async (t) => {
  const PASSWORD = 'let us in';
  const open = await start(t);
  const before = (await new FeedClient(open.url, 'heron-shut').post('text')).json;
  await new FeedClient(open.url, 'heron-lock', { 'x-feed-password': 'feed word' }).post();
  await open.stop();
  const locked = await start(t, { SERVICE_PASSWORD: PASSWORD }, open.dir);
  const bearer = { authorization: `Bearer ${PASSWORD}` };
  const owner = new FeedClient(locked.url, 'heron-shut', bearer);
  const publicPath = new URL(before.read_url).pathname;

  await t.test('refuses alike whatever is asked for, before anything about the feed', async (t) => {
    const names = ['heron-shut', 'heron-lock', 'heron-absent', 'static', 'No-Name'];
    // Below a reserved name there is no note.
    const requestsFor = (name: string, id: string) =>
      everyOperation(name, id).filter(({ path }) => !path.startsWith('/static/'));
    const rows = names.flatMap((name) =>
      requestsFor(name, name === 'heron-shut' ? before.id : NO_NOTE).flatMap((request) =>
        [undefined, 'Bearer wrong', `Basic ${PASSWORD}`, PASSWORD, 'Bearer'].map((authorization) => ({
          ...request,
          what: `authorization ${authorization}`,
          headers: { ...request.headers, ...(authorization !== undefined && { authorization }) },
          status: 401,
          code: 'auth',
        })),
      ),
    );
    const views = [{ path: '/api/v1/feeds/heron-shut', headers: bearer }, { path: publicPath }];
    await refusesAll(t, { service: locked, views, secrets: [...names, PASSWORD] }, rows);

    const answers = new Map<string, Set<string>>();
    for (const name of names)
      for (const request of requestsFor(name, NO_NOTE)) {
        const { method, path, headers = {}, body = null } = request;
        const { status, text, headers: got } = await ask(locked.url + path, { method, headers, body });
        t.equal(got.get('www-authenticate'), 'Bearer');
        const seen = [...got].filter(([header]) => header !== 'date' && header !== 'x-request-id');
        const shape = `${method} ${path.replace(name, '*')}`;
        answers.set(shape, (answers.get(shape) ?? new Set()).add(JSON.stringify([status, text, seen])));
      }
    for (const [shape, different] of answers) t.equal(different.size, 1, `${shape} tells no names apart`);
  });

  await t.test('lets in who has it', async (t) => {
    t.equal((await owner.post()).status, 201);
    t.equal((await owner.set({ title: 'T' })).status, 200);
    t.equal((await owner.list()).json.notes.length, 2);
    t.equal((await new FeedClient(locked.url, 'heron-new', bearer).post()).status, 201);
    t.equal(
      (await new FeedClient(locked.url, 'heron-new', { authorization: `bearer ${PASSWORD}` }).get()).status,
      200,
    );
    t.equal((await new FeedClient(locked.url, 'heron-absent', bearer).get()).status, 404);
  });

  await t.test('asks for both passwords of a protected feed', async (t) => {
    const both = new FeedClient(locked.url, 'heron-lock', { ...bearer, 'x-feed-password': 'feed word' });
    t.equal((await both.get()).status, 200);
    t.match(await new FeedClient(locked.url, 'heron-lock', bearer).get(), AUTH);
    t.match(await new FeedClient(locked.url, 'heron-lock', { 'x-feed-password': 'feed word' }).get(), AUTH);
  });

  await t.test('keeps read links open', async (t) => {
    for (const path of [publicPath, new URL(before.file_url).pathname, '/health', '/health/ready'])
      t.equal((await ask(locked.url + path)).status, 200, path);
  });

  await t.test('limits wrong ones, and then even the right one waits', async (t) => {
    await locked.stop();
    const env = { SERVICE_PASSWORD: PASSWORD, SERVICE_RATE_LIMIT: '3', SERVICE_TRUST_PROXY: '1' };
    const limited = await start(t, env, open.dir);
    const from = (address: string, authorization?: string) =>
      new FeedClient(limited.url, 'heron-shut', {
        'x-forwarded-for': address,
        ...(authorization !== undefined && { authorization }),
      });
    for (let i = 0; i < 10; i++) t.match(await from('192.0.2.1').get(), AUTH);
    for (let i = 0; i < 3; i++) t.match(await from('192.0.2.1', 'Bearer wrong').get(), AUTH);
    const reply = await from('192.0.2.1', bearer.authorization).get();
    t.match(reply, { status: 429, json: { code: 'too_many_attempts' } });
    t.match(reply.headers.get('retry-after'), /^\d+$/);
    t.equal((await from('192.0.2.2', bearer.authorization).get()).status, 200);
  });
});

t.test('no password is logged', async (t) => {
  const log = JSON.stringify(service.lines);
  for (const secret of ['sesame', 'second one', 'mine now', 'heron']) t.notOk(log.includes(secret), secret);
});
