/** A page behind a balancer: its stream is from one container, and what it fetches from another one, which hears of changes later. */
import t from 'tap';
import { isRouted, startBrowser, visit } from '../support/browser.ts';
import { startContainers } from '../support/containers.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { PostgresServer } from '../support/postgres.ts';
import { ask } from '../support/service.ts';
import type { ServiceProcess } from '../support/service-process.ts';

t.setTimeout(600_000);

const browser = await startBrowser(t);
const server = await PostgresServer.start(t);
const deaf = new URL('../support/deaf-to-changes.mjs', import.meta.url).href;
const [one, late] = (await startContainers(t, await server.database(), [
  {},
  { flags: ['--import', deaf] },
])) as [ServiceProcess, ServiceProcess];

t.test('a page that was fetched before its container heard of the change is fetched again', async (t) => {
  const { page } = await visit(t, browser, { serviceWorkers: 'block' });
  const feed = new FeedClient(one.url, 'dipper');
  const path = `/r/${readIdIn((await feed.post('Before')).json.read_url)}`;
  await ask(late.url + path);
  await page.goto(one.url + path, { waitUntil: 'networkidle' });
  let fetched = 0;
  await page.route(
    (address) => address.pathname === path,
    async (route) => {
      fetched += 1;
      if (fetched > 1) return route.continue();
      const response = await route.fetch({ url: late.url + path });
      t.notMatch(await response.text(), 'Meanwhile', 'it has not heard of the note');
      return route.fulfill({ response });
    },
  );
  await isRouted(page);
  await feed.post('Meanwhile');
  await page.waitForSelector('article:has-text("Meanwhile")');
  t.ok(fetched > 1);
});
