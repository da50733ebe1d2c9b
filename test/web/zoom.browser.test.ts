/** Pages in Chromium at 400 % (WCAG 2.2, 1.4.10), with more space between letters, words and lines (1.4.12), and with large letters (1.4.4). */
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { axeFindings, boxIsReady, startBrowser, type VisitOptions, visit } from '../support/browser.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { start } from '../support/service.ts';

const browser = await startBrowser(t);
const { url } = await start(t);
const locked = await start(t, { SERVICE_PASSWORD: 'let us in' });
/** 1280 × 1024 at 400 %. */
const ZOOMED: VisitOptions = { viewport: { width: 320, height: 256 }, deviceScaleFactor: 4 };
const SPACED = `* {
  line-height: 1.5 !important;
  letter-spacing: 0.12em !important;
  word-spacing: 0.16em !important;
}
p { margin-bottom: 2em !important; }`;

const TEXT = `Some **words** with \`code\`, https://example.org/a/very/long/address/that/does/not/end/anywhere/at/all and more of them.

- [ ] a task
- another

| One | Two | Three | Four | Five |
| --- | --- | --- | --- | --- |
| some words | some words | some words | some words | some words |

\`\`\`js
const thisIsALineOfCodeThatIsMuchWiderThanTheScreen = 'at four times its size';
\`\`\`

Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft`;

const feed = new FeedClient(url, 'zoomed-feed-with-a-long-name');
await feed.post(new Uint8Array(await (await visit(t, browser)).page.screenshot()), {
  'content-type': 'image/png',
  'x-note-alt': 'A page',
});
const { json: note } = await feed.post(TEXT, {
  'x-note-title': 'A title of several words',
  'x-note-tags': 'otters,electricity,international',
  'x-note-expires': '7d',
});
await feed.set({ title: 'A feed with quite a long title', description: 'What it is about, in a few words.' });
const guarded = new FeedClient(url, 'zoomed-guarded');
await guarded.post('Secret', { 'x-feed-password': 'guarded' });

/** What is wrong with the page as it is shown now, one line for each element. */
const FAULTS = `(() => {
  const faults = [];
  const name = (one) => one.outerHTML.replace(/\\s+/g, ' ').slice(0, 110);
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) {
    faults.push('sideways: ' + root.scrollWidth);
    for (const one of document.querySelectorAll('body *'))
      if (one.getBoundingClientRect().right > root.clientWidth + 1) faults.push('wide: ' + name(one));
  }
  const modal = document.querySelector('dialog[open], :popover-open');
  if (modal) {
    const { top, bottom, left, right } = modal.getBoundingClientRect();
    if (top < 0 || left < 0 || right > innerWidth + 1 || bottom > innerHeight + 1) faults.push('outside: ' + name(modal));
    if (modal.scrollWidth > modal.clientWidth + 1) faults.push('sideways: ' + name(modal));
  }
  const within = modal ?? document;
  const isShown = (one) => one.checkVisibility({ visibilityProperty: true }) && !one.closest('.unseen, .skip');
  const controls = [...within.querySelectorAll('button, a.button, summary, select, input:not([type=hidden]), textarea')].filter(isShown);
  for (const one of controls) {
    if (one.matches('button, a.button, summary') && one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0)
      faults.push('clipped: ' + name(one));
    one.scrollIntoView({ block: 'center', behavior: 'instant' });
    const { left, right, top, bottom, width, height } = one.getBoundingClientRect();
    if (left < -1 || right > innerWidth + 1) faults.push('off: ' + name(one));
    for (const part of [0.15, 0.5, 0.85]) {
      const over = document.elementFromPoint(left + width * part, (Math.max(top, 0) + Math.min(bottom, innerHeight)) / 2);
      if (over && !one.contains(over) && !over.contains(one) && !one.labels?.length)
        faults.push('covered by ' + name(over) + ': ' + name(one));
    }
  }
  for (const one of within.querySelectorAll('*')) {
    const { overflowX, overflowY, textOverflow } = getComputedStyle(one);
    if (!isShown(one) || one.matches('svg *, input, .unseen, .skip')) continue;
    if (/hidden|clip/.test(overflowX) && one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 1) faults.push('cut: ' + name(one));
    if (/hidden|clip/.test(overflowY) && one.scrollHeight > one.clientHeight + 1 && one.clientHeight > 1) faults.push('cut: ' + name(one));
  }
  scrollTo(0, root.scrollHeight / 2);
  let covered = 0;
  for (const one of document.querySelectorAll('body *')) {
    if (!isShown(one) || modal?.contains(one)) continue;
    if (!/sticky|fixed/.test(getComputedStyle(one).position)) continue;
    const { top, bottom, width } = one.getBoundingClientRect();
    // What stands beside the text covers none of it.
    if (width > innerWidth / 2) covered += Math.max(0, Math.min(bottom, innerHeight) - Math.max(top, 0));
  }
  if (!modal && covered > innerHeight / 3) faults.push('sticky parts cover ' + covered);
  return [...new Set(faults)];
})()`;

