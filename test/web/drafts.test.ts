/** Drafts of Chromium's windows: each has its own, and none is lost with its window. */
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import {
  axeFindings,
  boxIsReady,
  contrastFindings,
  isRouted,
  settled,
  startBrowser,
  visit,
} from '../support/browser.ts';
import { ALL_DRAFTS, ALL_WAITING, BLOCK_STORAGE } from '../support/browser-storage.ts';
import { eventually } from '../support/eventually.ts';
import { EXIF_MARK, exif, jpegWith } from '../support/exif.ts';
import { FeedClient } from '../support/feed-client.ts';
import { PIXEL, picture } from '../support/pictures.ts';
import { ask, post, start } from '../support/service.ts';

const browser = await startBrowser(t);
const { url } = await start(t);

const textOf = (page: Page) => page.inputValue('#note-text');
const restored = (page: Page) => page.waitForSelector('.restored:has-text("Your draft of")');
/** Waits until a note is written to the browser's database. Not with `waitForFunction`: its eval is against the policy of pages. */
async function isKept(page: Page, text: string, expires = ''): Promise<void> {
  const has = async () =>
    JSON.parse(await storage(page)).some(
      ({ fields }: { fields: { text: string; expires: string } }) =>
        fields.text === text && fields.expires === expires,
    );
  if (!(await eventually(has))) throw new Error(`no draft holds ${text}`);
}
/** All drafts of the browser, as its database has them. */
const storage = async (page: Page) => JSON.stringify(await page.evaluate(ALL_DRAFTS));

/** Opens the edit of the first note of a feed. */
async function editFirst(page: Page, name: string): Promise<void> {
  await page.goto(`${url}/${name}`);
  await page.click('article summary');
  await page.click('article a.edit');
  await page.waitForSelector('#edit-text');
}

/** Two windows of one browser on a feed with a note. */
async function twoWindows(t: Test, name: string) {
  await post(`${url}/${name}`, 'A note');
  // Its service worker would answer for scripts that a test holds back.
  const { page: first, ...faults } = await visit(t, browser, { serviceWorkers: 'block' });
  const second = await first.context().newPage();
  for (const page of [first, second]) await page.goto(`${url}/${name}`);
  return { first, second, faults, open: () => first.context().newPage() };
}

async function write(page: Page, text: string): Promise<void> {
  await page.fill('#note-text', text);
  await isKept(page, text);
}

t.test('each window has its own draft; posting one leaves the other', async (t) => {
  const { first, second, faults } = await twoWindows(t, 'two-windows');
  await write(first, 'Of the first');
  await write(second, 'Of the second');
  for (const [page, text] of [
    [first, 'Of the first'],
    [second, 'Of the second'],
  ] as const) {
    await page.reload();
    await restored(page);
    t.equal(await textOf(page), text);
  }
  t.same(await axeFindings(first), []);
  t.same(await contrastFindings(first), []);
  await first.click('#compose .primary');
  await first.waitForSelector('#toasts:has-text("Posted.")');
  t.equal(await textOf(second), 'Of the second');
  await second.reload();
  await restored(second);
  t.equal(await textOf(second), 'Of the second');
  await first.reload();
  await first.waitForLoadState('networkidle');
  t.equal(await textOf(first), '', 'neither what was posted nor what another window writes');
  t.notMatch(await storage(first), 'two-windows', 'nothing tells the name');
  await second.click('[data-action=discard]');
  t.equal(await textOf(second), '');
  await second.reload();
  await second.waitForLoadState('networkidle');
  t.equal(await textOf(second), '');
  t.same([...faults.errors, ...faults.violations, ...faults.dialogs], []);
});

t.test('the draft of a window that is closed comes back in the next, with its pictures', async (t) => {
  const { first, second, open } = await twoWindows(t, 'closed');
  await boxIsReady(first);
  await first.fill('#note-text', 'Words');
  const picture = { mimeType: 'image/png', buffer: PIXEL };
  await first.setInputFiles('.pictures input', [
    { name: 'a.png', ...picture },
    { name: 'b.png', ...picture },
  ]);
  await first.waitForSelector('.attachments li:nth-child(2)');
  await first.fill('.attachments li:nth-child(2) input', 'The second');
  await first.click('.attachments li:nth-child(2) [data-action=up]');
  await first.click('[data-action=title]');
  await first.fill('#note-title', 'A title');
  await first.fill('#note-tags', 'one, two');
  await first.selectOption('#note-expires', '7d');
  const text = await textOf(first);
  await isKept(first, text, '7d');
  await first.reload();
  await restored(first);
  const third = await open();
  await third.goto(`${url}/closed`);
  await third.waitForLoadState('networkidle');
  t.equal(await textOf(third), '', 'not while its window lives');
  await first.close();
  await second.reload();
  await restored(second);
  t.equal(await textOf(second), text);
  t.same(await second.locator('.attachments .file').allTextContents(), ['b.png · 1 KB', 'a.png · 1 KB']);
  t.equal(await second.inputValue('.attachments li:nth-child(1) input'), 'The second');
  t.equal(await second.inputValue('#note-title'), 'A title');
  t.equal(await second.inputValue('#note-expires'), '7d');
  await third.reload();
  await third.waitForLoadState('networkidle');
  t.equal(await textOf(third), '', 'only one window takes it');
  await second.click('#compose .primary');
  await second.waitForSelector('#toasts:has-text("Posted.")');
  const [note, ...pictures] = (await ask(`${url}/api/v1/feeds/closed/notes`)).json.notes;
  t.match(note, { title: 'A title', tags: ['one', 'two'], expires_at: String });
  t.same(
    pictures.slice(0, 2).map(({ alt }: { alt?: string }) => alt),
    ['The second', undefined].toReversed(),
  );
});

