/** Deleting a feed: for good, and while posts are in flight, through HTTP. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { picture } from '../support/pictures.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { ask, start } from '../support/service.ts';

const service = await start(t);
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

t.test('deletion is for good', async (t) => {
  const first = await start(t);
  const client = new FeedClient(first.url, 'otter-gone');
  const posted = (await client.post('secret text', { 'x-read-id': 'otters-left' })).json;
  const image = (await client.post(picture('png'), PNG)).json;
  await client.set({ title: 'Gone', description: 'Gone', image: image.file });
  await ask(posted.read_url);
  const reply = await client.delete();
  t.equal(reply.status, 204);
  t.equal(reply.text, '');
  t.match(await client.get(), { status: 404, json: { code: 'not_found' } });
  t.match(await client.list(), { status: 200, json: { notes: [], next: null } });
  t.match(await client.delete(), { status: 404, json: { code: 'not_found' } });

  const isEmpty = async (at: string) => {
    for (const path of ['/r/otters-left/feed.xml', '/r/otters-left/feed.json', '/api/v1/read/otters-left']) {
      const { status, text } = await ask(at + path);
      t.equal(status, 200, path);
      t.notMatch(text, /Gone|secret text/, path);
    }
    t.strictSame((await ask(`${at}/api/v1/read/otters-left/notes`)).json, { notes: [], next: null });
    t.equal((await ask(`${at}/r/otters-left/${image.file}`)).status, 404);
  };
  await isEmpty(first.url);

  const again = (await client.post('new')).json;
  t.not(readIdIn(again.read_url), 'otters-left', 'the name is free at once, with another read id');
  t.equal((await client.list()).json.notes.length, 1);
  t.match((await client.get()).json, { title: '', description: '', image_url: null });
  const isTaken = { status: 409, json: { code: 'taken' } };
  t.match(await client.set({ read_id: 'otters-left' }), isTaken);
  t.match(await new FeedClient(first.url, 'otter-2').post('x', { 'x-read-id': 'otters-left' }), isTaken);
  await isEmpty(first.url);

  const second = await first.restart();
  const later = new FeedClient(second.url, 'otter-gone');
  t.match(await later.set({ read_id: 'otters-left' }), isTaken, 'after a restart too');
  t.match(await new FeedClient(second.url, 'otter-2').post('x', { 'x-read-id': 'otters-left' }), isTaken);
  await isEmpty(second.url);
  t.equal((await later.list()).json.notes.length, 1);
});

t.test('a deleted feed leaves no file with its texts', async (t) => {
  const client = feed('otter-files');
  await client.post();
  await client.delete();
  t.ok(await eventually(() => !existsSync(join(dir, 'otter-files'))));
});

t.test('a random read id of a deleted feed is not had again either', async (t) => {
  const client = feed('otter-random');
  const chosen = 'otter-lower';
  await client.post('x', { 'x-read-id': chosen });
  await client.set({ read_id: 'otter-later' });
  await client.delete();
  t.match(await feed('otter-next').post('x', { 'x-read-id': 'otter-later' }), { status: 409 });
  t.equal(
    (await feed('otter-next').post('x', { 'x-read-id': chosen })).status,
    201,
    'it had let go of that one',
  );
});

t.test('a post in flight while its feed is deleted makes a new feed', async (t) => {
  const client = feed('otter-flight');
  const before = (await client.post('old')).json;
  const connection = await RawConnection.open(service.port);
  t.teardown(() => connection.close());
  connection.send(
    'POST /otter-flight HTTP/1.1\r\nhost: x\r\ncontent-type: text/markdown\r\ncontent-length: 10\r\n\r\n12345',
  );
  // An answer on another connection says that the service reads on; the post itself is let in before its body ends.
  await client.get();
  t.equal((await client.delete()).status, 204);
  connection.send('67890');
  const { status, body } = await connection.response();
  t.equal(status, 201);
  const { json } = await client.list();
  t.strictSame(
    json.notes.map(({ content }: { content: string }) => content),
    ['1234567890'],
  );
  t.not(JSON.parse(body.toString()).read_url, before.read_url);
  t.strictSame(await listed(readIdIn(before.read_url)), []);
});

t.test('posts and deletions at once leave one whole feed or none', async (t) => {
  const client = feed('otter-storm');
  const readIds = new Set<string>();
  await client.post();
  const replies = await Promise.all(
    Array.from({ length: 60 }, (_, i) => (i % 10 === 9 ? client.delete() : client.post(`note ${i}`))),
  );
  for (const { status, json } of replies) {
    t.ok([201, 204, 404, 503].includes(status), `${status}`);
    if (status === 201) readIds.add(readIdIn(json.read_url));
  }
  const record = await client.get();
  const now = record.status === 200 ? readIdIn(record.json.read_url) : undefined;
  for (const readId of readIds)
    if (readId !== now) t.strictSame(await listed(readId), [], 'old links are empty');
  if (now !== undefined) {
    t.equal(readFileSync(join(dir, 'otter-storm', '.readid'), 'utf8').trim(), now);
    t.strictSame(
      await listed(now),
      (await client.list('?limit=100')).json.notes.map((note: { id: string }) => note.id),
    );
  }
});
