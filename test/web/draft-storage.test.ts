/** What was written is not lost if the browser keeps nothing, or keeps it late or by half. */
import t, { type Test } from 'tap';
import { boxIsReady, isRouted, settled, startBrowser, visit } from '../support/browser.ts';
import { ALL_WAITING, BLOCK_STORAGE } from '../support/browser-storage.ts';
import {
  HOLD_DRAFTS,
  hold,
  isKept,
  restored,
  storage,
  textOf,
  twoWindows,
  write,
} from '../support/drafts.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { PIXEL } from '../support/pictures.ts';
import { post, start } from '../support/service.ts';

const browser = await startBrowser(t);
const { url } = await start(t);

t.test(
  'what is typed after a note was sent is a draft, even if that of the note is still written',
  async (t) => {
    const { first } = await twoWindows(t, browser, url, 'slow-disk');
    await boxIsReady(first);
    await first.evaluate(HOLD_DRAFTS);
    await first.fill('#note-text', 'First');
    await first.keyboard.press('Control+Enter');
    if (!(await eventually(async () => (await textOf(first)) === '')))
      throw new Error('the box is not emptied');
    await first.fill('#note-text', 'Second');
    await first.evaluate('isHeld = false');
    await first.waitForSelector('#toasts:has-text("Posted.")');
    // Until then the page asks before it is left.
    await isKept(first, 'Second');
    await first.reload();
    await restored(first);
    t.equal(await textOf(first), 'Second');
  },
);

t.test('a page asks before it is left while its draft is written', async (t) => {
  const { first, faults } = await twoWindows(t, browser, url, 'still-writing');
  await boxIsReady(first);
  await first.evaluate(HOLD_DRAFTS);
  await first.fill('#note-text', 'Words');
  await settled(first);
  await first.close({ runBeforeUnload: true });
  t.ok(await eventually(() => faults.dialogs.length > 0));
  t.same(faults.dialogs, ['beforeunload: ']);
});

t.test('drafts are kept after the browser has closed its database', async (t) => {
  const { first } = await twoWindows(t, browser, url, 'closed-database');
  await write(first, 'Before');
  const devTools = await first.context().newCDPSession(first);
  await devTools.send('Storage.clearDataForOrigin', { origin: url, storageTypes: 'indexeddb' });
  await first.fill('#note-text', 'After');
  await isKept(first, 'After');
  t.equal(await first.textContent('#compose .error'), '');
});

t.test('a browser that keeps nothing says so once, and asks before words are left', async (t) => {
  const { page, dialogs, errors } = await visit(t, browser);
  await page.addInitScript(BLOCK_STORAGE);
  await page.goto(`${url}/two-windows`);
  await page.focus('#note-text');
  await page.keyboard.type('Words');
  await page.waitForSelector('#compose .error:has-text("keeps no drafts")');
  const asked = page.waitForEvent('dialog');
  await page.close({ runBeforeUnload: true });
  await asked;
  t.match(dialogs, [/beforeunload/]);
  await page.keyboard.press('Control+Enter');
  await page.waitForSelector('article:has-text("Words")');
  t.same(errors, []);
});

t.test('a browser that keeps nothing says that a note was not sent', async (t) => {
  const { page, errors } = await visit(t, browser, { serviceWorkers: 'block' });
  await page.addInitScript(BLOCK_STORAGE);
  await page.goto(`${url}/two-windows`);
  await page.focus('#note-text');
  await page.keyboard.type('Words');
  await page.waitForSelector('#compose .error:has-text("keeps no drafts")');
  await page.route(`${url}/two-windows`, (route) => route.abort());
  await isRouted(page);
  await page.keyboard.press('Control+Enter');
  await page.waitForSelector('#compose .error:has-text("cannot be reached")');
  t.equal(await textOf(page), 'Words');
  t.same(errors, []);
});