/** Each page and what is done there; `look` is called at each stop. */
async function walk(page: Page, look: (stop: string) => Promise<void>): Promise<void> {
  const go = async (stop: string, address: string) => {
    await page.goto(address);
    await page.waitForLoadState('networkidle').catch(() => {});
    await look(stop);
  };
  const address = `${url}/${feed.name}`;
  await go('start', url);
  await page.fill('#feed', '!');
  await page.press('#feed', 'Enter');
  await page.waitForSelector('#feed-error');
  await look('start, refused');
  await go('feed', address);
  await page.click('article summary');
  await look('menu');
  await page.click('article [data-action=delete]');
  await page.waitForSelector('.toast');
  await look('toast');
  await page.click('.toast button');
  await boxIsReady(page);
  await page.fill('#note-text', TEXT);
  await page.click('[data-action=title]');
  const buffer = await page.screenshot();
  await page
    .locator('#compose input[type=file]')
    .setInputFiles({ name: 'a-picture-with-a-long-name.png', mimeType: 'image/png', buffer });
  await page.waitForSelector('.attachments li');
  await look('open box');
  // It stands beside the text already where there is room.
  if ((await page.getAttribute('#compose [data-tool=eye]', 'aria-pressed')) === 'false')
    await page.click('#compose [data-tool=eye]');
  await page.waitForSelector('#compose .preview p');
  await look('preview');
  await page.click('#compose [data-tool=eye]');
  await page.reload();
  await page.waitForSelector('.restored:not([hidden])');
  await look('draft');
  await page.click('[data-action=discard]');
  await page.click('article >> nth=0 >> summary');
  await page.click('article [data-action=edit]');
  await page.waitForSelector('#edit-text');
  await look('edit');
  await page.click('[data-action=close]');
  await go('note', note.url);
  await page.click('article summary');
  await look('menu of the note');
  await go('settings', `${address}/settings`);
  await page.click('[form=random]');
  await look('dialog');
  await page.click('#change-links [formmethod=dialog]');
  await go('public page', `${url}/r/${readIdIn(note.read_url)}/`);
  await page.click('[popovertarget=share]:not([popovertargetaction])');
  await look('share');
  await page.click('#share [data-qr]');
  await page.waitForSelector('dialog[open]');
  await look('QR code');
  await page.keyboard.press('Escape');
  await page.click('a.picture');
  await page.waitForSelector('.lightbox[open]');
  await look('picture in full');
  await page.keyboard.press('Escape');
  await go('public note', `${url}/r/${readIdIn(note.read_url)}/${note.id}`);
  await go('empty feed', `${url}/zoomed-empty`);
  await go('locked feed', `${url}/${guarded.name}`);
  await page.fill('#password', 'guarded');
  await page.press('#password', 'Enter');
  await page.waitForSelector('article');
  await go('settings with a password', `${url}/${guarded.name}/settings`);
  await go('login', `${locked.url}/some-feed`);
  await go('error', `${url}/r/nothing/`);
}

t.test('at 400 %', async (t: Test) => {
  const { page, violations, errors } = await visit(t, browser, ZOOMED);
  await walk(page, async (stop) => {
    t.same(await page.evaluate(FAULTS), [], stop);
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme });
      t.same(await axeFindings(page), [], `${stop}, ${colorScheme}`);
    }
  });
  t.same([...violations, ...errors], []);
});

t.test('with more space in texts', async (t: Test) => {
  for (const width of [320, 1280]) {
    const { page } = await visit(t, browser, { viewport: { width, height: 800 }, bypassCSP: true });
    await walk(page, async (stop) => {
      if ((await page.locator('style').count()) === 0) await page.addStyleTag({ content: SPACED });
      t.same(await page.evaluate(FAULTS), [], `${stop}, ${width}`);
    });
  }
});

t.test('with letters of twice the size on phones', async (t: Test) => {
  const large = await startBrowser(t, ['--blink-settings=defaultFontSize=32,defaultFixedFontSize=26']);
  for (const viewport of [
    { width: 320, height: 568 },
    { width: 375, height: 812 },
  ]) {
    const { page } = await visit(t, large, { viewport, isMobile: true, hasTouch: true });
    await walk(page, async (stop) => {
      t.same(await page.evaluate(FAULTS), [], `${stop}, ${viewport.width}`);
      if (stop === 'public page') {
        await page.click('.find summary');
        t.same(await page.evaluate(FAULTS), [], `filters, ${viewport.width}`);
      }
    });
  }
});
