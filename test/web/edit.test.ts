/** Editing notes in their place, as a user of Chromium. */
import type { Page } from 'playwright-core';
import t from 'tap';
import {
  axeFindings,
  boxIsReady,
  contrastFindings,
  isRouted,
  overflow,
  PHONE,
  settled,
  startBrowser,
  visit,
} from '../support/browser.ts';
import { storage } from '../support/drafts.ts';
import { eventually } from '../support/eventually.ts';
import { PIXEL, picture } from '../support/pictures.ts';
import { ask, post, start } from '../support/service.ts';

const browser = await startBrowser(t);
const { url } = await start(t);
const { page, ...faults } = await visit(t, browser);

const FILE = { name: 'dot.png', mimeType: 'image/png', buffer: PIXEL };

/** Opens the edit of the note with that text. */
async function edit(page: Page, words: string): Promise<void> {
  await page.click(`article:has-text("${words}") summary`);
  await page.click(`article:has-text("${words}") [data-action=edit]`);
  await page.waitForSelector('article .box.open');
}

t.test('a note is edited in the list with a new picture, title, tags and expiry', async (t) => {
  await post(`${url}/edited`, 'Another');
  const { json: note } = await post(`${url}/edited`, '\nA  text\n');
  await post(`${url}/edited`, 'Above it');
  await page.goto(`${url}/edited`);
  await edit(page, 'A text');
  t.equal(await page.inputValue('#edit-text'), '\nA  text\n', 'exactly as posted');
  t.equal(await page.evaluate('document.activeElement.id'), 'edit-text');
  await page.keyboard.press('Control+End');
  await page.setInputFiles('article [type=file]', FILE);
  await page.fill('.attachments input', 'a dot');
  await page.click('article [data-action=title]');
  await page.keyboard.type('Ärger');
  await page.fill('#edit-tags', '日本');
  await page.selectOption('#edit-expires', '1d');
  await page.keyboard.press('Control+Enter');
  await page.waitForSelector('article:focus:has-text("Ärger") img');
  await page.waitForSelector('#toasts:has-text("Saved.")');
  const { json: edited } = await ask(`${url}/api/v1/feeds/edited/notes/${note.id}`);
  t.match(edited, { title: 'Ärger', tags: ['日本'], expires_at: String });
  t.match(edited.content, /^\nA {2}text\n\n!\[a dot\]\(\S+\.png\)$/);
  t.match(await page.textContent('article:nth-of-type(1)'), 'Above it', 'others stay where they are');
  await edit(page, 'Ärger');
  t.notOk(await page.isVisible('article [data-action=title]'), 'its title is there to be changed');
  await page.selectOption('#edit-expires', { label: 'never' });
  await page.fill('#edit-title', '');
  await page.click('article .primary');
  await page.waitForSelector('article:focus');
  const { json: bare } = await ask(`${url}/api/v1/feeds/edited/notes/${note.id}`);
  t.equal(bare.expires_at, undefined);
  t.match(bare.title, /^A +text$/, 'taken from the text again');
});

t.test('Escape and Cancel close an edit, and ask only if something changed', async (t) => {
  const { page, dialogs } = await visit(t, browser);
  await page.goto(`${url}/edited`);
  await edit(page, 'Another');
  await page.keyboard.press('Escape');
  await page.waitForSelector('article .box', { state: 'detached' });
  t.ok(await page.evaluate("document.activeElement.matches('summary')"), 'the focus is where it came from');
  t.same(dialogs, []);
  await edit(page, 'Another');
  await page.keyboard.type('!');
  await page.click('article [data-action=close]');
  t.match(dialogs, [/confirm: Close this edit/]);
  t.equal(await page.inputValue('#edit-text'), 'Another!', 'no was said');
  await page.click('article:has-text("Above it") summary');
  await page.click('article:has-text("Above it") [data-action=edit]');
  await page.waitForSelector('#toasts:has-text("edit that is open first")');
  t.equal(await page.locator('article .box').count(), 1);
});

