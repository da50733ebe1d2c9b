/** Texts of any language in Chromium: they are read in their own direction, and not as English. */
import type { Page } from 'playwright-core';
import t from 'tap';
import { axeFindings, boxIsReady, startBrowser, visit } from '../support/browser.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { untilFound } from '../support/searching.ts';
import { start } from '../support/service.ts';

const browser = await startBrowser(t);
const { url } = await start(t);
const feed = new FeedClient(url, 'in-hebrew');
const HEBREW = 'שלום עולם!';
const { json: note } = await feed.post(HEBREW);
await feed.send('PATCH', `/notes/${note.id}`, JSON.stringify({ title: HEBREW }));
await feed.set({ title: HEBREW, description: HEBREW });
const readPage = `${url}/r/${readIdIn(note.read_url)}`;
const SEARCH = `?q=${encodeURIComponent('שלום')}`;
await untilFound(`${url}/api/v1/feeds/${feed.name}/notes`, SEARCH, 1);

/** The language and the direction of an element. */
function manner(page: Page, selector: string): Promise<[string, string]> {
  return page.evaluate<[string, string]>(`(() => {
    const element = document.querySelector(${JSON.stringify(selector)});
    return [element.closest('[lang]').lang, getComputedStyle(element).direction];
  })()`);
}

const UNKNOWN_RTL = ['', 'rtl'];

t.test('what was written', async (t) => {
  const { page } = await visit(t, browser);
  for (const [address, selectors] of [
    [note.feed_url, ['h1', '.description', 'article h3', 'article .text']],
    [readPage, ['h1', '.description', 'article h3', 'article .text']],
    [note.url, ['article h1', 'article .text']],
    [`${readPage}${SEARCH}`, ['.hit h3']],
  ] as const) {
    await page.goto(address);
    for (const selector of selectors) t.same(await manner(page, selector), UNKNOWN_RTL, selector);
    t.equal(await page.getAttribute('html', 'lang'), 'en');
    t.same(await axeFindings(page), []);
  }
});

t.test('what is being written', async (t) => {
  const { page } = await visit(t, browser);
  await page.goto(note.feed_url);
  await boxIsReady(page);
  await page.click('#compose [data-action=title]');
  for (const selector of ['#note-text', '#note-title', '#note-tags']) {
    t.equal((await manner(page, selector))[1], 'ltr', `${selector}, empty`);
    await page.fill(selector, 'שלום');
    t.same(await manner(page, selector), UNKNOWN_RTL, selector);
  }
  await page.goto(`${note.feed_url}/settings`);
  for (const selector of ['#title', '#description'])
    t.same(await manner(page, selector), UNKNOWN_RTL, selector);
});
