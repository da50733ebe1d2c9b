/** Pages in browsers of some years ago: Chromium without what those do not know. */
import t from 'tap';
import { contrastFindings, startBrowser, visit } from '../support/browser.ts';
import { FeedClient } from '../support/feed-client.ts';
import { start } from '../support/service.ts';

const browser = await startBrowser(t);
const { url } = await start(t);
const feed = new FeedClient(url, 'older');
await feed.post('Words', { 'x-note-tags': 'otters' });

for (const colorScheme of ['light', 'dark'] as const)
  t.test(`light colours without light-dark(), where ${colorScheme} ones are preferred`, async (t) => {
    const { page } = await visit(t, browser, { colorScheme });
    await page.route('**/*.css', async (route) => {
      const answer = await route.fetch();
      await route.fulfill({
        response: answer,
        body: (await answer.text()).replaceAll('light-dark(', 'unknown('),
      });
    });
    await page.goto(`${url}/${feed.name}`);
    await page.click('article summary');
    const painted = (selector: string, property: string) =>
      page.evaluate<string>(`getComputedStyle(document.querySelector('${selector}')).${property}`);
    t.equal(
      await painted('.menu > ul', 'backgroundColor'),
      'rgb(255, 255, 255)',
      'a menu hides what is under it',
    );
    t.equal(await painted('.box', 'borderTopStyle'), 'solid', 'fields have a border');
    t.same(await contrastFindings(page), []);
  });