t.test(
  'a draft stays with its window, if that is loaded again while another one looks for drafts',
  async (t) => {
    const { first, second } = await twoWindows(t, 'loaded-again');
    await write(first, 'Of the first');
    await first.goto('about:blank');
    // The look for windows that are open waits for the test.
    await second.addInitScript(`{
    const query = navigator.locks.query.bind(navigator.locks);
    navigator.locks.query = async () => {
      const found = await query();
      console.log('asked');
      await new Promise((goOn) => addEventListener('go-on', goOn));
      return found;
    };
  }`);
    const asked = second.waitForEvent('console', (message) => message.text() === 'asked');
    await second.reload();
    await asked;
    await first.goto(`${url}/loaded-again`);
    await restored(first);
    await second.evaluate("dispatchEvent(new Event('go-on'))");
    await settled(second);
    t.equal(await textOf(first), 'Of the first');
    t.equal(await textOf(second), '');
  },
);

t.test('the draft of the version that kept one for each feed is taken once', async (t) => {
  await post(`${url}/older`, 'A note');
  const { page: first } = await visit(t, browser);
  await first.goto(`${url}/older`);
  await first.waitForLoadState('networkidle');
  await first.evaluate(
    "localStorage.setItem(document.querySelector('#compose').dataset.draft, JSON.stringify({text: 'Kept', tags: 'x'}))",
  );
  await first.reload();
  await restored(first);
  t.equal(await textOf(first), 'Kept');
  t.equal(
    await first.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('draft-')).length"),
    0,
  );
});

t.test('what is typed before the draft is back does not take its place', async (t) => {
  const { first } = await twoWindows(t, 'fast');
  await write(first, 'Before');
  const typed = Promise.withResolvers<void>();
  await first.route('**/static/*.js', async (route) => {
    await typed.promise;
    await route.continue();
  });
  await first.goto(`${url}/fast`, { waitUntil: 'commit' });
  await first.fill('#note-text', 'fast');
  typed.resolve();
  await restored(first);
  t.equal(await textOf(first), 'Before\n\nfast');
});

t.test('a title, tags and an expiry that are set before the draft is back stay', async (t) => {
  const { first } = await twoWindows(t, 'tagged');
  await first.focus('#note-text');
  await first.click('#compose [data-action=title]');
  await first.fill('#note-title', 'Before');
  await first.fill('#note-tags', 'before');
  await write(first, 'Text');
  const typed = Promise.withResolvers<void>();
  await first.route('**/static/writer*', async (route) => {
    await typed.promise;
    await route.continue();
  });
  await first.reload({ waitUntil: 'commit' });
  const isOpen = async () => {
    await first.focus('main');
    await first.focus('#note-text');
    return first.evaluate<boolean>("document.querySelector('#compose').classList.contains('open')");
  };
  if (!(await eventually(isOpen))) throw new Error('the page has no script');
  // Its button needs the script that is held back.
  await first.evaluate("document.querySelector('#compose .titled').hidden = false");
  await first.fill('#note-title', 'fast');
  await first.fill('#note-tags', 'fast');
  await first.selectOption('#note-expires', '7d');
  typed.resolve();
  await restored(first);
  t.equal(await first.inputValue('#note-title'), 'Before fast');
  t.equal(await first.inputValue('#note-tags'), 'before, fast');
  t.equal(await first.inputValue('#note-expires'), '7d');
  t.equal(await textOf(first), 'Text');
});

