/** Drafts of Chromium's windows: each has its own, and none is lost with its window. */
import type { Page } from 'playwright-core';
import t from 'tap';
import {
  axeFindings,
  boxIsReady,
  contrastFindings,
  isRouted,
  settled,
  startBrowser,
  visit,
} from '../support/browser.ts';
import { ALL_FILES } from '../support/browser-storage.ts';
import { HOLD_DRAFTS, isKept, restored, storage, textOf, twoWindows, write } from '../support/drafts.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { PIXEL } from '../support/pictures.ts';
import { ask, post, start } from '../support/service.ts';

const browser = await startBrowser(t);
const { url } = await start(t);

t.test('each window has its own draft; posting one leaves the other', async (t) => {
  const { first, second, faults } = await twoWindows(t, browser, url, 'two-windows');
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
  const { first, second, open } = await twoWindows(t, browser, url, 'closed');
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
    const { first, second } = await twoWindows(t, browser, url, 'loaded-again');
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

t.test('of the drafts of windows that are closed, the latest comes back first', async (t) => {
  const { first, second, open } = await twoWindows(t, browser, url, 'both-closed');
  await write(second, 'Earlier');
  await write(first, 'Later');
  for (const page of [first, second]) await page.close();
  const third = await open();
  await third.goto(`${url}/both-closed`);
  await restored(third);
  t.equal(await textOf(third), 'Later');
});

t.test('the draft of the version that kept one for each feed is taken once', async (t) => {
  const { json: note } = await post(`${url}/older`, 'A note');
  const { page: first } = await visit(t, browser);
  await first.goto(`${url}/older`);
  await first.waitForLoadState('networkidle');
  const key = await first.getAttribute('#compose', 'data-draft');
  await first.goto(note.url);
  await first.evaluate(`localStorage.setItem('${key}', JSON.stringify({text: 'Kept', tags: 'x'}))`);
  await first.click('article summary');
  await first.click('article a.edit');
  await first.waitForSelector('#edit-text:focus');
  t.equal(await first.inputValue('#edit-text'), 'A note', 'it is of no edit');
  await first.goto(`${url}/older`);
  await restored(first);
  t.equal(await textOf(first), 'Kept');
  t.equal(
    await first.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('draft-')).length"),
    0,
  );
});

t.test('what is typed before the draft is back does not take its place', async (t) => {
  const { first } = await twoWindows(t, browser, url, 'fast');
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
  const { first } = await twoWindows(t, browser, url, 'tagged');
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
  const { first } = await twoWindows(t, browser, url, 'faster');
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

t.test('whoever goes back to the page has the draft once', async (t) => {
  const { first } = await twoWindows(t, browser, url, 'back');
  await write(first, 'Begun');
  await first.goto(url);
  await first.goBack();
  await restored(first);
  t.equal(await textOf(first), 'Begun');
});

t.test('a picture stays in the browser no longer than it is in a draft', async (t) => {
  const { page } = await visit(t, browser, { says: 'yes' });
  await new FeedClient(url, 'pictures-go').post('x', { 'x-feed-password': 'open' });
  await page.goto(`${url}/pictures-go`);
  await page.fill('#password', 'open');
  await page.click('button.primary');
  await boxIsReady(page);
  const files = () => page.evaluate<number>(`${ALL_FILES}.then(({ length }) => length)`);
  const before = await files();
  const picture = { mimeType: 'image/png', buffer: PIXEL };
  await page.setInputFiles('.pictures input', [
    { name: 'a.png', ...picture },
    { name: 'b.png', ...picture },
  ]);
  t.ok(await eventually(async () => (await files()) === before + 2));
  await page.click('.attachments li:nth-child(2) [data-action=remove]');
  t.ok(await eventually(async () => (await files()) === before + 1));
  await page.goto(`${url}/pictures-go/settings`);
  await page.click('text=Lock in this browser');
  await page.waitForSelector('text=This feed is locked');
  t.equal(await files(), before);
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
  const { first, second } = await twoWindows(t, browser, url, 'logged-out');
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

t.test('what is taken back before the draft is back is not posted twice', async (t) => {
  const { first, second } = await twoWindows(t, browser, url, 'taken-early');
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
  const { first, second } = await twoWindows(t, browser, url, 'aside');
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
    const { first, second } = await twoWindows(t, browser, url, 'copied-aside');
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
