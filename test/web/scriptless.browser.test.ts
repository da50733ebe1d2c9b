/** Pages in Chromium without JavaScript: what is shown there works. */
import t from 'tap';
import { startBrowser, visit } from '../support/browser.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { start } from '../support/service.ts';

const browser = await startBrowser(t);
const { url } = await start(t);
const feed = new FeedClient(url, 'scriptless');
const { json: note } = await feed.post('Words');

t.test('nothing is shown that only a script does', async (t) => {
  const { page } = await visit(t, browser, { javaScriptEnabled: false });
  for (const address of [
    url,
    note.feed_url,
    `${url}/not-yet`,
    note.url,
    `${note.feed_url}/settings`,
    `${url}/r/${readIdIn(note.read_url)}`,
  ]) {
    await page.goto(address);
    t.equal(await page.locator('[data-copy]:visible').count(), 0, `${address}: a button that copies`);
    t.equal(await page.locator('textarea:visible').count(), 0, `${address}: a box that nothing sends`);
  }
  await page.goto(note.feed_url);
  t.ok(await page.isVisible('#compose + noscript p'));
});
