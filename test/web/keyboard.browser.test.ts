/** A walk in Chromium with a keyboard alone: nothing is clicked, and whoever looks sees where the focus is. */
import t, { type Test } from 'tap';
import { isUsableInBoth, startBrowser, visit } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { start } from '../support/service.ts';

const browser = await startBrowser(t);
const { url } = await start(t);
const user = await visit(t, browser, { viewport: { width: 1000, height: 560 } });
const { page } = user;
const feed = new FeedClient(url, 'by-keyboard');
/** More than any page needs to be gone through. */
const MAX_TABS = 80;

/** What is wrong with how the focused element is shown; empty for a good one. */
const FOCUS_FAULT = `(() => {
  const focused = document.activeElement;
  const name = focused.outerHTML.slice(0, 120);
  if (focused === document.body) return 'nothing is focused';
  const { top, bottom, left, right, width, height } = focused.getBoundingClientRect();
  if (width < 2 || height < 2) return 'too small: ' + name;
  const x = Math.max(0, left) + Math.min(width, innerWidth) / 2;
  const y = Math.max(top, 0) / 2 + Math.min(bottom, innerHeight) / 2;
  if (bottom <= 0 || top >= innerHeight || right <= 0 || left >= innerWidth) return 'out of view: ' + name;
  if (height < innerHeight && (top < -1 || bottom > innerHeight + 1)) return 'cut off: ' + name;
  const over = document.elementFromPoint(Math.min(x, innerWidth - 1), y);
  if (over && !focused.contains(over) && !over.contains(focused)) return 'under ' + over.outerHTML.slice(0, 80) + ': ' + name;
  const rings = [focused, focused.querySelector('img'), focused.closest('.box, .seek')].filter(Boolean).map((one) => {
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(one);
    return (outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2) || boxShadow !== 'none';
  });
  return rings.some(Boolean) ? '' : 'no ring: ' + name;
})()`;

/** The focus is at an element that is shown with a ring. */
async function isAt(t: Test, selector: string): Promise<void> {
  const matches = () => page.evaluate<boolean>(`document.activeElement.matches(${JSON.stringify(selector)})`);
  if (!(await eventually(matches))) {
    const focused = await page.evaluate<string>('document.activeElement.outerHTML.slice(0, 200)');
    t.fail(`the focus is not at ${selector} but at ${focused}`);
  }
  t.equal(await page.evaluate(FOCUS_FAULT), '', selector);
}

/** Goes on with Tab, or with Shift and Tab, to an element; each on the way is seen. */
async function tabTo(t: Test, selector: string, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
  const faults: string[] = [];
  for (let n = 0; n < MAX_TABS; n++) {
    await page.keyboard.press(key);
    const [isThere, isBody, fault] = await page.evaluate<[boolean, boolean, string]>(
      `[document.activeElement.matches(${JSON.stringify(selector)}), document.activeElement === document.body, ${FOCUS_FAULT}]`,
    );
    if (fault !== '' && !isBody) faults.push(fault);
    if (isThere) {
      t.same(faults, [], `on the way to ${selector}`);
      return;
    }
  }
  throw new Error(`${key} does not lead to ${selector}: ${faults}`);
}

async function notes(): Promise<Record<string, unknown>[]> {
  return (await feed.list()).json.notes;
}

t.test('a feed is made', async (t) => {
  await page.goto(url);
  await page.keyboard.press('Tab');
  await isAt(t, '.skip');
  await tabTo(t, '#feed');
  await page.keyboard.press('Control+a');
  await page.keyboard.type(feed.name);
  await isUsableInBoth(t, page);
  await page.keyboard.press('Enter');
  await page.waitForURL(`${url}/${feed.name}`);
});

t.test('a note is written with title, tag and picture', async (t) => {
  const buffer = await page.screenshot();
  await tabTo(t, '#note-text');
  await page.keyboard.type('First words');
  await tabTo(t, '#note-tags');
  await page.keyboard.type('otters');
  await tabTo(t, '[data-action=title]');
  await page.keyboard.press('Enter');
  await isAt(t, '#note-title');
  await page.keyboard.type('A title');
  await tabTo(t, '#note-text');
  // Before the button is reached, because the browser takes a moment to hand choosers over.
  const chooser = page.waitForEvent('filechooser');
  await tabTo(t, '[data-tool=picture]');
  await page.keyboard.press('Enter');
  await (await chooser).setFiles({ name: 'page.png', mimeType: 'image/png', buffer });
  await page.waitForSelector('.attachments li');
  await isUsableInBoth(t, page);
  await tabTo(t, '.attachments .alt', 'Shift+Tab');
  await page.keyboard.type('A page');
  await tabTo(t, '#compose .primary');
  await page.keyboard.press('Enter');
  await page.waitForSelector('article');
  const [text] = (await notes()).filter(({ type }) => type === 'text/markdown');
  t.match(text, { title: 'A title', tags: ['otters'] });
  t.match(text?.content, /^First words\n\n!\[A page\]/);
});

