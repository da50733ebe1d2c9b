/** The service as an app of Chromium: reading and posting without a network, sharing into it, and what of that is forgotten. */
import type { Page } from 'playwright-core';
import t from 'tap';
import { boxIsReady, isRouted, isUsable, PHONE, startBrowser, visit } from '../support/browser.ts';
import { ALL_DRAFTS, ALL_WAITING } from '../support/browser-storage.ts';
import { CutProxy } from '../support/cut-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { PIXEL } from '../support/pictures.ts';
import { ask, start } from '../support/service.ts';

const browser = await startBrowser(t);
const service = await start(t);
const { url } = service;
/** The network of browsers that post. */
const network = await CutProxy.start(t, service.port);

/** How many answers are kept in the caches whose name begins so. */
function keptIn(page: Page, name: string): Promise<number> {
  return page.evaluate<number>(`(async () => {
    const names = (await caches.keys()).filter((one) => one.startsWith('note-feed-${name}'));
    const sizes = names.map(async (one) => (await (await caches.open(one)).keys()).length);
    return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  })()`);
}

/** Opens a page and waits until it is kept. */
async function read(page: Page, address: string): Promise<void> {
  await page.goto(address);
  await page.evaluate('navigator.serviceWorker.ready.then(() => undefined)');
  const isControlled = () => page.evaluate<boolean>('navigator.serviceWorker.controller !== null');
  if (!(await eventually(isControlled))) throw new Error('no service worker controls the page');
  if (!(await eventually(async () => (await keptIn(page, 'pages')) > 0))) throw new Error('nothing is kept');
}

async function write(page: Page, text: string): Promise<void> {
  await page.focus('#note-text');
  const before = await page.inputValue('#note-text');
  await page.fill('#note-text', [text, before].filter(Boolean).join('\n\n'));
  await page.keyboard.press('Control+Enter');
}

/**
 * Takes the network away. The browser's own offline mode is not enough: the browser itself is still online, and may start a
 * service worker that is not in that mode, to send what waits.
 * @param name of the feed to which posts are lost
 */
async function leave(page: Page, name: string): Promise<void> {
  network.loses = `POST /${name} `;
  await page.context().setOffline(true);
}

async function comeBack(page: Page): Promise<void> {
  network.loses = undefined;
  await page.context().setOffline(false);
}

const textsOf = async (feed: FeedClient) =>
  (await feed.list()).json.notes.map(({ content }: { content?: string }) => content);

t.test('what was read can be read again without a network, and says from when it is', async (t) => {
  const feed = new FeedClient(url, 'offline-reading');
  const { json: picture } = await feed.post(PIXEL, { 'content-type': 'image/png', 'x-note-alt': 'A dot' });
  const { json: note } = await feed.post('Words to keep');
  const { page, ...faults } = await visit(t, browser, PHONE);
  const pages = [`${url}/offline-reading`, note.url, `${url}/r/${readIdIn(note.read_url)}`];
  for (const address of pages) await read(page, address);
  t.ok(await eventually(async () => (await keptIn(page, 'pages')) === pages.length));
  t.ok(await eventually(async () => (await keptIn(page, 'pictures')) > 0));
  await page.context().setOffline(true);
  for (const address of pages) {
    await page.goto(address);
    t.match(await page.textContent('article'), 'Words to keep', address);
    // The browser itself keeps a public page for a minute.
    if (!address.includes('/r/'))
      t.match(await page.textContent('.offline'), /^You are offline; this is as of \d/);
    t.equal(
      await page.evaluate(`getComputedStyle(document.querySelector('main')).display`),
      'block',
      'styles',
    );
    await isUsable(t, page);
  }
  const width = await page.evaluate(`document.querySelector('img[src*="${picture.file}"]').naturalWidth`);
  t.equal(width, 1, 'pictures too');
  await t.rejects(page.goto(`${url}/offline-reading/settings`), 'settings are never kept');
  await t.rejects(page.goto(`${url}/offline-unread`), 'what was not read is not there');
  await page.context().setOffline(false);
  await page.goto(pages[0]!);
  t.equal(await page.locator('.offline').count(), 0);
  t.notMatch(JSON.stringify(await page.evaluate(KEPT_KEYS)), 'offline-reading', 'keys do not tell the name');
  t.same(faults, { violations: [], errors: [], dialogs: [] });
});

