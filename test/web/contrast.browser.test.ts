/** What is seen in Chromium of controls and of the focus: with forced colours, as in Windows with high contrast, and without. */
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { boxIsReady, startBrowser, visit } from '../support/browser.ts';
import { FeedClient } from '../support/feed-client.ts';
import { start } from '../support/service.ts';

const browser = await startBrowser(t);
const { url } = await start(t);
const feed = new FeedClient(url, 'seen');
await feed.post('Words', { 'x-note-tags': 'otters,owls' });
const address = `${url}/${feed.name}`;

/** Returns the computed value of a CSS property. `part` names a pseudo-element of the element, such as `::before`. */
function painted(page: Page, selector: string, property: string, part = ''): Promise<string> {
  return page.evaluate<string>(
    `getComputedStyle(document.querySelector(${JSON.stringify(selector)}), ${JSON.stringify(part)})[${JSON.stringify(property)}]`,
  );
}

/**
 * The contrast between the ring around what has the focus and the ground that it is painted on. The browser itself mixes them.
 */
const RING_CONTRAST = `(() => {
  const focused = document.activeElement;
  let around = focused.parentElement;
  const isClear = (color) => /, 0\\)$|\\/ 0\\)$|transparent/.test(color);
  while (around && isClear(getComputedStyle(around).backgroundColor)) around = around.parentElement;
  const ground = getComputedStyle(around ?? document.documentElement).backgroundColor;
  const context = new OffscreenCanvas(1, 1).getContext('2d');
  const luminance = () => {
    const linear = [...context.getImageData(0, 0, 1, 1).data].slice(0, 3).map((part) => {
      const value = part / 255;
      return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const paint = (color) => {
    context.fillStyle = color;
    context.fillRect(0, 0, 1, 1);
    return luminance();
  };
  const [below, above] = [paint(ground), paint(getComputedStyle(focused).outlineColor)];
  return (Math.max(below, above) + 0.05) / (Math.min(below, above) + 0.05);
})()`;

async function ringIsSeen(t: Test, page: Page, name: string): Promise<void> {
  t.not(await painted(page, ':focus', 'outlineStyle'), 'none', name);
  t.ok((await page.evaluate<number>(RING_CONTRAST)) >= 3, name);
}

t.test('controls with forced colours', async (t) => {
  const { page } = await visit(t, browser, { forcedColors: 'active' });
  await page.goto(address);
  t.not(await painted(page, '.menu > summary', 'backgroundImage', '::before'), 'none', 'the menu of a note');
  await boxIsReady(page);
  await page.fill('#note-text', 'words');
  const tool = '#compose [data-tool=eye]';
  const before = await painted(page, tool, 'color');
  await page.click(tool);
  t.not(await painted(page, tool, 'color'), before, 'a tool that is pressed');
  await page.focus('#note-tags');
  await page.waitForSelector('.known-tags li + li');
  await page.keyboard.press('ArrowDown');
  const chosen = await painted(page, '.known-tags li', 'color');
  t.not(chosen, await painted(page, '.known-tags li + li', 'color'), 'the tag that is chosen');
  await page.fill('#note-text', '');
  await page.click('article summary');
  await page.click('[data-action=delete]');
  await page.waitForSelector('.toast');
  t.not(await painted(page, '.toast', 'borderTopStyle'), 'none', 'where a message ends');
  await page.click('.toast button');
});

for (const colorScheme of ['light', 'dark'] as const)
  t.test(`the focus, ${colorScheme}`, async (t) => {
    const { page } = await visit(t, browser, { colorScheme });
    await page.goto(address);
    await boxIsReady(page);
    await page.focus('#note-tags');
    await page.keyboard.type('not a tag');
    await page.waitForSelector('#note-tags[aria-invalid=true]');
    await ringIsSeen(t, page, 'a field that breaks a rule');
    await page.fill('#note-tags', '');
    await page.focus('article summary');
    await page.keyboard.press('ArrowUp');
    await ringIsSeen(t, page, 'a choice of a menu');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.toast');
    await page.focus('.toast button');
    await ringIsSeen(t, page, 'the button of a message');
    await page.keyboard.press('Enter');
    await page.waitForSelector('article:focus');
  });
