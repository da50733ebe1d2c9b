/** Posts that wait in Chromium until the service can be reached. */
import type { Page, Route } from 'playwright-core';
import t from 'tap';
import { boxIsReady, isRouted, isUsable, PHONE, startBrowser, visit } from '../support/browser.ts';
import { ALL_WAITING } from '../support/browser-storage.ts';
import { CutProxy } from '../support/cut-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { comeBack, leave, read, textsOf, write } from '../support/offline.ts';
import { PIXEL } from '../support/pictures.ts';
import { start } from '../support/service.ts';

const browser = await startBrowser(t);
const service = await start(t);
const { url } = service;
/** The network of browsers that post. */
const network = await CutProxy.start(t, service.port);

/** How many posts wait. */
const POSTS_KEPT = `${ALL_WAITING}.then(({ length }) => length)`;

t.test('a post without a network waits, and arrives once', async (t) => {
  const feed = new FeedClient(url, 'offline-posting');
  await feed.post('Before');
  const { page, ...faults } = await visit(t, browser, PHONE);
  await read(page, `${network.url}/offline-posting`);
  await boxIsReady(page);
  await leave(page, network, 'offline-posting');
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
  await comeBack(again, network);
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

t.test(
  'what is stored is not taken back, and what waits behind it goes to the feed that it made',
  async (t) => {
    const feed = new FeedClient(url, 'stored-first');
    const { page } = await visit(t, browser, { serviceWorkers: 'block' });
    const other = await page.context().newPage();
    await other.goto(url);
    await page.goto(`${url}/stored-first`);
    await boxIsReady(page);
    let isOut = true;
    const notes = (address: URL) => address.pathname.endsWith('/stored-first/notes');
    await page.route(notes, (route) => route.abort());
    await page.route(`${url}/stored-first`, async (route) => {
      if (route.request().method() !== 'POST' || !isOut) return route.fallback();
      if (route.request().postData()?.includes('One')) await route.fetch();
      return route.abort();
    });
    await isRouted(page);
    for (const [number, text] of ['One', 'Two'].entries()) {
      await write(page, text);
      await page.waitForSelector(`#waiting li:nth-child(${number + 1})`);
    }
    await page.unroute(notes);
    await page.click('#waiting li:has-text("One") [data-action=take-back]');
    t.ok(await eventually(async () => (await other.evaluate(POSTS_KEPT)) === 1));
    isOut = false;
    await other.goto(`${url}/stored-first`);
    await other.waitForSelector('article:has-text("Two")');
    t.same(await textsOf(feed), ['Two', 'One']);
  },
);

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

/** Posts a note whose answer is lost, takes it back, and posts it with more words, which must wait while nobody says what is stored. */
async function changeUnanswered(page: Page, address: string): Promise<void> {
  let isLost = true;
  await page.route(address, async (route) => {
    if (route.request().method() !== 'POST' || !isLost) return route.fallback();
    isLost = false;
    await route.fetch();
    return route.abort();
  });
  await isRouted(page);
  await write(page, 'First');
  await page.waitForSelector('#waiting li');
  await page.click('#waiting [data-action=take-back]');
  await page.waitForSelector('#waiting', { state: 'hidden' });
  await page.fill('#note-text', 'First and second');
  await page.press('#note-text', 'Control+Enter');
  await page.waitForSelector('#waiting li');
}

t.test('a changed post is not sent while nobody says whether it is stored as it was', async (t) => {
  const feed = new FeedClient(url, 'changed-unsaid');
  await feed.post('Before');
  const { page } = await visit(t, browser, { serviceWorkers: 'block', says: 'yes' });
  await page.goto(`${url}/changed-unsaid`);
  await boxIsReady(page);
  const notes = (address: URL) => address.pathname.endsWith('/changed-unsaid/notes');
  await page.route(notes, (route) => route.fulfill({ status: 503 }));
  await changeUnanswered(page, `${url}/changed-unsaid`);
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
  await leave(page, network, 'offline-refused');
  await page.focus('#note-text');
  await page.click('[data-action=title]');
  await page.fill('#note-title', 'Größe');
  await page.fill('#note-tags', 'one, two');
  await page.selectOption('#note-expires', '7d');
  const file = { name: 'dot.png', mimeType: 'image/png', buffer: PIXEL };
  await page.locator('form input[type=file]').first().setInputFiles(file);
  await page.waitForSelector('.attachments li');
  await page.fill('.attachments .alt', 'A dot');
  await write(page, 'Mine');
  await page.waitForSelector('#waiting li');
  await feed.delete();
  await comeBack(page, network);
  await page.waitForSelector('#waiting .error:has-text("Not sent")');
  await page.fill('#note-text', 'Something else');
  await page.click('[data-action=take-back]');
  await page.waitForSelector('.toast');
  await page.fill('#note-text', '');
  await page.click('[data-action=take-back]');
  await page.waitForSelector('#waiting', { state: 'hidden' });
  t.match(await page.inputValue('#note-text'), /^Mine\n\n!\[.*\]\(dot\.png\)/);
  t.equal(await page.inputValue('#note-title'), 'Größe');
  t.equal(await page.inputValue('#note-tags'), 'one, two');
  t.equal(await page.inputValue('#note-expires'), '7d');
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

t.test('a post that comes too soon after others waits', async (t) => {
  const limited = await start(t, { SERVICE_RATE_LIMIT: '2' });
  const proxy = await CutProxy.start(t, limited.port);
  const feed = new FeedClient(limited.url, 'too-soon');
  const { page } = await visit(t, browser, { serviceWorkers: 'block' });
  await feed.post('Before');
  await page.goto(`${proxy.url}/too-soon`);
  proxy.loses = 'POST /';
  await write(page, 'Kept');
  await page.waitForSelector('#waiting li');
  while ((await feed.post('Others')).status === 201);
  proxy.loses = undefined;
  await page.click('#waiting [data-action=send]');
  await page.waitForSelector('.toast:has-text("sent when it can")');
  t.equal(await page.textContent('#waiting .error'), '');
});

t.test('a post whose refusal nobody has seen is not sent again by a click', async (t) => {
  const feed = new FeedClient(url, 'unseen');
  await feed.post('Before');
  const { page } = await visit(t, browser, { serviceWorkers: 'block' });
  await page.goto(`${url}/unseen`);
  await boxIsReady(page);
  const held = Promise.withResolvers<void>();
  let isBack = false;
  const notes = (address: URL) => address.pathname.endsWith('/unseen/notes');
  await page.route(notes, async (route) => {
    if (!isBack) return route.abort();
    await held.promise;
    await route.fallback();
  });
  await changeUnanswered(page, `${url}/unseen`);
  isBack = true;
  const asked = page.waitForRequest((request) => notes(new URL(request.url())));
  await page.click('#waiting [data-action=send]');
  await asked;
  await page.click('#waiting [data-action=send]');
  held.resolve();
  await page.waitForSelector('#waiting .error:has-text("is stored already")');
  await page.dispatchEvent('#waiting [data-action=send]', 'click', { detail: 2 });
  await page.evaluate(SENDING_ENDS);
  t.same(await textsOf(feed), ['First', 'Before']);
});

/** Waits until no page sends what waits. */
const SENDING_ENDS = "navigator.locks.request('outbox', () => undefined)";

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
  t.equal(await page.evaluate('syncs'), 1, 'one when it was kept');
  await page.reload();
  await page.waitForSelector('#waiting .error:has-text("This feed is full")');
  await page.evaluate(SENDING_ENDS);
  t.same(await textsOf(feed), [], 'not unasked');
  proxy.loses = 'POST /';
  await page.click('#waiting [data-action=send]');
  await page.waitForSelector('.toast:has-text("sent when it can")');
  t.equal(await page.evaluate('syncs'), 1, 'one when it was sent again');
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

t.test('pictures in another order are not posted unasked after an answer was lost', async (t) => {
  const feed = new FeedClient(url, 'reordered');
  await feed.post('Before');
  const { page } = await visit(t, browser, { serviceWorkers: 'block' });
  await page.goto(`${url}/reordered`);
  await boxIsReady(page);
  const picture = { mimeType: 'image/png', buffer: PIXEL };
  await page.setInputFiles('.pictures input', [
    { name: 'a.png', ...picture },
    { name: 'b.png', ...picture },
  ]);
  await page.waitForSelector('.attachments li:nth-child(2)');
  const notes = (address: URL) => address.pathname.endsWith('/reordered/notes');
  await page.route(notes, (route) => route.abort());
  await page.route(`${url}/reordered`, async (route) => {
    if (route.request().method() !== 'POST') return route.fallback();
    await route.fetch();
    return route.abort();
  });
  await isRouted(page);
  await page.press('#note-text', 'Control+Enter');
  await page.waitForSelector('#waiting li');
  await page.click('#waiting [data-action=take-back]');
  await page.waitForSelector('#waiting', { state: 'hidden' });
  await page.unroute(notes);
  await page.unroute(`${url}/reordered`);
  await page.click('.attachments li:nth-child(2) [data-action=up]');
  await page.press('#note-text', 'Control+Enter');
  await page.waitForSelector('#compose .error:has-text("is stored already")');
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

t.test('two posts that wait for a feed to be made are both in it', async (t) => {
  const { page } = await visit(t, browser);
  await read(page, `${network.url}/offline-made`);
  await leave(page, network, 'offline-made');
  for (const [number, text] of ['One', 'Two'].entries()) {
    await write(page, text);
    await page.waitForSelector(`#waiting li:nth-child(${number + 1})`);
  }
  await comeBack(page, network);
  await page.waitForSelector('article:has-text("One")');
  const feed = new FeedClient(url, 'offline-made');
  t.ok(await eventually(async () => (await textsOf(feed)).length === 2));
});

for (const how of ['at once', 'once the service is in reach'])
  t.test(
    `a changed post whose first answer was lost is not posted twice without asking, ${how}`,
    async (t) => {
      const name = how === 'at once' ? 'changed-at-once' : 'changed-later';
      const feed = new FeedClient(url, name);
      await feed.post('Before');
      const { page } = await visit(t, browser, { serviceWorkers: 'block', says: 'yes' });
      await page.goto(`${url}/${name}`);
      await boxIsReady(page);
      let isStored = true;
      let isRefused = false;
      const fail = (route: Route) =>
        isRefused ? route.fulfill({ status: 401, json: { code: 'auth', error: 'Not now.' } }) : route.abort();
      const notes = (address: URL) => address.pathname.endsWith(`/${name}/notes`);
      await page.route(notes, fail);
      await page.route(`${url}/${name}`, async (route) => {
        if (route.request().method() !== 'POST') return route.fallback();
        if (isStored) await route.fetch();
        return fail(route);
      });
      await isRouted(page);
      await write(page, 'First');
      await page.waitForSelector('#waiting li');
      isStored = false;
      const send = () => page.press('#note-text', 'Control+Enter');
      for (const text of ['First and more', 'First and second']) {
        if (text === 'First and second') {
          await send();
          await page.waitForSelector('#waiting li');
        }
        await page.click('#waiting [data-action=take-back]');
        await page.waitForSelector('#waiting', { state: 'hidden' });
        await page.fill('#note-text', text);
      }
      const comeBack = async () => {
        await page.unroute(notes);
        await page.unroute(`${url}/${name}`);
      };
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
        isRefused = true;
        await page.click('#waiting [data-action=send]');
        await page.waitForSelector('#waiting .error:has-text("Not now.")');
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
  await page.evaluate(SENDING_ENDS);
  t.equal(await page.evaluate(POSTS_KEPT), 0);
});

t.test('unlocking a feed leaves what waits for it', async (t) => {
  const address = `${network.url}/unlocked-again`;
  await new FeedClient(url, 'unlocked-again', { 'x-feed-password': 'of the feed' }).post('Before');
  const { page } = await visit(t, browser);
  const unlock = async () => {
    await page.goto(address);
    await page.fill('[name=password]', 'of the feed');
    await page.press('[name=password]', 'Enter');
    await page.waitForSelector('article');
  };
  await unlock();
  await read(page, address);
  network.loses = 'POST /unlocked-again ';
  await write(page, 'Kept');
  await page.waitForSelector('#waiting li');
  await page.context().clearCookies();
  await unlock();
  network.loses = undefined;
  // Not by a click: the page may have sent the post by itself before that.
  await page.evaluate("dispatchEvent(new Event('online'))");
  await page.waitForSelector('article:has-text("Kept")');
});

t.test('locking or deleting a feed forgets its posts without a service worker, too', async (t) => {
  const { page, dialogs } = await visit(t, browser, { serviceWorkers: 'block', says: 'yes' });
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
      t.match(dialogs, [/confirm: .*not posted/]);
    } else {
      await page.fill('form[action$="/delete"] input', name);
      await page.click('form[action$="/delete"] button');
      await page.waitForURL(`${network.url}/`);
    }
    t.ok(await eventually(async () => (await page.evaluate(POSTS_KEPT)) === 0), name);
    network.loses = undefined;
  }
});
