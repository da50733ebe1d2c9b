/** A misspelt header would be lost without a word: a feed would be open, a title missing. */
import t from 'tap';
import { FeedClient } from '../support/feed-client.ts';
import { contents } from '../support/refused.ts';
import { ask, start } from '../support/service.ts';

const { url, dir } = await start(t);
const feed = new FeedClient(url, 'dunlin');
const { id } = (await feed.post()).json;

const MISSPELT: [sent: string, nearest: string][] = [
  ['X-Feed-Pasword', 'X-Feed-Password'],
  ['x-feed-password*', 'X-Feed-Password'],
  ['X-Feed_Password', 'X-Feed-Password'],
  ['X-Feed-Title', 'X-Note-Title'],
  ['X-Note-Titel', 'X-Note-Title'],
  ['X-Note-Tag', 'X-Note-Tags'],
  ['X-Note-Alts', 'X-Note-Alt'],
  ['X-Note-', 'X-Note-Alt'],
  ['X-Read-Link', 'X-Read-Id'],
];

t.test('a post with such a header stores nothing, and is told the nearest name', async (t) => {
  const before = contents(dir);
  for (const [sent, nearest] of MISSPELT)
    for (const name of ['dunlin', 'dunlin-new']) {
      const reply = await new FeedClient(url, name).post('x', { [sent]: 's3cret' });
      const error = `${sent.toLowerCase()} is no header of this service; the nearest one is ${nearest}.`;
      t.match(reply, { status: 400, json: { code: 'invalid_request', error } });
      t.notMatch(reply.text, 's3cret');
    }
  const long = `X-Feed-Password-${'s3cret'.repeat(20)}`;
  const reply = await feed.post('x', { [long]: 'x' });
  t.match(reply, { status: 400, json: { error: /^One of the headers is no header .* X-Feed-Password\.$/ } });
  t.same(contents(dir), before);
});

t.test('so is every other write', async (t) => {
  const before = contents(dir);
  for (const [method, path, body] of [
    ['POST', '/api/v1/feeds/dunlin/notes', 'x'],
    ['PUT', `/dunlin/${id}`, 'x'],
    ['PATCH', `/dunlin/${id}`, '{"title":"x"}'],
    ['DELETE', `/dunlin/${id}`, null],
    ['PUT', `/api/v1/feeds/dunlin/notes/${id}`, 'x'],
    ['PUT', '/api/v1/feeds/dunlin', '{"title":"x","description":""}'],
    ['DELETE', '/api/v1/feeds/dunlin', null],
    ['PUT', '/api/v1/feeds/dunlin/password', '{"password":"x"}'],
    ['DELETE', '/api/v1/feeds/dunlin/password', null],
  ] as const) {
    const reply = await ask(url + path, { method, body, headers: { 'x-feed-pasword': 's3cret' } });
    t.match(reply, { status: 400, json: { error: /X-Feed-Password/ } }, `${method} ${path}`);
  }
  t.same(contents(dir), before);
});

t.test('headers of the service, and those of others, are taken', async (t) => {
  const headers = {
    'x-note-title': 'a',
    'x-note-tags*': "UTF-8''b",
    'x-note-name': 'c',
    'x-read-id': 'dunlin-read',
  };
  const others = {
    'x-feedback': 'a',
    'x-real-ip': '192.0.2.1',
    'x-notes': 'a',
    'x-reader': 'a',
    'x-forwarded-for': 'a',
  };
  const reply = await new FeedClient(url, 'dunlin-2').post('x', {
    ...headers,
    ...others,
    'x-feed-password': 'p',
  });
  t.equal(reply.status, 201);
  t.equal((await ask(`${url}/api/v1/feeds/dunlin-2`)).status, 401, 'it is protected');
  t.equal(
    (await ask(`${url}/api/v1/feeds/dunlin`, { headers: { 'x-feed-pasword': 'x' } })).status,
    200,
    'a read is no write',
  );
});
