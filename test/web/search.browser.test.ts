/** Notes are found on the pages of a feed, as a user of Chromium: by mouse, by keyboard, on a phone, without scripts. */
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import {
  visit as anyVisit,
  boxIsReady,
  isUsable,
  PHONE,
  settled,
  startBrowser,
  type VisitOptions,
} from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { PIXEL } from '../support/pictures.ts';
import { unlessBusy } from '../support/searching.ts';
import { ask, start } from '../support/service.ts';

const browser = await startBrowser(t);
const { url } = await start(t);
const feed = new FeedClient(url, 'otter-log');
const address = `${url}/${feed.name}`;

await feed.post('An otter that the first page does not show', { 'x-note-tags': 'early' });
for (let n = 1; n <= 55; n += 1) await feed.post(`Stone ${n}`, { 'x-note-tags': 'stones' });
const { json: low } = await feed.post('The river is low today.', { 'x-note-tags': 'river' });
await feed.post(`# Field book\n\n${'Words before it. '.repeat(10)}Two *otters* swim in the river.`, {
  'x-note-tags': 'river,dam',
});
await feed.post('הלוטרה שוחה בנהר river כל הלילה');
await feed.post(PIXEL, { 'content-type': 'image/png', 'x-note-alt': 'A river and a hill' });
const readPage = low.read_url.replace(/\/[^/]*$/, '');

/** A new user, whose searches are sent again while the service refuses them as `busy`, as on a busy machine. */
async function visit(t: Test, options?: VisitOptions) {
  const visited = await anyVisit(t, browser, options);
  const context = visited.page.context();
  // What is asked for when the test ends is nobody's.
  t.teardown(() => context.unrouteAll({ behavior: 'ignoreErrors' }));
  await context.route(/[?&](?:q|tag|from|to)=/, async (route) => {
    let response = await route.fetch();
    while (response.status() === 503) response = await route.fetch();
    await route.fulfill({ response });
  });
  return visited;
}

/** Waits until the search finds what was posted. */
async function isFound(q: string, count: number): Promise<boolean> {
  return eventually(async () => (await feed.list(`?q=${q}&limit=100`)).json.notes?.length === count);
}
if (!(await isFound('river', 4)) || !(await isFound('stone', 55))) throw new Error('the notes are not found');

/** Waits until the whole page of hits is there, with the script that takes keys. */
async function isFoundOn(page: Page): Promise<void> {
  await page.waitForSelector('.hit');
  await page.waitForLoadState();
}

const query = (page: Page) => decodeURIComponent(new URL(page.url()).search);
const heading = (page: Page) => page.textContent('.narrowed h2');
const hits = (page: Page) => page.locator('.hit h3').allTextContents();