const KEPT_KEYS = `(async () => {
  const names = await caches.keys();
  const keys = names.map(async (name) => (await (await caches.open(name)).keys()).map(({ url }) => url));
  return [...names, ...(await Promise.all(keys)).flat()];
})()`;

t.test('a page that was opened without a network says so until its notes are live again', async (t) => {
  await new FeedClient(url, 'offline-again').post('Words');
  const { page } = await visit(t, browser);
  await read(page, `${url}/offline-again`);
  t.ok(await eventually(async () => (await keptIn(page, 'pages')) > 0));
  await page.context().setOffline(true);
  await page.reload();
  await page.waitForSelector('.offline');
  await page.context().setOffline(false);
  await page.waitForSelector('.offline', { state: 'detached' });
});

t.test('a note that expires is not read without a network after its time', async (t) => {
  const feed = new FeedClient(url, 'offline-expiry');
  const { json: note } = await feed.post('Brief', { 'x-note-expires': '1h' });
  const { page } = await visit(t, browser);
  await read(page, note.url);
  await page.context().setOffline(true);
  await page.goto(note.url);
  t.match(await page.textContent('article'), 'Brief');
  const [worker] = page.context().serviceWorkers();
  await worker!.evaluate('const now = Date.now(); Date.now = () => now + 2 * 3600 * 1000');
  await t.rejects(page.goto(note.url));
});

t.test('a note that is gone is forgotten', async (t) => {
  const feed = new FeedClient(url, 'offline-gone');
  const { json: note } = await feed.post('Soon gone');
  await feed.post('Stays');
  const { page } = await visit(t, browser);
  await read(page, note.url);
  await feed.send('DELETE', `/notes/${note.id}`);
  await page.goto(note.url);
  t.ok(await eventually(async () => (await keptIn(page, 'pages')) === 0));
  await page.context().setOffline(true);
  await t.rejects(page.goto(note.url));
});

t.test('pages work though the browser cannot open what it keeps of them', async (t) => {
  const { page, errors } = await visit(t, browser);
  await new FeedClient(url, 'no-cache').post('A note');
  await read(page, `${url}/no-cache`);
  const [worker] = page.context().serviceWorkers();
  await worker!.evaluate(
    "CacheStorage.prototype.open = () => Promise.reject(new DOMException('no', 'UnknownError'))",
  );
  await page.reload();
  await boxIsReady(page);
  t.same(errors, []);
});

t.test('a post without a network waits, and arrives once', async (t) => {
  const feed = new FeedClient(url, 'offline-posting');
  await feed.post('Before');
  const { page, ...faults } = await visit(t, browser, PHONE);
  await read(page, `${network.url}/offline-posting`);
  await boxIsReady(page);
  await leave(page, 'offline-posting');
  const file = { name: 'dot.png', mimeType: 'image/png', buffer: PIXEL };
  await page.locator('form input[type=file]').first().setInputFiles(file);
  await page.waitForSelector('.attachments li');
  await page.click('[data-action=title]');
  await page.fill('#note-title', 'Größe');
  await write(page, 'First');
  await page.waitForSelector('#waiting li');
  t.match(await page.textContent('#waiting'), 'Kept here; it will be sent when you are online');
  t.equal(await page.inputValue('#note-text'), '', 'the box is free');
  await isUsable(t, page);
  await write(page, 'Second');
  await page.waitForSelector('#waiting li:nth-child(2)');
  // As if the browser was closed and opened again.
  await page.close();
  const again = await page.context().newPage();
  await again.goto(`${network.url}/offline-posting`);
  await again.waitForSelector('#waiting li:nth-child(2)');
  await comeBack(again);
  await again.waitForSelector('#waiting', { state: 'hidden' });
  await again.waitForSelector('article:has-text("Second")');
  t.same(await textsOf(feed).then((texts) => texts.filter(Boolean).length), 3);
  const [second, ...rest] = (await feed.list()).json.notes;
  t.equal(second.content, 'Second');
  t.equal(
    rest.find(({ title }: Record<string, string>) => title === 'Größe').content.split('\n')[0],
    'First',
  );
  t.equal(rest.filter(({ type }: Record<string, string>) => type === 'image/png').length, 1);
  t.same(faults, { violations: [], errors: [], dialogs: [] });
});

