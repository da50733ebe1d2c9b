/** A process that dies between a commit and its notice leaves nothing stale in the caches of others. */
import t from 'tap';
import { askAll, containerSettings, lastStale, startContainers, viewsOf } from '../support/containers.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { PostgresServer } from '../support/postgres.ts';
import { ServiceProcess } from '../support/service-process.ts';

/** With `NOTICE_KILLS=100` the long run. */
const KILLS = Number(process.env.NOTICE_KILLS ?? 5);
const DIES = new URL('../support/dies-before-notice.mjs', import.meta.url).href;

t.setTimeout(KILLS * 40_000 + 60_000);

t.test('what a process stored before it died shows in another one within a second', async (t) => {
  const server = await PostgresServer.start(t);
  const url = await server.database();
  const [living] = await startContainers(t, url, [{}]);
  const feed = new FeedClient(living!.url, 'wren');
  const [rss, json, , list] = viewsOf(readIdIn((await feed.post('first')).json.read_url));
  const paths = [rss!, json!, list!];
  const tags = async () =>
    Promise.all(paths.map(async (path) => (await askAll([living!], path))[0]!.headers.get('etag')!));
  const times: number[] = [];
  for (let kill = 0; kill < KILLS; kill += 1) {
    const dying = await ServiceProcess.start(t, { env: containerSettings(url), flags: ['--import', DIES] });
    await tags();
    const before = await tags();
    // It may have answered before it dies.
    await new FeedClient(dying.url, 'wren').post(`note ${kill}`).catch(() => {});
    t.same(await dying.exit, { code: null, signal: 'SIGKILL' });
    const stale = await lastStale(async () => {
      const replies = await Promise.all(
        paths.map((path, n) => askAll([living!], path, { 'if-none-match': before[n]! })),
      );
      return replies.flat().some(({ status }) => status === 304) ? 'stale' : 'fresh';
    });
    t.ok(stale < 1_000, `the last stale answer was asked for after ${Math.round(stale)} ms`);
    times.push(stale);
  }
  t.equal((await feed.list('?limit=100')).json.notes.length, Math.min(KILLS + 1, 100));
  times.sort((a, b) => a - b);
  t.comment(
    `stale for ${Math.round(times[KILLS >> 1]!)} ms (median), ${Math.round(times.at(-1)!)} ms at most`,
  );
});
