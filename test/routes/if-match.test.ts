/** Writes under a condition: `If-Match`, and what a post believes of its feed. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { feedIdentity } from '../../src/writing/etags.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { picture } from '../support/pictures.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { ask, type Reply, start } from '../support/service.ts';
import { zipOf } from '../support/zips.ts';

const { url, port, dir } = await start(t);
const ON_FILES = { skip: (process.env.SERVICE_STORAGE ?? 'fs') !== 'fs' && 'only files are changed by hand' };
const MD = { 'content-type': 'text/markdown' };
const JSON_TYPE = { 'content-type': 'application/json' };
const OTHER = '"AAAA"';

const send = (path: string, method: string, ifMatch: string, body: string | null, type = JSON_TYPE) =>
  ask(url + path, { method, headers: { ...type, 'if-match': ifMatch }, body });

function isChanged(t: Test, reply: Reply): void {
  t.match(reply, { status: 412, json: { code: 'changed' } });
}

t.test(
  'every write of a note and its GET answer with one ETag, which the next write may require',
  async (t) => {
    for (const [name, base] of Object.entries({
      'crane-url': '/crane-url/',
      'crane-api': '/api/v1/feeds/crane-api/notes/',
    })) {
      const client = new FeedClient(url, name);
      for (const type of ['text/markdown', 'image/png']) {
        const body = type === 'image/png' ? picture('png') : 'one';
        const posted = await client.post(body, { 'content-type': type, 'x-note-title': 'T' });
        const { id } = posted.json;
        const path = base + id;
        const shown = async () => (await client.get(`/notes/${id}`)).headers.get('etag')!;
        let etag = posted.headers.get('etag')!;
        t.equal(await shown(), etag, `${type}, POST`);
        const patched = await send(path, 'PATCH', etag, '{"title": "U"}');
        t.equal(patched.status, 200, patched.text);
        t.not(patched.headers.get('etag'), etag);
        isChanged(t, await send(path, 'PATCH', etag, '{"title": "V"}'));
        isChanged(t, await send(path, 'DELETE', etag, null));
        const put = (tag: string) =>
          ask(url + path, { method: 'PUT', headers: { 'content-type': type, 'if-match': tag }, body });
        isChanged(t, await put(etag));
        etag = patched.headers.get('etag')!;
        t.equal(await shown(), etag, `${type}, PATCH`);
        t.equal((await client.get(`/notes/${id}`)).json.title, 'U', 'nothing was changed');
        const replaced = await put(etag);
        t.equal(replaced.status, 200, replaced.text);
        etag = replaced.headers.get('etag')!;
        t.equal(await shown(), etag, `${type}, PUT`);
        if (type === 'image/png') t.not(etag, patched.headers.get('etag'), 'another version of the picture');
        t.equal((await put('*')).status, 200);
        etag = await shown();
        for (const wrong of ['', 'AAAA', '"A" "B"', '"A"x', "W/'A'", '*, "A"'])
          t.match(await put(wrong), { status: 400, json: { code: 'invalid_request' } }, wrong);
        t.equal((await send(path, 'DELETE', etag, null)).status, 204);
        t.equal((await send(path, 'DELETE', etag, null)).status, 404, 'no condition makes a note');
      }
    }
  },
);

t.test('an ETag matches in each of its codings, and a weak one never', async (t) => {
  const client = new FeedClient(url, 'crane-codings');
  const { id } = (await client.post('x'.repeat(3000))).json;
  for (const coding of ['identity', 'gzip', 'br']) {
    const { headers } = await ask(`${client.record}/notes/${id}`, { headers: { 'accept-encoding': coding } });
    const etag = headers.get('etag')!;
    t.equal(etag.endsWith(`-${coding}"`), coding !== 'identity');
    isChanged(
      t,
      await client.with({ 'if-match': `W/${etag}` }).send('PATCH', `/notes/${id}`, '{"title": "x"}'),
    );
    const patched = await client
      .with({ 'if-match': `${OTHER}, ${etag}` })
      .send('PATCH', `/notes/${id}`, JSON.stringify({ title: coding }));
    t.equal(patched.status, 200, coding);
  }
  const { headers } = await ask(`${client.record}/notes/${id}`, {
    headers: { 'accept-encoding': 'identity' },
  });
  const byProxy = client.with({ 'if-match': headers.get('etag')!.replace(/"$/, '-zstd"') });
  t.equal((await byProxy.send('PATCH', `/notes/${id}`, '{"title": "x"}')).status, 200, 'as Caddy marks it');
});

t.test('of two windows that edit one note at once, one is told', async (t) => {
  const client = new FeedClient(url, 'crane-race');
  const posted = await client.post('one');
  const headers = { ...MD, 'if-match': posted.headers.get('etag')! };
  const edits = ['a', 'b', 'c', 'd'].map((body) => ask(posted.json.url, { method: 'PUT', headers, body }));
  const statuses = (await Promise.all(edits)).map(({ status }) => status);
  t.same(statuses.sort(), [200, 412, 412, 412]);
});

t.test('a note that was placed by hand has another ETag with another date', ON_FILES, async (t) => {
  const client = new FeedClient(url, 'crane-by-hand');
  await client.post();
  const folder = join(dir, 'crane-by-hand');
  const shown = () => client.get('/notes/old');
  const isDated = (date: string) => async () => (await shown()).json.created_at === date;
  const [first, second] = ['2001-02-03T04:05:06.700Z', '2002-02-03T04:05:06.700Z'];
  await writeFile(join(folder, '.old.md.json'), JSON.stringify({ created: first }));
  await writeFile(join(folder, 'old.md'), 'text');
  t.ok(await eventually(isDated(first)));
  const etag = (await shown()).headers.get('etag')!;
  await writeFile(join(folder, '.old.md.json'), JSON.stringify({ created: second }));
  t.ok(await eventually(isDated(second)));
  const asked = await client.with({ 'if-none-match': etag }).get('/notes/old');
  t.equal(asked.status, 200);
  isChanged(t, await client.with({ 'if-match': etag }).send('PATCH', '/notes/old', '{"title": "x"}'));
  const patched = await client
    .with({ 'if-match': asked.headers.get('etag')! })
    .send('PATCH', '/notes/old', '{"title": "x"}');
  t.match(patched, { status: 200, json: { created_at: second } });
  t.equal((await shown()).headers.get('etag'), patched.headers.get('etag'));
  // The date of this note is the time of its file, which has fractions of a millisecond.
  await writeFile(join(folder, 'undated.md'), 'text');
  t.ok(await eventually(async () => (await client.get('/notes/undated')).status === 200));
  const { json } = await client.get('/notes/undated');
  const put = await ask(json.url, { method: 'PUT', headers: MD, body: 'other' });
  t.match(put, { status: 200, json: { created_at: json.created_at } });
  t.equal((await client.get('/notes/undated')).headers.get('etag'), put.headers.get('etag'));
});

t.test('the record of a feed', async (t) => {
  const client = new FeedClient(url, 'crane-record');
  await client.post();
  const { headers } = await client.get();
  const first = headers.get('etag')!;
  await client.post();
  t.equal((await client.get()).headers.get('etag'), first, 'a note more is no other record');
  const put = (etag: string, title: string) => client.with({ 'if-match': etag }).set({ title });
  const set = await put(first, 'T');
  t.equal(set.status, 200);
  t.equal((await client.get()).headers.get('etag'), set.headers.get('etag'));
  isChanged(t, await put(first, 'U'));
  t.equal((await client.get()).json.title, 'T');
  t.equal((await client.with({ 'if-none-match': set.headers.get('etag')! }).get()).status, 304);
  isChanged(t, await client.with({ 'if-match': first }).delete());
  t.equal((await client.with({ 'if-match': set.headers.get('etag')! }).delete()).status, 204);
});

t.test('a post whose feed gets other links while it arrives is not for that feed', async (t) => {
  const zip = zipOf([{ name: 'late.md' }]);
  for (const [path, type, body] of [
    ['/notes', 'text/markdown', Buffer.from('late')],
    ['/import', 'application/zip', zip],
  ] as const) {
    const client = new FeedClient(url, `crane-late${path.replace('/', '-')}`);
    const { json } = await client.post();
    const identity = feedIdentity({ readId: readIdIn(json.read_url) as never });
    const connection = await RawConnection.open(port);
    t.teardown(() => connection.close());
    const fields = `Host: test\r\nIf-Match: "${identity}"\r\nContent-Type: ${type}\r\n`;
    const target = new URL(client.record).pathname + path;
    connection.send(`POST ${target} HTTP/1.1\r\n${fields}Content-Length: ${body.length}\r\n\r\n`);
    connection.send(body.subarray(0, 2));
    await delay(100);
    t.equal((await client.send('PATCH', '', '{"read_id":""}')).status, 200);
    connection.send(body.subarray(2));
    t.match(await connection.response(), { status: 412, body: /"changed"/ }, path);
    t.equal((await client.list()).json.notes.length, 1);
  }
});

t.test('a post says which feed it is for', async (t) => {
  const client = new FeedClient(url, 'crane-post');
  const mustExist = client.with({ 'if-match': '*' });
  const mustBeNew = client.with({ 'if-none-match': '*' });
  isChanged(t, await mustExist.post());
  t.equal((await client.get()).status, 404, 'no feed is made');
  const { json } = await mustBeNew.post();
  isChanged(t, await mustBeNew.post());
  const identity = (readUrl: string) => `"${feedIdentity({ readId: readIdIn(readUrl) as never })}"`;
  const ofFirst = client.with({ 'if-match': identity(json.read_url) });
  for (const feed of [
    mustExist,
    ofFirst,
    client.with({ 'if-match': `${OTHER}, ${identity(json.read_url)}` }),
  ])
    t.equal((await feed.post()).status, 201);
  isChanged(t, await client.with({ 'if-match': OTHER }).post());
  await client.delete();
  isChanged(t, await ofFirst.post());
  await client.post();
  isChanged(t, await ofFirst.post());
  t.equal((await client.list()).json.notes.length, 1);
  for (const headers of [
    { 'if-none-match': OTHER },
    { 'if-none-match': '*', 'if-match': '*' },
    { 'if-match': 'AAAA' },
  ] as Record<string, string>[])
    t.match(await client.with(headers).post(), { status: 400, json: { code: 'invalid_request' } });
});

t.test('a feed deleted while a post is on its way is not made again', async (t) => {
  for (let round = 0; round < 20; round++) {
    const client = new FeedClient(url, `crane-deleted-${round}`);
    const { json } = await client.post();
    const readId = readIdIn(json.read_url) as never;
    const believer = client.with({ 'if-match': `"${feedIdentity({ readId })}"` });
    const [posts] = await Promise.all([
      Promise.all([believer.post(), believer.post(), believer.post()]),
      client.delete(),
      client.with({ 'x-feed-password': 'other' }).post(),
    ]);
    for (const { status } of posts) t.ok([201, 401, 412].includes(status), String(status));
    const { status } = await client.with({ 'x-feed-password': 'other' }).list();
    const { json: left } = await client.with({ 'x-feed-password': 'other' }).list();
    if (status === 200) t.ok(left.notes.length <= 1, 'none of the old feed');
  }
});
