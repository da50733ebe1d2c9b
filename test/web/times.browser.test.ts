/** Times of notes in Chromium: in the reader's zone and language, and in the instance's, which is named, without a script. */
import type { Page } from 'playwright-core';
import t from 'tap';
import { startBrowser, visit } from '../support/browser.ts';
import { FeedClient } from '../support/feed-client.ts';
import { ask, start } from '../support/service.ts';
import { zipOf } from '../support/zips.ts';

const browser = await startBrowser(t);
const { url } = await start(t, { TZ: 'America/New_York' });
const feed = new FeedClient(url, 'times');
/** By their text: two days in New York, three in Auckland. */
const NOTES = {
  Evening: '20260108T023000Z-0199d5a0-0000-4000-8000-000000000001',
  Noon: '20260107T170000Z-0199d5a0-0000-4000-8000-000000000002',
  Morning: '20260107T100000Z-0199d5a0-0000-4000-8000-000000000003',
  Early: '20260106T060000Z-0199d5a0-0000-4000-8000-000000000004',
};
await feed.post('now');
await ask(`${url}/api/v1/feeds/times/import`, {
  method: 'POST',
  headers: { 'content-type': 'application/zip' },
  body: zipOf(Object.entries(NOTES).map(([text, id]) => ({ name: `${id}.md`, bytes: text }))),
});
for (const { id, content } of (await feed.list()).json.notes)
  if (content === 'now') await feed.send('DELETE', `/notes/${id}`);

/** Headings and notes as they follow each other, with the time of each note. */
const shown = (page: Page) =>
  page.evaluate<
    string[]
  >(`[...document.querySelectorAll('.day, .note')].map((element) => element.matches('.day')
    ? element.textContent
    : [element.querySelector('.text').textContent.trim(), element.querySelector('.when').textContent].join(' '))`);

t.test('in the zone and the language of the reader', async (t) => {
  const { page } = await visit(t, browser, { timezoneId: 'Pacific/Auckland', locale: 'de-DE' });
  await page.clock.install({ time: '2026-01-08T02:35:00Z' });
  await page.goto(`${url}/times`);
  t.same(await shown(page), [
    'Heute',
    'Evening vor 5 Min.',
    'Noon 06:00',
    'Gestern',
    'Morning 23:00',
    'Dienstag',
    'Early 19:00',
  ]);
  t.match(
    await page.getAttribute('article:has-text("Noon") time', 'title'),
    /^Donnerstag, 8\. Januar 2026 um 06:00/,
  );
  t.equal(await page.getAttribute('.day time', 'lang'), 'de-DE');
  t.notOk(await page.isVisible('.zone'));
});

/** In how many lines the first of these elements is. */
const linesOf = (page: Page, selector: string) =>
  page.evaluate<number>(`document.querySelector('${selector}').getClientRects().length`);

t.test('they are true as time goes by, over midnight, too', async (t) => {
  const { page } = await visit(t, browser, { timezoneId: 'Europe/London', locale: 'en-GB' });
  await page.clock.install({ time: '2026-01-08T02:30:30Z' });
  await page.goto(`${url}/times`);
  await page.evaluate("window.before = [...document.querySelectorAll('article')]");
  t.same((await shown(page)).slice(0, 3), ['Today', 'Evening now', 'Yesterday']);
  await page.clock.runFor(61_000);
  t.equal((await shown(page))[1], 'Evening 1 min ago');
  t.equal(await linesOf(page, '.when time'), 1);
  await page.clock.runFor('01:00:00');
  t.equal((await shown(page))[1], 'Evening 02:30');
  await page.clock.fastForward('20:40:00');
  t.same(await shown(page), [
    'Yesterday',
    'Evening 02:30',
    'Wednesday',
    'Noon 17:00',
    'Morning 10:00',
    'Tuesday',
    'Early 06:00',
  ]);
  await page.clock.fastForward(7 * 86_400_000);
  t.match((await shown(page))[0], /^Thursday,? 8 January 2026$/);
  t.equal(await page.evaluate('window.before.every((note) => note.isConnected)'), true);
});

t.test('on the pages of one note', async (t) => {
  const { page } = await visit(t, browser, { timezoneId: 'Asia/Tokyo', locale: 'en-US' });
  await page.clock.install({ time: '2026-02-01T00:00:00Z' });
  const { json: note } = await feed.get(`/notes/${NOTES.Noon}`);
  const { read_url } = (await feed.get()).json;
  for (const address of [note.url, `${read_url.replace('/feed.xml', '')}/${NOTES.Noon}`]) {
    await page.goto(address);
    t.equal(await page.textContent('.when'), 'January 8, 2026 at 2:00 AM');
    t.notOk(await page.isVisible('.day'));
  }
});

t.test('without a script in the zone of the instance, which is named', async (t) => {
  const { page } = await visit(t, browser, { javaScriptEnabled: false, timezoneId: 'Asia/Tokyo' });
  const { read_url } = (await feed.get()).json;
  for (const address of [`${url}/times`, read_url.replace('/feed.xml', '')]) {
    await page.goto(address);
    const lines = await page.locator('.day, .when').allInnerTexts();
    t.same(lines, [
      'Wednesday, 7 January 2026',
      ...['21:30', '12:00', '05:00'],
      'Tuesday, 6 January 2026',
      '01:00',
    ]);
    t.match(await page.innerText('.zone'), 'America/New York');
    t.match(await page.getAttribute('.when time', 'title'), /^7 January 2026 at 21:30 GMT-5|EST/);
    t.notOk(await page.isVisible('.menu'), 'what needs a script is not shown');
  }
  await page.goto(`${url}/times/${NOTES.Noon}`);
  t.match(await page.innerText('.zone'), 'America/New York');
  await page.click('.menu summary');
  t.ok(await page.isVisible('.read-link'));
  t.notOk(await page.isVisible('[data-action=delete]'));
});

t.test('an edited note says so, and when', async (t) => {
  const edited = new FeedClient(url, 'edited');
  const { json: note } = await edited.post('Before');
  await edited.post('Never edited');
  await ask(note.url, { method: 'PUT', headers: { 'content-type': 'text/markdown' }, body: 'After' });
  const { page } = await visit(t, browser, { timezoneId: 'Asia/Tokyo', locale: 'en-GB' });
  await page.goto(`${url}/edited`);
  t.equal(await page.locator('.note footer time').count(), 1);
  t.equal(await page.innerText('.note:has-text("After") footer time'), 'edited');
  t.match(await page.getAttribute('.note footer time', 'title'), /\d\d:\d\d:\d\d (GMT\+9|JST)$/);
});

t.test('on paper, a note says when it was posted, and not how long ago', async (t) => {
  const { page } = await visit(t, browser, { timezoneId: 'Pacific/Auckland', locale: 'de-DE' });
  await page.clock.install({ time: '2026-01-08T02:35:00Z' });
  await page.goto(`${url}/times`);
  const before = await shown(page);
  await page.evaluate(`addEventListener('beforeprint', () => {
    const [day, note] = document.querySelectorAll('.day, .note .when');
    printed = [day.textContent, note.textContent];
  })`);
  await page.pdf();
  t.same(await page.evaluate('printed'), ['Donnerstag, 8. Januar 2026', '15:30']);
  t.same(await shown(page), before, 'afterwards as before');
});
