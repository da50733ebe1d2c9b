/** Pages in browsers of some years ago: Chromium without what those do not know. */
import type { Page } from 'playwright-core';
import t from 'tap';
import { boxIsReady, contrastFindings, startBrowser, visit } from '../support/browser.ts';
import { write } from '../support/drafts.ts';
import { FeedClient } from '../support/feed-client.ts';
import { start } from '../support/service.ts';

const browser = await startBrowser(t);
const { url } = await start(t);
const feed = new FeedClient(url, 'older');
await feed.post('Words', { 'x-note-tags': 'otters' });

/** Serves the styles with a property or function renamed, as if the browser did not know it. */
async function takeFromStyles(page: Page, feature: string): Promise<void> {
  await page.route('**/*.css', async (route) => {
    const response = await route.fetch();
    const body = (await response.text()).replaceAll(feature, `unknown-${feature}`);
    await route.fulfill({ response, body });
  });
}

for (const colorScheme of ['light', 'dark'] as const)
  t.test(`light colours without light-dark(), where ${colorScheme} ones are preferred`, async (t) => {
    const { page } = await visit(t, browser, { colorScheme });
    await takeFromStyles(page, 'light-dark');
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

t.test('writing and logging in without what browsers learned in 2022 and 2023', async (t) => {
  const locked = await start(t, { SERVICE_PASSWORD: 'let us in' });
  const { page, errors } = await visit(t, browser);
  page.setDefaultTimeout(20_000);
  await page.addInitScript(`
    delete HTMLFormElement.prototype.requestSubmit;
    delete String.prototype.toWellFormed;
    delete Array.prototype.toSorted;
    delete AbortSignal.timeout;`);
  await page.goto(`${locked.url}/from-an-old-phone`);
  await page.fill('#password', 'let us in');
  await page.click('button.primary');
  await page.waitForURL(`${locked.url}/from-an-old-phone`);
  await boxIsReady(page);
  await page.focus('#note-text');
  await page.click('#compose [data-action=title]');
  await page.fill('#note-title', 'On an old phone');
  await write(page, 'Written');
  await page.reload();
  await page.waitForSelector('.restored:not([hidden])');
  await page.press('#note-text', 'Control+Enter');
  await page.waitForSelector('article h3:has-text("On an old phone")');
  t.same(errors, []);
});

t.test('a box that does not grow with its text has room for one', async (t) => {
  const { page } = await visit(t, browser);
  await takeFromStyles(page, 'field-sizing');
  await page.goto(`${url}/${feed.name}`);
  await boxIsReady(page);
  await page.fill('#note-text', 'A line\n'.repeat(20));
  const { height } = (await page.locator('#note-text').boundingBox())!;
  t.ok(height >= 190, `${height}`);
  t.equal(await page.evaluate("getComputedStyle(document.querySelector('#note-text')).resize"), 'vertical');
});
