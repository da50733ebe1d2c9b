/** The CDN is told which feeds have changed by their tags; one that misbehaves costs nothing. */
import t, { type Test } from 'tap';
import { startContainers, untilAllKnow } from '../support/containers.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { operate, WITH_OPERATOR } from '../support/operator.ts';
import { PostgresServer } from '../support/postgres.ts';
import { ask, start } from '../support/service.ts';
import { serve } from '../support/websub-hub.ts';

t.setTimeout(600_000);

/** From a change to its last purge, ms: on a busy machine the second one may be left out. */
const LAST_MS = 1_200;

interface Purge {
  method: string;
  path: string;
  tags: string[];
  headers: Record<string, unknown>;
  /** When it came, a time of `performance`. */
  at: number;
}

/** A CDN that notes what it is told, and answers with a status. */
async function startCdn(t: Test, statusOf: (count: number) => number = () => 200) {
  const purges: Purge[] = [];
  const url = await serve(t, ({ method = '', url: path = '', headers }, response, body) => {
    const { tags } = JSON.parse(body);
    purges.push({ method, path, tags, headers, at: performance.now() });
    const status = statusOf(purges.length);
    response.writeHead(status, status < 400 ? { location: '/elsewhere' } : {}).end();
  });
  const purgesOf = (readId: string) => purges.filter(({ tags }) => tags.includes(`feed-${readId}`));
  return {
    url,
    purges,
    timesOf: (readId: string) => purgesOf(readId).length,
    /** Waits for the last purge of a change that was made after that time. */
    hasAll: (readId: string, since: number) =>
      eventually(() => (purgesOf(readId).at(-1)?.at ?? 0) >= since + LAST_MS),
  };
}

t.test('each change of a feed is told, by the tag that its answers have', async (t) => {
  const cdn = await startCdn(t);
  const settings = {
    SERVICE_PURGE_URL: `${cdn.url}purge`,
    SERVICE_PURGE_TOKEN: 'hush',
    SERVICE_METRICS: '1',
  };
  const { url, lines } = await start(t, { ...settings, ...WITH_OPERATOR });
  const feed = new FeedClient(url, 'a-very-secret-feed');
  let changedAfter = performance.now();
  const { id, read_url: rss } = (await feed.post()).json;
  const readId = readIdIn(rss);
  t.equal((await ask(rss)).headers.get('cache-tag'), `feed-${readId}`);
  const untilTold = async (what: string, change: () => Promise<unknown>, told = readId) => {
    // What came before is told for the last time first.
    t.ok(await cdn.hasAll(told, changedAfter));
    const before = cdn.timesOf(told);
    changedAfter = performance.now();
    await change();
    t.ok(await eventually(() => cdn.timesOf(told) > before), what);
  };
  await untilTold('an edit', () => feed.put(`/notes/${id}`, 'y'));
  await untilTold('new settings', () => feed.set({ title: 'A title' }));
  await untilTold('another read id', () => feed.set({ read_id: 'another-link' }));
  t.ok(cdn.timesOf('another-link') > 0);
  await untilTold('a deletion', () => feed.send('DELETE', `/notes/${id}`), 'another-link');
  await untilTold('the end of the feed', () => feed.delete(), 'another-link');
  const other = new FeedClient(url, 'spoonbill');
  changedAfter = performance.now();
  const taken = readIdIn((await other.post()).json.read_url);
  await untilTold(
    'a takedown',
    () => operate(url, 'POST', '/takedown', { read_id: taken, block: true }),
    taken,
  );
  for (const { method, path, headers, tags } of cdn.purges)
    t.match(
      { method, path, headers },
      {
        method: 'POST',
        path: '/purge',
        headers: {
          authorization: 'Bearer hush',
          'content-type': 'application/json',
          'cache-tag': tags.join(),
        },
      },
    );
  t.notMatch(
    JSON.stringify([cdn.purges, lines.filter(({ level }) => level === 'warn')]),
    /secret-feed|spoonbill/,
  );
  const { text } = await ask(`${url}/metrics`);
  t.match(text, /service_purges_total\{outcome="accepted"\} [1-9]/);
  t.match(text, /service_purges_total\{outcome="failed"\} 0/);
});

t.test('a CDN that misbehaves costs nothing, and is told later', async (t) => {
  const failing = await startCdn(t, (count) => [302, 500][count - 1] ?? 204);
  const service = await start(t, { SERVICE_PURGE_URL: failing.url });
  const readId = readIdIn((await new FeedClient(service.url, 'a-very-secret-feed').post()).json.read_url);
  t.ok(await eventually(() => failing.timesOf(readId) >= 3), 'after a redirect and an error');
  t.notOk(failing.purges.some(({ path }) => path === '/elsewhere'));
  const warned = service.lines.filter(({ level }) => level === 'warn');
  t.match(warned, [
    { message: /^the CDN did not take a purge/, fields: { err: { message: 'the CDN answered 302' } } },
  ]);
  t.equal(warned.length, 1);
  t.notMatch(JSON.stringify(warned), /secret-feed/);

  let isAsked = false;
  const hanging = await start(t, {
    SERVICE_PURGE_URL: await serve(t, () => {
      isAsked = true;
    }),
  });
  const feed = new FeedClient(hanging.url, 'heron');
  for (let n = 0; n < 3; n += 1) t.equal((await feed.post()).status, 201);
  t.ok(await eventually(() => isAsked));
  t.equal((await feed.post()).status, 201, 'no post waits');
  await hanging.stop();
});

t.test('of several containers the one that wrote tells it', async (t) => {
  const server = await PostgresServer.start(t);
  const databaseUrl = await server.database();
  const cdns = await Promise.all([startCdn(t), startCdn(t)]);
  const options = cdns.map(({ url }) => ({ env: { SERVICE_PURGE_URL: url } }));
  const services = await startContainers(t, databaseUrl, options);
  await untilAllKnow(server, databaseUrl, services.length);
  const readIds: string[] = [];
  const changedAfter = performance.now();
  for (const [n, { url }] of services.entries())
    readIds.push(readIdIn((await new FeedClient(url, `feed-${n}`).post()).json.read_url));
  for (const [n, cdn] of cdns.entries()) t.ok(await cdn.hasAll(readIds[n]!, changedAfter));
  for (const service of services) t.equal((await service.kill('SIGTERM')).code, 0);
  for (const [n, cdn] of cdns.entries())
    t.strictSame([...new Set(cdn.purges.flatMap(({ tags }) => tags))], [`feed-${readIds[n]}`]);
});
