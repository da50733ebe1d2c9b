/** Notes that change while they are read, as a user of Chromium: nothing moves, and nothing is lost. */
import type { Page } from 'playwright-core';
import t from 'tap';
import {
  axeFindings,
  isRouted,
  mayBeLeft,
  overflow,
  PHONE,
  startBrowser,
  visit,
} from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { ask, start } from '../support/service.ts';

const browser = await startBrowser(t);
const { url } = await start(t);
const writer = await visit(t, browser);
const { page } = writer;
const reader = await visit(t, browser, PHONE);

const readPage = (read_url: string) => read_url.replace('/feed.xml', '');
const change = (note: { url: string }, body: string) =>
  ask(note.url, { method: 'PUT', headers: { 'content-type': 'text/markdown' }, body });
/** Tells the page that its window is shown, or that it is not. */
const setVisibility = (page: Page, state: 'visible' | 'hidden') =>
  page.evaluate(`(() => {
    Object.defineProperty(document, 'visibilityState', {value: '${state}', configurable: true});
    document.dispatchEvent(new Event('visibilitychange'));
  })()`);
const remove = (note: { url: string }) => ask(note.url, { method: 'DELETE' });
const shows = (page: Page, text: string) => page.waitForSelector(`article:has-text("${text}")`);
const hides = (page: Page, text: string) =>
  page.waitForSelector(`article:has-text("${text}")`, { state: 'detached' });

/** Posts numbered notes; returns them, the newest first. */
async function postMany(feed: FeedClient, count: number) {
  const notes: { id: string; url: string; read_url: string }[] = [];
  for (let n = 1; n <= count; n += 1)
    notes.unshift((await feed.post(`Note ${n} of many.\n\n${'Some words. '.repeat(20)}`)).json);
  return notes;
}

/** Where a note stands in the window, in pixels. */
const topOf = (page: Page, id: string) =>
  page.evaluate<number>(`document.getElementById('n-${id}').getBoundingClientRect().top`);

t.test(
  'what is posted, changed and deleted elsewhere shows at the top, and what is typed stays',
  async (t) => {
    const feed = new FeedClient(url, 'quiet-wombat');
    const { json: first } = await feed.post('The first');
    await page.goto(`${url}/quiet-wombat`);
    await reader.page.goto(readPage(first.read_url));
    await page.locator('#note-text').pressSequentially('being ty');
    await page.evaluate("document.querySelector('article').dataset.seen = 'yes'");
    const { json: second } = await feed.post('The second');
    await shows(page, 'The second');
    await shows(reader.page, 'The second');
    t.match(await page.textContent('.news[role=status]'), '1 new note.');
    await page.keyboard.type('ped');
    t.equal(await page.inputValue('#note-text'), 'being typed');
    t.equal(await page.getAttribute('article:has-text("The first")', 'data-seen'), 'yes', 'the same element');
    await change(second, 'Changed');
    await shows(page, 'Changed');
    t.equal(await page.getAttribute('article:has-text("The first")', 'data-seen'), 'yes');
    await remove(second);
    await hides(page, 'Changed');
    await hides(reader.page, 'Changed');
    t.notMatch(await reader.page.content(), 'quiet-wombat', 'readers do not learn the name');
    await mayBeLeft(page);
  },
);

