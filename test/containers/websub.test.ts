/** Three containers on one PostgreSQL: a hub is told of each change once. */
import t from 'tap';
import { startContainers, untilAllKnow } from '../support/containers.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { freePort } from '../support/free-port.ts';
import { PostgresServer } from '../support/postgres.ts';
import { TestHub } from '../support/websub-hub.ts';

t.setTimeout(600_000);

t.test('each change is announced by the container that made it', async (t) => {
  const server = await PostgresServer.start(t);
  const databaseUrl = await server.database();
  const hub = await TestHub.start(t);
  // Each has an address of its own, which shows who has announced a change.
  const ports = await Promise.all([freePort(), freePort(), freePort()]);
  const options = ports.map((port) => ({
    env: { PORT: `${port}`, PUBLIC_URL: `http://127.0.0.1:${port}`, SERVICE_WEBSUB_HUBS: hub.url },
  }));
  const services = await startContainers(t, databaseUrl, options);
  await untilAllKnow(server, databaseUrl, services.length);
  const topics: string[] = [];
  for (const [n, { url }] of services.entries())
    topics.push((await new FeedClient(url, `feed-${n}`).post()).json.read_url);
  t.ok(await eventually(() => topics.every((topic) => hub.timesOf(topic).length > 0)));
  // A stop tells what a container has not told yet.
  for (const service of services) t.equal((await service.kill('SIGTERM')).code, 0);
  const feeds = topics.flatMap((topic) => [topic, topic.replace('feed.xml', 'feed.json')]);
  t.strictSame(hub.told.map(({ topic }) => topic).sort(), feeds.sort());
});
