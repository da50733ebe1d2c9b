/** Whoever listens to a feed is told that it has changed. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { EventStream } from '../support/event-stream.ts';
import { eventually } from '../support/eventually.ts';
import { exactly } from '../support/exact-request.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { ask, start } from '../support/service.ts';

t.setTimeout(600_000);

const PROXIED = { SERVICE_TRUST_PROXY: '1', SERVICE_METRICS: '1' };
const service = await start(t, PROXIED);
const { url } = service;
const byName = (name: string) => `${url}/api/v1/feeds/${name}/events`;
const byReadId = (readId: string) => `${url}/r/${readId}/events`;

let names = 0;
function newFeed(headers: Record<string, string> = {}): FeedClient & { name: string } {
  names += 1;
  const name = `wagtail-${names}`;
  return Object.assign(new FeedClient(url, name, headers), { name });
}

/** A feed with a note, and its read id. */
async function posted(headers: Record<string, string> = {}) {
  const feed = newFeed(headers);
  const { json } = await feed.post();
  return { feed, readId: readIdIn(json.read_url), id: json.id as string };
}

async function openStreams(): Promise<number> {
  const { text } = await ask(`${url}/metrics`);
  return Number(/^service_event_streams (\d+)$/m.exec(text)![1]);
}

/** Both streams of a feed. */
async function bothOf(t: Test, name: string, readId: string): Promise<EventStream[]> {
  return [await EventStream.open(t, byName(name)), await EventStream.open(t, byReadId(readId))];
}

t.test('the headers of both streams, and of a HEAD', async (t) => {
  const { feed, readId } = await posted();
  for (const [at, cache, cors] of [
    [byReadId(readId), 'no-store', '*'],
    [byName(feed.name), 'private, no-store', undefined],
  ] as const) {
    const { response, text } = await EventStream.open(t, at, { 'accept-encoding': 'gzip, br' });
    t.equal(response.statusCode, 200);
    t.match(response.headers, {
      'content-type': 'text/event-stream',
      'cache-control': cache,
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
    });
    t.equal(response.headers['access-control-allow-origin'], cors);
    t.equal(response.headers['content-encoding'], undefined);
    t.notMatch(text, /changed/);
    const head = await ask(at, { method: 'HEAD' });
    t.equal(head.status, 200);
    t.equal(head.headers.get('content-type'), 'text/event-stream');
    t.equal((await ask(at, { method: 'POST' })).status, 405);
  }
});

t.test('every change is told, with another version, the same to all', async (t) => {
  const { feed, readId, id } = await posted();
  const streams = await bothOf(t, feed.name, readId);
  for (const { text } of streams)
    t.equal(text.replace('retry: 3000\n\n', ''), '', 'nothing to tell at first');
  const changes: (() => Promise<{ status: number }>)[] = [
    () => feed.post('another'),
    () => feed.send('PATCH', `/notes/${id}`, '{"title":"Title"}'),
    () => feed.set({ title: 'Title' }),
    () => feed.send('DELETE', `/notes/${id}`),
  ];
  for (const [i, change] of changes.entries()) {
    t.ok((await change()).status < 300);
    for (const stream of streams) t.ok(await stream.hears(i + 1));
  }
  const [named, open] = streams as [EventStream, EventStream];
  t.same(named.versions, open.versions);
  t.equal(new Set(named.versions).size, changes.length);
  t.match(open.text, /^retry: 3000\n\n/);
  // After the last one: none comes twice.
  await feed.post('last');
  for (const stream of streams) {
    await stream.hears(5);
    t.equal(stream.versions.length, 5);
  }
});

t.test('who has another version is told at once, who has this one is not', async (t) => {
  const { feed, readId } = await posted();
  for (const at of [byReadId(readId), byName(feed.name)]) {
    const first = await EventStream.open(t, `${at}?since=what`);
    t.ok(await first.hears(1));
    const [version] = first.versions as [string];
    t.ok(await (await EventStream.open(t, at, { 'last-event-id': 'x' })).hears(1));
    t.ok(await (await EventStream.open(t, `${at}?since=0`)).hears(1));
    const asks = [
      await EventStream.open(t, `${at}?since=${version}`),
      await EventStream.open(t, `${at}?since=x`, { 'last-event-id': version }),
      await EventStream.open(t, `${at}?since=`),
    ];
    await feed.post('another');
    for (const stream of asks) {
      t.ok(await stream.hears(1));
      t.equal(stream.versions.length, 1);
      t.not(stream.versions[0], version);
    }
    const again = await EventStream.open(t, at, { 'last-event-id': version });
    t.ok(await again.hears(1));
    t.same(again.versions, asks[0]!.versions);
  }
});

