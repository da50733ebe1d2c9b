/** Notes that change while they are looked at, and the page of a note, as a user of Chromium. */
import t from 'tap';
import { axeFindings, overflow, PHONE, startBrowser, visit } from '../support/browser.ts';
import { PIXEL } from '../support/pictures.ts';
import { ask, post, start } from '../support/service.ts';

const browser = await startBrowser(t);
const { url } = await start(t);
const { page, ...faults } = await visit(t, browser, { permissions: ['clipboard-read', 'clipboard-write'] });
const reader = await visit(t, browser, PHONE);

const POSTED = { 'content-type': 'image/png' };
const readPage = (read_url: string) => read_url.replace('/feed.xml', '');

t.test(
  'what is posted, changed and deleted elsewhere shows by itself, and nothing typed is lost',
  async (t) => {
    const { json: first } = await post(`${url}/quiet-wombat`, 'The first');
    await page.goto(`${url}/quiet-wombat`);
    await reader.page.goto(readPage(first.read_url));
    await page.locator('#note-text').pressSequentially('being ty');
    await page.evaluate("document.querySelector('article').dataset.seen = 'yes'");
    const { json: second } = await post(`${url}/quiet-wombat`, 'The second');
    await page.waitForSelector('article:has-text("The second")');
    await reader.page.waitForSelector('article:has-text("The second")');
    t.equal(await page.textContent('[role=status].unseen'), 'There is a new note.');
    await page.keyboard.type('ped');
    t.equal(await page.inputValue('#note-text'), 'being typed');
    t.equal(await page.getAttribute('article:has-text("The first")', 'data-seen'), null);
    await ask(second.url, { method: 'PUT', headers: { 'content-type': 'text/markdown' }, body: 'Changed' });
    await page.waitForSelector('article:has-text("Changed")');
    await ask(second.url, { method: 'DELETE' });
    await page.waitForSelector('article:has-text("Changed")', { state: 'detached' });
    await reader.page.waitForSelector('article:has-text("Changed")', { state: 'detached' });
    t.notMatch(await reader.page.content(), 'quiet-wombat', 'readers do not learn the name');
  },
);

t.test('the first note shows on a page that waits for it', async (t) => {
  await page.goto(`${url}/waiting`);
  await post(`${url}/waiting`, 'At last');
  await page.waitForSelector('article:has-text("At last")');
  t.equal(await page.locator('[name=password]').count(), 0, 'it can be protected no more');
});

t.test('a connection that was lost is resumed', async () => {
  await post(`${url}/resumed`, 'Before');
  await page.goto(`${url}/resumed`);
  await page.waitForSelector('article:has-text("Before")');
  await page.context().setOffline(true);
  await post(`${url}/resumed`, 'Meanwhile');
  await page.context().setOffline(false);
  await page.waitForSelector('article:has-text("Meanwhile")');
});

t.test(
  'a page whose stream is refused asks every 30 seconds; one that is hidden does not listen',
  async (t) => {
    const { page } = await visit(t, browser);
    await page.clock.install();
    await page.route(/\/events\?/, (route) => route.fulfill({ status: 503, body: '{}' }));
    await post(`${url}/polled`, 'Before');
    await page.goto(`${url}/polled`, { waitUntil: 'networkidle' });
    await post(`${url}/polled`, 'Asked for');
    await page.clock.fastForward(31_000);
    await page.waitForSelector('article:has-text("Asked for")');
    await page.unroute(/\/events\?/);
    const hide = (state: string) =>
      page.evaluate(`(() => {
      Object.defineProperty(document, 'visibilityState', {value: '${state}', configurable: true});
      document.dispatchEvent(new Event('visibilitychange'));
    })()`);
    const opened = page.waitForRequest(/\/events\?/);
    await hide('visible');
    const stream = await opened;
    const closed = page.waitForEvent('requestfailed', (request) => request === stream);
    await hide('hidden');
    await closed;
    await post(`${url}/polled`, 'While hidden');
    await hide('visible');
    await page.waitForSelector('article:has-text("While hidden")');
  },
);