t.test('what is posted before the draft is back waits for another look', async (t) => {
  const { first } = await twoWindows(t, 'faster');
  await write(first, 'Before');
  const typed = Promise.withResolvers<void>();
  await first.route('**/static/writer*', async (route) => {
    await typed.promise;
    await route.continue();
  });
  await first.reload({ waitUntil: 'commit' });
  // The script that repeats keys in the box is loaded once a touch opens it.
  const isOpen = async () => {
    await first.focus('main');
    await first.focus('#note-text');
    return first.evaluate<boolean>("document.querySelector('#compose').classList.contains('open')");
  };
  if (!(await eventually(isOpen))) throw new Error('the page has no script');
  await first.fill('#note-text', 'faster');
  await first.keyboard.press('Control+Enter');
  typed.resolve();
  await restored(first);
  await settled(first);
  t.equal(await textOf(first), 'Before\n\nfaster');
  t.equal((await ask(`${url}/api/v1/feeds/faster/notes`)).json.notes.length, 1);
  await first.keyboard.press('Control+Enter');
  await first.waitForSelector('#toasts:has-text("Posted.")');
});

t.test('a page asks before words are left that were typed before the box has its script', async (t) => {
  await post(`${url}/early`, 'A note');
  const { page, dialogs } = await visit(t, browser, { says: 'yes', serviceWorkers: 'block' });
  await page.route('**/static/writer*', () => {});
  await page.goto(`${url}/early`);
  await page.click('#note-text');
  await page.goto(`${url}/early`);
  t.same(dialogs, []);
  await page.click('#note-text');
  await page.keyboard.type('Words');
  await page.goto(`${url}/`);
  t.same(dialogs, ['beforeunload: ']);
});

t.test('a note whose page was left while it was sent is posted once', async (t) => {
  await post(`${url}/left`, 'A note');
  const { page } = await visit(t, browser, { says: 'yes', serviceWorkers: 'block' });
  await page.goto(`${url}/left`);
  await boxIsReady(page);
  await write(page, 'Words');
  const stored = Promise.withResolvers<void>();
  let isStored = false;
  // The route stays until the end: if it were removed, the browser would let the held request go on.
  await page.route(`${url}/left`, async (route) => {
    if (route.request().method() !== 'POST' || isStored) return route.fallback();
    isStored = true;
    await route.fetch();
    stored.resolve();
  });
  await isRouted(page);
  await page.click('#compose .primary');
  await stored.promise;
  t.ok(await eventually(async () => (await storage(page)).includes('"key"')));
  // The page cannot ask whether the note is stored.
  await page.route(`${url}/api/v1/feeds/left/notes?*`, (route) => route.abort());
  await page.reload();
  await restored(page);
  await page.click('#compose .primary');
  await page.waitForSelector('#toasts:has-text("Posted.")');
  t.equal((await ask(`${url}/api/v1/feeds/left/notes`)).json.notes.length, 2);
});

/** Holds up what is written to a database of the browser until `isHeld` is false. */
const hold = (name: string, ...stores: string[]) => `new Promise((held) => {
  globalThis.isHeld = true;
  indexedDB.open('${name}').onsuccess = ({ target: { result: database } }) => {
    const store = database.transaction(${JSON.stringify(stores)}, 'readwrite').objectStore('${stores[0]}');
    const wait = () => {
      held();
      if (isHeld) store.count().onsuccess = wait;
      else database.close();
    };
    wait();
  };
})`;
const HOLD_DRAFTS = hold('drafts', 'drafts', 'files');

t.test(
  'what is typed after a note was sent is a draft, even if that of the note is still written',
  async (t) => {
    const { first } = await twoWindows(t, 'slow-disk');
    await boxIsReady(first);
    await first.evaluate(HOLD_DRAFTS);
    await first.fill('#note-text', 'First');
    await first.keyboard.press('Control+Enter');
    if (!(await eventually(async () => (await textOf(first)) === '')))
      throw new Error('the box is not emptied');
    await first.fill('#note-text', 'Second');
    await first.evaluate('isHeld = false');
    await first.waitForSelector('#toasts:has-text("Posted.")');
    await first.reload();
    await restored(first);
    t.equal(await textOf(first), 'Second');
  },
);

t.test('whoever goes back to the page has the draft once', async (t) => {
  const { first } = await twoWindows(t, 'back');
  await write(first, 'Begun');
  await first.goto(url);
  await first.goBack();
  await restored(first);
  t.equal(await textOf(first), 'Begun');
});