t.test('nothing moves for who reads further down', async (t) => {
  const feed = new FeedClient(url, 'long-read');
  const notes = await postMany(feed, 30);
  const read = notes[15]!;
  for (const [{ page }, address] of [
    [writer, `${url}/long-read`],
    [reader, readPage(read.read_url)],
  ] as const) {
    await page.goto(address);
    // Some browsers keep the place by themselves, others do not.
    if (page === reader.page) await page.evaluate("document.documentElement.style.overflowAnchor = 'none'");
    await page.evaluate(`document.getElementById('n-${read.id}').scrollIntoView();
      getSelection().selectAllChildren(document.querySelector('#n-${notes[16]!.id} .text p'));
      window.before = [...document.querySelectorAll('article')]`);
    const selected = await page.evaluate<string>('getSelection().toString()');
    t.match(selected, / of many\.$/);
    const top = await topOf(page, read.id);
    const stays = async (what: string) =>
      t.ok(
        Math.abs((await topOf(page, read.id)) - top) < 1,
        `${what}: ${await topOf(page, read.id)} was ${top}`,
      );
    const [one, two] = [(await feed.post('New one')).json, (await feed.post('New two')).json];
    await page.waitForSelector('.new:text("2 new notes")');
    await stays('new notes');
    await change(notes[3]!, `Longer now.\n\n${'More and more words. '.repeat(80)}`);
    await shows(page, 'Longer now.');
    await stays('an edit above');
    await remove(notes[5]!);
    await page.waitForSelector(`#n-${notes[5]!.id}`, { state: 'detached' });
    await stays('a deletion above');
    t.equal(await page.evaluate('getSelection().toString()'), selected);
    t.equal(
      await page.evaluate('window.before.filter((note) => !note.isConnected).length'),
      2,
      'other elements are the same',
    );
    t.ok(await page.isVisible('.new'), 'seen from where one reads');
    t.same(await axeFindings(page), []);
    t.equal(await overflow(page), 0);
    await page.click('.new');
    t.equal(
      await page.evaluate('document.activeElement.dataset.id'),
      two.id,
      'the first new note has the focus',
    );
    t.ok(Math.abs(await topOf(page, two.id)) < 300);
    t.notOk(await page.isVisible('.new'));
    // The feed becomes what it was at first, for the next page.
    for (const note of [one, two]) await remove(note);
    await change(notes[3]!, 'Short');
    notes.splice(5, 1);
    await shows(page, 'Short');
  }
});

t.test(
  'focus and an open menu stay when their note is changed; one that is edited is left alone',
  async (t) => {
    const feed = new FeedClient(url, 'held');
    const [, note] = await postMany(feed, 2);
    await page.goto(`${url}/held`);
    const article = `#n-${note!.id}`;
    await page.click(`${article} summary`);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await change(note!, 'With a [link](https://a.example/)');
    await shows(page, 'With a link');
    t.equal(await page.textContent(':focus'), 'Copy link');
    await page.evaluate(`document.querySelector('${article}').dataset.editing = ''`);
    await change(note!, 'Changed by others');
    await page.waitForSelector(`${article}[data-changed]`);
    t.match(await page.textContent(article), 'With a link');
    await page.evaluate(`delete document.querySelector('${article}').dataset.editing`);
    await feed.post('Another');
    await shows(page, 'Changed by others');
  },
);

t.test('the header follows, and the list stays as it is', async (t) => {
  const feed = new FeedClient(url, 'headed');
  const { json: note } = await feed.post('A note');
  await page.goto(`${url}/headed`);
  await reader.page.goto(readPage(note.read_url));
  for (const { page: one } of [writer, reader])
    await one.evaluate("document.querySelector('article').dataset.seen = 'yes'");
  await feed.set({ title: 'A headline', description: 'What it is about' });
  for (const { page: one } of [writer, reader]) {
    await one.waitForSelector('h1:has-text("A headline")');
    t.match(await one.title(), 'A headline');
    t.equal(await one.textContent('.description'), 'What it is about');
    t.equal(await one.getAttribute('article', 'data-seen'), 'yes');
  }
});

t.test('pages of a tag and of older notes follow in their way', async (t) => {
  const feed = new FeedClient(url, 'paged');
  const notes = await postMany(feed, 52);
  await feed.post('Tagged', { 'x-note-tags': 'one' });
  await page.goto(`${url}/paged?tag=one`);
  await feed.post('Not for it');
  await feed.post('Tagged, too', { 'x-note-tags': 'one' });
  await shows(page, 'Tagged, too');
  t.equal(await page.locator('article').count(), 2);
  await page.goto(`${url}/paged`);
  await page.click('[rel=next]');
  await page.waitForSelector('[rel=prev]');
  t.equal(await page.locator('article').count(), 5);
  await feed.post('Much newer');
  await remove(notes[51]!);
  await page.waitForSelector(`#n-${notes[51]!.id}`, { state: 'detached' });
  t.equal(await page.locator('article').count(), 4);
  t.notOk(await page.isVisible('.new'), 'new notes are on another page');
});