t.test('a post whose answer was lost arrives once, that which makes the feed too', async (t) => {
  for (const name of ['lost-answer', 'lost-first']) {
    const feed = new FeedClient(url, name);
    if (name === 'lost-answer') await feed.post('Before');
    const { page } = await visit(t, browser);
    await read(page, `${url}/${name}`);
    let isLost = true;
    await page.context().route(`${url}/${name}`, async (route) => {
      if (!isLost || route.request().method() !== 'POST') return route.fallback();
      await route.fetch();
      return route.abort('connectionreset');
    });
    await isRouted(page);
    await write(page, 'Only once');
    await page.waitForSelector('#waiting li');
    t.ok((await textsOf(feed)).includes('Only once'), 'the service has it');
    isLost = false;
    await page.click('[data-action=send]');
    await page.waitForSelector('#waiting', { state: 'hidden' });
    t.same((await textsOf(feed)).filter((text: string) => text === 'Only once').length, 1);
  }
});

t.test('a draft whose post waits or is stored does not come back', async (t) => {
  for (const name of ['left-waiting', 'left-stored']) {
    const feed = new FeedClient(url, name);
    await feed.post('Before');
    const { page } = await visit(t, browser, { serviceWorkers: 'block', says: 'yes' });
    await page.goto(`${url}/${name}`);
    await boxIsReady(page);
    const left = Promise.withResolvers<void>();
    await page.route(`${url}/${name}`, async (route) => {
      if (route.request().method() !== 'POST') return route.fallback();
      if (name === 'left-waiting') return route.abort();
      await route.fetch();
      left.resolve();
    });
    await isRouted(page);
    // As if the page was left before the draft was deleted.
    await page.evaluate('IDBObjectStore.prototype.delete = IDBObjectStore.prototype.count');
    await write(page, 'Once');
    if (name === 'left-waiting') await page.waitForSelector('#waiting li');
    else {
      await left.promise;
      const file = { name: 'dot.png', mimeType: 'image/png', buffer: PIXEL };
      await page.setInputFiles('#compose input[type=file]', file);
      await page.waitForSelector('.toast:has-text("The note is being sent")');
      t.ok(await page.isDisabled('#note-expires'));
    }
    await page.unroute(`${url}/${name}`);
    await page.reload();
    await boxIsReady(page);
    t.equal(await page.inputValue('#note-text'), '');
    await write(page, 'Another');
    await page.waitForSelector('article:has-text("Another")');
    await page.waitForSelector('#waiting', { state: 'hidden' });
    t.same(new Set(await textsOf(feed)), new Set(['Before', 'Once', 'Another']));
    t.equal((await textsOf(feed)).length, 3);
  }
});

for (const how of ['at once', 'once the service is in reach'])
  t.test(
    `what was changed after a post whose answer was lost is not posted twice unasked, ${how}`,
    async (t) => {
      const name = how === 'at once' ? 'changed-at-once' : 'changed-later';
      const feed = new FeedClient(url, name);
      await feed.post('Before');
      const { page } = await visit(t, browser, { serviceWorkers: 'block', says: 'yes' });
      await page.goto(`${url}/${name}`);
      await boxIsReady(page);
      let isStored = true;
      const notes = (address: URL) => address.pathname.endsWith(`/${name}/notes`);
      await page.route(notes, (route) => route.abort());
      await page.route(`${url}/${name}`, async (route) => {
        if (route.request().method() !== 'POST') return route.fallback();
        if (isStored) await route.fetch();
        return route.abort();
      });
      await isRouted(page);
      await write(page, 'First');
      await page.waitForSelector('#waiting li');
      isStored = false;
      await page.click('#waiting [data-action=take-back]');
      await page.waitForSelector('#waiting', { state: 'hidden' });
      await page.fill('#note-text', 'First and second');
      const comeBack = async () => {
        await page.unroute(notes);
        await page.unroute(`${url}/${name}`);
      };
      const send = () => page.press('#note-text', 'Control+Enter');
      if (how === 'at once') {
        await comeBack();
        await send();
        await page.waitForSelector('#compose .error:has-text("is stored already")');
        await page.reload();
        await page.waitForSelector('.restored:has-text("Your draft of")');
        await send();
        await page.waitForSelector('#compose .error:has-text("is stored already")');
        t.same(await textsOf(feed), ['First', 'Before']);
        await send();
      } else {
        await send();
        await page.waitForSelector('#waiting li');
        await comeBack();
        await page.click('#waiting [data-action=send]');
        await page.waitForSelector('#waiting .error:has-text("is stored already")');
        t.same(await textsOf(feed), ['First', 'Before']);
        await page.click('#waiting [data-action=send]');
      }
      await page.waitForSelector('article:has-text("First and second")');
      t.same(await textsOf(feed), ['First and second', 'First', 'Before']);
    },
  );

