/** Posts that can be sent again: `Idempotency-Key`, and `PUT …/notes?key=`. */
import t, { type Test } from 'tap';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { CLIENTS } from '../support/mcp-clients.ts';
import { FORM_TYPE, field, formBody, png } from '../support/multipart.ts';
import { picture } from '../support/pictures.ts';
import { ask, type Reply, start } from '../support/service.ts';

const service = await start(t, { SERVICE_MAX_IMAGES_PER_FEED: '8' });
const { url } = service;
const PNG = { 'content-type': 'image/png' };
const JSON_TYPE = { 'content-type': 'application/json' };
const KEY = { 'idempotency-key': 'A key: 1' };
const MD = { 'content-type': 'text/markdown' };

const form = (text: string | undefined, ...files: string[]) =>
  formBody([
    ...(text === undefined ? [] : [field('text', text)]),
    ...files.map((name) => png(name, picture('png'))),
  ]);

async function countOf(client: FeedClient): Promise<number> {
  return (await client.list('?limit=100')).json.notes.length;
}

function isReplay(t: Test, again: Reply, first: Reply): void {
  t.equal(again.status, 201, again.text);
  t.strictSame(again.json, first.json);
  t.equal(again.headers.get('idempotent-replayed'), 'true');
  for (const name of ['location', 'etag']) t.equal(again.headers.get(name), first.headers.get(name));
}

t.test('the same post again answers as the first did, and stores nothing', async (t) => {
  const posts: [string, string | Uint8Array<ArrayBuffer>, Record<string, string>][] = [
    ['text', 'Hello', { ...MD, 'x-note-title': 'T', 'x-note-tags': 'b,a' }],
    ['picture', picture('png'), { ...PNG, 'x-note-alt': 'Alt', 'x-note-name': 'a.png' }],
    ['large-picture', picture('png', 200_000), PNG],
    ['form', form('![a](a.png)', 'a.png', 'b.png'), { 'content-type': FORM_TYPE }],
    ['pictures', form(undefined, 'a.png', 'b.png'), { 'content-type': FORM_TYPE }],
    ['json', '{"content": "Hello", "tags": ["a"], "expires": "12h"}', JSON_TYPE],
  ];
  for (const [name, body, headers] of posts) {
    const client = new FeedClient(url, `stork-${name}`);
    await client.post('Another');
    const first = await client.post(body, { ...headers, ...KEY });
    t.equal(first.status, 201, first.text);
    t.equal(first.headers.get('idempotent-replayed'), null);
    const count = await countOf(client);
    const logged = () => service.lines.filter(({ message }) => message === 'note posted').length;
    const before = logged();
    isReplay(t, await client.post(body, { ...headers, ...KEY }), first);
    isReplay(
      t,
      await ask(`${client.record}/notes`, { method: 'POST', body, headers: { ...headers, ...KEY } }),
      first,
    );
    t.equal(logged(), before, 'nothing was posted');
    t.equal(await countOf(client), count);
    const note = (await client.get(`/notes/${first.json.id}`)).json;
    t.equal(note.key, KEY['idempotency-key']);
    const list = await ask(`${url}/api/v1/read/${readIdIn(first.json.read_url)}/notes`);
    t.notMatch(list.text, 'A key', 'readers do not see it');
    await client.send('PATCH', `/notes/${first.json.id}`, '{"title": "Changed"}');
    const again = await client.post(body, { ...headers, ...KEY });
    t.strictSame(again.json, first.json, 'also after a change');
    await client.send('DELETE', `/notes/${first.json.id}`);
    const free = await client.post(body, { ...headers, ...KEY });
    t.equal(free.headers.get('idempotent-replayed'), null, 'the key is free again');
    t.not(free.json.id, first.json.id);
  }
});

