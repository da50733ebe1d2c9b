/** Typing in Chromium with an input method, as on phones and in many languages, and on keyboards of other scripts. */
import type { Page } from 'playwright-core';
import t from 'tap';
import { boxIsReady, startBrowser, visit } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { start } from '../support/service.ts';

const browser = await startBrowser(t);
const { url } = await start(t);

/** What an input method does in a page. */
async function inputMethod(page: Page) {
  const session = await page.context().newCDPSession(page);
  return {
    /** Shows what would be typed. */
    compose: (text: string) =>
      session.send('Input.imeSetComposition', {
        text,
        selectionStart: text.length,
        selectionEnd: text.length,
      }),
    /** Types it. */
    end: (text: string) => session.send('Input.insertText', { text }),
    /** A key as the page gets it. */
    press: (key: string, windowsVirtualKeyCode: number, modifiers = 0, code = key) =>
      session.send('Input.dispatchKeyEvent', {
        type: 'rawKeyDown',
        key,
        code,
        windowsVirtualKeyCode,
        modifiers,
      }),
  };
}

const CONTROL = 2;

t.test('the name of a feed is what was typed, and becomes a name', async (t) => {
  const { page } = await visit(t, browser);
  await page.goto(url);
  const { compose, end } = await inputMethod(page);
  await page.fill('#feed', '');
  for (const part of ['M', 'My', 'My ', 'My o']) await compose(part);
  await end('My otters');
  t.equal(await page.inputValue('#feed'), 'my-otters');
  await page.keyboard.type(' And');
  t.equal(await page.inputValue('#feed'), 'my-otters-and');
  await page.fill('#feed', '');
  await compose('Left');
  await page.focus('button.primary');
  t.equal(await page.inputValue('#feed'), 'left', 'a composition that ends because the field is left');
});

t.test('a key of an input method is no command', async (t) => {
  const { page } = await visit(t, browser);
  const feed = new FeedClient(url, 'composed');
  await feed.post();
  await page.goto(`${url}/${feed.name}`);
  await boxIsReady(page);
  const { compose, end, press } = await inputMethod(page);
  await page.focus('#note-text');
  await page.keyboard.type('- one');
  await compose('か');
  await page.keyboard.press('Control+Enter');
  t.equal(await page.getAttribute('#compose', 'aria-busy'), null, 'nothing is posted');
  t.equal(await page.inputValue('#note-text'), '- oneか');
  await end('か');
  // The Enter that ends a composition in Safari.
  await press('Enter', 229);
  t.equal(await page.inputValue('#note-text'), '- oneか', 'no list is continued');
  await press('Enter', 229, CONTROL);
  await page.keyboard.press('Enter');
  t.equal(await page.inputValue('#note-text'), '- oneか\n- ');
  await page.keyboard.type('two');
  await page.keyboard.press('Control+Enter');
  await page.waitForSelector('.toast:has-text("Posted.")');
  t.equal((await feed.list()).json.notes[0].content, '- oneか\n- two');
});

t.test('commands have the same keys on a keyboard of another script', async (t) => {
  const { page } = await visit(t, browser);
  const feed = new FeedClient(url, 'cyrillic');
  await feed.post('Kept');
  await page.goto(`${url}/${feed.name}`);
  await boxIsReady(page);
  const { press } = await inputMethod(page);
  await page.fill('#note-text', 'bold');
  await page.locator('#note-text').selectText();
  await press('и', 66, CONTROL, 'KeyB');
  t.equal(await page.inputValue('#note-text'), '**bold**');
  await page.fill('#note-text', '');
  await page.click('article summary');
  await page.click('[data-action=delete]');
  await page.waitForSelector('.toast');
  await press('я', 90, CONTROL, 'KeyZ');
  t.ok(await eventually(() => page.isVisible('article')), 'the deletion is undone');
});

t.test('Ctrl with a letter edits as everywhere on a Mac', async (t) => {
  const { page } = await visit(t, browser);
  await page.addInitScript("Object.defineProperty(navigator, 'platform', {value: 'MacIntel'})");
  await page.goto(`${url}/on-a-mac`);
  await boxIsReady(page);
  await page.fill('#note-text', 'bold');
  await page.locator('#note-text').selectText();
  await page.keyboard.press('Control+b');
  t.equal(await page.inputValue('#note-text'), 'bold');
  await page.keyboard.press('Meta+b');
  t.equal(await page.inputValue('#note-text'), '**bold**');
});