t.test('a version from before a restart is told to be old or is still right', async (t) => {
  const first = await start(t, PROXIED);
  const feed = new FeedClient(first.url, 'dunnock');
  const { json } = await feed.post();
  const at = `/r/${readIdIn(json.read_url)}/events`;
  const before = await EventStream.open(t, `${first.url + at}?since=x`);
  await before.hears(1);
  const second = await first.restart();
  await new FeedClient(second.url, 'dunnock').post('missed');
  const after = await EventStream.open(t, second.url + at, { 'last-event-id': before.versions[0]! });
  t.ok(await after.hears(1));
});

t.test('an unknown read id is answered like an empty feed, whatever happens to that', async (t) => {
  const empty = newFeed();
  const json = (await empty.post()).json;
  await empty.send('DELETE', `/notes/${json.id}`);
  const readId = readIdIn(json.read_url);
  const unknown = 'x'.repeat(readId.length);
  for (const query of ['', '?since=0', '?since=x'])
    for (const id of [readId, unknown]) {
      const stream = await EventStream.open(t, byReadId(id) + query);
      await empty.set({ title: `${query} ${id}` });
      const fresh = await EventStream.open(t, `${byReadId(id)}?since=y`);
      t.ok(await fresh.hears(1));
      t.same(stream.versions, query === '?since=x' ? ['0'] : []);
      t.equal(
        stream.text,
        `retry: 3000\n\n${query === '?since=x' ? 'event: changed\nid: 0\ndata: 0\n\n' : ''}`,
      );
    }
  const [one, other] = await Promise.all(
    [readId, unknown].map((id) => exactly(byReadId(id), { method: 'HEAD' })),
  );
  const { date: _, 'x-request-id': _id, ...fields } = one!.headers;
  const { date: __, 'x-request-id': __id, ...others } = other!.headers;
  t.same(fields, others);
  t.equal((await ask(byReadId('no'))).status, 404);
});

t.test('a deleted feed is empty for the public, and ends the streams of its owner', async (t) => {
  const { feed, readId } = await posted();
  const [named, open] = (await bothOf(t, feed.name, readId)) as [EventStream, EventStream];
  await feed.delete();
  t.ok(await named.ends());
  t.same(named.versions, ['0']);
  t.ok(await open.hears(1));
  t.same(open.versions, ['0']);
  t.notOk(open.isEnded);
});

t.test('a stream follows its feed to another read id', async (t) => {
  const { feed, readId } = await posted();
  const [named, old] = (await bothOf(t, feed.name, readId)) as [EventStream, EventStream];
  const next = await EventStream.open(t, byReadId(`${feed.name}-read`));
  await feed.set({ read_id: `${feed.name}-read` });
  for (const stream of [named, old, next]) t.ok(await stream.hears(1));
  t.same(old.versions, ['0']);
  await feed.post('after');
  for (const stream of [named, next]) t.ok(await stream.hears(2));
  t.same(next.versions, named.versions);
  t.same(old.versions, ['0']);
});

t.test('a stream by name ends when the password changes, is removed or is set', async (t) => {
  const { feed, readId } = await posted({ 'x-feed-password': 'one' });
  t.equal((await ask(byName(feed.name))).status, 401);
  t.equal((await ask(byName('No'))).status, 400);
  const open = await EventStream.open(t, byReadId(readId));
  const first = await EventStream.open(t, byName(feed.name), { 'x-feed-password': 'one' });
  t.equal(first.response.statusCode, 200);
  await feed.send('PUT', '/password', '{"password":"two"}');
  t.ok(await first.ends());
  const second = await EventStream.open(t, byName(feed.name), { 'x-feed-password': 'two' });
  await ask(`${url}/api/v1/feeds/${feed.name}/password`, {
    method: 'DELETE',
    headers: { 'x-feed-password': 'two' },
  });
  t.ok(await second.ends());
  t.notOk(open.isEnded);
});

