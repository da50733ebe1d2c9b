/** How much a client may do, over three containers on one PostgreSQL. */
import t, { type Test } from 'tap';
import { startContainers, untilAllKnow } from '../support/containers.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { PostgresServer } from '../support/postgres.ts';

t.setTimeout(600_000);

const LIMIT = 60;

const server = await PostgresServer.start(t);
const database = await server.database();
const env = { SERVICE_RATE_LIMIT: String(LIMIT) };
const services = await startContainers(t, database, [{ env }, { env }, { env }]);
await untilAllKnow(server, database, services.length);
await new FeedClient(services[0]!.url, 'locked', { 'x-feed-password': 'right' }).post();

/** A client's requests to each container. */
const from = (address: string, feed: string, headers: Record<string, string> = {}) =>
  services.map(({ url }) => new FeedClient(url, feed, { 'x-forwarded-for': address, ...headers }));

function holds(t: Test, statuses: readonly number[], allowed: number): void {
  const count = statuses.filter((status) => status === allowed).length;
  t.ok(count >= 0.9 * LIMIT && count <= 1.1 * LIMIT, `${count} of ${LIMIT}`);
  t.same(new Set(statuses), new Set([allowed, 429]));
}

t.test('containers that started together know of each other', async (t) => {
  const clients = from('192.0.2.250', 'wigeon');
  for (const client of clients) t.equal((await client.post()).status, 201);
});

t.test('writes, one after the other', async (t) => {
  const clients = from('192.0.2.1', 'teal');
  const statuses: number[] = [];
  for (let i = 0; i < 80; i += 1) statuses.push((await clients[i % 3]!.post()).status);
  holds(t, statuses, 201);
  for (const client of clients) {
    const reply = await client.post();
    t.equal(reply.json.code, 'rate_limited');
    t.match(reply.headers.get('retry-after'), /^([1-9]|[1-5]\d|60)$/);
  }
  const [other] = from('192.0.2.2', 'teal');
  t.equal((await other!.post()).status, 201, 'others have turns of their own');
});

t.test('writes, all at once', async (t) => {
  const clients = from('192.0.2.3', 'smew');
  const posts = Array.from({ length: 150 }, (_, i) => clients[i % 3]!.post());
  holds(
    t,
    (await Promise.all(posts)).map(({ status }) => status),
    201,
  );
});

t.test('wrong passwords, after which the right one waits everywhere', async (t) => {
  const clients = from('192.0.2.4', 'locked', { 'x-feed-password': 'wrong' });
  const guesses = Array.from({ length: 100 }, (_, i) => clients[i % 3]!.get());
  holds(
    t,
    (await Promise.all(guesses)).map(({ status }) => status),
    401,
  );
  for (const client of from('192.0.2.4', 'locked', { 'x-feed-password': 'right' }))
    t.equal((await client.get()).json.code, 'too_many_attempts');
  for (const client of from('192.0.2.5', 'locked', { 'x-feed-password': 'right' }))
    t.equal((await client.get()).status, 200);
  const [writer] = from('192.0.2.4', 'teal');
  for (let i = 0; i < 10; i += 1) t.equal((await writer!.post()).status, 201, 'writes count by themselves');
});

t.test(
  'what is counted outlives a container, and a crash of the database leaves its own limit to each',
  async (t) => {
    const clients = from('192.0.2.6', 'scaup');
    for (let i = 0; i < 30; i += 1) t.equal((await clients[0]!.post()).status, 201);
    await services[0]!.kill('SIGKILL');
    const rest: number[] = [];
    for (let i = 0; i < 50; i += 1) rest.push((await clients[1 + (i % 2)]!.post()).status);
    const count = 30 + rest.filter((status) => status === 201).length;
    t.ok(count >= 0.9 * LIMIT && count <= 1.1 * LIMIT, `${count} of ${LIMIT}`);
    await server.stop('SIGQUIT');
    await server.start();
    const [, again] = from('192.0.2.7', 'scaup');
    t.ok(await eventually(async () => (await again!.post()).status === 201));
  },
);