t.test('on its own page, a picture gets another alternative text and is replaced', async (t) => {
  const { json: note } = await post(`${url}/replaced`, PIXEL, {
    'content-type': 'image/png',
    'x-note-alt': 'old',
  });
  const other = Buffer.concat([PIXEL, Buffer.alloc(9)]);
  await page.goto(note.url);
  await edit(page, '');
  await page.fill('#edit-alt', 'new');
  await page.setInputFiles('#edit-replacement', { ...FILE, buffer: other });
  const held = Promise.withResolvers<void>();
  await page.route(`**/notes/${note.id}`, async (route) => {
    await held.promise;
    await route.fallback();
  });
  await isRouted(page);
  await page.click('article .primary');
  await page.waitForSelector('article .sending progress');
  t.ok(await page.isDisabled('#edit-replacement'));
  held.resolve();
  await page.waitForSelector('article img[alt="new"]');
  t.ok((await ask(note.file_url)).bytes.equals(other));
  await edit(page, '');
  await page.fill('#edit-tags', 'not a tag');
  t.match(await page.textContent('#edit-tags-problem'), 'The tag "not a tag"');
  await page.click('article .primary');
  t.equal(await page.evaluate('document.activeElement.id'), 'edit-tags');
  await page.fill('#edit-tags', '');
});

t.test('a picture that is chosen in place of another one is not lost unasked', async (t) => {
  const { page, dialogs } = await visit(t, browser);
  const { json: note } = await post(`${url}/chosen`, PIXEL, { 'content-type': 'image/png' });
  await page.goto(note.url);
  await edit(page, '');
  await page.setInputFiles('#edit-replacement', FILE);
  await page.click('article [data-action=close]');
  t.match(dialogs, [/confirm: Close this edit/]);
  await page.setInputFiles('#edit-replacement', []);
  await page.click('article [data-action=close]');
  await page.waitForSelector('article .box', { state: 'detached' });
  t.equal(dialogs.length, 1, 'nothing is asked once it is not chosen any more');
});

/** Holds up the preparation of large pictures until `goOn` is called; then they are sent as they are. */
const HOLD_PICTURES = `createImageBitmap = () => new Promise((_, reject) => {
  goOn = () => reject(new Error('not a picture'));
})`;
const LARGE = { ...FILE, buffer: picture('png', 2_000_000) };

/** Lets the large picture come that is held up. */
async function goOn(page: Page): Promise<void> {
  if (!(await eventually(() => page.evaluate<boolean>("typeof goOn === 'function'"))))
    throw new Error('not prepared');
  await page.evaluate('goOn()');
}

t.test(
  'a picture that is being prepared is not lost unasked, and comes nowhere after the edit',
  async (t) => {
    const { page, dialogs } = await visit(t, browser, { says: 'yes', serviceWorkers: 'block' });
    const { json: note } = await post(`${url}/prepared`, 'Before');
    await page.addInitScript(HOLD_PICTURES);
    const begin = async () => {
      await page.goto(`${url}/prepared`);
      await boxIsReady(page);
      await edit(page, 'Before');
      await page.setInputFiles('article [type=file]', LARGE);
    };
    await begin();
    await page.reload();
    t.same(dialogs, ['beforeunload: ']);
    await begin();
    await page.fill('#edit-text', 'Mine');
    await page.click('article .primary');
    await page.click('article [data-action=close]');
    t.match(dialogs[1], /confirm: Close this edit/);
    await page.focus('#note-text');
    await goOn(page);
    await settled(page);
    t.equal(await page.inputValue('#note-text'), '');
    t.equal((await ask(`${url}/api/v1/feeds/prepared/notes/${note.id}`)).json.content, 'Before', 'not saved');
    t.ok(await eventually(async () => !(await storage(page)).includes('Mine')), 'nor is it a draft');
  },
);