t.test('a lock, the deletion of the feed and logging out delete drafts', async (t) => {
  const { page } = await visit(t, browser, { says: 'yes' });
  const feed = new FeedClient(url, 'locked');
  await feed.post('x', { 'x-feed-password': 'open' });
  const unlock = async () => {
    await page.goto(`${url}/locked`);
    await page.fill('#password', 'open');
    await page.click('button.primary');
    await page.waitForSelector('#compose');
  };
  await unlock();
  await write(page, 'Soon locked');
  await page.goto(`${url}/locked/settings`);
  await page.click('text=Lock in this browser');
  await page.waitForSelector('text=This feed is locked');
  t.notMatch(await storage(page), 'Soon locked');
  await unlock();
  await page.waitForLoadState('networkidle');
  t.equal(await textOf(page), '');
  await write(page, 'Soon deleted');
  await page.goto(`${url}/locked/settings`);
  await page.fill('form[action$="/delete"] input', 'locked');
  await page.click('form[action$="/delete"] button');
  await page.waitForURL(`${url}/`);
  await page.waitForLoadState('networkidle');
  t.notMatch(await storage(page), 'Soon deleted');

  const closed = await start(t, { SERVICE_PASSWORD: 'instance password' });
  await page.goto(`${closed.url}/login`);
  await page.fill('[name=password]', 'instance password');
  await page.click('button.primary');
  await page.waitForURL(`${closed.url}/`);
  await page.goto(`${closed.url}/at-home`);
  await write(page, 'Soon logged out');
  await page.goto(`${closed.url}/logout`);
  await page.click('main form button');
  await page.waitForURL((address) => address.pathname !== '/logout');
  t.notMatch(await storage(page), 'Soon logged out');
});

t.test('a lock asks before it deletes what is not posted', async (t) => {
  const { page, dialogs } = await visit(t, browser);
  await new FeedClient(url, 'lock-asks').post('x', { 'x-feed-password': 'open' });
  await page.goto(`${url}/lock-asks`);
  await page.fill('#password', 'open');
  await page.click('button.primary');
  await page.waitForSelector('#compose');
  await write(page, 'Not posted');
  await page.goto(`${url}/lock-asks/settings`);
  await page.click('text=Lock in this browser');
  t.ok(await eventually(() => dialogs.length > 0));
  await settled(page);
  t.match(dialogs, [/confirm: .*not posted/]);
  t.match(await page.evaluate('localStorage.feeds'), 'lock-asks');
  await page.goto(`${url}/lock-asks`);
  await restored(page);
  t.equal(await textOf(page), 'Not posted');
  await page.click('[data-action=discard]');
  t.ok(await eventually(async () => !(await storage(page)).includes('Not posted')));
  await page.goto(`${url}/lock-asks/settings`);
  await page.click('text=Lock in this browser');
  await page.waitForSelector('text=This feed is locked');
  t.equal(dialogs.length, 1, 'nothing is asked if nothing would be lost');
});

t.test('a deletion that was refused forgets nothing later', async (t) => {
  const { page } = await visit(t, browser);
  const deletes = async (feed: string, name: string) => {
    await page.goto(`${url}/${feed}/settings`);
    await page.fill('form[action$="/delete"] input', name);
    await page.click('form[action$="/delete"] button');
  };
  for (const feed of ['first-gone', 'not-gone']) {
    await post(`${url}/${feed}`, 'A note');
    await page.goto(`${url}/${feed}`);
    await write(page, feed);
  }
  await deletes('first-gone', 'first-gone');
  await page.waitForSelector('#feeds li');
  await deletes('not-gone', 'something else');
  await page.waitForSelector('#name-error');
  while (new URL(page.url()).pathname !== '/') await page.goBack();
  await page.waitForSelector('#feeds li');
  await page.goto(`${url}/not-gone`);
  await restored(page);
  t.equal(await textOf(page), 'not-gone');
});

t.test('a draft written after a logout in another window keeps its own pictures', async (t) => {
  const { first, second } = await twoWindows(t, 'logged-out');
  const add = async (page: Page, name: string, buffer: Buffer) => {
    await boxIsReady(page);
    await page.setInputFiles('.pictures input', { name, mimeType: 'image/png', buffer });
    await page.waitForSelector('.attachments li');
    await isKept(page, await textOf(page));
  };
  await add(first, 'small.png', PIXEL);
  await second.evaluate(
    "new Promise((done) => { indexedDB.deleteDatabase('drafts').onsuccess = () => done(); })",
  );
  await add(second, 'large.png', Buffer.concat([PIXEL, Buffer.alloc(5_000)]));
  await write(first, 'Written later');
  await first.reload();
  await restored(first);
  t.same(await first.locator('.attachments .file').allTextContents(), ['small.png · 1 KB']);
  await second.reload();
  await restored(second);
  t.same(await second.locator('.attachments .file').allTextContents(), ['large.png · 5 KB']);
});