t.test('a changed post is not sent while nobody says whether it is stored as it was', async (t) => {
  const feed = new FeedClient(url, 'changed-unsaid');
  await feed.post('Before');
  const { page } = await visit(t, browser, { serviceWorkers: 'block', says: 'yes' });
  await page.goto(`${url}/changed-unsaid`);
  await boxIsReady(page);
  let isLost = true;
  const notes = (address: URL) => address.pathname.endsWith('/changed-unsaid/notes');
  await page.route(notes, (route) => route.fulfill({ status: 503 }));
  await page.route(`${url}/changed-unsaid`, async (route) => {
    if (route.request().method() !== 'POST' || !isLost) return route.fallback();
    await route.fetch();
    return route.abort();
  });
  await isRouted(page);
  await write(page, 'First');
  await page.waitForSelector('#waiting li');
  await page.click('#waiting [data-action=take-back]');
  await page.waitForSelector('#waiting', { state: 'hidden' });
  isLost = false;
  await page.fill('#note-text', 'First and second');
  await page.press('#note-text', 'Control+Enter');
  await page.waitForSelector('#waiting li');
  t.same(await textsOf(feed), ['First', 'Before']);
  await page.unroute(notes);
  await page.click('#waiting [data-action=send]');
  await page.waitForSelector('#waiting .error:has-text("is stored already")');
  t.same(await textsOf(feed), ['First', 'Before']);
});

t.test('what is refused stays, and goes back into the box', async (t) => {
  const feed = new FeedClient(url, 'offline-refused');
  await feed.post('Before');
  const { page } = await visit(t, browser);
  await read(page, `${network.url}/offline-refused`);
  await boxIsReady(page);
  await leave(page, 'offline-refused');
  await page.focus('#note-text');
  await page.fill('#note-tags', 'one, two');
  const file = { name: 'dot.png', mimeType: 'image/png', buffer: PIXEL };
  await page.locator('form input[type=file]').first().setInputFiles(file);
  await page.waitForSelector('.attachments li');
  await page.fill('.attachments .alt', 'A dot');
  await write(page, 'Mine');
  await page.waitForSelector('#waiting li');
  await feed.delete();
  await comeBack(page);
  await page.waitForSelector('#waiting .error:has-text("Not sent")');
  await page.fill('#note-text', 'Something else');
  await page.click('[data-action=take-back]');
  await page.waitForSelector('.toast');
  await page.fill('#note-text', '');
  await page.click('[data-action=take-back]');
  await page.waitForSelector('#waiting', { state: 'hidden' });
  t.match(await page.inputValue('#note-text'), /^Mine\n\n!\[.*\]\(dot\.png\)/);
  t.equal(await page.inputValue('#note-tags'), 'one, two');
  await page.waitForSelector('.attachments li');
  t.equal(await page.inputValue('.attachments .alt'), 'A dot');
});

t.test(
  'a post is not taken back without its pictures unasked, if the feed takes none any more',
  async (t) => {
    await new FeedClient(url, 'pictureless').post('Before');
    const { page, dialogs } = await visit(t, browser, { serviceWorkers: 'block' });
    const address = `${network.url}/pictureless`;
    await page.goto(address);
    await boxIsReady(page);
    network.loses = 'POST /pictureless ';
    const file = { name: 'dot.png', mimeType: 'image/png', buffer: PIXEL };
    await page.locator('form input[type=file]').first().setInputFiles(file);
    await page.waitForSelector('.attachments li');
    await write(page, 'Mine');
    await page.waitForSelector('#waiting li');
    await page.route(address, async (route) => {
      if (route.request().method() !== 'GET') return route.fallback();
      const answer = await route.fetch();
      await route.fulfill({
        response: answer,
        body: (await answer.text()).replace('<div class="pictures"', '<div'),
      });
    });
    await page.goto(address);
    await page.click('[data-action=take-back]');
    t.ok(await eventually(() => dialogs.length > 0));
    t.match(dialogs, [/confirm: This feed takes no pictures/]);
    await page.unroute(address);
    await page.goto(address);
    await page.click('[data-action=take-back]');
    await page.waitForSelector('.attachments li');
    network.loses = undefined;
  },
);

