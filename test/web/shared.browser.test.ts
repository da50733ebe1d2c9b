/** What other apps and links bring to the box of a feed. */
import type { Page } from 'playwright-core';
import t from 'tap';
import { startBrowser, visit } from '../support/browser.ts';
import { ALL_DRAFTS } from '../support/browser-storage.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { read } from '../support/offline.ts';
import { PIXEL } from '../support/pictures.ts';
import { ask, start } from '../support/service.ts';

const browser = await startBrowser(t);
const { url } = await start(t);

/** Where the manifest wants other apps to share. */
async function shareTarget(): Promise<string> {
  const { share_target } = (await ask(`${url}/manifest.webmanifest`)).json;
  return new URL(share_target.action, `${url}/manifest.webmanifest`).href;
}

/** Shares a text, a link and a picture, as another app does. */
async function share(page: Page, words = 'Look at this'): Promise<void> {
  const action = await shareTarget();
  await page.evaluate(`(() => {
    const form = document.createElement('form');
    Object.assign(form, { method: 'post', enctype: 'multipart/form-data', action: '${action}', hidden: true });
    for (const [name, value] of [['title', 'A page'], ['text', '${words}'], ['url', 'https://example.org/x']])
      form.append(Object.assign(document.createElement('input'), { name, value }));
    const bytes = Uint8Array.from(atob('${PIXEL.toString('base64')}'), (character) => character.charCodeAt(0));
    const files = new DataTransfer();
    files.items.add(new File([bytes], 'dot.png', { type: 'image/png' }));
    const input = Object.assign(document.createElement('input'), { type: 'file', name: 'files' });
    input.files = files.files;
    form.append(input);
    document.body.append(form);
    form.submit();
  })()`);
  await page.waitForURL(`${url}/?shared=1`);
}

t.test('another app shares a text, a link and a picture', async (t) => {
  const { page, ...faults } = await visit(t, browser);
  await read(page, `${url}/shared-feed`);
  await share(page);
  await page.goto(`${url}/shared-feed?shared=1`);
  await page.waitForSelector('.attachments li');
  t.match(await page.inputValue('#note-text'), 'Look at this\n\nhttps://example.org/x');
  t.equal(await page.inputValue('#note-title'), 'A page');
  await page.waitForURL(`${url}/shared-feed`);
  await page.goto(`${url}/other-feed?shared=1`);
  t.equal(await page.inputValue('#note-text'), '', 'once');
  t.same(faults, { violations: [], errors: [], dialogs: [] });
  const { status, headers } = await ask(await shareTarget(), { method: 'POST', body: new FormData() });
  t.equal(status, 303);
  t.equal(headers.get('location'), '/');
});

/** Holds up the reading of pictures until `held` is resolved. */
const HOLD_PICTURES = `{
  const read = Blob.prototype.arrayBuffer;
  globalThis.held = Promise.withResolvers();
  Blob.prototype.arrayBuffer = async function () {
    await held.promise;
    return read.call(this);
  };
}`;

t.test('what another app shared is not forgotten before its picture is in the box', async (t) => {
  const { page } = await visit(t, browser);
  await read(page, `${url}/shared-slowly`);
  await share(page);
  const other = await page.context().newPage();
  await page.addInitScript(HOLD_PICTURES);
  await page.goto(`${url}/shared-slowly?shared=1`);
  const isFilled = async () => (await page.inputValue('#note-text')).startsWith('Look at this');
  t.ok(await eventually(isFilled));
  await other.goto(`${url}/other-shared?shared=1`);
  await other.waitForSelector('.attachments li');
  await page.evaluate('held.resolve()');
  await page.waitForURL(`${url}/shared-slowly`);
  await page.reload();
  await page.waitForSelector('.attachments li');
});

t.test('what is shared while something else is put into a box is not forgotten', async (t) => {
  const { page } = await visit(t, browser);
  await read(page, `${url}/shared-first`);
  await share(page);
  const other = await page.context().newPage();
  await other.goto(url);
  await page.addInitScript(HOLD_PICTURES);
  await page.goto(`${url}/shared-first?shared=1`);
  t.ok(await eventually(async () => (await page.inputValue('#note-text')).startsWith('Look at this')));
  await share(other, 'Second');
  await page.evaluate('held.resolve()');
  await page.waitForURL(`${url}/shared-first`);
  await other.goto(`${url}/shared-second?shared=1`);
  t.ok(await eventually(async () => (await other.inputValue('#note-text')).startsWith('Second')));
});

t.test('a feed that takes no pictures keeps what was shared for another one', async (t) => {
  const { page } = await visit(t, browser);
  await read(page, `${url}/shared-before`);
  await share(page);
  await page.context().route(`${url}/shared-pictureless?shared=1`, async (route) => {
    const answer = await route.fetch();
    const body = (await answer.text()).replace('<div class="pictures"', '<div');
    await route.fulfill({ response: answer, body });
  });
  await page.goto(`${url}/shared-pictureless?shared=1`);
  await page.click('.toast:has-text("takes no pictures") button');
  await page.waitForURL(`${url}/?shared=1`);
  await page.goto(`${url}/shared-before?shared=1`);
  await page.waitForSelector('.attachments li');
});

/** Whether the draft is stored, so that the page may be left. */
const IS_DRAFTED = `${ALL_DRAFTS}.then((drafts) => drafts.some(({ fields }) => fields.text === 'My draft'))`;

t.test('logging out asks before it forgets what another app shared', async (t) => {
  const closed = await start(t, { SERVICE_PASSWORD: 'let us in' });
  const { page } = await visit(t, browser);
  await page.goto(`${closed.url}/login?next=/inside`);
  await page.fill('[name=password]', 'let us in');
  await page.press('[name=password]', 'Enter');
  await page.waitForURL(`${closed.url}/inside`);
  await read(page, `${closed.url}/inside`);
  await page.evaluate(`(async () => {
    const body = new FormData();
    body.append('text', 'Look at this');
    await fetch('/api/share', { method: 'POST', body });
  })()`);
  await page.click('.visitor button');
  await page.waitForURL(/\/log/);
  t.equal(page.url(), `${closed.url}/logout`);
  await page.click('text=Stay');
  await page.goto(`${closed.url}/inside?shared=1`);
  t.ok(await eventually(async () => (await page.inputValue('#note-text')) === 'Look at this'));
});

t.test('an address fills the box, but never over a draft', async (t) => {
  const { page, ...faults } = await visit(t, browser);
  const query = new URLSearchParams({ text: 'Given\n\ntext', title: 'A title', tags: 'a, b' });
  await page.goto(`${url}/filled?${query}`);
  await page.waitForURL(`${url}/filled`);
  t.equal(await page.inputValue('#note-text'), 'Given\n\ntext');
  t.equal(await page.inputValue('#note-title'), 'A title');
  t.equal(await page.inputValue('#note-tags'), 'a, b');
  await page.fill('#note-text', 'My draft');
  t.ok(await eventually(() => page.evaluate<boolean>(IS_DRAFTED)));
  await page.goto(`${url}/filled?text=Other`);
  await page.waitForSelector('.toast:has-text("draft")');
  t.equal(await page.inputValue('#note-text'), 'My draft');
  t.equal((await new FeedClient(url, 'filled').list()).json.notes.length, 0, 'nothing is posted');
  t.same(faults, { violations: [], errors: [], dialogs: [] });
});