t.test('drafts are kept after the browser has closed its database', async (t) => {
  const { first } = await twoWindows(t, 'closed-database');
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
  const { first, second, open } = await twoWindows(t, 'late');
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
  const { first, second } = await twoWindows(t, 'late-empty');
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
  const windows = await twoWindows(t, name);
  const { first } = windows;
  await write(first, 'Before');
  await first.addInitScript(FAILING_READS);
  await first.reload();
  // That of the box, and the look for edits.
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
  const { first } = await twoWindows(t, 'unreadable-picture');
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
  const { first, second } = await twoWindows(t, 'kept-late');
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

t.test(
  'what the address brought is not there again once it is posted, though no draft is kept',
  async (t) => {
    await post(`${url}/brought`, 'A note');
    const { page } = await visit(t, browser, { serviceWorkers: 'block' });
    await page.addInitScript("indexedDB.open = () => { throw new Error('blocked') }");
    await page.goto(`${url}/brought?text=Words`);
    await page.waitForSelector('#compose .error:has-text("keeps no drafts")');
    t.equal(await textOf(page), 'Words');
    await page.click('#compose .primary');
    await page.waitForSelector('#toasts:has-text("Posted.")');
    t.equal(page.url(), `${url}/brought`);
  },
);

t.test('what is taken back before the draft is back is not posted twice', async (t) => {
  const { first, second } = await twoWindows(t, 'taken-early');
  const feed = new FeedClient(url, 'taken-early');
  await boxIsReady(first);
  let isLost = true;
  const notes = (address: URL) => address.pathname.endsWith('/taken-early/notes');
  await first.route(notes, (route) => route.fulfill({ status: 503 }));
  await first.route(`${url}/taken-early`, async (route) => {
    if (route.request().method() !== 'POST' || !isLost) return route.fallback();
    await route.fetch();
    return route.abort();
  });
  await isRouted(first);
  await first.fill('#note-text', 'Stored');
  await first.keyboard.press('Control+Enter');
  await first.waitForSelector('#waiting li');
  await write(first, 'Draft');
  await second.evaluate(HOLD_DRAFTS);
  await first.reload();
  await boxIsReady(first);
  await first.click('#waiting [data-action=take-back]');
  t.ok(await eventually(async () => (await textOf(first)) === 'Stored'));
  await second.evaluate('isHeld = false');
  await restored(first);
  t.equal(await textOf(first), 'Draft\n\nStored');
  await first.waitForSelector('#waiting', { state: 'hidden' });
  isLost = false;
  await first.unroute(notes);
  await first.focus('#note-text');
  await first.keyboard.press('Control+Enter');
  await first.waitForSelector('#compose .error:has-text("is stored already"), #toasts:has-text("Posted.")');
  const { notes: stored } = (await feed.list()).json;
  t.same(
    stored.map(({ content }: { content: string }) => content),
    ['Stored', 'A note'],
  );
});

t.test('an edit that is saved before its draft is back shows the draft first', async (t) => {
  const { first, second } = await twoWindows(t, 'saved-early');
  await editFirst(first, 'saved-early');
  await first.fill('#edit-text', 'Words');
  const isKeptEdit = async () => (await storage(first)).includes('Words');
  t.ok(await eventually(isKeptEdit));
  await second.evaluate(HOLD_DRAFTS);
  await editFirst(first, 'saved-early');
  await first.click('article .primary');
  await second.evaluate('isHeld = false');
  await restored(first);
  await settled(first);
  t.equal(await first.inputValue('#edit-text'), 'Words');
});

t.test('an edit that is saved takes no words while its draft is deleted', async (t) => {
  const { first, second } = await twoWindows(t, 'saved-slowly');
  await editFirst(first, 'saved-slowly');
  await first.fill('#edit-text', 'Words');
  const isKeptEdit = async () => (await storage(first)).includes('Words');
  t.ok(await eventually(isKeptEdit));
  await second.evaluate(HOLD_DRAFTS);
  await first.focus('#edit-text');
  await first.keyboard.press('Control+Enter');
  const feed = new FeedClient(url, 'saved-slowly');
  t.ok(await eventually(async () => (await feed.list()).json.notes[0].content === 'Words'));
  await first.waitForSelector('#edit-text:not([readonly])');
  await first.keyboard.type(' and more');
  t.equal(await first.inputValue('#edit-text'), 'Words');
  await second.evaluate('isHeld = false');
  await first.waitForSelector('article:focus:has-text("Words")');
});

t.test(
  'an edit that was cancelled while it met a conflict leaves the draft of the next one alone',
  async (t) => {
    const { json: note } = await post(`${url}/cancelled`, 'A note');
    const { page } = await visit(t, browser, { serviceWorkers: 'block', says: 'yes' });
    await editFirst(page, 'cancelled');
    await page.fill('#edit-text', 'First words');
    await ask(note.url, { method: 'PUT', headers: { 'content-type': 'text/markdown' }, body: 'Theirs' });
    const [asked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await page.route(
      note.url,
      async (route) => {
        asked.resolve();
        await held.promise;
        await route.fallback();
      },
      { times: 1 },
    );
    await isRouted(page);
    await page.click('article .primary');
    await asked.promise;
    await page.click('article [data-action=close]');
    await page.waitForSelector('article .box', { state: 'detached' });
    await page.click('article summary');
    await page.click('article a.edit');
    await page.fill('#edit-text', 'Second words');
    const isKeptEdit = async () => (await storage(page)).includes('Second words');
    t.ok(await eventually(isKeptEdit));
    const answered = page.waitForResponse(note.url);
    held.resolve();
    await (await answered).finished();
    await settled(page);
    await page.reload();
    t.ok(await isKeptEdit());
  },
);

t.test('a window to whose page somebody goes back counts as open again', async (t) => {
  await post(`${url}/kept-page`, 'A note');
  const { page } = await visit(t, browser, { serviceWorkers: 'block' });
  await page.goto(`${url}/kept-page/settings`);
  const isOpen = () =>
    page.evaluate<boolean>(
      "navigator.locks.query().then(({ held }) => held.some(({ name }) => name.startsWith('window-')))",
    );
  t.ok(await eventually(isOpen));
  await page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))");
  t.ok(await eventually(async () => !(await isOpen())));
  await page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))");
  t.ok(await eventually(isOpen));
});