t.test('a note is edited with a new picture, title and tags, then deleted', async (t) => {
  const { json: note } = await post(`${url}/edited`, '\nA  text\n');
  await page.goto(`${url}/edited`);
  await page.click('article a.edit');
  await page.waitForURL(note.url);
  t.same(await axeFindings(page), []);
  await page.click('[data-action=edit]');
  t.equal(await page.inputValue('#note-text'), '\nA  text\n', 'exactly as posted');
  await page.locator('#note-text').press('Control+End');
  await page.setInputFiles('#edit-note [type=file]', {
    name: 'dot.png',
    mimeType: 'image/png',
    buffer: PIXEL,
  });
  await page.fill('.attachments input', 'a dot');
  await page.click('[data-action=insert]');
  await page.waitForSelector('.preview img[src^="blob:"]');
  t.same(await axeFindings(page), []);
  await page.fill('#note-title', 'Ärger');
  await page.fill('#note-tags', '日本');
  await page.keyboard.press('Control+Enter');
  await page.waitForSelector('article img');
  const { json: edited } = await ask(`${url}/api/v1/feeds/edited/notes/${note.id}`);
  t.match(edited, { title: 'Ärger', tags: ['日本'], content: /^\nA {2}text\n!\[a dot\]\(\S+\.png\)$/ });
  await page.click('[data-copy]');
  await page.waitForSelector('[data-copy]:text("Copied")');
  t.match(await page.evaluate('navigator.clipboard.readText()'), /\/r\/[\w-]{22}\//);
  await page.click('[data-action=delete]');
  t.same(await axeFindings(page), []);
  await page.click('text=Keep it');
  t.equal((await ask(`${url}/api/v1/feeds/edited/notes/${note.id}`)).status, 200);
  await page.click('[data-action=delete]');
  await page.click('[data-action=confirm]');
  await page.waitForURL(`${url}/edited`);
  t.equal((await ask(`${url}/api/v1/feeds/edited/notes/${note.id}`)).status, 404);
});

t.test('a picture gets another alternative text and is replaced; a refusal is explained', async (t) => {
  const { json: note } = await post(`${url}/replaced`, PIXEL, { ...POSTED, 'x-note-alt': 'old' });
  const other = Buffer.concat([PIXEL, Buffer.alloc(9)]);
  await page.goto(note.url);
  await page.click('[data-action=edit]');
  await page.fill('#note-alt', 'new');
  await page.setInputFiles('#replacement', { name: 'x.png', mimeType: 'image/png', buffer: other });
  await page.click('#edit-note .primary');
  await page.waitForSelector('article img[alt="new"]');
  t.ok((await ask(note.file_url)).bytes.equals(other));
  await page.click('[data-action=edit]');
  await page.fill('#note-tags', 'not a tag');
  await page.click('#edit-note .primary');
  await page.waitForSelector('#edit-note .error:not(:empty)');
  t.match(await page.textContent('#edit-note .error'), 'The tag "not a tag"');
  t.equal(await page.inputValue('#note-tags'), 'not a tag');
});

t.test('everything fits on a phone', async (t) => {
  const { page } = reader;
  await post(`${url}/small`, `${'word'.repeat(200)} \`${'code'.repeat(100)}\``, {
    'x-note-title': 'x'.repeat(100),
  });
  for (const path of ['small', 'small/settings', 'unborn', '']) {
    await page.goto(`${url}/${path}`);
    t.equal(await overflow(page), 0, path);
    t.same(await axeFindings(page), [], path);
  }
  await page.goto(`${url}/small`);
  await page.click('article a.edit');
  await page.click('[data-action=edit]');
  t.equal(await overflow(page), 0, 'editing');
});

t.test('nothing went wrong beside what users see', async (t) => {
  for (const { violations, errors } of [faults, reader]) {
    t.same(violations, []);
    t.same(errors, []);
  }
});