t.test(
  'old notes give way to new ones where nobody sees it, and the next page goes on behind them',
  async (t) => {
    const feed = new FeedClient(url, 'pushed');
    const notes = await postMany(feed, 51);
    await page.goto(`${url}/pushed`);
    const last = notes[49]!;
    await page.evaluate(`document.getElementById('n-${last.id}').scrollIntoView({block: 'center'})`);
    await feed.post('Pushes');
    await page.waitForSelector('.new');
    t.equal(await page.locator(`#n-${last.id}`).count(), 1, 'it is read');
    await page.evaluate('scrollTo(0, 300)');
    await feed.post('Pushes, too');
    await page.waitForSelector('.new:text("2 new notes")');
    t.equal(await page.locator(`#n-${last.id}`).count(), 0);
    await page.click('.new');
    t.equal(await page.locator('article').count(), 50);
    await page.click('[rel=next]');
    await page.waitForSelector('[rel=prev]');
    t.equal(await page.getAttribute('article', 'data-id'), notes[48]!.id);
  },
);

t.test('an own note comes at once', async () => {
  const feed = new FeedClient(url, 'own');
  await postMany(feed, 5);
  await page.goto(`${url}/own`);
  await page.evaluate('scrollTo(0, 60)');
  await page.fill('#note-text', 'My own');
  await page.keyboard.press('Control+Enter');
  await shows(page, 'My own');
});

t.test('the first note shows on a page that waits for it', async (t) => {
  await page.goto(`${url}/waiting`);
  await new FeedClient(url, 'waiting').post('At last');
  await shows(page, 'At last');
  t.equal(await page.locator('[name=password]').count(), 0, 'it can be protected no more');
});

t.test('a note that expires goes at its time', async (t) => {
  const feed = new FeedClient(url, 'passing');
  const { page } = await visit(t, browser);
  await feed.post('Stays');
  await feed.post('Goes', { 'x-note-expires': '30m' });
  await page.clock.install();
  await page.goto(`${url}/passing`);
  await shows(page, 'Goes');
  await page.clock.fastForward('30:01');
  await hides(page, 'Goes');
  t.equal(await page.locator('article').count(), 1);
});

t.test('a note that lives longer since the page was hidden shows again', async (t) => {
  const feed = new FeedClient(url, 'passing-later');
  const { page } = await visit(t, browser);
  await feed.post('Stays');
  const { json: note } = await feed.post('Lives on', { 'x-note-expires': '30m' });
  await page.clock.install();
  await page.goto(`${url}/passing-later`, { waitUntil: 'networkidle' });
  await setVisibility(page, 'hidden');
  await feed.send('PATCH', `/notes/${note.id}`, JSON.stringify({ expires: '' }));
  await page.clock.fastForward('30:01');
  await hides(page, 'Lives on');
  await setVisibility(page, 'visible');
  await shows(page, 'Lives on');
});

t.test('a note that was deleted here shows again once it is imported', async (t) => {
  const feed = new FeedClient(url, 'gone-and-back');
  const { page } = await visit(t, browser);
  await feed.post('Goes and comes');
  const { bytes: body } = await feed.get('/export');
  await page.clock.install();
  await page.goto(`${url}/gone-and-back`);
  await page.click('article summary');
  await page.click('article [data-action=delete]');
  await page.waitForSelector('#toasts:has-text("Deleted.")');
  await page.clock.fastForward(11_000);
  await hides(page, 'Goes and comes');
  await feed.post('Meanwhile');
  await shows(page, 'Meanwhile');
  const headers = { 'content-type': 'application/zip' };
  t.equal((await ask(`${feed.record}/import`, { method: 'POST', headers, body })).json.imported, 1);
  await shows(page, 'Goes and comes');
});