t.test(
  'a browser whose database never opens lets notes be posted, feeds be locked and people log out',
  async (t) => {
    const closed = await start(t, { SERVICE_PASSWORD: 'instance password' });
    const feed = new FeedClient(closed.url, 'stuck', { authorization: 'Bearer instance password' });
    await feed.post('A note', { 'x-feed-password': 'open' });
    const { page } = await visit(t, browser, { serviceWorkers: 'block', says: 'yes' });
    await page.addInitScript('indexedDB.open = () => ({})');
    await page.goto(`${closed.url}/login?next=/stuck`);
    await page.fill('[name=password]', 'instance password');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${closed.url}/stuck`);
    await page.fill('#password', 'open');
    await page.keyboard.press('Enter');
    await page.focus('#note-text');
    await page.keyboard.type('Words');
    await page.keyboard.press('Control+Enter');
    await page.waitForSelector('#toasts:has-text("Posted.")');
    await page.goto(`${closed.url}/stuck/settings`);
    await page.click('text=Lock in this browser');
    await page.waitForSelector('text=This feed is locked');
    await page.click('.visitor button');
    await page.waitForURL(`${closed.url}/logout`);
    await page.click('main form button');
    await page.waitForURL((address) => address.pathname !== '/logout');
  },
);

t.test('a draft that is not read in time stays, and nothing is written in its place', async (t) => {
  const { first, second, open } = await twoWindows(t, browser, url, 'late');
  await write(first, 'Before');
  await second.evaluate(HOLD_DRAFTS);
  await first.reload();
  await first.fill('#note-text', 'Later');
  await first.waitForSelector('#compose .error:has-text("keeps no drafts")');
  await second.evaluate('isHeld = false');
  await first.fill('#note-text', 'Later still');
  await first.waitForSelector('#compose .error:has-text("keeps no drafts")');
  await settled(first);
  await first.close();
  const third = await open();
  await third.goto(`${url}/late`);
  await restored(third);
  t.equal(await textOf(third), 'Before');
});

t.test('where no draft was to be read, a late database keeps what was typed', async (t) => {
  const { first, second } = await twoWindows(t, browser, url, 'late-empty');
  await write(first, 'Before');
  await first.fill('#note-text', '');
  t.ok(await eventually(async () => !(await storage(first)).includes('Before')));
  await second.evaluate(HOLD_DRAFTS);
  await first.reload();
  await first.fill('#note-text', 'Words');
  await first.waitForSelector('#compose .error:has-text("keeps no drafts")');
  await second.evaluate('isHeld = false');
  await isKept(first, 'Words');
});

/** Drafts cannot be read in a page that has this script, until `isFailing` is false there. */
const FAILING_READS = `Object.assign(globalThis, { isFailing: true, failures: 0 });
  for (const name of ['get', 'getAll']) {
    const read = IDBObjectStore.prototype[name];
    IDBObjectStore.prototype[name] = function (...query) {
      if (isFailing) {
        failures += 1;
        throw new DOMException('no', 'UnknownError');
      }
      return read.apply(this, query);
    };
  }`;

/** A window whose draft, `Before`, cannot be read since it was loaded. */
async function unreadable(t: Test, name: string) {
  const windows = await twoWindows(t, browser, url, name);
  const { first } = windows;
  await write(first, 'Before');
  await first.addInitScript(FAILING_READS);
  await first.reload();
  // The box reads its draft, and the page looks for drafts of edits: both reads fail.
  t.ok(await eventually(async () => (await first.evaluate<number>('failures')) >= 2));
  return { ...windows, recover: () => first.evaluate('isFailing = false') };
}

t.test('a draft that could not be read comes back with the next words, and both are kept', async (t) => {
  const { first, recover } = await unreadable(t, 'read-again');
  await first.fill('#note-text', 'Later');
  await first.waitForSelector('#compose .error:has-text("keeps no drafts")');
  await recover();
  await first.locator('#note-text').press('End');
  await first.keyboard.type('!');
  await restored(first);
  await isKept(first, 'Before\n\nLater!');
  t.equal(await textOf(first), 'Before\n\nLater!');
  t.equal(await first.textContent('#compose .error'), '', 'what was said is true no more');
});

t.test('a draft that could not be read comes back when the box gets the focus', async (t) => {
  const { first, recover } = await unreadable(t, 'focused-again');
  await recover();
  await first.focus('#note-text');
  await restored(first);
  t.equal(await textOf(first), 'Before');
});

t.test('a draft that cannot be read stays, and so it does if another note is posted', async (t) => {
  const { first, recover, open } = await unreadable(t, 'unread');
  await first.fill('#note-text', 'Later');
  await first.waitForSelector('#compose .error:has-text("keeps no drafts")');
  await recover();
  await first.keyboard.press('Control+Enter');
  await first.waitForSelector('article:has-text("Later")');
  t.notOk(await first.isVisible('article:has-text("Before")'));
  await first.close();
  const third = await open();
  await third.goto(`${url}/unread`);
  await restored(third);
  t.equal(await textOf(third), 'Before');
});

t.test('a draft comes back without a picture that cannot be read', async (t) => {
  const { first } = await twoWindows(t, browser, url, 'unreadable-picture');
  await boxIsReady(first);
  await first.setInputFiles('.pictures input', { name: 'a.png', mimeType: 'image/png', buffer: PIXEL });
  await first.waitForSelector('.attachments li');
  await write(first, 'Words');
  // To add what is there already fails, too.
  await first.addInitScript(`const { get } = IDBObjectStore.prototype;
    IDBObjectStore.prototype.get = function (key) {
      return this.name === 'files' ? this.add('', key) : get.call(this, key);
    };`);
  await first.reload();
  await restored(first);
  t.equal(await textOf(first), 'Words');
  t.equal(await first.locator('.attachments li').count(), 0);
  t.match(await first.textContent('.restored'), 'is back, without a picture that cannot be read.');
  await write(first, 'More words');
});

t.test('a post that is not kept in time is not kept, and not sent later', async (t) => {
  const { first, second } = await twoWindows(t, browser, url, 'kept-late');
  await first.route(`${url}/kept-late`, (route) => route.abort());
  await isRouted(first);
  // The page has made the database by then.
  await boxIsReady(first);
  await second.evaluate(hold('outbox', 'posts'));
  await first.fill('#note-text', 'Words');
  await first.keyboard.press('Control+Enter');
  await first.waitForSelector('#compose .error:has-text("cannot be reached")');
  t.equal(await textOf(first), 'Words');
  await second.evaluate('isHeld = false');
  const isEmpty = () => first.evaluate<boolean>(`${ALL_WAITING}.then(({ length }) => length === 0)`);
  t.ok(await eventually(isEmpty));
});

t.test('a post that is not kept in time is kept if it is sent once more', async (t) => {
  const { first, second } = await twoWindows(t, browser, url, 'kept-later');
  await first.clock.install();
  await first.route(`${url}/kept-later`, (route) => route.abort());
  await isRouted(first);
  await boxIsReady(first);
  await second.evaluate(hold('outbox', 'posts'));
  await first.fill('#note-text', 'Words');
  for (const isLast of [false, true]) {
    const failed = first.waitForEvent('requestfailed');
    await first.keyboard.press('Control+Enter');
    await failed;
    await settled(first);
    if (isLast) break;
    await first.clock.fastForward(10_001);
    await first.waitForSelector('#compose .error:has-text("cannot be reached")');
  }
  await second.evaluate('isHeld = false');
  await first.waitForSelector('#waiting li:has-text("Words")');
  await settled(first);
  t.equal(await first.evaluate(`${ALL_WAITING}.then(({ length }) => length)`), 1);
});

t.test(
  'what the address brought is not there again once it is posted, though no draft is kept',
  async (t) => {
    await post(`${url}/brought`, 'A note');
    const { page } = await visit(t, browser, { serviceWorkers: 'block' });
    await page.addInitScript("indexedDB.open = () => { throw new Error('blocked') }");
    await page.goto(`${url}/brought?text=Words`);
    await page.waitForSelector('#compose .error:has-text("keeps no drafts")');
    t.equal(await textOf(page), 'Words');
    await settled(page);
    t.equal(page.url(), `${url}/brought?text=Words`, 'until then loading the page again brings it back');
    await page.click('#compose .primary');
    await page.waitForSelector('#toasts:has-text("Posted.")');
    t.equal(page.url(), `${url}/brought`);
  },
);
