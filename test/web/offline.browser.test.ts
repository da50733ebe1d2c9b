/** The service as an app of Chromium: what was read can be read without a network, and what of it is forgotten. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import t from 'tap';
import { boxIsReady, isUsable, PHONE, startBrowser, visit } from '../support/browser.ts';
import { CutProxy } from '../support/cut-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { keptIn, read, textsOf, write } from '../support/offline.ts';
import { PIXEL, picture } from '../support/pictures.ts';
import { ask, start } from '../support/service.ts';

const browser = await startBrowser(t);
const { url } = await start(t);

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

t.test('a page that the service refuses now is forgotten', async (t) => {
  const locked = await start(t, { SERVICE_PASSWORD: 'let us in' });
  const inside = new FeedClient(locked.url, 'inside', { authorization: 'Bearer let us in' });
  await inside.post('A note');
  await new FeedClient(url, 'unlocked', { 'x-feed-password': 'of the feed' }).post('A note');
  for (const [way, address, password] of [
    [`${locked.url}/login?next=/inside`, `${locked.url}/inside`, 'let us in'],
    [`${url}/unlocked`, `${url}/unlocked`, 'of the feed'],
  ] as const) {
    const { page } = await visit(t, browser);
    await page.goto(way);
    await page.fill('#password', password);
    await page.press('#password', 'Enter');
    await page.waitForSelector('article');
    await read(page, address);
    await page.context().clearCookies();
    await page.goto(address);
    await page.waitForSelector('#password');
    t.ok(await eventually(async () => (await keptIn(page, 'pages')) === 0), address);
  }
});

t.test('a page that is stored late does not come back after it was forgotten', async (t) => {
  const feed = new FeedClient(url, 'offline-late');
  const { json: note } = await feed.post('Soon gone');
  const { page } = await visit(t, browser);
  await read(page, `${url}/offline-late`);
  const [worker] = page.context().serviceWorkers();
  await worker!.evaluate(`{
    const { put } = Cache.prototype;
    globalThis.held = Promise.withResolvers();
    globalThis.puts = [];
    Cache.prototype.put = function (...entry) {
      // Pages wait for what is stored again of their scripts.
      if (!entry[1].headers.get('Content-Type').startsWith('text/html')) return put.apply(this, entry);
      const done = held.promise.then(() => put.apply(this, entry));
      puts.push(done);
      return done;
    };
  }`);
  await page.goto(note.url);
  t.ok(await eventually(() => worker!.evaluate<boolean>('puts.length > 0')));
  await feed.send('DELETE', `/notes/${note.id}`);
  await page.goto(note.url);
  await page.waitForSelector('h1:has-text("Not here")');
  await worker!.evaluate('held.resolve(), Promise.all(puts).then(() => undefined)');
  t.ok(await eventually(async () => (await keptIn(page, 'pages')) === 1));
  await page.context().setOffline(true);
  await t.rejects(page.goto(note.url));
});

t.test('a note is not edited as it was when it was kept', async (t) => {
  const { json: note } = await new FeedClient(url, 'offline-edit').post('A note');
  const { page } = await visit(t, browser);
  await read(page, `${url}/offline-edit`);
  await page.goto(note.url);
  t.ok(await eventually(async () => (await keptIn(page, 'pages')) === 2));
  await page.context().setOffline(true);
  await page.goto(`${url}/offline-edit`);
  await page.click('article summary');
  await page.click('article a.edit');
  await page.waitForSelector('.toast:has-text("cannot be read now")');
});

t.test('deleting a feed forgets what was kept of it', async (t) => {
  await new FeedClient(url, 'offline-deleted').post('Words');
  await new FeedClient(url, 'offline-stays').post('Words');
  const { page } = await visit(t, browser);
  for (const [number, name] of ['offline-stays', 'offline-deleted'].entries()) {
    await read(page, `${url}/${name}`);
    t.ok(await eventually(async () => (await keptIn(page, 'pages')) === number + 1));
  }
  await page.goto(`${url}/offline-deleted/settings`);
  await page.fill('form[action$="/delete"] input', 'offline-deleted');
  await page.click('form[action$="/delete"] button');
  await page.waitForURL(`${url}/`);
  await page.waitForLoadState('networkidle');
  const isOne = async () => (await keptIn(page, 'pages')) === 1;
  t.ok(await eventually(isOne), 'nor is the page kept that says so');
  await page.context().setOffline(true);
  await page.goto(`${url}/offline-stays`);
  await t.rejects(page.goto(`${url}/offline-deleted`));
});

t.test('of pages the last 60 are kept, and of pictures none that is larger than 4 MiB', async (t) => {
  const feed = new FeedClient(url, 'offline-limits');
  const most = 4 * 1024 * 1024;
  const { page } = await visit(t, browser);
  await feed.post(picture('png', most + 1), { 'content-type': 'image/png' });
  await read(page, `${url}/offline-limits`);
  await page.waitForLoadState('networkidle');
  await page.evaluate(`caches.keys().then(async (names) => {
    const cache = await caches.open(names.find((name) => name.startsWith('note-feed-pages')));
    for (let n = 0; n < 60; n += 1) await cache.put('/kept/' + n, new Response(''));
  })`);
  await feed.post(picture('png', most), { 'content-type': 'image/png' });
  await page.goto(`${url}/offline-limits`);
  t.ok(await eventually(async () => (await page.evaluate<number[]>(KEPT_SIZES)).includes(most)));
  t.same(await page.evaluate(KEPT_SIZES), [most]);
  t.ok(await eventually(async () => (await keptIn(page, 'pages')) === 60));
  await page.context().setOffline(true);
  await page.goto(`${url}/offline-limits`);
});

/** How many bytes each picture has that is kept. */
const KEPT_SIZES = `caches.keys().then(async (names) => {
  const cache = await caches.open(names.find((name) => name.startsWith('note-feed-pictures')));
  return Promise.all((await cache.matchAll()).map(async (answer) => (await answer.blob()).size));
})`;