t.test('the address is kept', async (t) => {
  await page.waitForSelector('#keep:not([hidden])');
  await tabTo(t, '#keep [data-copy]');
  await isUsableInBoth(t, page);
  await tabTo(t, '#keep [data-action=kept]');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#keep', { state: 'hidden' });
  t.equal(await page.evaluate('document.activeElement.id'), 'main');
});

t.test('a note is edited in its place', async (t) => {
  await tabTo(t, 'article .menu summary');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Escape');
  await isAt(t, 'article .menu summary');
  await page.keyboard.press('ArrowDown');
  await isAt(t, '[data-action=edit]');
  await isUsableInBoth(t, page);
  await page.keyboard.press('Enter');
  await isAt(t, '#edit-text');
  await isUsableInBoth(t, page);
  await page.keyboard.press('Control+Home');
  await page.keyboard.type('Other ');
  await tabTo(t, '#edit-title', 'Shift+Tab');
  await tabTo(t, 'article .box .primary');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.toast:has-text("Saved.")');
  await isAt(t, 'article');
  const [text] = (await notes()).filter(({ type }) => type === 'text/markdown');
  t.match(text?.content, /^Other First words/);
  await tabTo(t, 'article .menu summary');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await isAt(t, '#edit-text');
  await page.keyboard.press('Escape');
  await isAt(t, 'article .menu summary');
});

t.test('a deletion is undone', async (t) => {
  // Two toasts cover half of this low screen.
  await page.waitForSelector('.toast', { state: 'detached' });
  const count = (await notes()).length;
  for (const undo of ['Control+z', 'Enter']) {
    await page.keyboard.press('ArrowUp');
    await isAt(t, '[data-action=delete]');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.toast:has-text("Deleted.")');
    t.not(await page.evaluate('document.activeElement.localName'), 'body', 'the focus is not lost');
    if (undo === 'Enter') {
      await tabTo(t, '.toast button');
      await isUsableInBoth(t, page);
    }
    await page.keyboard.press(undo);
    await isAt(t, 'article');
    await tabTo(t, 'article .menu summary');
  }
  t.equal((await notes()).length, count);
});

t.test('a picture is seen in full', async (t) => {
  await tabTo(t, 'a.picture', 'Shift+Tab');
  await page.keyboard.press('Enter');
  await isAt(t, '.lightbox .close');
  await isUsableInBoth(t, page);
  await page.keyboard.press('Escape');
  await isAt(t, 'a.picture');
});

t.test('settings are changed', async (t) => {
  await tabTo(t, 'a[href$="/settings"]', 'Shift+Tab');
  await page.keyboard.press('Enter');
  await page.waitForURL(`${url}/${feed.name}/settings`);
  await tabTo(t, '#title');
  await page.keyboard.type('By keyboard');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.toast:has-text("The profile is saved.")');
  await isAt(t, '#profile .primary');
  t.equal((await feed.get()).json.title, 'By keyboard');
  await tabTo(t, '[form=random]');
  await page.keyboard.press('Enter');
  await isAt(t, '#change-links [formmethod=dialog]');
  await isUsableInBoth(t, page);
  await page.keyboard.press('Escape');
  await isAt(t, '[form=random]');
  await tabTo(t, '#danger button');
  await tabTo(t, '.top nav a', 'Shift+Tab');
  await page.keyboard.press('Enter');
  await page.waitForURL(`${url}/${feed.name}`);
});

t.test('the public page is shared', async (t) => {
  await tabTo(t, '.pills a[href*="/r/"]');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/r\//);
  for (const [id, what] of [
    ['share', 'the link'],
    ['subscribe', 'the address of the feed'],
  ]) {
    await tabTo(t, `[popovertarget=${id}]:not([popovertargetaction])`, id === 'share' ? 'Tab' : 'Shift+Tab');
    await page.keyboard.press('Enter');
    await page.waitForSelector(`#${id}`);
    await tabTo(t, `#${id} [aria-label="Copy ${what}"]`);
    await isUsableInBoth(t, page);
    await tabTo(t, `#${id} [popovertargetaction=hide]`);
    await page.keyboard.press('Enter');
    await isAt(t, `[popovertarget=${id}]`);
    await page.keyboard.press('Enter');
    await page.keyboard.press('Escape');
    await isAt(t, `[popovertarget=${id}]`);
  }
  await tabTo(t, '[popovertarget=share]:not([popovertargetaction])');
  await page.keyboard.press('Enter');
  await tabTo(t, '#share [data-qr]');
  await page.keyboard.press('Enter');
  await page.waitForSelector('dialog[open]');
  t.equal(await page.evaluate("document.activeElement.closest('dialog') !== null"), true);
  await isUsableInBoth(t, page);
  await page.keyboard.press('Escape');
  await isAt(t, '[popovertarget=share]');
});

t.test('nothing went wrong beside what users see', async (t) => {
  t.same([...user.violations, ...user.errors, ...user.dialogs], []);
});
