/** Texts posted as JSON. */
import t from 'tap';
import { FeedClient } from '../support/feed-client.ts';
import { picture } from '../support/pictures.ts';

import { ask, start } from '../support/service.ts';

const { url } = await start(t);
const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };
const client = new FeedClient(url, 'heron');

t.test('a text in JSON is a note as any other', async (t) => {
  const content = '\ufeff# Größe 😀\r\n\0 ';
  const note = {
    content,
    title: ' T ',
    tags: ['B', 'b', 'c'],
    alt: 1,
    name: 'n',
    type: 'image/png',
    attachments: [1],
  };
  for (const path of [`${url}/heron`, `${client.record}/notes`]) {
    const posted = await ask(path, { method: 'POST', headers: JSON_TYPE, body: JSON.stringify(note) });
    t.equal(posted.status, 201, posted.text);
    t.notOk('attachments' in posted.json);
    t.equal((await ask(posted.json.file_url)).text, content);
    const shown = (await client.get(`/notes/${posted.json.id}`)).json;
    t.match(shown, { type: 'text/markdown', content, title: 'T', tags: ['b', 'c'] });
    for (const member of ['alt', 'name', 'key', 'expires_at']) t.notOk(member in shown, member);
  }
});

t.test('headers say what its members do not', async (t) => {
  const headers = { ...JSON_TYPE, 'x-note-title': 'Header', 'x-note-tags': 'header', 'x-note-expires': '1h' };
  const shown = async (body: object) => {
    const { json } = await client.post(JSON.stringify({ content: 'x', ...body }), headers);
    return (await client.get(`/notes/${json.id}`)).json;
  };
  t.match(await shown({}), { title: 'Header', tags: ['header'], expires_at: String });
  const later = '2030-01-31T12:00:00Z';
  const own = { title: 'Own', tags: [], expires: later };
  t.match(await shown(own), { title: 'Own', tags: [], expires_at: '2030-01-31T12:00:00.000Z' });
  const empty = await shown({ title: '', tags: [], expires: '' });
  t.match(empty, { title: 'x', tags: [], expires_at: undefined }, 'an empty member is there');
  const keyed = await client.post('{"content": "x", "key": "own"}', {
    ...JSON_TYPE,
    'idempotency-key': 'header',
  });
  t.equal((await client.get(`/notes/${keyed.json.id}`)).json.key, 'own');
});

t.test('the longest text is taken, escaped too', async (t) => {
  const content = '\u0001'.repeat(100 * 1024);
  const escaped = JSON.stringify({ content, title: '😀'.repeat(100) });
  const posted = await client.post(escaped, JSON_TYPE);
  t.equal(posted.status, 201, posted.text);
  t.equal((await ask(posted.json.file_url)).bytes.length, content.length);
});

t.test('a text is taken whatever its characters mean in JSON', async (t) => {
  for (const content of ['"', '\\', ',', '\\"[{,'].map((some) => some.repeat(100_000 / some.length))) {
    const posted = await client.post(JSON.stringify({ content, tags: ['a'] }), JSON_TYPE);
    t.equal(posted.status, 201, posted.text);
    t.equal((await ask(posted.json.file_url)).text, content);
  }
});

const TOO_LONG = JSON.stringify({ content: 'x'.repeat(102_401) });
const VALUES = `{"content": "x\\\\", "y": [${'[],'.repeat(30_000)}0]}`;
const DIGITS = `{"content": "x", "y": [${'123456789,'.repeat(30_000)}0]}`;
const of = (member: string, value: unknown) => JSON.stringify({ content: 'x', [member]: value });

t.test('what is refused', async (t) => {
  const table: [number, string, string, RegExp][] = [
    [400, 'invalid_body', '{', /JSON/],
    [400, 'invalid_body', '[]', /JSON/],
    [400, 'invalid_body', '{}', /"content"/],
    [400, 'invalid_body', VALUES, /JSON/],
    [400, 'invalid_body', DIGITS, /JSON/],
    [400, 'invalid_body', '{"content": 1}', /"content" .* a text/],
    [400, 'invalid_body', of('title', 1), /"title"/],
    [400, 'invalid_body', of('tags', 'a'), /"tags"/],
    [400, 'invalid_body', of('tags', Array(2_000).fill(1)), /too many values/],
    [400, 'invalid_body', of('key', 7), /"key"/],
    [400, 'invalid_body', of('expires', 7), /"expires"/],
    [400, 'invalid_request', of('title', 'a\nb'), /title/],
    [400, 'invalid_request', of('tags', ['a b']), /a b/],
    [400, 'invalid_request', of('key', ' a'), /key/],
    [400, 'invalid_request', of('expires', 'soon'), /expires/],
    [400, 'empty_note', '{"content": " \\n"}', /empty/],
    [413, 'too_large', TOO_LONG, /102400/],
    [413, 'too_large', `${' '.repeat(700_000)}{"content": "x"}`, /bytes/],
  ];
  const before = (await client.list('?limit=100')).json.notes.length;
  for (const [status, code, body, error] of table)
    t.match(await client.post(body, JSON_TYPE), { status, json: { code, error } }, body.slice(0, 60));
  t.match(await client.post('{"content": "x"}', { ...JSON_TYPE, 'x-note-alt': 'x' }), { status: 400 });
  t.equal((await client.list('?limit=100')).json.notes.length, before);
});

t.test('only a post takes JSON, and a refusal of another type names it', async (t) => {
  const { json } = await client.post('x');
  const put = await ask(json.url, { method: 'PUT', headers: JSON_TYPE, body: '{"content": "y"}' });
  t.match(put, { status: 415, json: { code: 'unsupported_type' } });
  t.notMatch(put.json.error, 'application/json');
  const other = await client.post(picture('png'), { 'content-type': 'application/pdf' });
  t.match(other, { status: 415, json: { error: /application\/json/ } });
});
