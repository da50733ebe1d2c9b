/** Start page, settings, and the ways in and out, as a user of Chromium; with and without scripts. */
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { axeFindings, overflow, PHONE, startBrowser, visit } from '../support/browser.ts';
import { PIXEL } from '../support/pictures.ts';
import { ask, post, start } from '../support/service.ts';

const browser = await startBrowser(t);
const open = await start(t);
const locked = await start(t, { SERVICE_PASSWORD: 'instance password' });
const { url } = open;
const { page, ...faults } = await visit(t, browser, { permissions: ['clipboard-read', 'clipboard-write'] });
const scriptless = await visit(t, browser, { javaScriptEnabled: false, ...PHONE });

/** Everybody can use the page as it is now, on a screen of any size. */
async function isGood(t: Test, page: Page, name: string): Promise<void> {
  t.same(await axeFindings(page), [], `axe, ${name}`);
  t.equal(await overflow(page), 0, `width, ${name}`);
}

t.test('the start page leads to a feed whose name nobody guesses', async (t) => {
  await page.goto(url);
  const suggested = await page.inputValue('#feed');
  t.match(suggested, /^[a-z]+-[a-z]+-[a-z0-9]{13}$/);
  await isGood(t, page, 'start');
  await page.click('[data-copy=curl-line]');
  await page.waitForSelector('[data-copy]:text("Copied")');
  t.match(await page.evaluate('navigator.clipboard.readText()'), `${url}/${suggested}`);
  await page.reload();
  t.not(await page.inputValue('#feed'), suggested, 'a new one each time');
  await page.fill('#feed', 'My Feed!');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#feed-error');
  t.equal(await page.inputValue('#feed'), 'my-feed!');
  await isGood(t, page, 'start, refused');
  await page.fill('#feed', 'logout');
  await page.keyboard.press('Enter');
  await page.waitForSelector('text=This name belongs to the service itself');
  await page.fill('#feed', 'My Feed');
  await page.keyboard.press('Enter');
  await page.waitForURL(`${url}/my-feed`);
  await scriptless.page.goto(url);
  await scriptless.page.fill('#feed', ' My Other Feed ');
  await scriptless.page.click('button.primary');
  t.equal(scriptless.page.url(), `${url}/my-other-feed`);
});

t.test('settings and deletion work without scripts', async (t) => {
  await post(`${url}/plain`, 'text');
  const { page } = scriptless;
  await page.goto(`${url}/plain/settings`);
  await page.fill('#title', 'Café');
  await page.fill('#description', 'x'.repeat(500));
  await page.click('text=Save changes');
  t.equal(page.url(), `${url}/plain/settings?saved=1`);
  t.match((await ask(`${url}/api/v1/feeds/plain`)).json, { title: 'Café' });
  await page.fill('#read_id', 'API');
  await page.click('text=Save read id');
  t.match(await page.textContent('#read_id-error'), /read id/i);
  t.equal(await page.inputValue('#read_id'), 'API', 'what was typed stays');
  await page.click('text=Generate a random one');
  t.match(await page.textContent('#read-link'), /\/r\/[\w-]{22}$/);
  await page.fill('#name', 'Plain');
  await page.click('text=Delete this feed');
  t.match(await page.textContent('#name-error'), 'exactly');
  await page.fill('#name', 'plain');
  await page.click('text=Delete this feed');
  t.equal(page.url(), `${url}/?deleted=1`);
  t.equal((await ask(`${url}/api/v1/feeds/plain`)).status, 404);
});