/** The page is left and kept by the browser, which may show it again. */
async function putAside(page: Page): Promise<void> {
  const id = await page.evaluate<string>("sessionStorage.getItem('window')");
  await page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))");
  const isGone = () =>
    page.evaluate<boolean>(
      `navigator.locks.query().then(({ held }) => !held.some(({ name }) => name === 'window-${id}'))`,
    );
  if (!(await eventually(isGone))) throw new Error('the window still counts as open');
}

const showAgain = (page: Page) =>
  page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))");

t.test('whoever goes back to a page has its draft unless another window took it', async (t) => {
  const { first, second } = await twoWindows(t, 'aside');
  await write(first, 'Once');
  await putAside(first);
  await second.reload();
  await restored(second);
  t.equal(await textOf(second), 'Once');
  await showAgain(first);
  t.ok(await eventually(async () => (await textOf(first)) === ''));
  await settled(first);
  t.equal(await textOf(first), '');
  await write(first, 'Another');
  await putAside(first);
  await showAgain(first);
  await restored(first);
  t.equal(await textOf(first), 'Another');
});

t.test('whoever goes back to a page has the password that was typed for its feed', async (t) => {
  const { page } = await visit(t, browser, { serviceWorkers: 'block' });
  await page.goto(`${url}/to-be-protected`);
  await boxIsReady(page);
  await page.fill('#feed-password', 'open sesame');
  await write(page, 'The first note');
  await putAside(page);
  await showAgain(page);
  await restored(page);
  await page.click('#compose .primary');
  await page.waitForSelector('article:has-text("The first note")');
  t.equal((await ask(`${url}/to-be-protected`)).status, 401);
});

t.test(
  'a window and its copy have drafts of their own, if the copy was opened while the page was left',
  async (t) => {
    const { first, second } = await twoWindows(t, 'copied-aside');
    await boxIsReady(first);
    const id = await first.evaluate<string>("sessionStorage.getItem('window')");
    await putAside(first);
    await second.evaluate(`sessionStorage.setItem('window', '${id}')`);
    await second.reload();
    await boxIsReady(second);
    await write(second, 'Of the copy');
    await showAgain(first);
    await write(first, 'Of the first');
    t.match(await storage(first), 'Of the copy');
  },
);

t.test('a page with a running upload asks before it is left; one whose draft is kept does not', async (t) => {
  const { page, dialogs } = await visit(t, browser, { says: 'yes' });
  await page.goto(`${url}/two-windows`);
  await page.focus('#note-text');
  await page.keyboard.type('Words');
  await isKept(page, 'Words');
  await page.reload();
  await restored(page);
  t.same(dialogs, []);
  await page.route(`${url}/two-windows`, (route) =>
    route.request().method() === 'POST' ? undefined : route.continue(),
  );
  await isRouted(page);
  await page.click('#compose .primary');
  await page.waitForSelector('.sending progress');
  await page.goto(`${url}/`);
  t.match(dialogs, [/beforeunload/]);
});

t.test('the draft of an edit comes back with the edit', async (t) => {
  const { json: note } = await post(`${url}/edited`, 'As it was');
  const { page } = await visit(t, browser);
  const edit = () => editFirst(page, 'edited');
  await edit();
  await page.fill('#edit-text', 'Half writ');
  await isKept(page, 'Half writ');
  await page.goto(`${url}/edited`);
  await page.click('#toasts :text("Go on")');
  await page.waitForSelector('article .restored:has-text("Your draft of")');
  t.equal(await page.inputValue('#edit-text'), 'Half writ');
  await ask(note.url, { method: 'PUT', headers: { 'content-type': 'text/markdown' }, body: 'By others' });
  await edit();
  await page.waitForSelector('article .restored:has-text("Your draft of")');
  await page.keyboard.press('Control+Enter');
  await page.waitForSelector('.meanwhile.changed:focus');
  t.equal(await page.inputValue('#edit-theirs'), 'By others', 'what others changed since is not lost');
  await page.click('[data-action=mine]');
  // Until then the preview in the box says so, too.
  await page.waitForSelector('article .box', { state: 'detached' });
  await page.waitForSelector('article:has-text("Half writ")');
  await edit();
  t.equal(await page.inputValue('#edit-text'), 'Half writ');
  t.notOk(await page.isVisible('.restored'), 'what was saved is no draft');
});

