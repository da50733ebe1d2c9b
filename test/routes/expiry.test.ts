/** Notes that go by themselves: gone from every view at their moment, also from those that are cached. */
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { FORM_TYPE, field, formBody, png } from '../support/multipart.ts';
import { picture } from '../support/pictures.ts';
import { untilItRenders } from '../support/rendering.ts';
import { ask, type Reply, start } from '../support/service.ts';

const { url } = await start(t);
await untilItRenders(url);

const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();

t.test('a note is gone from every view at its moment', async (t) => {
  const client = new FeedClient(url, 'mayfly');
  const { json } = await client.post('It stays');
  // So soon that nobody may keep a view of it, and late enough to look at all of them on a busy machine.
  const soon = inSeconds(50);
  const headers = { 'x-note-expires': soon };
  const text = (await client.post('It is a mayfly', headers)).json;
  const cat = (await client.post(picture('png'), { ...headers, 'content-type': 'image/png' })).json;
  const readId = readIdIn(json.read_url);
  const lists = [
    ...[`/r/${readId}/feed.xml`, `/r/${readId}/feed.json`, `/r/${readId}`, `/mayfly`],
    ...[`/api/v1/read/${readId}/notes`, '/api/v1/feeds/mayfly/notes'],
  ];
  const ofNote = [text, cat].flatMap(({ id, file }) => [
    ...[`/r/${readId}/${id}`, `/r/${readId}/${file}`, `/mayfly/${id}`],
    ...[`/api/v1/read/${readId}/notes/${id}`, `/api/v1/feeds/mayfly/notes/${id}`],
  ]);
  const shows = ({ status, text }: Reply) => status === 200 && text.includes(cat.id);
  const look = (path: string) => ask(url + path);
  for (const path of [...lists, ...ofNote]) {
    const reply = await look(path);
    t.equal(reply.status, 200, path);
    if (lists.includes(path)) t.ok(shows(reply), path);
    t.match(reply.headers.get('cache-control'), /max-age=0, must-revalidate|private, no-store/, path);
  }
  t.match((await client.get(`/notes/${text.id}`)).json, { expires_at: soon });
  t.match((await ask(`${url}/api/v1/read/${readId}/notes/${text.id}`)).json, { expires_at: soon });
  const at = inSeconds(4);
  for (const { id } of [text, cat])
    t.match(await client.send('PATCH', `/notes/${id}`, JSON.stringify({ expires: at })), { status: 200 });
  // Every view is requested until the note expires, so that all of them are in the cache at that moment.
  const early: string[] = [];
  const late: string[] = [];
  await eventually(async () => {
    for (const path of [...lists, ...ofNote]) {
      const askedAt = Date.now();
      const reply = await look(path);
      const isShown = lists.includes(path) ? shows(reply) : reply.status === 200;
      if (isShown && askedAt >= Date.parse(at)) late.push(path);
      if (!isShown && Date.now() < Date.parse(at)) early.push(path);
    }
    return Date.now() > Date.parse(at) + 500;
  });
  t.same([early, late], [[], []]);
  for (const path of ofNote) t.equal((await look(path)).status, 404, path);
  for (const method of ['PUT', 'DELETE'])
    t.equal((await ask(text.url, { method, body: method === 'PUT' ? 'x' : null })).status, 404);
  t.match((await look(`/api/v1/read/${readId}/notes`)).headers.get('cache-control'), 'public, max-age=60');
});

t.test('a page of a note names no neighbour that has expired', async (t) => {
  const client = new FeedClient(url, 'mayfly-neighbour');
  const { json } = await client.post('It stays');
  const { id } = (await client.post('It is a mayfly', { 'x-note-expires': inSeconds(50) })).json;
  const pages = [`/r/${readIdIn(json.read_url)}/${json.id}`, `/mayfly-neighbour/${json.id}`];
  const names = ({ status, text }: Reply) => status === 200 && text.includes(id);
  for (const path of pages) {
    const reply = await ask(url + path);
    t.ok(names(reply), path);
    t.match(reply.headers.get('cache-control'), /max-age=0, must-revalidate|private, no-store/, path);
  }
  const at = inSeconds(2);
  t.match(await client.send('PATCH', `/notes/${id}`, JSON.stringify({ expires: at })), { status: 200 });
  const late: string[] = [];
  await eventually(async () => {
    for (const path of pages) {
      const askedAt = Date.now();
      if (names(await ask(url + path)) && askedAt >= Date.parse(at)) late.push(path);
    }
    return Date.now() > Date.parse(at) + 500;
  });
  t.same(late, []);
});

t.test('others may keep a view of a note that expires much later as long as any', async (t) => {
  const client = new FeedClient(url, 'mayfly-later');
  const { file_url: fileUrl, read_url: readUrl } = (await client.post('x', { 'x-note-expires': '1h' })).json;
  t.equal(
    (await ask(readUrl)).headers.get('cache-control'),
    'public, max-age=60, stale-while-revalidate=30, stale-if-error=300',
  );
  t.equal((await ask(fileUrl)).headers.get('cache-control'), 'public, max-age=300, must-revalidate');
});

t.test('PATCH says when a note expires, or that it stays', async (t) => {
  const client = new FeedClient(url, 'mayfly-patched');
  const { id } = (await client.post('x', { 'x-note-title': 'T', 'x-note-expires': '' })).json;
  const patch = (expires: unknown) => client.send('PATCH', `/notes/${id}`, JSON.stringify({ expires }));
  t.notOk('expires_at' in (await client.get(`/notes/${id}`)).json);
  const until = await patch('2030-01-31');
  t.match(until, { status: 200, json: { title: 'T', expires_at: '2030-01-31T00:00:00.000Z' } });
  t.equal((await client.get(`/notes/${id}`)).headers.get('etag'), until.headers.get('etag'));
  for (const wrong of ['soon', '7', '0d', '11y', '2020-01-01', '9999-01-01', '4000d'])
    t.match(await patch(wrong), { status: 400, json: { code: 'invalid_request' } }, wrong);
  t.match(await patch(7), { status: 400, json: { code: 'invalid_body' } });
  t.match((await client.get(`/notes/${id}`)).json, { expires_at: '2030-01-31T00:00:00.000Z' });
  t.notOk('expires_at' in (await patch('')).json);
  t.match(await client.send('PATCH', `/notes/${id}`, '{}'), { status: 400, json: { error: /expires/ } });
  t.match(await patch(inSeconds(2)), { status: 200 });
  t.ok(await eventually(async () => (await client.get(`/notes/${id}`)).status === 404));
});

t.test('all notes of a form expire together', async (t) => {
  const client = new FeedClient(url, 'mayfly-form');
  const form = formBody([field('text', '![a](a.png)'), png('a.png', picture('png'))]);
  await client.post(form, { 'content-type': FORM_TYPE, 'x-note-expires': '30m' });
  const { notes } = (await client.list()).json;
  t.equal(notes.length, 2);
  t.equal(new Set(notes.map((note: Record<string, string>) => note.expires_at)).size, 1);
  for (const { expires_at } of notes)
    t.ok(Math.abs(Date.parse(expires_at) - Date.now() - 1_800_000) < 60_000);
  const wrong = await client.post(form, { 'content-type': FORM_TYPE, 'x-note-expires': 'soon' });
  t.match(wrong, { status: 400, json: { code: 'invalid_request' } });
  t.match(await client.post('x', { 'x-note-expire': '1d' }), {
    status: 400,
    json: { error: /X-Note-Expires/ },
  });
});