t.test('another post under the key is refused', async (t) => {
  const client = new FeedClient(url, 'stork-reused');
  const headers = {
    ...PNG,
    ...KEY,
    'x-note-title': 'T',
    'x-note-tags': 'a',
    'x-note-alt': 'A',
    'x-note-name': 'n',
  };
  const first = await client.post(picture('png'), headers);
  const others: [Uint8Array<ArrayBuffer>, Record<string, string>][] = [
    [picture('png', 100), {}],
    [picture('gif'), { 'content-type': 'image/gif' }],
    ...['title', 'tags', 'alt', 'name'].map((name): [Uint8Array<ArrayBuffer>, Record<string, string>] => [
      picture('png'),
      { [`x-note-${name}`]: 'other' },
    ]),
  ];
  others.push([picture('png'), { 'x-note-unlisted': '1' }]);
  for (const [body, other] of others)
    t.match(await client.post(body, { ...headers, ...other }), { status: 422, json: { code: 'key_reused' } });
  isReplay(t, await client.post(picture('png'), { ...headers, 'x-note-expires': '7d' }), first);
  t.equal(await countOf(client), 1);
});

t.test('many at once make one note, also of a feed that the first of them makes', async (t) => {
  for (const name of ['stork-crowd', 'stork-crowd-two']) {
    const client = new FeedClient(url, name, KEY);
    const replies = await Promise.all(Array.from({ length: 32 }, () => client.post('Hello')));
    t.same(new Set(replies.map(({ status }) => status)), new Set([201]));
    t.equal(new Set(replies.map(({ json }) => json.id)).size, 1);
    t.equal(replies.filter(({ headers }) => headers.get('idempotent-replayed') === null).length, 1);
    t.equal(await countOf(client), 1);
  }
});

t.test('a key has its rule, wherever it is', async (t) => {
  const client = new FeedClient(url, 'stork-rules');
  for (const key of ['', 'ä', 'x'.repeat(201), 'a\tb']) {
    const isBad = (reply: Reply) => t.match(reply, { status: 400, json: { code: 'invalid_request' } }, key);
    if (key !== 'ä') isBad(await client.post('x', { 'idempotency-key': key }));
    isBad(await client.post(JSON.stringify({ content: 'x', key }), JSON_TYPE));
    isBad(await client.put(`/notes?key=${encodeURIComponent(key)}`, 'x'));
  }
  t.equal((await client.get()).status, 404, 'no feed is made');
  t.equal((await client.post('x', { 'idempotency-key': '~'.repeat(200) })).status, 201);
});

t.test('PUT by a key makes a note, then replaces its bytes and its metadata', async (t) => {
  const client = new FeedClient(url, 'stork-build', {
    'x-feed-password': 'secret',
    'x-read-id': 'stork-nest',
  });
  const path = '/notes?key=build%2Fmain';
  const put = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = MD) =>
    client.with(headers).put(path, body);
  const made = await put('Red', { ...MD, 'x-note-title': 'Main', 'x-note-expires': '7d' });
  t.equal(made.status, 201, made.text);
  t.equal(made.headers.get('location'), made.json.url);
  t.equal(made.json.read_url, `${url}/r/stork-nest/feed.xml`);
  t.equal((await client.get()).json.protected, true);
  const { id } = made.json;
  const before = (await client.get(`/notes/${id}`)).json;
  t.match(before, { key: 'build/main', title: 'Main', expires_at: /Z$/ });
  const replaced = await put('Green', { ...MD, 'x-note-tags': 'ci' });
  t.equal(replaced.status, 200);
  const { expires_at: _, ...kept } = before;
  const after = { ...kept, content: 'Green', size: 5, title: 'Green', tags: ['ci'] };
  t.strictSame(replaced.json, after);
  const shown = await client.get(`/notes/${id}`);
  t.strictSame(shown.json, after);
  t.equal(shown.headers.get('etag'), replaced.headers.get('etag'));

  const byJson = await put('{"content": "Yellow", "key": "ignored"}', JSON_TYPE);
  t.match(byJson, { status: 200, json: { id, content: 'Yellow', key: 'build/main', tags: [] } });
  const byForm = await put(form('![a](a.png)', 'a.png'), { 'content-type': FORM_TYPE });
  t.match(byForm, {
    status: 200,
    json: { id, content: /^!\[a\]\(.+\.png\)$/, attachments: [{ file: /png$/ }] },
  });
  t.equal(await countOf(client), 2);
  const refused: [number, string, string | Uint8Array<ArrayBuffer>, Record<string, string>][] = [
    [415, 'unsupported_type', picture('png'), PNG],
    [400, 'invalid_body', form(undefined, 'a.png'), { 'content-type': FORM_TYPE }],
    [400, 'empty_note', ' ', MD],
    [400, 'invalid_body', '{}', JSON_TYPE],
  ];
  for (const [status, code, body, headers] of refused)
    t.match(await put(body, headers), { status, json: { code } }, code);
  t.match(await client.with(KEY).put('/notes', 'x'), { status: 400, json: { code: 'invalid_request' } });
  t.equal(await countOf(client), 2);
  const post = { 'idempotency-key': 'build/main' };
  isReplayOf(t, await client.post(form('![a](a.png)', 'a.png'), { 'content-type': FORM_TYPE, ...post }), id);
  t.match(await client.post('Red', post), { status: 422 });
});