t.test('a stream of a name that nobody has hears that the feed is made', async (t) => {
  const feed = newFeed();
  const streams = [
    await EventStream.open(t, byName(feed.name)),
    await EventStream.open(t, `${byName(feed.name)}?since=0`),
  ];
  await feed.post();
  for (const stream of streams) t.ok(await stream.hears(1));
  await feed.post('second');
  for (const stream of streams) t.ok(await stream.hears(2));
  t.notOk(streams.some(({ isEnded }) => isEnded));
});

t.test('unless it has a password: then the stream ends', async (t) => {
  const feed = newFeed({ 'x-feed-password': 'secret' });
  const stream = await EventStream.open(t, byName(feed.name));
  await feed.post();
  t.ok(await stream.ends());
  t.same(stream.versions, []);
});

t.test('a locked instance asks for its password by name only', async (t) => {
  const locked = await start(t, { ...PROXIED, SERVICE_PASSWORD: 'let us in' });
  t.equal((await ask(`${locked.url}/api/v1/feeds/dunnock/events`)).status, 401);
  const authorization = 'Bearer let us in';
  const named = await EventStream.open(t, `${locked.url}/api/v1/feeds/dunnock/events`, { authorization });
  t.equal(named.response.statusCode, 200);
  t.equal((await EventStream.open(t, `${locked.url}/r/dunnock/events`)).response.statusCode, 200);
});

t.test('a client has 20 streams, and gets another for one that it closes', async (t) => {
  const before = await openStreams();
  const client = { 'x-forwarded-for': '192.0.2.7' };
  const { feed, readId } = await posted();
  const streams: EventStream[] = [];
  for (let i = 0; i < 20; i += 1)
    streams.push(await EventStream.open(t, i % 2 ? byName(feed.name) : byReadId(readId), client));
  t.equal(await openStreams(), before + 20);
  for (const at of [byReadId(readId), byName(feed.name)]) {
    const refused = await ask(at, { headers: client });
    t.equal(refused.status, 503);
    t.equal(refused.json.code, 'busy');
    t.ok(Number(refused.headers.get('retry-after')) > 0);
  }
  t.equal((await EventStream.open(t, byReadId(readId))).response.statusCode, 200, 'another client has');
  streams[0]!.close();
  t.ok(await eventually(async () => (await openStreams()) === before + 20));
  t.equal((await EventStream.open(t, byReadId(readId), client)).response.statusCode, 200);
});

t.test('a stream is in the log when it has ended, and in no histogram', async (t) => {
  const { feed, readId } = await posted();
  const streams = await bothOf(t, feed.name, readId);
  const timed = async () => {
    const { text } = await ask(`${url}/metrics`);
    return text.split('\n').filter((line) => /_count\{operation="\w+Events",status="2xx"/.test(line));
  };
  const logged = () => service.lines.filter(({ fields }) => fields.route === '/r/{readId}/events').length;
  const [before, lines] = [await timed(), logged()];
  for (const stream of streams) stream.close();
  t.ok(await eventually(() => logged() === lines + 1));
  t.same(await timed(), before);
  t.notMatch(JSON.stringify(service.lines), new RegExp(`${feed.name}|${readId}`));
});

t.test('changes by hand are told', { skip: (process.env.SERVICE_STORAGE ?? 'fs') !== 'fs' }, async (t) => {
  const folder = join(service.dir, 'by-hand');
  const named = await EventStream.open(t, byName('by-hand'));
  await mkdir(folder);
  await writeFile(join(folder, 'note.md'), 'by hand');
  t.ok(await named.hears(1));
  const before = named.versions.length;
  await writeFile(join(folder, 'note.md'), 'changed by hand');
  t.ok(await named.hears(before + 1));
  await rm(folder, { recursive: true });
  t.ok(await named.ends());
});

t.test('a stop ends all streams at once', async (t) => {
  const { feed, readId } = await posted();
  const absent = await EventStream.open(t, byName('nobody-has-this'));
  const streams = [absent, ...(await bothOf(t, feed.name, readId))];
  await service.stop();
  for (const stream of streams) t.ok(await stream.ends());
});