t.test('a post for which there is no room does not keep others back', async (t) => {
  const full = await start(t, { SERVICE_MAX_NOTES_PER_FEED: '1' });
  const proxy = await CutProxy.start(t, full.port);
  await new FeedClient(full.url, 'full').post('Before');
  const { page } = await visit(t, browser);
  for (const name of ['full', 'other']) {
    await page.goto(`${proxy.url}/${name}`);
    proxy.loses = 'POST /';
    await write(page, 'Kept');
    await page.waitForSelector('#waiting li');
  }
  proxy.loses = undefined;
  await page.click('#waiting [data-action=send]');
  await page.waitForSelector('article:has-text("Kept")');
  await page.goto(`${proxy.url}/full`);
  await page.waitForSelector('#waiting .error:has-text("This feed is full")');
});

/** Counts how often the browser was asked to send in the background. */
const COUNT_SYNCS = `globalThis.syncs = 0;
  const sync = { register: async () => void (syncs += 1) };
  navigator.serviceWorker.getRegistration = async () => ({ sync });`;

t.test('a refused post that is sent again waits if the service cannot be reached', async (t) => {
  const full = await start(t, { SERVICE_MAX_NOTES_PER_FEED: '1' });
  const proxy = await CutProxy.start(t, full.port);
  const feed = new FeedClient(full.url, 'full');
  const { id } = (await feed.post('Before')).json;
  const { page } = await visit(t, browser, { serviceWorkers: 'block' });
  await page.addInitScript(COUNT_SYNCS);
  await page.goto(`${proxy.url}/full`);
  proxy.loses = 'POST /';
  await write(page, 'Kept');
  await page.waitForSelector('#waiting li');
  proxy.loses = undefined;
  await page.click('#waiting [data-action=send]');
  await page.waitForSelector('#waiting .error:has-text("This feed is full")');
  await feed.send('DELETE', `/notes/${id}`);
  proxy.loses = 'POST /';
  await page.click('#waiting [data-action=send]');
  await page.waitForSelector('.toast:has-text("sent when it can")');
  t.equal(await page.evaluate('syncs'), 2, 'one when it was kept, one when it was sent again');
  proxy.loses = undefined;
  await page.waitForSelector('article:has-text("Kept")');
});

t.test('a post is tried again though the service was in reach all the time', async (t) => {
  await new FeedClient(url, 'tried-again').post('Before');
  const { page } = await visit(t, browser, { serviceWorkers: 'block' });
  await page.clock.install();
  await page.goto(`${network.url}/tried-again`);
  network.loses = 'POST /tried-again ';
  await write(page, 'Kept');
  await page.waitForSelector('#waiting li');
  const tried = page.waitForEvent('requestfailed');
  await page.clock.fastForward(5_001);
  await tried;
  network.loses = undefined;
  await page.clock.fastForward(30_001);
  await page.waitForSelector('article:has-text("Kept")');
});

t.test('a picture that is taken back shows its alternative text when words come to it', async (t) => {
  const feed = new FeedClient(url, 'picture-back');
  await feed.post('Before');
  const { page } = await visit(t, browser, { serviceWorkers: 'block' });
  await page.goto(`${network.url}/picture-back`);
  await boxIsReady(page);
  await page.setInputFiles('.pictures input', { name: 'dot.png', mimeType: 'image/png', buffer: PIXEL });
  await page.fill('#compose .attachments .alt', 'A dot');
  network.loses = 'POST /picture-back ';
  await page.press('#note-text', 'Control+Enter');
  await page.waitForSelector('#waiting li');
  await page.click('[data-action=take-back]');
  await page.waitForSelector('#waiting', { state: 'hidden' });
  network.loses = undefined;
  t.equal(await page.inputValue('#note-text'), '![A dot](dot.png)');
  await write(page, 'Words');
  await page.waitForSelector('article:has-text("Words") img[alt="A dot"]');
});

t.test('what is taken back in one window is not called sent in another', async (t) => {
  await new FeedClient(url, 'two-windows').post('Before');
  const { page } = await visit(t, browser);
  await page.goto(`${network.url}/two-windows`);
  network.loses = 'POST /two-windows ';
  await write(page, 'Kept');
  await page.waitForSelector('#waiting li');
  const other = await page.context().newPage();
  await other.goto(`${network.url}/two-windows`);
  await other.waitForSelector('#waiting li');
  await page.click('[data-action=take-back]');
  await other.waitForSelector('#waiting', { state: 'hidden' });
  t.same(await other.locator('.toast').allTextContents(), []);
  network.loses = undefined;
});