function isReplayOf(t: Test, reply: Reply, id: string): void {
  t.match(reply, { status: 201, json: { id, attachments: [{ file: /png$/ }] } });
  t.equal(reply.headers.get('idempotent-replayed'), 'true');
}

t.test('a PUT by a key that is sent as a POST makes no note', async (t) => {
  const client = new FeedClient(url, 'kestrel');
  for (const address of [`${client.record}/notes`, `${url}/kestrel`]) {
    const answer = await ask(`${address}?key=build`, { method: 'POST', body: 'green' });
    t.match(answer, { status: 400, json: { code: 'invalid_request', error: /PUT.*Idempotency-Key/ } });
    t.equal((await ask(`${address}?key=`, { method: 'POST', body: 'without a key' })).status, 201);
  }
  t.equal(await countOf(client), 2);
});

t.test('a picture is replaced by its key, and a replay needs no room', async (t) => {
  const client = new FeedClient(url, 'stork-room', PNG);
  const made = await client.put('/notes?key=cat', picture('png'));
  t.equal(made.status, 201, made.text);
  const bytes = picture('png', 5000);
  const replaced = await client.put('/notes?key=cat', bytes);
  t.match(replaced, { status: 200, json: { id: made.json.id, size: 5000 } });
  t.ok((await ask(made.json.file_url)).bytes.equals(bytes));
  const posts = Array.from({ length: 7 }, (_, n) =>
    client.post(picture('png'), { ...PNG, 'idempotency-key': `${n}` }),
  );
  for (const { status } of await Promise.all(posts)) t.equal(status, 201);
  t.equal((await client.post(picture('png'), PNG)).status, 507, 'the feed is full');
  t.equal((await client.post(picture('png'), { ...PNG, 'idempotency-key': '3' })).status, 201);
});

t.test('assistants may repeat a call', async (t) => {
  const client = await CLIENTS['client 2.4'](url);
  const note = { feed: 'stork-tools', markdown: 'Hello', key: 'once', expires: '2h' };
  const first = await client.call('post_note', note);
  t.notOk(first.isError, JSON.stringify(first.value));
  t.strictSame((await client.call('post_note', note)).value, first.value);
  t.match(await client.call('post_note', { ...note, markdown: 'x' }), {
    isError: true,
    value: { code: 'key_reused' },
  });
  const file = { feed: note.feed, type: 'image/png', data: picture('png').toString('base64'), key: 'file' };
  const posted = await client.call('post_file', file);
  t.strictSame((await client.call('post_file', file)).value, posted.value);
  const { id } = first.value;
  t.match((await client.call('get_note', { feed: note.feed, id })).value, { key: 'once', expires_at: /Z$/ });
  const edited = await client.call('edit_note', { feed: note.feed, id, markdown: 'Bye', expires: '' });
  t.equal(edited.value.expires_at, undefined);
  t.match((await client.call('update_feed', { feed: note.feed, keep: { days: 7 } })).value, {
    keep: { days: 7 },
  });
  await client.close();
});