for (const place of [address, readPage]) {
  const kind = place === address ? 'feed' : 'read page';

  t.test(`words are found and marked: ${kind}`, async (t) => {
    const { page, ...faults } = await visit(t);
    await page.goto(place);
    await page.fill('[name=q]', 'river');
    await page.click('.seek button');
    await isFoundOn(page);
    t.equal(query(page), '?q=river', 'the address says only what was filled in');
    t.match(await page.title(), /^river · /);
    t.equal(await heading(page), '4 notes for “river”');
    t.equal(await page.inputValue('[name=q]'), 'river');
    t.same(await hits(page), [
      'A river and a hill',
      'הלוטרה שוחה בנהר river כל הלילה',
      'Field book',
      'The river is low today.',
    ]);
    t.same(await page.locator('mark').allTextContents(), ['river', 'river', 'river', 'river']);
    t.match(await page.textContent('.hit:has-text("Field book") .piece'), /Two otters swim in the river\.$/);
    t.equal(await page.locator('.hit:has-text("low today") .piece').count(), 0, 'nothing stands there twice');
    const [width, height] = await page.evaluate<[number, number]>(
      "(({ width, height }) => [width, height])(document.querySelector('.hit img').getBoundingClientRect())",
    );
    t.ok(width === 64 && height === 64, 'a small picture');
    t.equal(await page.locator('#compose').count(), 0);
    await isUsable(t, page, 'hits');
    await page.click('text=The river is low today.');
    await page.waitForSelector('article.alone');
    t.match(page.url(), low.id);
    await page.goBack();
    await page.click('.narrowed >> text=Clear');
    await page.waitForSelector('article');
    t.equal(query(page), '');
    t.same(faults, { violations: [], errors: [], dialogs: [] });
  });

  t.test(`older hits keep what was asked for: ${kind}`, async (t) => {
    const { page } = await visit(t);
    await page.goto(`${place}?q=stone&tag=stones`);
    t.equal(await heading(page), 'More than 50 notes for “stone”');
    t.equal((await hits(page)).length, 50);
    await page.click('[rel=next]');
    await page.waitForURL(/before=/);
    t.match(query(page), /^\?q=stone&tag=stones&before=/);
    t.equal(await heading(page), 'Older notes for “stone”');
    t.same(await hits(page), ['Stone 5', 'Stone 4', 'Stone 3', 'Stone 2', 'Stone 1']);
    t.equal(await page.textContent('[rel=prev]'), '← Newer');
    await page.click('[rel=prev]');
    await page.waitForURL((to) => !to.search.includes('before'));
    t.equal(query(page), '?q=stone&tag=stones');
  });

  t.test(`tags and days narrow it, and each can be taken away: ${kind}`, async (t) => {
    const { page, ...faults } = await visit(t);
    await page.goto(`${place}?q=river`);
    await page.click('.find summary');
    await page.waitForSelector('.tags >> text=stones');
    t.same(await page.locator('.tags li').allTextContents(), ['stones 55', 'river 2', 'dam 1', 'early 1']);
    await isUsable(t, page, 'filters');
    await page.fill('[name=tag]', 'DA');
    await page.waitForSelector('.tags >> text=stones', { state: 'detached' });
    t.same(await page.locator('.tags li').allTextContents(), ['dam 1'], 'those that begin so');
    await page.click('.tags a');
    await page.waitForURL(/tag=/);
    t.equal(query(page), '?q=river&tag=dam');
    t.same(await hits(page), ['Field book']);
    await page.click('.find summary');
    await page.fill('[name=from]', '2020-01-01');
    await page.fill('[name=to]', '2020-02-01');
    await page.click('.filters button');
    await page.waitForURL(/from=/);
    t.equal(query(page), '?q=river&tag=dam&from=2020-01-01&to=2020-02-01');
    t.match(
      await page.textContent('.nothing'),
      'No note has all of these words and what the filters ask for.',
    );
    t.same(await page.locator('.narrowed .pill:not(.rss)').allTextContents(), [
      'Without dam',
      'Without from 2020-01-01',
      'Without until 2020-02-01',
    ]);
    await isUsable(t, page, 'pills');
    for (const rest of ['?q=river&from=2020-01-01&to=2020-02-01', '?q=river&to=2020-02-01', '?q=river']) {
      await page.click('.narrowed .pill >> nth=0');
      await page.waitForURL((to) => to.search === rest);
    }
    t.equal((await hits(page)).length, 4);
    await page.goto(`${place}?tag=river&from=2020-01-01`);
    t.equal(await page.locator('article .text').count(), 2, 'without words the notes themselves are shown');
    t.equal(await page.locator('.narrowed h2').count(), 0);
    t.same(faults, { violations: [], errors: [], dialogs: [] });
  });

  t.test(`it works without scripts: ${kind}`, async (t) => {
    const { page } = await visit(t, { javaScriptEnabled: false });
    await page.goto(place);
    t.notOk(await page.isVisible('.seek kbd'), 'no key is promised');
    await page.fill('[name=q]', 'river');
    await page.press('[name=q]', 'Enter');
    await isFoundOn(page);
    t.equal(await heading(page), '4 notes for “river”');
    await page.click('.find summary');
    t.same(await page.locator('.tags li').allTextContents(), ['river 2', 'dam 1'], 'tags of what was found');
    await page.click('.tags >> text=dam');
    await page.waitForURL(/tag=dam/);
    t.same(await hits(page), ['Field book']);
    await page.click('.narrowed .pill >> nth=0');
    await page.waitForURL((to) => !to.search.includes('tag'));
    await page.goto(`${place}?q=stone`);
    await page.click('[rel=next]');
    await page.waitForURL(/before=/);
    t.equal((await hits(page)).length, 5);
  });
}