t.test('a note that expires while it is edited goes when the edit is closed', async (t) => {
  const feed = new FeedClient(url, 'passing-edited');
  const { page } = await visit(t, browser, { says: 'yes' });
  await feed.post('Stays');
  await feed.post('Goes', { 'x-note-expires': '30m' });
  await page.clock.install();
  await page.goto(`${url}/passing-edited`);
  await page.click('article:has-text("Goes") summary');
  await page.click('article [data-action=edit]');
  await page.waitForSelector('article .box.open');
  await page.fill('#edit-text', 'My words');
  await page.clock.fastForward('30:01');
  t.equal(await page.inputValue('#edit-text'), 'My words');
  await page.keyboard.press('Escape');
  await page.clock.fastForward('00:01');
  await hides(page, 'Goes');
  t.equal(await page.locator('article').count(), 1);
});

t.test('a connection that was lost is resumed', async () => {
  const feed = new FeedClient(url, 'resumed');
  await feed.post('Before');
  await page.goto(`${url}/resumed`);
  await shows(page, 'Before');
  await page.context().setOffline(true);
  await feed.post('Meanwhile');
  await page.context().setOffline(false);
  await shows(page, 'Meanwhile');
});

t.test('a page that could not be fetched when a note came is fetched again soon', async (t) => {
  const { page } = await visit(t, browser, { serviceWorkers: 'block' });
  const feed = new FeedClient(url, 'unfetched');
  await feed.post('Before');
  await page.goto(`${url}/unfetched`, { waitUntil: 'networkidle' });
  const isPage = (address: URL) => address.pathname === '/unfetched';
  await page.route(isPage, (route) => route.abort());
  await isRouted(page);
  const failed = page.waitForEvent('requestfailed');
  await feed.post('Meanwhile');
  await failed;
  await page.unroute(isPage);
  // Half of the polling interval.
  await page.waitForSelector('article:has-text("Meanwhile")');
});

t.test('a page that is out of date says so until it is not', async (t) => {
  const { page } = await visit(t, browser);
  await new FeedClient(url, 'lost').post('Before');
  await page.clock.install();
  await page.goto(`${url}/lost`, { waitUntil: 'networkidle' });
  await page.context().setOffline(true);
  const isLost = async () => {
    await page.clock.fastForward(31_000);
    return page.isVisible('.lost');
  };
  t.ok(await eventually(isLost));
  t.match(await page.textContent('.lost'), /^Not up to date since \d+:\d\d/);
  t.same(await axeFindings(page), []);
  await page.context().setOffline(false);
  t.ok(await eventually(async () => !(await isLost())));
});

t.test(
  'a page whose stream is refused asks every 30 seconds; one that is hidden does not listen',
  async (t) => {
    const { page } = await visit(t, browser);
    const feed = new FeedClient(url, 'polled');
    await page.clock.install();
    await page.route(/\/events\?/, (route) => route.fulfill({ status: 503, body: '{}' }));
    await feed.post('Before');
    await page.goto(`${url}/polled`, { waitUntil: 'networkidle' });
    await feed.post('Asked for');
    await page.clock.fastForward(31_000);
    await shows(page, 'Asked for');
    await page.unroute(/\/events\?/);
    const opened = page.waitForRequest(/\/events\?/);
    await setVisibility(page, 'visible');
    const stream = await opened;
    const closed = page.waitForEvent('requestfailed', (request) => request === stream);
    await setVisibility(page, 'hidden');
    await closed;
    await feed.post('While hidden');
    await setVisibility(page, 'visible');
    await shows(page, 'While hidden');
  },
);

t.test('nothing went wrong beside what users see', async (t) => {
  for (const { violations, errors } of [writer, reader]) {
    t.same(violations, []);
    t.same(errors, []);
  }
});