t.test('the draft of an edit whose note was deleted can be written anew', async (t) => {
  const { json: note } = await post(`${url}/edited-gone`, 'As it was', { 'x-note-tags': 'tag' });
  await post(`${url}/edited-gone`, 'Another');
  const { page } = await visit(t, browser);
  await page.goto(note.url);
  await page.click('article summary');
  await page.click('article a.edit');
  await page.fill('#edit-text', 'Half writ');
  const file = { name: 'dot.png', mimeType: 'image/png', buffer: PIXEL };
  await page.setInputFiles('article [type=file]', file);
  await page.waitForSelector('.attachments li');
  if (!(await eventually(async () => (await storage(page)).includes('dot.png')))) throw new Error('no draft');
  await ask(note.url, { method: 'DELETE' });
  await page.goto(`${url}/edited-gone`);
  await page.fill('#note-text', 'In the box');
  await page.click('#toasts :text("Write it anew")');
  await page.waitForSelector('#toasts:has-text("Post what is in the box first")');
  await page.fill('#note-text', '');
  if (!(await eventually(async () => !(await storage(page)).includes('In the box'))))
    throw new Error('the draft stays');
  await page.reload();
  await page.click('#toasts :text("Write it anew")');
  await page.waitForSelector('#compose .attachments li');
  t.match(await textOf(page), /^Half writ\n\n!\[.*\]\(dot\.png\)$/);
  t.equal(await page.inputValue('#note-tags'), 'tag');
  if (!(await eventually(async () => (await storage(page)).includes('"note":""'))))
    throw new Error('no draft');
  await page.reload();
  await restored(page);
  await page.click('#compose .primary');
  await page.waitForSelector('#toasts:has-text("Posted.")');
  const { notes } = (await ask(`${url}/api/v1/feeds/edited-gone/notes`)).json;
  t.match(notes.find(({ tags }: { tags: string[] }) => tags.includes('tag')).content, /^Half writ/);
  t.equal(notes.length, 3);
  t.notMatch(await storage(page), /Half writ/);
});

t.test('what is written anew does not go with a note that is being sent', async (t) => {
  const { first, second } = await twoWindows(t, 'anew-sent');
  const { json: note } = await post(`${url}/anew-sent`, 'As it was');
  await editFirst(first, 'anew-sent');
  await first.fill('#edit-text', 'Half writ');
  t.ok(await eventually(async () => (await storage(first)).includes('Half writ')));
  await ask(note.url, { method: 'DELETE' });
  await first.goto(`${url}/anew-sent`);
  await boxIsReady(first);
  const [asked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await first.route(`${url}/anew-sent`, async (route) => {
    if (route.request().method() !== 'POST') return route.fallback();
    asked.resolve();
    await held.promise;
    await route.fallback();
  });
  await isRouted(first);
  const offer = await first.waitForSelector('#toasts :text("Write it anew")');
  await second.evaluate(HOLD_DRAFTS);
  await offer.click();
  await first.fill('#note-text', 'Meanwhile');
  await first.keyboard.press('Control+Enter');
  await asked.promise;
  await second.evaluate('isHeld = false');
  await isKept(first, 'Meanwhile');
  await first.waitForSelector('#toasts:has-text("Post what is in the box first")');
  held.resolve();
  await first.waitForSelector('#toasts:has-text("Posted.")');
  await first.reload();
  await first.click('#toasts :text("Write it anew")');
  await isKept(first, 'Half writ');
  t.equal(await textOf(first), 'Half writ');
});

t.test('a picture and its alternative text are written anew, too', async (t) => {
  const { page } = await visit(t, browser);
  await post(`${url}/anew-alt`, 'Another');
  const buffer = jpegWith(picture('jpg'), Buffer.concat([EXIF_MARK, exif({ position: true })]));
  for (const [isReplaced, text, alts] of [
    [true, '![It shows a dot](dot.jpg)', ['It shows a dot']],
    [false, 'It shows a dot', []],
  ] as const) {
    const { json: note } = await post(`${url}/anew-alt`, picture('jpg'), { 'content-type': 'image/jpeg' });
    await page.goto(note.url);
    await page.click('article summary');
    await page.click('article a.edit');
    await page.fill('#edit-alt', 'It shows a dot');
    if (isReplaced)
      await page.setInputFiles('#edit-replacement', { name: 'dot.jpg', mimeType: 'image/jpeg', buffer });
    t.ok(
      await eventually(
        async () =>
          /It shows/.test(await storage(page)) && isReplaced === /dot\.jpg/.test(await storage(page)),
      ),
    );
    await ask(note.url, { method: 'DELETE' });
    await page.goto(`${url}/anew-alt`);
    await page.click('#toasts :text("Write it anew")');
    t.ok(await eventually(async () => (await textOf(page)) === text));
    // That of the edit is deleted once the box has its own.
    t.ok(await eventually(async () => !/"note":"[^"]/.test(await storage(page))));
    const rows = await page.locator('.attachments .alt').all();
    t.same(await Promise.all(rows.map((row) => row.inputValue())), alts);
    t.equal(await page.isVisible('.attachments .notice:has-text("where it was taken")'), isReplaced);
    await page.click('#compose .primary');
    await page.waitForSelector('#toasts:has-text("Posted.")');
  }
});

