/** Pictures that only lists have, such as title images. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { field, file } from '../support/multipart.ts';
import { picture } from '../support/pictures.ts';
import { ask, start } from '../support/service.ts';
import { zipOf } from '../support/zips.ts';

const { url, dir } = await start(t);
const PNG = { 'content-type': 'image/png' };
const UNLISTED = { 'x-note-unlisted': '1' };

t.test('only lists have it, and its own page and file', async (t) => {
  const client = new FeedClient(url, 'robin');
  const old = (await client.post('old')).json;
  const reply = await client.post(picture('png'), { ...PNG, ...UNLISTED });
  const hidden = reply.json;
  const young = (await client.post('young')).json;
  const readId = readIdIn(old.read_url);
  for (const path of ['/robin', `/r/${readId}`, `/r/${readId}/feed.xml`, `/r/${readId}/feed.json`]) {
    const { text } = await ask(url + path);
    t.ok(text.includes(old.id) && text.includes(young.id), path);
    t.notOk(text.includes(hidden.id), path);
  }
  for (const page of ['/robin', `/r/${readId}`]) {
    t.notOk((await ask(`${url}${page}/${old.id}`)).text.includes(hidden.id), page);
    t.match((await ask(`${url}${page}/${hidden.id}`)).text, young.id, 'it has neighbours');
  }
  t.ok((await ask(hidden.file_url)).bytes.equals(picture('png')));
  for (const list of ['/api/v1/feeds/robin/notes', `/api/v1/read/${readId}/notes`]) {
    const { notes } = (await ask(url + list)).json;
    t.same(
      notes.map(({ id, unlisted }: Record<string, unknown>) => [id, unlisted]),
      [
        [young.id, undefined],
        [hidden.id, true],
        [old.id, undefined],
      ],
    );
    const one = await ask(`${url}${list}/${hidden.id}`);
    t.equal(one.json.unlisted, true);
    if (list.includes('robin')) t.equal(one.headers.get('etag'), reply.headers.get('etag'));
  }
  t.match(await client.send('PATCH', `/notes/${hidden.id}`, '{"title":"T"}'), { json: { unlisted: true } });
  t.match(await client.put(`/notes/${hidden.id}`, picture('png', 80)), { json: { unlisted: true } });
  t.match(await client.set({ image: hidden.file }), { json: { image_url: hidden.file_url } });
});

t.test('a page is full although pictures are left out', async (t) => {
  const client = new FeedClient(url, 'wren');
  for (let n = 0; n < 3; n += 1) await client.post(picture('png'), { ...PNG, ...UNLISTED });
  for (let n = 0; n < 51; n += 1) {
    await client.post(`${n}`);
    if (n === 20) await client.post(picture('png'), { ...PNG, ...UNLISTED });
  }
  const page = await ask(`${url}/wren`);
  t.equal(page.text.match(/<article/g)?.length, 50);
  const next = /href="\?before=([^"]+)"/.exec(page.text)?.[1];
  const last = await ask(`${url}/wren?before=${next}`);
  t.equal(last.text.match(/<article/g)?.length, 1);
  t.notMatch(last.text, 'rel="next"');
});

t.test('any number of them hides no older note', async (t) => {
  const client = new FeedClient(url, 'heron');
  const old = (await client.post('old')).json;
  const pictures = Array.from({ length: 900 }, (_, n) => [
    { name: `9-${n}.png`, bytes: picture('png', 64, n) },
    { name: `.9-${n}.png.json`, bytes: '{"unlisted":true,"created":"2099-01-01T00:00:00Z"}' },
  ]);
  const headers = { 'content-type': 'application/zip' };
  const body = zipOf(pictures.flat());
  t.match(await ask(`${client.record}/import`, { method: 'POST', headers, body }), { status: 200 });
  const readId = readIdIn(old.read_url);
  for (const path of ['/heron', `/r/${readId}`, `/r/${readId}/feed.xml`, `/r/${readId}/feed.json`])
    t.match((await ask(url + path)).text, old.id, path);
});

t.test(
  'a text is never one, whatever somebody wrote by hand',
  { skip: (process.env.SERVICE_STORAGE ?? 'fs') !== 'fs' },
  async (t) => {
    const client = new FeedClient(url, 'stint');
    const readId = readIdIn((await client.post()).json.read_url);
    await writeFile(join(dir, 'stint', '.by-hand.md.json'), '{"unlisted":true}');
    await writeFile(join(dir, 'stint', 'by-hand.md'), '# By hand');
    t.ok(await eventually(async () => (await client.get('/notes/by-hand')).status === 200));
    t.notOk('unlisted' in (await client.get('/notes/by-hand')).json);
    for (const path of ['/stint', `/r/${readId}/feed.xml`]) t.match((await ask(url + path)).text, 'By hand');
  },
);

t.test('who puts a note under its key says it again', async (t) => {
  const client = new FeedClient(url, 'finch');
  const put = (headers: Record<string, string>) =>
    ask(`${client.record}/notes?key=k`, {
      method: 'PUT',
      headers: { ...PNG, ...headers },
      body: picture('png'),
    });
  t.equal((await put(UNLISTED)).status, 201);
  t.match((await client.list()).json.notes, [{ unlisted: true }]);
  t.notOk('unlisted' in (await put({})).json);
  t.equal((await put(UNLISTED)).json.unlisted, true);
  const again = await client.post(picture('png'), { ...PNG, 'idempotency-key': 'k' });
  t.match(again, { status: 422, json: { code: 'key_reused' } });
  t.equal((await client.post(picture('png'), { ...PNG, ...UNLISTED, 'idempotency-key': 'k' })).status, 201);
});

t.test('anything else is refused', async (t) => {
  const client = new FeedClient(url, 'tit');
  const refused = { status: 400, json: { code: 'invalid_request', error: /X-Note-Unlisted/ } };
  for (const value of ['0', 'true', '1 1', '2'])
    t.match(await client.post(picture('png'), { ...PNG, 'x-note-unlisted': value }), refused, value);
  t.match(await client.post('text', UNLISTED), refused);
  t.match(await client.post('{"content":"a"}', { ...UNLISTED, 'content-type': 'application/json' }), refused);
  const png = file('file', 'a.png', 'image/png', picture('png'));
  t.match(await client.postForm([field('text', 'a'), png], UNLISTED), refused);
  t.match(await client.postForm([png], UNLISTED), refused);
  t.equal(
    (await client.post(picture('png'), { ...PNG, 'x-note-unlisted': '' })).status,
    201,
    'empty is none',
  );
  t.notOk('unlisted' in (await client.list()).json.notes[0]);
});
