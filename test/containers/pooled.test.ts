/** Two containers behind a real PgBouncer in transaction mode: changes are found by asking, and all else is as without it. */
import t from 'tap';
import { askAll, lastStale, startContainers, viewsOf } from '../support/containers.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { missing } from '../support/installed.ts';
import { startPgBouncer } from '../support/pgbouncer.ts';
import { PostgresServer } from '../support/postgres.ts';
import { q, untilFound } from '../support/searching.ts';

t.setTimeout(600_000);

const skip = missing('pgbouncer');
const env = { SERVICE_DATABASE_LISTEN: '0', SERVICE_MAX_FEEDS: '40' };

t.test('containers behind a pooler', { skip }, async (t) => {
  const server = await PostgresServer.start(t);
  const through = await startPgBouncer(t, server);
  const url = through(await server.database());
  const services = await startContainers(t, url, [{ env }, { env }]);
  const [one, two] = services as [(typeof services)[0], (typeof services)[0]];

  await t.test('what one stores, the other shows within a second', async (t) => {
    const feed = new FeedClient(one.url, 'wren');
    const readId = readIdIn((await feed.post('# One')).json.read_url);
    const [rss, json, , list] = viewsOf(readId) as [string, string, string, string];
    const paths = [rss, json, list];
    const tagsOf = async (path: string) =>
      (await askAll(services, path)).map(({ headers }) => headers.get('etag')!);
    for (let round = 0; round < 3; round += 1) {
      const before = await Promise.all(paths.map(async (path) => (await tagsOf(path))[1]!));
      t.equal((await feed.post(`# Round ${round}`)).status, 201);
      const stale = await lastStale(async () => {
        const replies = await Promise.all(
          paths.map((path, n) => askAll([two], path, { 'if-none-match': before[n]! })),
        );
        return replies.flat().some(({ status }) => status === 304) ? 'stale' : 'fresh';
      });
      t.ok(stale < 1_000, `the last stale answer was asked for after ${Math.round(stale)} ms`);
    }
  });

  await t.test('notes are found by their words', async () => {
    const feed = new FeedClient(two.url, 'wren');
    await feed.post('a nightingale');
    await untilFound(`${one.url}/api/v1/feeds/wren/notes`, q('nightingale'), 1);
  });

  await t.test('limits are exact', async (t) => {
    const posts = Array.from({ length: 60 }, (_, n) =>
      new FeedClient(services[n % 2]!.url, `feed-${n}`).post(`${n}`),
    );
    const statuses = (await Promise.all(posts)).map(({ status, json }) => json.code ?? status);
    t.equal(statuses.filter((status) => status === 201).length, 39, JSON.stringify(statuses));
    t.equal(statuses.filter((status) => status === 'feed_limit').length, 21);
  });
});