t.test('a keyboard alone finds a note', async (t) => {
  const { page, ...faults } = await visit(t);
  const { keyboard } = page;
  const focused = () =>
    page.evaluate<string>('document.activeElement.name || document.activeElement.className');
  await page.goto(address);
  t.ok(await page.isVisible('.seek kbd'), 'a hint on the key');
  await page.focus('#note-text');
  await keyboard.type('a/b');
  t.equal(await page.inputValue('#note-text'), 'a/b', 'who types elsewhere is left alone');
  await keyboard.press('Control+a');
  await keyboard.press('Delete');
  await page.focus('article .when >> nth=0');
  await keyboard.press('/');
  t.equal(await focused(), 'q');
  t.notOk(await page.isVisible('.seek kbd'));
  await keyboard.type('low/riv');
  await keyboard.press('Escape');
  t.equal(await focused(), 'when', 'back to where it came from');
  t.equal(await page.inputValue('[name=q]'), 'low/riv', 'what was typed stays');
  await keyboard.press('/');
  await keyboard.type('riv* low');
  await keyboard.press('Enter');
  await isFoundOn(page);
  t.same(await hits(page), ['The river is low today.']);
  for (const [selector, key] of [
    ['.seek button', 'Tab'],
    ['.find summary', 'Tab'],
  ] as const) {
    if (selector === '.seek button') await keyboard.press('/');
    await keyboard.press(key);
    t.ok(await page.evaluate(`document.activeElement.matches('${selector}')`), selector);
  }
  await keyboard.press('Enter');
  await page.waitForSelector('.tags >> text=early');
  await keyboard.press('Tab');
  t.equal(await focused(), 'tag');
  await keyboard.press('Escape');
  await page.focus('.hit h3 a');
  await keyboard.press('Enter');
  await page.waitForSelector('article.alone');
  t.same(faults, { violations: [], errors: [], dialogs: [] });
});

t.test('nothing found says what can be tried, and does not count as a new feed', async (t) => {
  const { page } = await visit(t);
  await page.goto(`${address}?q=wolpertinger`);
  t.equal(await heading(page), 'No notes for “wolpertinger”');
  t.match(await page.textContent('.below'), /No note has all of these words\..*"a phrase".*begin\*.*-word/s);
  await isUsable(t, page, 'nothing found');
  await page.goto(address);
  await page.waitForSelector('article');
  t.notOk(await page.isVisible('#keep'));
});

t.test('a search that cannot be is explained, and can be mended', async (t) => {
  for (const place of [address, readPage]) {
    const { page, ...faults } = await visit(t);
    const answer = await page.goto(`${place}?q=${encodeURIComponent('"?!"')}&tag=river`);
    t.equal(answer?.status(), 400);
    t.match(await page.textContent('[role=alert]'), /^The search needs a word to find: /);
    t.equal(await page.inputValue('[name=q]'), '"?!"');
    t.notMatch(await page.textContent('main'), feed.name);
    await isUsable(t, page, 'refused');
    await page.click('.find summary');
    t.equal(await page.inputValue('[name=tag]'), 'river');
    await page.waitForSelector('.tags >> text=stones');
    await page.fill('[name=q]', 'x'.repeat(201));
    await page.press('[name=q]', 'Enter');
    await page.waitForSelector('[role=alert]:has-text("at most 200 characters")');
    await page.fill('[name=q]', 'river');
    await page.press('[name=q]', 'Enter');
    await isFoundOn(page);
    t.equal(query(page), '?q=river&tag=river');
    t.same(faults, { violations: [], errors: [], dialogs: [] });
  }
});