t.test('what was read can be read while a proxy cannot reach the service', async (t) => {
  const service = await start(t);
  const network = await CutProxy.start(t, service.port);
  await new FeedClient(service.url, 'bad-gateway').post('Words');
  const { page } = await visit(t, browser);
  await read(page, `${network.url}/bad-gateway`);
  for (const status of [502, 503, 504]) {
    await network.cut();
    const proxy = createServer((_, answer) => answer.writeHead(status).end('Bad gateway'));
    t.teardown(() => proxy.close());
    proxy.listen(network.port, '127.0.0.1');
    await once(proxy, 'listening');
    await page.goto(`${network.url}/bad-gateway`);
    t.match(await page.textContent('article'), 'Words');
    t.ok(await page.isVisible('.offline'), `${status}`);
    proxy.closeAllConnections();
    proxy.close();
    await once(proxy, 'close');
  }
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

t.test('a page whose scripts were loaded after the service worker became active is kept too', async (t) => {
  await new FeedClient(url, 'offline-early').post('The early page');
  const { page } = await visit(t, browser);
  const early = await page.context().newPage();
  const held = Promise.withResolvers<void>();
  await early.route('**/static/*.js', async (route) => {
    await held.promise;
    await route.continue();
  });
  await early.goto(`${url}/offline-early`, { waitUntil: 'commit' });
  await read(page, `${url}/offline-first`);
  const isControlled = () => early.evaluate<boolean>('navigator.serviceWorker.controller !== null');
  t.ok(await eventually(isControlled));
  const before = await keptIn(page, 'pages');
  held.resolve();
  t.ok(await eventually(async () => (await keptIn(page, 'pages')) > before));
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
  await page.click('.visitor button');
  await page.waitForURL(`${proxy.url}/logout`);
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