t.test('the draft of an edit of a note that the page does not show leads to it', async (t) => {
  const { json: note } = await post(`${url}/edited-old`, 'As it was');
  const { page } = await visit(t, browser);
  await page.goto(note.url);
  await page.click('article summary');
  await page.click('article a.edit');
  await page.fill('#edit-text', 'Half writ');
  await isKept(page, 'Half writ');
  await Promise.all(Array.from({ length: 60 }, (_, n) => post(`${url}/edited-old`, `${n}`)));
  await page.goto(`${url}/edited-old`);
  await page.click('#toasts :text("Go on")');
  await page.waitForURL(note.url);
  await page.waitForSelector('#toasts :text("Go on")');
});

t.test(
  'a picture that is chosen in place of another one is in the draft until it is discarded',
  async (t) => {
    const { json: note } = await post(`${url}/chosen`, PIXEL, { 'content-type': 'image/png' });
    const other = Buffer.concat([PIXEL, Buffer.alloc(9)]);
    const { page } = await visit(t, browser);
    const choose = async () => {
      await page.setInputFiles('#edit-replacement', { name: 'b.png', mimeType: 'image/png', buffer: other });
      if (!(await eventually(async () => (await storage(page)).includes('b.png'))))
        throw new Error('no draft');
    };
    const save = async () => {
      await page.click('article .primary');
      await page.waitForSelector('article .box', { state: 'detached' });
      return (await ask(note.file_url)).bytes;
    };
    const edit = async () => {
      await page.goto(note.url);
      await page.click('article summary');
      await page.click('article a.edit');
      await page.waitForSelector('#edit-replacement');
    };
    const comesBack = async () => {
      await edit();
      await page.waitForSelector('article .restored:has-text("Your draft of")');
      t.equal(await page.inputValue('#edit-replacement'), 'C:\\fakepath\\b.png');
    };
    await edit();
    await choose();
    await comesBack();
    await page.click('[data-action=discard]');
    await page.fill('#edit-alt', 'Mine');
    t.ok((await save()).equals(PIXEL), 'discarded');
    await edit();
    await choose();
    await comesBack();
    t.ok((await save()).equals(other));
  },
);

t.test('the draft of an edit leaves an expiry that others have set meanwhile', async (t) => {
  const feed = new FeedClient(url, 'expiring');
  const { json: note } = await feed.post('As it was');
  const { page } = await visit(t, browser);
  await editFirst(page, 'expiring');
  await page.fill('#edit-text', 'Half writ');
  await isKept(page, 'Half writ');
  await feed.send('PATCH', `/notes/${note.id}`, JSON.stringify({ expires: '7d' }));
  await editFirst(page, 'expiring');
  await page.waitForSelector('article .restored:has-text("Your draft of")');
  t.equal(await page.inputValue('#edit-expires'), 'as it is');
  await page.fill('#edit-text', 'All written');
  await isKept(page, 'All written', 'as it is');
  await feed.send('PATCH', `/notes/${note.id}`, JSON.stringify({ expires: '' }));
  await editFirst(page, 'expiring');
  await page.waitForSelector('article .restored:has-text("Your draft of")');
  t.equal(await page.inputValue('#edit-expires'), '', 'nor does it bring back one that others have removed');
  await feed.send('PATCH', `/notes/${note.id}`, JSON.stringify({ expires: '7d' }));
  await page.keyboard.press('Control+Enter');
  await page.waitForSelector('.meanwhile.changed:focus');
  await page.click('[data-action=mine]');
  await page.waitForSelector('article .box', { state: 'detached' });
  const { json: saved } = await feed.get(`/notes/${note.id}`);
  t.match(saved, { content: 'All written', expires_at: String });
});
