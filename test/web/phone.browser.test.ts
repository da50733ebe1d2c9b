/** Pages in Chromium on phones, with fingers. */
import t from 'tap';
import { boxIsReady, overflow, startBrowser, visit } from '../support/browser.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { start } from '../support/service.ts';

const browser = await startBrowser(t);
const { url } = await start(t, { SERVICE_REPORT_URL: 'builtin' });
const locked = await start(t, { SERVICE_PASSWORD: 'let us in' });
const feed = new FeedClient(url, 'in-the-hand');
const { json: note } = await feed.post('# A title\n\nWords[^1].\n\n[^1]: A footnote.', {
  'x-note-tags': `otters,owls,${'a'.repeat(32)},${'b'.repeat(32)}`,
  'x-note-expires': '7d',
});
const readPage = `${url}/r/${readIdIn(note.read_url)}`;
const PAGES = {
  start: url,
  feed: note.feed_url,
  'a tag': `${note.feed_url}?tag=otters`,
  'empty feed': `${url}/not-yet`,
  note: note.url,
  settings: `${note.feed_url}/settings`,
  'public page': readPage,
  'public note': `${readPage}/${note.id}`,
  search: `${readPage}?q=words&tag=otters`,
  login: `${locked.url}/login`,
  report: `${url}/report?target=x`,
  error: `${url}/r/nothing/x`,
};

/** What a finger hardly meets: smaller than 24 pixels (WCAG 2.2, 2.5.8), but for links in a sentence and boxes with a label. */
const SMALL = `[...document.querySelectorAll('a, button, summary, select, textarea, input:not([type=hidden])')]
  .filter((one) => one.checkVisibility({ visibilityProperty: true }) && !one.closest('.unseen, .skip, p:not(.back, .actions), sup') && !one.closest('label') && !one.querySelector('img'))
  .concat([...document.querySelectorAll('[role=doc-backlink]')])
  .filter((one) => Math.min(one.getBoundingClientRect().width, one.getBoundingClientRect().height) < 24)
  .map((one) => one.outerHTML.slice(0, 100))`;

/** Fields at which an iPhone zooms into the page. */
const ZOOMING = `[...document.querySelectorAll('input:not([type=hidden], [type=checkbox], [type=file]), select, textarea')]
  .filter((one) => parseFloat(getComputedStyle(one).fontSize) < 16).map(({ outerHTML }) => outerHTML.slice(0, 100))`;

for (const viewport of [
  { width: 320, height: 568 },
  { width: 375, height: 812 },
])
  t.test(`fingers meet everything, ${viewport.width}`, async (t) => {
    const { page } = await visit(t, browser, { viewport, isMobile: true, hasTouch: true });
    for (const [name, address] of Object.entries(PAGES)) {
      await page.goto(address);
      if (name === 'feed') {
        await boxIsReady(page);
        await page.click('.find summary');
      }
      t.same(await page.evaluate(SMALL), [], `too small, ${name}`);
      t.same(await page.evaluate(ZOOMING), [], `zooms, ${name}`);
      t.equal(await overflow(page), 0, `width, ${name}`);
    }
  });

t.test('a keyboard on the screen leaves the page above it', async (t) => {
  const { page } = await visit(t, browser);
  await page.goto(note.feed_url);
  const viewport = await page.getAttribute('meta[name=viewport]', 'content');
  t.match(
    viewport,
    /interactive-widget=resizes-content/,
    'so that messages and the bar of the box are in view',
  );
});