t.test('an edit that cannot be sent keeps what was written', async (t) => {
  await page.goto(`${url}/edited`);
  await edit(page, 'Another');
  await page.fill('#edit-text', 'Not sent yet');
  await page.route('**/api/v1/feeds/edited/notes/**', (route) => route.abort(), { times: 1 });
  await isRouted(page);
  await page.click('article .primary');
  await page.waitForSelector('article .error:not(:empty)');
  t.equal(await page.inputValue('#edit-text'), 'Not sent yet');
  await page.click('article .primary');
  await page.waitForSelector('article:focus:has-text("Not sent yet")');
});

t.test('a save that is cancelled while its picture is prepared changes nothing', async (t) => {
  const { page } = await visit(t, browser);
  const { json: note } = await post(`${url}/cancelled`, 'Before');
  await page.addInitScript(HOLD_PICTURES);
  await page.goto(`${url}/cancelled`);
  await edit(page, 'Before');
  await page.fill('#edit-text', 'Mine');
  await page.setInputFiles('article [type=file]', LARGE);
  await page.click('article .primary');
  await page.click('article .sending button');
  await goOn(page);
  await page.waitForSelector('article .status:has-text("Cancelled.")');
  t.equal((await ask(`${url}/api/v1/feeds/cancelled/notes/${note.id}`)).json.content, 'Before');
});

t.test('a note is edited with the keyboard alone', async () => {
  await page.goto(`${url}/edited`);
  const { keyboard } = page;
  await page.focus('article:has-text("Not sent yet") summary');
  await keyboard.press('ArrowDown');
  await keyboard.press('Enter');
  await page.waitForSelector('#edit-text:focus');
  await keyboard.press('Control+End');
  await keyboard.type(', but by keys');
  await keyboard.press('Control+Enter');
  await page.waitForSelector('article:focus:has-text("Not sent yet, but by keys")');
});

t.test('an edit is good in light, in dark and on a phone', async (t) => {
  for (const options of [PHONE, { colorScheme: 'dark', viewport: { width: 1400, height: 900 } }] as const) {
    const { page } = await visit(t, browser, options);
    await page.goto(`${url}/edited`);
    await edit(page, 'Above it');
    if ((await page.getAttribute('article [data-tool=eye]', 'aria-pressed')) === 'false')
      await page.click('article [data-tool=eye]');
    await page.setInputFiles('article [type=file]', FILE);
    await page.waitForSelector('article .preview img[src^="blob:"]');
    t.same(await axeFindings(page), []);
    t.same(await contrastFindings(page), []);
    t.equal(await overflow(page), 0);
  }
});

t.test('the edit that was asked for last is the one that opens', async (t) => {
  const { json: one } = await post(`${url}/two-edits`, 'One');
  const { json: two } = await post(`${url}/two-edits`, 'Two');
  const { page } = await visit(t, browser, { serviceWorkers: 'block' });
  await page.goto(`${url}/two-edits`);
  const [asked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await page.route(one.url, async (route) => {
    asked.resolve();
    await held.promise;
    await route.fallback();
  });
  await isRouted(page);
  await page.click('article:has-text("One") summary');
  await page.click('article:has-text("One") [data-action=edit]');
  await asked.promise;
  await edit(page, 'Two');
  await page.fill('#edit-text', 'Two, changed');
  const answered = page.waitForResponse(one.url);
  held.resolve();
  await (await answered).finished();
  await settled(page);
  t.equal(await page.locator('article .box').count(), 1);
  await page.click('article:has-text("Two") .primary');
  await page.waitForSelector('article:focus:has-text("Two, changed")');
  t.equal((await ask(`${url}/api/v1/feeds/two-edits/notes/${two.id}`)).json.content, 'Two, changed');
  await edit(page, 'One');
});

t.test('nothing went wrong beside what users see', async (t) => {
  t.same([...faults.violations, ...faults.errors], []);
});