t.test('a search of a read page can be followed', async (t) => {
  const { page } = await visit(t);
  await page.goto(`${readPage}?q=low+river`);
  const rss = await page.getAttribute('text=Follow this search', 'href');
  t.equal(rss, `${readPage}/feed.xml?q=low%20river`);
  const { status, text } = await unlessBusy(() => ask(rss!));
  t.equal(status, 200);
  t.equal(text.split('<item>').length - 1, 1);
});

t.test('what was found stays as it is when notes come', async (t) => {
  const { page } = await visit(t);
  const { page: list } = await visit(t);
  await page.goto(`${address}?q=river`);
  await list.goto(address);
  const { json: late } = await feed.post('A late river');
  await list.waitForSelector(`#n-${late.id}`);
  t.equal((await hits(page)).length, 4);
  t.ok(await isFound('river', 5));
  await page.reload();
  t.equal(await heading(page), '5 notes for “river”');
  await ask(late.url, { method: 'DELETE' });
});

t.test('search engines list no searches', async (t) => {
  await feed.send('PATCH', '', '{"listed":true}');
  const isListed = async (search: string) =>
    !/content="noindex"/.test((await unlessBusy(() => ask(readPage + search))).text);
  t.ok(await isListed(''));
  for (const search of ['?q=river', '?tag=river', '?from=2020-01-01', '?to=2020-01-01'])
    t.notOk(await isListed(search), search);
});

t.test('the box offers tags of notes that the page does not show', async (t) => {
  const { page } = await visit(t);
  await page.goto(address);
  t.notMatch(await page.textContent('#notes'), 'early');
  await boxIsReady(page);
  await page.focus('#note-text');
  await page.focus('#note-tags');
  // If tags are offered after a key has chosen one, the choice is lost.
  const offered = page.waitForResponse(/tags\?q=ear$/);
  await page.keyboard.type('ear');
  await (await offered).finished();
  await settled(page);
  await page.waitForSelector('#note-known-tags >> text=early');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  t.equal(await page.inputValue('#note-tags'), 'early, ');
});

t.test('an instance without a search has no field for it', async (t) => {
  const without = await start(t, { SERVICE_SEARCH: '0' });
  const other = new FeedClient(without.url, 'without');
  await other.post('A note', { 'x-note-tags': 'one' });
  const html = { headers: { accept: 'text/html' } };
  const shown = await ask(`${without.url}/without?tag=one`, html);
  t.notMatch(shown.text, 'name="q"');
  t.match(shown.text, 'A note');
  const refused = await ask(`${without.url}/without?q=note`, html);
  t.equal(refused.status, 400);
  t.match(refused.text, 'This instance has no search.');
});

for (const [kind, options] of Object.entries({
  dark: { colorScheme: 'dark' },
  phone: PHONE,
  'dark phone': { ...PHONE, colorScheme: 'dark' },
} as const)) {
  t.test(`everybody can use it: ${kind}`, async (t) => {
    const { page } = await visit(t, options);
    for (const place of [address, readPage])
      for (const [search, withFilters] of [
        ['', true],
        ['?q=river&tag=river', true],
        ['?q=nowhere', false],
        ['?q=%21', false],
      ] as const) {
        await page.goto(place + search);
        await isUsable(t, page, search);
        if (!withFilters) continue;
        await page.click('.find summary');
        await page.waitForSelector('.tags li');
        await isUsable(t, page, `${search}, filters`);
      }
  });
}

t.test('on paper there are the notes that were found alone', async (t) => {
  const { page } = await visit(t);
  await page.goto(`${readPage}?q=river`);
  await page.emulateMedia({ media: 'print' });
  t.ok(await page.isVisible('.hit'));
  t.ok(await page.isVisible('.narrowed h2'));
  for (const control of ['.find', '.narrowed a', '.pills']) t.notOk(await page.isVisible(control), control);
});
