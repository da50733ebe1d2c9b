/** What Chromium tells screen readers: where one is, and what has happened, each once. */
import t from 'tap';
import { boxIsReady, isRouted, startBrowser, visit } from '../support/browser.ts';
import { FeedClient } from '../support/feed-client.ts';
import { start } from '../support/service.ts';

const browser = await startBrowser(t);
const { url } = await start(t);

t.test('the title of each page says which one it is', async (t) => {
  const feed = new FeedClient(url, 'titled');
  for (let number = 0; number < 51; number += 1) await feed.post(`Note ${number}`, { 'x-note-tags': 'owls' });
  await feed.set({ title: 'Owls' });
  const { page } = await visit(t, browser);
  const titles: string[] = [];
  for (const path of ['', '?tag=owls', '?from=2020-01-01', '?from=2020-01-01&to=2040-01-01', '/settings']) {
    await page.goto(`${url}/titled${path}`);
    titles.push(await page.title());
  }
  await page.goto(`${url}/titled`);
  await page.click('a[rel=next]');
  await page.waitForURL(/before=/);
  titles.push(await page.title());
  t.same(titles, [
    'Owls · Note Feed',
    'owls · Owls · Note Feed',
    'from 2020-01-01 · Owls · Note Feed',
    'from 2020-01-01 until 2040-01-01 · Owls · Note Feed',
    'Settings · Owls · Note Feed',
    'Older notes · Owls · Note Feed',
  ]);
  await page.goto(`${url}/titled/settings`);
  await page.fill('#title', 'Other owls');
  await page.press('#title', 'Enter');
  await page.waitForSelector('.toast');
  t.equal(await page.title(), 'Settings · Other owls · Note Feed');
});

t.test('a message is said without those that are there already', async (t) => {
  const { page } = await visit(t, browser);
  await new FeedClient(url, 'messages').post();
  await page.goto(`${url}/messages`);
  const session = await page.context().newCDPSession(page);
  const { nodes } = await session.send('Accessibility.getFullAXTree');
  const regions = nodes.filter(({ role, ignored }) => !ignored && role?.value === 'status');
  t.ok(regions.length >= 2);
  for (const { properties = [] } of regions)
    t.not(properties.find(({ name }) => name === 'atomic')?.value.value, true);
});

t.test('whoever has made a feed hears that its address must be kept', async (t) => {
  const { page } = await visit(t, browser);
  await page.goto(`${url}/just-made`);
  await boxIsReady(page);
  await page.fill('#note-text', 'First');
  await page.press('#note-text', 'Control+Enter');
  await page.waitForSelector('#keep:focus');
  await page.reload();
  await page.waitForSelector('#keep:not([hidden])');
  t.equal(await page.locator('#keep:focus').count(), 0, 'once');
});

t.test('also if the page shows the note before its answer has come', async (t) => {
  const { page } = await visit(t, browser);
  await page.goto(`${url}/shown-first`);
  await boxIsReady(page);
  await page.route('**/shown-first', async (route) => {
    if (route.request().method() !== 'POST') return route.continue();
    const response = await route.fetch();
    await page.waitForSelector('article:has-text("First")');
    await route.fulfill({ response });
  });
  await isRouted(page);
  await page.fill('#note-text', 'First');
  await page.press('#note-text', 'Control+Enter');
  await page.waitForSelector('#keep:focus');
});
