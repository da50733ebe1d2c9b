/** Two containers on one PostgreSQL: listeners of one hear of what is written through the other. */
import t from 'tap';
import { listenersOf, startContainers } from '../support/containers.ts';
import { EventStream } from '../support/event-stream.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { NoteStream } from '../support/note-stream.ts';
import { PostgresServer } from '../support/postgres.ts';
import type { ServiceProcess } from '../support/service-process.ts';

t.setTimeout(600_000);

const server = await PostgresServer.start(t);
const databaseUrl = await server.database();
const [one, two] = (await startContainers(t, databaseUrl, [{}, {}])) as [ServiceProcess, ServiceProcess];
const both = [one, two];

const byName = (name: string) => `/api/v1/feeds/${name}/events`;

t.test('listeners of both hear of posts through either, with the same versions', async (t) => {
  const readId = readIdIn((await new FeedClient(one.url, 'wren').post()).json.read_url);
  const streams: EventStream[] = [];
  for (const { url } of both)
    for (const path of [`/r/${readId}/events`, byName('wren')])
      streams.push(await EventStream.open(t, url + path));
  for (let n = 1; n <= 6; n += 1) {
    await new FeedClient(both[n % 2]!.url, 'wren').post(`${n}`);
    for (const stream of streams) t.ok(await stream.hears(n));
  }
  for (const stream of streams) t.same(stream.versions, streams[0]!.versions);
  const known = { 'last-event-id': streams[0]!.versions.at(-1)! };
  for (const { url } of both) {
    const quiet = await EventStream.open(t, `${url}/r/${readId}/events`, known);
    const told = await EventStream.open(t, `${url}/r/${readId}/events?since=x`);
    t.ok(await told.hears(1));
    t.same(quiet.versions, []);
  }
});

t.test('listeners of both are told of the same notes, in one order, and what becomes of them', async (t) => {
  const clients = both.map(({ url }) => new FeedClient(url, 'garganey'));
  const [first, second] = clients as [FeedClient, FeedClient];
  const readId = readIdIn((await first.post()).json.read_url);
  const streams: NoteStream[] = [];
  for (const { url } of both) {
    streams.push(await NoteStream.open(t, `${url}/r/${readId}/events?notes=1`));
    streams.push(await NoteStream.open(t, url + byName('garganey'), { accept: 'application/x-ndjson' }));
  }
  const posts = Array.from({ length: 60 }, (_, n) => clients[n % 2]!.post(`${n}`));
  const ids = (await Promise.all(posts)).map(({ json }) => json.id);
  for (const stream of streams) {
    t.ok(await stream.hears(60, 'note'));
    t.same(stream.ids(), streams[0]!.ids());
    t.same(stream.ids().toSorted(), ids.toSorted());
  }
  await second.send('PATCH', `/notes/${ids[0]}`, '{"title":"Other"}');
  for (const stream of streams) t.ok(await stream.hears(1, 'edited'));
  await first.send('DELETE', `/notes/${ids[0]}`);
  for (const stream of streams) {
    t.ok(await stream.hears(1, 'gone'));
    t.same([stream.ids('edited'), stream.ids('gone'), stream.ids('reset')], [[ids[0]], [ids[0]], []]);
  }
});

t.test('a feed that is made, and a password that changes, elsewhere', async (t) => {
  const absent = await EventStream.open(t, two.url + byName('rail'));
  const feed = new FeedClient(one.url, 'rail', { 'x-feed-password': 'first' });
  const readId = readIdIn((await feed.post()).json.read_url);
  t.ok(await absent.ends(), 'the feed has a password that the stream was not opened with');
  const headers = { 'x-feed-password': 'first' };
  const stream = await EventStream.open(t, two.url + byName('rail'), headers);
  const open = await EventStream.open(t, `${two.url}/r/${readId}/events`);
  await feed.send('PUT', '/password', '{"password":"second"}');
  t.ok(await stream.ends());
  t.ok(await open.hears(1));
  await new FeedClient(one.url, 'rail', { 'x-feed-password': 'second' }).delete();
  t.ok(await open.hears(2));
  t.equal(open.versions[1], '0');
});

t.test('what happened while a container heard of nothing is told when it hears again', async (t) => {
  const readId = readIdIn((await new FeedClient(one.url, 'stint').post()).json.read_url);
  const streams = [
    await EventStream.open(t, `${two.url}/r/${readId}/events`),
    await EventStream.open(t, two.url + byName('stint')),
  ];
  await new FeedClient(one.url, 'stint').post('heard');
  for (const stream of streams) t.ok(await stream.hears(1));
  // Both lose their connections, and one of them writes before the other listens again.
  const pids = await listenersOf(server, databaseUrl);
  await server.sql(databaseUrl, 'SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid', [pids]);
  await new FeedClient(one.url, 'stint').post('missed, perhaps');
  for (const stream of streams) t.ok(await stream.hears(2));
});
