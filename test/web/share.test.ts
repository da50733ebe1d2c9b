/** Passing a public page on, and following its feed, as a user of Chromium; with and without scripts. */
import jsQR from 'jsqr';
import type { Page } from 'playwright-core';
import t from 'tap';
import { isUsable, PHONE, startBrowser, visit } from '../support/browser.ts';
import { PIXEL } from '../support/pictures.ts';
import { ask, post, start } from '../support/service.ts';

const browser = await startBrowser(t);
const { url } = await start(t);
const FEED = `${url}/api/v1/feeds/heron`;
const { id, read_url: rssUrl } = (await post(`${url}/heron`, '# A heron\n\nstands.')).json;
await ask(FEED, { method: 'PATCH', body: '{"title":"Herons & egrets"}' });
const readPage = rssUrl.replace('/feed.xml', '');
const readNote = `${readPage}/${id}`;

const SHADES = [{ colorScheme: 'light' }, { colorScheme: 'dark', ...PHONE }] as const;

/** What the QR code says that the page draws. */
async function decoded(page: Page): Promise<string | undefined> {
  const [size, pixels] = await page.evaluate<[number, number[]]>(`(async () => {
    const svg = document.querySelector('.qr svg').cloneNode(true);
    svg.setAttribute('width', 300);
    svg.setAttribute('height', 300);
    const image = new Image(300, 300);
    image.src = 'data:image/svg+xml,' + encodeURIComponent(new XMLSerializer().serializeToString(svg));
    await image.decode();
    const canvas = Object.assign(document.createElement('canvas'), {width: 300, height: 300}).getContext('2d');
    canvas.drawImage(image, 0, 0);
    return [300, [...canvas.getImageData(0, 0, 300, 300).data]];
  })()`);
  return jsQR.default(Uint8ClampedArray.from(pixels), size, size)?.data;
}

for (const shade of SHADES)
  for (const [name, address] of [
    ['a feed', readPage],
    ['a note', readNote],
  ]) {
    t.test(`${name} is shared by keyboard, ${shade.colorScheme}`, async (t) => {
      const { page, ...faults } = await visit(t, browser, {
        ...shade,
        permissions: ['clipboard-read', 'clipboard-write'],
      });
      await page.goto(address);
      await isUsable(t, page, 'page');
      await page.focus('[popovertarget=share]');
      await page.keyboard.press('Enter');
      await page.waitForSelector('#share:popover-open');
      await isUsable(t, page, 'share');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.waitForSelector('.toast >> text=Copied.');
      t.equal(await page.evaluate('navigator.clipboard.readText()'), address);
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.waitForSelector('.qr[open]');
      await isUsable(t, page, 'QR code');
      t.equal(await decoded(page), address);
      t.equal(await page.textContent('.qr p'), address);
      await page.keyboard.press('Escape');
      await page.waitForSelector('.qr', { state: 'detached' });
      t.equal(await page.getAttribute(':focus', 'popovertarget'), 'share', 'the focus comes back');
      await page.click('[popovertarget=subscribe]');
      await page.waitForSelector('#subscribe:popover-open');
      await isUsable(t, page, 'subscribe');
      t.equal(await page.textContent('#subscribe-link'), rssUrl);
      t.equal(await page.getAttribute('a[href^="feed:"]', 'href'), `feed:${rssUrl}`);
      await page.keyboard.press('Escape');
      await page.waitForSelector('#subscribe', { state: 'hidden' });
      t.same([faults.violations, faults.errors], [[], []]);
    });
  }

t.test('where the device has a dialog for sharing, it is used', async (t) => {
  const { page } = await visit(t, browser);
  await page.addInitScript(
    'Object.defineProperty(navigator, "share", {value: async (data) => { window.shared = data; }})',
  );
  await page.goto(readPage);
  await page.click('[popovertarget=share]');
  t.same(await page.evaluate('window.shared'), { title: 'Herons & egrets', url: readPage });
  t.equal(await page.isVisible('#share'), false);
});

t.test('without scripts the panels open, and their links are plain', async (t) => {
  const { page } = await visit(t, browser, { javaScriptEnabled: false });
  await page.goto(readPage);
  await page.click('[popovertarget=share]');
  t.equal(await page.isVisible('#share-link'), true);
  const mail = `mailto:?subject=Herons%20%26%20egrets&body=${encodeURIComponent(readPage)}`;
  t.equal(await page.getAttribute('#share a', 'href'), mail);
  t.equal(await page.isVisible('[data-qr]'), false, 'what needs a script is not offered');
  await page.click('#share >> text=Close');
  t.equal(await page.isVisible('#share-link'), false);
});

t.test('the settings show their read link as a QR code', async (t) => {
  const { page } = await visit(t, browser);
  await page.goto(`${url}/heron/settings`);
  await page.click('[data-qr]');
  await page.waitForSelector('.qr[open]');
  t.equal(await decoded(page), readPage);
  await page.click('.qr >> text=Close');
  await page.waitForSelector('.qr', { state: 'detached' });
});

t.test('other sites show the title image of a feed, else its first picture, else the icon', async (t) => {
  const imageOf = async (address: string) =>
    /<meta property="og:image" content="([^"]*)">/.exec((await ask(address)).text)?.[1];
  const icon = await imageOf(readPage);
  t.match(icon, new RegExp(`^${url}/static/icon-512-[\\w-]+\\.png$`));
  t.equal((await ask(icon!)).headers.get('content-type'), 'image/png');
  t.equal(await imageOf(readNote), icon);
  const png = { 'content-type': 'image/png' };
  const pictures = [];
  for (let i = 0; i < 2; i += 1) pictures.push((await post(`${url}/heron`, PIXEL, png)).json);
  const [older, newer] = pictures;
  t.equal(await imageOf(readPage), newer.file_url);
  await ask(FEED, { method: 'PATCH', body: JSON.stringify({ image: older.file }) });
  t.equal(await imageOf(readPage), older.file_url);
  t.equal(await imageOf(readNote), older.file_url);
});