t.test('what is taken back while a post is sent does not replace what is written until then', async (t) => {
  await new FeedClient(url, 'take-back-late').post('Before');
  const { page } = await visit(t, browser, { serviceWorkers: 'block' });
  await page.goto(`${network.url}/take-back-late`);
  await boxIsReady(page);
  network.loses = 'POST /take-back-late ';
  await page.fill('#note-tags', 'kept');
  await write(page, 'Kept');
  await page.waitForSelector('#waiting li');
  const [sent, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await page.route(`${network.url}/take-back-late`, async (route) => {
    if (route.request().method() !== 'POST') return route.fallback();
    sent.resolve();
    await held.promise;
    await route.abort();
  });
  await isRouted(page);
  await page.click('#waiting [data-action=send]');
  await sent.promise;
  await page.click('#waiting [data-action=take-back]');
  await page.fill('#note-tags', 'typed');
  held.resolve();
  await page.waitForSelector('#toasts:has-text("Post what is in the box first")');
  t.equal(await page.inputValue('#note-tags'), 'typed');
  t.ok(await page.isVisible('#waiting li'));
  network.loses = undefined;
});

t.test('what is taken back while a new note is sent does not go with that', async (t) => {
  const feed = new FeedClient(url, 'take-back-sending');
  await feed.post('Before');
  const { page } = await visit(t, browser, { serviceWorkers: 'block' });
  await page.goto(`${network.url}/take-back-sending`);
  await boxIsReady(page);
  network.loses = 'POST /take-back-sending ';
  await write(page, 'Kept');
  await page.waitForSelector('#waiting li');
  const [asked, sent] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const [answered, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await page.route(/\/take-back-sending\/notes\?/, async (route) => {
    asked.resolve();
    await answered.promise;
    await route.fallback();
  });
  await page.route(`${network.url}/take-back-sending`, async (route) => {
    if (route.request().method() !== 'POST') return route.fallback();
    sent.resolve();
    await held.promise;
    await route.fallback();
  });
  await isRouted(page);
  await page.click('#waiting [data-action=take-back]');
  await asked.promise;
  await write(page, 'New');
  await sent.promise;
  answered.resolve();
  await page.waitForSelector('#toasts:has-text("Post what is in the box first")');
  t.ok(await page.isVisible('#waiting li:has-text("Kept")'));
  network.loses = undefined;
  held.resolve();
  t.ok(await eventually(async () => (await textsOf(feed)).length === 3));
  t.same((await textsOf(feed)).sort(), ['Before', 'Kept', 'New']);
});

t.test('a password for a new feed is not kept', async (t) => {
  const { page } = await visit(t, browser);
  await read(page, `${url}/offline-protected`);
  await page.context().setOffline(true);
  await page.focus('#note-text');
  await page.fill('[name=password]', 'open sesame');
  await write(page, 'Secret');
  await page.waitForSelector('#compose .error:has-text("cannot be reached")');
  t.equal(await page.inputValue('#note-text'), 'Secret');
  t.ok(await page.isHidden('#waiting'));
});

t.test('two posts that wait for a feed to be made are both in it', async (t) => {
  const { page } = await visit(t, browser);
  await read(page, `${network.url}/offline-made`);
  await leave(page, 'offline-made');
  for (const [number, text] of ['One', 'Two'].entries()) {
    await write(page, text);
    await page.waitForSelector(`#waiting li:nth-child(${number + 1})`);
  }
  await comeBack(page);
  await page.waitForSelector('article:has-text("One")');
  const feed = new FeedClient(url, 'offline-made');
  t.ok(await eventually(async () => (await textsOf(feed)).length === 2));
});

/** Empties the outbox, as a logout does, just before the change of it that makes `changesLeft` zero. */
const FORGETS = `{
  const { transaction } = IDBDatabase.prototype;
  IDBDatabase.prototype.transaction = function (stores, mode, options) {
    const isChange = this.name === 'outbox' && mode === 'readwrite';
    if (isChange && --window.changesLeft === 0) transaction.call(this, stores, mode).objectStore('posts').clear();
    return transaction.call(this, stores, mode, options);
  };
}`;

for (const { outcome, changes, isLeft } of [
  { outcome: 'refused', changes: 1, isLeft: [] },
  { outcome: 'sent', changes: 2, isLeft: ['One'] },
])
  t.test(`what is forgotten while a post is ${outcome} does not come back`, async (t) => {
    const name = `forgotten-${outcome}`;
    const feed = new FeedClient(url, name);
    if (outcome === 'refused') await feed.post('Before');
    const { page } = await visit(t, browser, { serviceWorkers: 'block' });
    await page.addInitScript(FORGETS);
    await page.goto(`${network.url}/${name}`);
    await boxIsReady(page);
    network.loses = `POST /${name} `;
    for (const [number, text] of ['One', 'Two'].entries()) {
      await write(page, text);
      await page.waitForSelector(`#waiting li:nth-child(${number + 1})`);
    }
    if (outcome === 'refused') await feed.delete();
    await page.evaluate(`changesLeft = ${changes}`);
    network.loses = undefined;
    await page.click('#waiting [data-action=send]');
    await page.waitForSelector('#waiting', { state: 'hidden' });
    const other = await page.context().newPage();
    await other.goto(`${network.url}/${name}`);
    await boxIsReady(other);
    t.ok(await other.isHidden('#waiting'));
    t.same(await textsOf(feed), isLeft);
  });

t.test('a page that was on its way while the service worker became active is controlled too', async (t) => {
  await new FeedClient(url, 'offline-first').post('The first page');
  await new FeedClient(url, 'offline-late').post('The late page');
  const { page } = await visit(t, browser);
  const late = await page.context().newPage();
  const held = Promise.withResolvers<void>();
  await late.route('**/offline-late', async (route) => {
    await held.promise;
    await route.continue();
  });
  const arrival = late.goto(`${url}/offline-late`);
  await read(page, `${url}/offline-first`);
  held.resolve();
  await arrival;
  const isControlled = () => late.evaluate<boolean>('navigator.serviceWorker.controller !== null');
  t.ok(await eventually(isControlled));
});

t.test('logging out and locking a feed forget what was kept', async (t) => {
  const password = 'let us in';
  const locked = await start(t, { SERVICE_PASSWORD: password });
  const proxy = await CutProxy.start(t, locked.port);
  const address = `${proxy.url}/offline-locked`;
  const feed = new FeedClient(locked.url, 'offline-locked', { authorization: `Bearer ${password}` });
  const pictured = feed.with({ 'x-feed-password': 'of the feed' });
  await pictured.post('Not for everybody');
  const { page } = await visit(t, browser, { says: 'yes' });
  const logIn = async () => {
    await page.goto(`${proxy.url}/login?next=/offline-locked`);
    await page.fill('[name=password]', password);
    await page.press('[name=password]', 'Enter');
    await page.waitForURL(address);
  };
  const unlock = async () => {
    await page.fill('[name=password]', 'of the feed');
    await page.press('[name=password]', 'Enter');
    await page.waitForSelector('article');
  };
  const postLater = async () => {
    await read(page, address);
    proxy.loses = 'POST /offline-locked ';
    await write(page, 'Not sent');
    await page.waitForSelector('#waiting li');
  };
  await logIn();
  await unlock();
  await postLater();
  await page.goto(`${address}/settings`);
  await page.click('text=Lock in this browser');
  await page.waitForSelector('text=This feed is locked');
  t.ok(await eventually(async () => (await keptIn(page, 'pages')) === 0));
  proxy.loses = undefined;
  await unlock();
  t.ok(await page.isHidden('#waiting'), 'nothing waits');
  await postLater();
  await page.goto(`${proxy.url}/logout`);
  await page.click('button.primary');
  await page.waitForURL(/\/login/);
  t.ok(await eventually(async () => (await keptIn(page, 'pages')) + (await keptIn(page, 'pictures')) === 0));
  await page.context().setOffline(true);
  await t.rejects(page.goto(address));
  await page.context().setOffline(false);
  proxy.loses = undefined;
  await logIn();
  t.ok(await page.isHidden('#waiting'), 'nothing waits');
  t.same(await textsOf(pictured), ['Not for everybody']);
});

t.test('a post that is refused after it was forgotten is not kept again', async (t) => {
  const address = `${network.url}/forgotten`;
  await new FeedClient(url, 'forgotten', { 'x-feed-password': 'of the feed' }).post('Before');
  const { page } = await visit(t, browser);
  await page.goto(address);
  await page.fill('[name=password]', 'of the feed');
  await page.press('[name=password]', 'Enter');
  await page.waitForSelector('article');
  network.loses = 'POST /forgotten ';
  await write(page, 'Not sent');
  await page.waitForSelector('#waiting li');
  network.loses = undefined;
  const held = Promise.withResolvers<void>();
  await page.route(address, async (route) => {
    if (route.request().method() !== 'POST') return route.fallback();
    await held.promise;
    return route.fulfill({ status: 413, json: { error: 'Too large', code: 'too_large' } });
  });
  await isRouted(page);
  const sending = page.waitForRequest((request) => request.method() === 'POST');
  await page.click('#waiting [data-action=send]');
  await sending;
  const other = await page.context().newPage();
  await other.goto(`${address}/settings`);
  other.on('dialog', (dialog) => dialog.accept());
  await other.click('text=Lock in this browser');
  await other.waitForSelector('text=This feed is locked');
  await page.waitForSelector('#waiting', { state: 'hidden' });
  held.resolve();
  await page.evaluate("navigator.locks.request('outbox', () => undefined)");
  t.equal(await page.evaluate(POSTS_KEPT), 0);
});

/** How many posts wait. */
const POSTS_KEPT = `${ALL_WAITING}.then(({ length }) => length)`;

t.test('locking or deleting a feed forgets its posts without a service worker, too', async (t) => {
  const { page } = await visit(t, browser, { serviceWorkers: 'block', says: 'yes' });
  for (const name of ['left-locked', 'left-deleted']) {
    await new FeedClient(url, name, { 'x-feed-password': 'of the feed' }).post('Before');
    await page.goto(`${network.url}/${name}`);
    await page.fill('[name=password]', 'of the feed');
    await page.press('[name=password]', 'Enter');
    await page.waitForSelector('article');
    network.loses = `POST /${name} `;
    await write(page, 'Not sent');
    await page.waitForSelector('#waiting li');
    await page.goto(`${network.url}/${name}/settings`);
    if (name === 'left-locked') {
      await page.click('text=Lock in this browser');
      await page.waitForSelector('text=This feed is locked');
    } else {
      await page.fill('form[action$="/delete"] input', name);
      await page.click('form[action$="/delete"] button');
      await page.waitForURL(`${network.url}/`);
    }
    t.ok(await eventually(async () => (await page.evaluate(POSTS_KEPT)) === 0), name);
    network.loses = undefined;
  }
});

t.test('a form of another site forgets nothing that was kept', async (t) => {
  const { page } = await visit(t, browser);
  const address = `${url}/kept-from-others`;
  await new FeedClient(url, 'kept-from-others').post('Words to keep');
  await read(page, address);
  for (const [path, fields] of [
    ['logout', ''],
    ['kept-from-others/access', '<input name="action" value="lock">'],
    ['kept-from-others/delete', ''],
  ]) {
    const form = `<form method="post" action="${url}/${path}">${fields}</form>`;
    await page.goto(`data:text/html,${encodeURIComponent(form)}`);
    const answered = page.waitForEvent('load');
    await page.evaluate('document.forms[0].submit()');
    await answered;
  }
  await page.context().setOffline(true);
  await page.goto(address);
  t.match(await page.textContent('article'), 'Words to keep');
});

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

t.test('a bookmark of the settings opens the feed with the page that is shown', async (t) => {
  await new FeedClient(url, 'marked').post('Before');
  const { page } = await visit(t, browser);
  await page.goto(`${url}/marked/settings`);
  const code = (await page.textContent('#bookmarklet'))!;
  t.equal(await page.getAttribute('text=Note this page', 'href'), code);
  // Without the policy of our own page.
  await page.goto('about:blank');
  await page.setContent('<title>Otters & "friends"</title><p>The first line<p>The second 😀');
  await page.evaluate(
    `getSelection().selectAllChildren(document.body); location.href = ${JSON.stringify(code)}`,
  );
  await page.waitForURL(`${url}/marked`);
  t.equal(await page.inputValue('#note-title'), 'Otters & "friends"');
  t.equal(await page.inputValue('#note-text'), 'about:blank\n\n> The first line\n\n> The second 😀');
});

t.test('the service worker is asked for each time, and no feed can have its address', async (t) => {
  const { status, headers, text } = await ask(`${url}/service-worker.js`);
  t.equal(status, 200);
  t.match(headers.get('content-type'), 'text/javascript');
  t.equal(headers.get('cache-control'), 'no-cache');
  t.match(headers.get('content-security-policy'), "connect-src 'self'");
  t.notMatch(text, /^import /m);
  t.equal((await ask(`${url}/service-worker.js`, { method: 'POST', body: 'x' })).status, 400);
});