t.test('a title image is picked, removed and chosen', async (t) => {
  await post(`${url}/pictured`, PIXEL, { 'content-type': 'image/png', 'x-note-alt': 'a dot' });
  const imageOf = async () => (await ask(`${url}/api/v1/feeds/pictured`)).json.image_url;
  await page.goto(`${url}/pictured/settings`);
  await page.fill('#title', 'Kept');
  await page.click('text=Save changes');
  await page.click('[data-action=pick]');
  await page.waitForSelector('.picks img[alt="a dot"]');
  await isGood(t, page, 'settings');
  await page.click('.picks button');
  await page.waitForSelector('img.title-image');
  t.match(await imageOf(), /\.png$/);
  await page.click('[data-action=remove]');
  await page.waitForSelector('img.title-image', { state: 'detached' });
  t.equal(await imageOf(), null);
  await page.setInputFiles('#title-image input', { name: 'dot.png', mimeType: 'image/png', buffer: PIXEL });
  await page.waitForSelector('img.title-image');
  t.equal((await ask(`${url}/api/v1/feeds/pictured/notes`)).json.notes.length, 2);
  t.equal((await ask(`${url}/api/v1/feeds/pictured`)).json.title, 'Kept');
  await page.setInputFiles('#title-image input', {
    name: 'dot.png',
    mimeType: 'image/png',
    buffer: Buffer.from('none'),
  });
  await page.waitForSelector('#title-image .error:not(:empty)');
});

t.test('a feed is unlocked, its password changed and removed', async (t) => {
  await post(`${url}/guarded`, 'text', { 'x-feed-password': 'first' });
  await page.goto(`${url}/guarded/settings`);
  await isGood(t, page, 'unlock');
  await page.fill('#password', 'wrong');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#password-error');
  await page.fill('#password', 'first');
  await page.keyboard.press('Enter');
  await page.waitForURL(`${url}/guarded/settings`);
  t.match(await page.textContent('#curl-line'), "-H 'X-Feed-Password: FEED-PASSWORD'");
  await isGood(t, page, 'settings, protected');
  await page.fill('#change-current', 'first');
  await page.fill('#change-next', 'second');
  await page.click('text=Change password');
  await page.waitForSelector('text=Saved.');
  await page.fill('#remove-current', 'first');
  await page.click('text=Remove password');
  await page.waitForSelector('#remove-current-error');
  await page.fill('#remove-current', 'second');
  await page.click('text=Remove password');
  await page.waitForSelector('#privacy', { state: 'detached' });
  t.equal((await ask(`${url}/api/v1/feeds/guarded`)).status, 200);
});

t.test('drafts go with a deletion and with logging out', async (t) => {
  const drafts = () =>
    page.evaluate(`Object.keys(localStorage).filter((key) => key.startsWith('draft-')).length`);
  await post(`${url}/leaving`, 'text');
  await page.goto(`${url}/leaving`);
  await page.fill('#note-text', 'to be forgotten');
  await page.goto(`${url}/leaving/settings`);
  await page.fill('#name', 'wrong');
  await page.click('text=Delete this feed');
  await page.waitForSelector('#name-error');
  t.equal(await drafts(), 1, 'it is still there');
  await page.fill('#name', 'leaving');
  await page.click('text=Delete this feed');
  await page.waitForSelector('text=The feed is deleted.');
  t.equal(await drafts(), 0);
  await page.goto(`${locked.url}/some-feed`);
  await isGood(t, page, 'login');
  await page.fill('#password', 'wrong');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#password-error');
  await page.fill('#password', 'instance password');
  await page.keyboard.press('Enter');
  await page.waitForURL(`${locked.url}/some-feed`);
  t.match(await page.textContent('#curl-line'), "-H 'Authorization: Bearer INSTANCE-PASSWORD'");
  await page.fill('#note-text', 'to be forgotten');
  t.equal(await drafts(), 1);
  await page.goto(`${locked.url}/logout`);
  await isGood(t, page, 'log out');
  await page.click('button.primary');
  await page.waitForURL(/\/login\?next=%2F$/);
  t.equal(await drafts(), 0);
});

t.test('nothing went wrong beside what users see', async (t) => {
  t.same(faults.violations, []);
  t.same(faults.errors, []);
  t.same(scriptless.violations, []);
});
