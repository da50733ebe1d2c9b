/** A walk in Chromium with the service gone before, or in the middle of, each action: nothing is lost, and everything is said. */
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import {
  boxIsReady,
  isRouted,
  isUsableInBoth,
  startBrowser,
  type VisitOptions,
  visit,
} from '../support/browser.ts';
import { ALL_DRAFTS } from '../support/browser-storage.ts';
import { CutProxy } from '../support/cut-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { picture } from '../support/pictures.ts';
import { ask, start } from '../support/service.ts';

/** A host without https that is not this machine by its name, so that the browser keeps from it what needs https. */
const INSECURE = 'insecure.test';
const browser = await startBrowser(t, [`--host-resolver-rules=MAP ${INSECURE} 127.0.0.1`]);
const service = await start(t);
const UNREACHED = /cannot be reached|did not answer/;
/** Whether the browser may run a service worker. */
const WORKERS = ['allow', 'block'] as const;
/** What went wrong in the pages of all walks. */
const faults: { readonly violations: string[]; readonly errors: string[] }[] = [];
/** Long enough to be cut in the middle. */
const LARGE = { name: 'large.png', mimeType: 'image/png', buffer: picture('png', 300_000) };

/** The texts of the drafts that this browser keeps. */
const STORED = `${ALL_DRAFTS}.then((drafts) => drafts.map(({ fields }) => fields.text))`;

interface Walk {
  readonly page: Page;
  readonly proxy: CutProxy;
  /** Past the proxy. */
  readonly feed: FeedClient;
  /** The feed's page, through the proxy. */
  readonly address: string;
}

/** A user on a page of a feed with one note, on a network of their own. */
async function walk(t: Test, name: string, path = '', options: VisitOptions = {}): Promise<Walk> {
  const proxy = await CutProxy.start(t, service.port);
  const feed = new FeedClient(service.url, name);
  await feed.post('First');
  const { page, violations, errors } = await visit(t, browser, options);
  const address = `${proxy.url}/${name}`;
  await page.goto(address + path);
  if (options.serviceWorkers !== 'block') await controlled(page);
  faults.push({ violations, errors });
  return { page, proxy, feed, address };
}

/** Waits until the service worker answers for the page. */
async function controlled(page: Page): Promise<void> {
  await page.evaluate('navigator.serviceWorker.ready.then(() => undefined)');
  await until(page, 'navigator.serviceWorker.controller !== null');
}

/** Waits until an expression of the page is true. The policy of our pages lets Playwright's own way run no text. */
async function until(page: Page, expression: string): Promise<void> {
  if (!(await eventually(() => page.evaluate<boolean>(expression)))) throw new Error(`never: ${expression}`);
}

/** Waits until a draft with that text is kept. */
function stored(page: Page, text: string): Promise<void> {
  return until(page, `${STORED}.then((texts) => texts.includes(${JSON.stringify(text)}))`);
}

/** The browser shows an error of its own. */
async function isOut(page: Page): Promise<void> {
  const isError = async () =>
    (await page.evaluate<string>('location.href').catch(() => '')).startsWith('chrome-error:');
  if (!(await eventually(isError))) throw new Error('the page is still there');
}

async function textsOf(feed: FeedClient): Promise<(string | undefined)[]> {
  return (await feed.list()).json.notes.map(({ content }: { content?: string }) => content);
}

/** Writes a text and sends it after whatever happens to the network in between. */
async function write(page: Page, text: string, meanwhile?: () => unknown): Promise<void> {
  await page.focus('#note-text');
  const before = await page.inputValue('#note-text');
  const whole = [text, before].filter(Boolean).join('\n\n');
  await page.fill('#note-text', whole);
  await stored(page, whole);
  await meanwhile?.();
  await page.keyboard.press('Control+Enter');
}

async function choose(page: Page, text: string, action: string): Promise<void> {
  const note = page.locator('article', { hasText: text });
  await note.locator('summary').click();
  await note.locator(`[data-action=${action}]`).click();
}

/** What the page says at its foot. */
async function says(t: Test, page: Page, sentence: RegExp): Promise<void> {
  const toast = page.locator('.toast').filter({ hasText: sentence }).last();
  await toast.waitFor();
  t.match(await toast.textContent(), sentence);
}

t.test('a text is posted', async (t) => {
  for (const serviceWorkers of WORKERS)
    for (const when of ['before', 'answer'] as const) {
      const { page, proxy, feed } = await walk(t, `text-${serviceWorkers}-${when}`, '', { serviceWorkers });
      const cut = () => (when === 'before' ? proxy.cut() : void proxy.cutIn('answer', `POST /${feed.name} `));
      await write(page, 'Second', cut);
      await page.waitForSelector('#waiting li:has-text("Second")');
      t.equal(await page.inputValue('#note-text'), '', 'the box is free');
      await page.click('#waiting [data-action=send]');
      await says(t, page, UNREACHED);
      await isUsableInBoth(t, page);
      await proxy.mend();
      await page.click('#waiting [data-action=send]');
      await page.waitForSelector('article:has-text("Second")');
      await page.waitForSelector('#waiting', { state: 'hidden' });
      t.same(await textsOf(feed), ['Second', 'First']);
    }
});

t.test('a text is posted without https', async (t) => {
  const { page, proxy, feed } = await walk(t, 'insecure', '', { serviceWorkers: 'block' });
  await page.goto(`http://${INSECURE}:${proxy.port}/insecure`);
  await write(page, 'Second', () => proxy.cutIn('answer', 'POST /insecure '));
  await page.waitForSelector('#compose .error:has-text("cannot be reached")');
  t.equal(await page.inputValue('#note-text'), 'Second');
  await proxy.mend();
  const other = await page.context().newPage();
  await other.goto(`http://${INSECURE}:${proxy.port}/insecure`);
  await other.focus('#note-text');
  await other.fill('#note-text', 'Third');
  await stored(other, 'Third');
  t.equal(await other.inputValue('#note-text'), 'Third', 'each window has its own draft');
  await page.keyboard.press('Control+Enter');
  await says(t, page, /^Posted/);
  t.same(await textsOf(feed), ['Second', 'First']);
});

t.test('a post whose answer was lost is taken back and posted again', async (t) => {
  const { page, proxy, feed } = await walk(t, 'taken-back');
  await write(page, 'Second', () => proxy.cutIn('answer', `POST /${feed.name} `));
  await page.waitForSelector('#waiting li');
  await page.click('[data-action=take-back]');
  await page.waitForSelector('#waiting', { state: 'hidden' });
  await stored(page, 'Second');
  await proxy.mend();
  await page.focus('#note-text');
  await page.keyboard.press('Control+Enter');
  await says(t, page, /^Posted/);
  t.same(await textsOf(feed), ['Second', 'First']);
});

t.test('a text is posted before the box is loaded', async (t) => {
  const { page, feed, address } = await walk(t, 'early', '', { serviceWorkers: 'block' });
  await page.route('**/static/writer*', (route) => route.abort());
  await page.goto(address);
  await page.focus('#note-text');
  await page.fill('#note-text', 'Second');
  await page.keyboard.press('Control+Enter');
  await says(t, page, UNREACHED);
  t.equal(await page.inputValue('#note-text'), 'Second');
  await page.unroute('**/static/writer*');
  await page.keyboard.press('Control+Enter');
  await page.waitForSelector('article:has-text("Second")');
  t.same(await textsOf(feed), ['Second', 'First']);
});

t.test('what waits is sent when the service is back, though the browser was never offline', async (t) => {
  const { page, proxy, feed } = await walk(t, 'back');
  await write(page, 'Second', () => proxy.cut());
  await page.waitForSelector('#waiting li');
  await proxy.mend();
  await page.waitForSelector('article:has-text("Second")');
  t.same(await textsOf(feed), ['Second', 'First']);
});

t.test('a text is posted where a proxy asks for a login', async (t) => {
  const { page, feed, address } = await walk(t, 'asked');
  const login = { status: 200, contentType: 'text/html', body: '<title>Log in</title>' };
  await page
    .context()
    .route(address, (route) =>
      route.request().method() === 'POST' ? route.fulfill(login) : route.fallback(),
    );
  await isRouted(page);
  await write(page, 'Second');
  await page.waitForSelector('#waiting li:has-text("Second")');
  await page.click('#waiting [data-action=send]');
  await says(t, page, UNREACHED);
  await page.context().unroute(address);
  await page.click('#waiting [data-action=send]');
  await page.waitForSelector('article:has-text("Second")');
  t.same(await textsOf(feed), ['Second', 'First']);
});

t.test('a text is posted with a picture', async (t) => {
  for (const serviceWorkers of WORKERS)
    for (const where of ['upload', 'answer'] as const) {
      const { page, proxy, feed, address } = await walk(t, `picture-${serviceWorkers}-${where}`, '', {
        serviceWorkers,
      });
      await boxIsReady(page);
      await page.locator('#compose input[type=file]').setInputFiles(LARGE);
      await page.waitForSelector('.attachments li');
      await write(page, 'Second', () => proxy.cutIn(where, `POST /${feed.name} `));
      await page.waitForSelector('#waiting li:has-text("Second")');
      await page.reload().catch(() => isOut(page));
      await proxy.mend();
      await page.goto(address);
      await page.waitForSelector('article:has-text("Second")');
      t.ok(await eventually(async () => (await textsOf(feed)).length === 3));
      t.equal((await textsOf(feed)).filter((text) => text?.startsWith('Second')).length, 1);
    }
});

t.test('a page breaks off in its middle', async (t) => {
  const { page, proxy, feed } = await walk(t, 'middle', '', { serviceWorkers: 'block' });
  const breaks = async (request: string, act: () => Promise<unknown>) => {
    const isCut = proxy.cutIn('page', request);
    await act();
    await isCut();
  };
  await breaks('GET /middle ', () => feed.post('Second'));
  await proxy.mend();
  await page.waitForSelector('article:has-text("Second")');
  await breaks('GET /middle/', () => choose(page, 'First', 'edit'));
  await says(t, page, /cannot be read now/);
  await proxy.mend();
  await choose(page, 'First', 'edit');
  await page.waitForSelector('article .box.open');
});

t.test('an edit of a text is saved', async (t) => {
  for (const when of ['before', 'answer'] as const) {
    const { page, proxy, feed } = await walk(t, `edit-${when}`);
    const { id } = (await feed.list()).json.notes[0];
    await choose(page, 'First', 'edit');
    await page.fill('#edit-text', 'Changed');
    if (when === 'before') await proxy.cut();
    else proxy.cutIn('answer', `PUT /api/v1/feeds/${feed.name}/notes/${id} `);
    await page.keyboard.press('Control+Enter');
    await page.waitForSelector('article .error:has-text("cannot be reached")');
    t.equal(await page.inputValue('#edit-text'), 'Changed');
    await isUsableInBoth(t, page);
    await proxy.mend();
    await page.focus('#edit-text');
    await page.keyboard.press('Control+Enter');
    await says(t, page, /^Saved\./);
    t.equal(await page.locator('#edit-text').count(), 0);
    t.same(await textsOf(feed), ['Changed']);
  }
});

t.test('an edit that was left with the service gone comes back', async (t) => {
  const { page, proxy, feed, address } = await walk(t, 'edit-left');
  await choose(page, 'First', 'edit');
  await page.fill('#edit-text', 'Changed');
  await proxy.cut();
  await page.keyboard.press('Control+Enter');
  await page.waitForSelector('article .error:has-text("cannot be reached")');
  await page.goto(address).catch(() => {});
  await page.waitForSelector('.offline');
  await page.click('.toast button:has-text("Go on")');
  await says(t, page, /cannot be read now/);
  await proxy.mend();
  await choose(page, 'First', 'edit');
  await until(page, "document.querySelector('#edit-text')?.value === 'Changed'");
  await page.keyboard.press('Control+Enter');
  await says(t, page, /^Saved\./);
  t.same(await textsOf(feed), ['Changed']);
});

t.test('an edit with a new picture is saved', async (t) => {
  for (const where of ['upload', 'answer'] as const) {
    const { page, proxy, feed } = await walk(t, `edit-picture-${where}`);
    const { id } = (await feed.list()).json.notes[0];
    await choose(page, 'First', 'edit');
    await page.fill('#edit-text', 'Changed');
    await page.locator('article input[type=file]').setInputFiles(LARGE);
    await page.waitForSelector('.attachments li');
    proxy.cutIn(where, `PUT /api/v1/feeds/${feed.name}/notes/${id} `);
    await page.focus('#edit-text');
    await page.keyboard.press('Control+Enter');
    await page.waitForSelector('article .error:has-text("cannot be reached")');
    t.match(await page.inputValue('#edit-text'), /^Changed\n\n!\[.*\]\(large\.png\)/);
    t.equal(await page.locator('.attachments li').count(), 1);
    await proxy.mend();
    await page.focus('#edit-text');
    await page.keyboard.press('Control+Enter');
    await says(t, page, /^Saved\./);
    const texts = await textsOf(feed);
    t.equal(texts.length, 2, 'one text and one picture');
    t.match(texts.find(Boolean), /^Changed/);
  }
});

t.test('a picture that somebody else added meanwhile is not taken for the one that broke off', async (t) => {
  const { page, proxy, feed } = await walk(t, 'edit-pictures');
  const { id } = (await feed.list()).json.notes[0];
  await choose(page, 'First', 'edit');
  await page.locator('article input[type=file]').setInputFiles(LARGE);
  await page.waitForSelector('.attachments li');
  proxy.cutIn('upload', `PUT /api/v1/feeds/${feed.name}/notes/${id} `);
  await page.focus('#edit-text');
  await page.keyboard.press('Control+Enter');
  await page.waitForSelector('article .error:has-text("cannot be reached")');
  // Of another note, as large as mine.
  const another = new FormData();
  another.append('text', new Blob(['Another\n\n![](large.png)'], { type: 'text/markdown' }), 'note.md');
  another.append('file', new Blob([picture('png', 300_000, 1)], { type: 'image/png' }), 'large.png');
  t.equal((await ask(`${service.url}/${feed.name}`, { method: 'POST', body: another })).status, 201);
  const theirs = new FormData();
  theirs.append('text', new Blob(['First\n\n![](theirs.png)'], { type: 'text/markdown' }), 'note.md');
  theirs.append('file', new Blob([picture('png', 1_000)], { type: 'image/png' }), 'large.png');
  const { status } = await ask(`${service.url}/${feed.name}/${id}`, { method: 'PUT', body: theirs });
  t.equal(status, 200);
  await proxy.mend();
  await page.focus('#edit-text');
  await page.keyboard.press('Control+Enter');
  await page.waitForSelector('.meanwhile.changed:focus');
  t.equal(await page.locator('.attachments li').count(), 1);
});

t.test('an edit of a note that is gone is posted as a new one', async (t) => {
  for (const isChanged of [false, true]) {
    const { page, proxy, feed, address } = await walk(t, `edit-posted-${isChanged}`);
    const { id } = (await feed.list()).json.notes[0];
    await choose(page, 'First', 'edit');
    await page.fill('#edit-text', 'Mine');
    await feed.send('DELETE', `/notes/${id}`);
    await page.click('article .primary');
    await page.waitForSelector('.meanwhile.deleted:focus');
    proxy.cutIn('answer', `POST /${feed.name} `);
    await page.click('[data-action=repost]');
    await page.waitForSelector('article .error:has-text("cannot be reached")');
    t.equal(await page.inputValue('#edit-text'), 'Mine');
    await proxy.mend();
    if (isChanged) {
      await page.fill('#edit-text', 'Mine and more');
      await page.click('[data-action=repost]');
      await page.waitForSelector('article .error:has-text("is stored already")');
      t.same(await textsOf(feed), ['Mine']);
    }
    await page.click('[data-action=repost]');
    await page.waitForURL((url) => url.href.startsWith(`${address}/`));
    t.same(await textsOf(feed), isChanged ? ['Mine and more', 'Mine'] : ['Mine']);
  }
});

t.test('a note is deleted', async (t) => {
  for (const when of ['before', 'answer'] as const) {
    const { page, proxy, feed, address } = await walk(t, `delete-${when}`);
    const { id } = (await feed.list()).json.notes[0];
    await page.clock.install();
    await page.goto(address);
    if (when === 'before') await proxy.cut();
    else proxy.cutIn('answer', `DELETE /api/v1/feeds/${feed.name}/notes/${id} `);
    await choose(page, 'First', 'delete');
    await says(t, page, /^Deleted/);
    await page.clock.fastForward(10_001);
    await says(t, page, UNREACHED);
    t.ok(await page.isVisible('article:has-text("First")'), 'it may still be there');
    await isUsableInBoth(t, page);
    await proxy.mend();
    if (when === 'before') {
      await choose(page, 'First', 'delete');
      await page.clock.fastForward(10_001);
    } else await page.reload();
    await page.waitForSelector('article', { state: 'detached' });
    t.ok(await eventually(async () => (await textsOf(feed)).length === 0));
  }
});

t.test('a deletion whose page is left with the service gone is carried out later, or said', async (t) => {
  const { page, proxy, feed, address } = await walk(t, 'delete-left');
  await choose(page, 'First', 'delete');
  await says(t, page, /^Deleted/);
  await proxy.cut();
  await page.goto(address);
  await page.waitForSelector('.offline');
  await says(t, page, UNREACHED);
  t.ok(await page.isVisible('article:has-text("First")'));
  await choose(page, 'First', 'delete');
  await page.goto(`${address}/settings`).catch(() => isOut(page));
  await proxy.mend();
  await page.goto(address);
  t.ok(await eventually(async () => (await textsOf(feed)).length === 0));
  await page.waitForSelector('article', { state: 'detached' });
});

t.test('a deletion whose page was left spares a note that is changed meanwhile', async (t) => {
  const { page, proxy, feed, address } = await walk(t, 'delete-spared', '', { serviceWorkers: 'block' });
  const [{ id }] = (await feed.list()).json.notes;
  await proxy.cut();
  await choose(page, 'First', 'delete');
  await says(t, page, /^Deleted/);
  await page.goto(`${address}/settings`).catch(() => isOut(page));
  await feed.put(`/notes/${id}`, 'By others');
  await proxy.mend();
  await page.goto(address);
  await says(t, page, /changed meanwhile/);
  t.same(await textsOf(feed), ['By others']);
});

t.test('a note whose expiry was changed meanwhile counts as changed, too', async (t) => {
  const { page, proxy, feed, address } = await walk(t, 'delete-expires', '', { serviceWorkers: 'block' });
  const [{ id }] = (await feed.list()).json.notes;
  await proxy.cut();
  await choose(page, 'First', 'delete');
  await says(t, page, /^Deleted/);
  await page.goto(`${address}/settings`).catch(() => isOut(page));
  await feed.send('PATCH', `/notes/${id}`, JSON.stringify({ expires: '7d' }));
  await proxy.mend();
  await page.goto(address);
  await says(t, page, /changed meanwhile/);
  t.same(await textsOf(feed), ['First']);
});

t.test('whoever goes back while the service is gone sees the note that is not deleted', async (t) => {
  const { page, proxy, feed } = await walk(t, 'delete-back', '', { serviceWorkers: 'block' });
  const goBack = async () => {
    for (const type of ['pagehide', 'pageshow'])
      await page.evaluate(`dispatchEvent(new PageTransitionEvent('${type}', { persisted: true }))`);
  };
  await proxy.cut();
  await choose(page, 'First', 'delete');
  await says(t, page, /^Deleted/);
  await goBack();
  await says(t, page, UNREACHED);
  t.ok(await page.isVisible('article:has-text("First")'));
  await choose(page, 'First', 'delete');
  await page.route(/delete-back\/notes\/[^/]+$/, (route) =>
    route.fulfill({ status: 403, json: { code: 'auth', error: 'Not now.' } }),
  );
  await isRouted(page);
  await goBack();
  await says(t, page, /^The note is not deleted/);
  t.ok(await page.isVisible('article:has-text("First")'));
  t.same(await textsOf(feed), ['First']);
});

t.test('a note is deleted on its own page', async (t) => {
  const { page, proxy, feed, address } = await walk(t, 'delete-alone', '', { serviceWorkers: 'block' });
  const { id } = (await feed.list()).json.notes[0];
  // Once it is loaded, its menu has what it does.
  await page.goto(`${address}/${id}`);
  await proxy.cut();
  await choose(page, 'First', 'delete');
  await isOut(page);
  await proxy.mend();
  await page.goto(address);
  await says(t, page, /^Deleted/);
  await page.goto(`${address}/settings`);
  t.ok(await eventually(async () => (await textsOf(feed)).length === 0));
});

t.test('the page of another feed leaves a deletion to its own feed', async (t) => {
  const { page, proxy, feed, address } = await walk(t, 'delete-own', '', { serviceWorkers: 'block' });
  const other = new FeedClient(service.url, 'delete-other');
  await other.post('Other');
  const [first] = (await feed.list()).json.notes;
  const visitOther = async () => {
    await proxy.mend();
    await page.goto(`${proxy.url}/delete-other`);
    await page.waitForLoadState('networkidle');
  };
  await page.goto(`${address}/${first.id}`);
  await proxy.cut();
  await choose(page, 'First', 'delete');
  await isOut(page);
  await visitOther();
  t.same(await page.locator('.toast').allTextContents(), []);
  await page.goto(address);
  await says(t, page, /^Deleted/);
  await page.click('.toast button');
  await choose(page, 'First', 'delete');
  await says(t, page, /^Deleted/);
  await proxy.cut();
  await page.goto(`${address}/settings`).catch(() => isOut(page));
  await visitOther();
  await choose(page, 'Other', 'delete');
  await says(t, page, /^Deleted/);
  await page.goto(address);
  t.ok(await eventually(async () => (await textsOf(feed)).length === 0));
  t.ok(await eventually(async () => (await textsOf(other)).length === 0));
});

t.test('a deletion is carried out by a page that does not show the note', async (t) => {
  const { page, proxy, feed, address } = await walk(t, 'delete-unseen');
  await feed.post('Second', { 'x-note-tags': 'seen' });
  await page.goto(address);
  await choose(page, 'First', 'delete');
  await says(t, page, /^Deleted/);
  await proxy.cut();
  await page.goto(`${address}/settings`).catch(() => isOut(page));
  await proxy.mend();
  await page.goto(`${address}?tag=seen`);
  t.ok(await eventually(async () => (await textsOf(feed)).length === 1));
});

t.test('a title image is chosen', async (t) => {
  for (const where of ['upload', 'answer'] as const) {
    const { page, proxy, feed } = await walk(t, `title-image-${where}`, '/settings');
    proxy.cutIn(where, `POST /${feed.name} `);
    await page.setInputFiles('#image input', LARGE);
    await page.waitForSelector('#image .error:has-text("cannot be reached")');
    await isUsableInBoth(t, page);
    await proxy.mend();
    await page.setInputFiles('#image input', LARGE);
    await says(t, page, /title image is saved/);
    t.equal((await textsOf(feed)).length, 2, 'one picture');
    t.match((await feed.get()).json.image_url, /\.png$/);
    await proxy.cut();
    await page.click('[data-action=remove]');
    await page.waitForSelector('#image .error:has-text("cannot be reached")');
    await page.click('[data-action=pick]');
    await page.waitForSelector('#image .error:has-text("cannot be reached")');
    await proxy.mend();
    await page.click('[data-action=remove]');
    await says(t, page, /title image is removed/);
  }
});

t.test('a title image that was posted, but not set, is posted once', async (t) => {
  const { page, proxy, feed } = await walk(t, 'title-image-set', '/settings');
  proxy.cutIn('answer', `PATCH /api/v1/feeds/${feed.name} `);
  await page.setInputFiles('#image input', LARGE);
  await page.waitForSelector('#image .error:has-text("cannot be reached")');
  await proxy.mend();
  const small = picture('png', 300);
  for (const [buffer, count] of [
    [small, 1 + 2],
    [LARGE.buffer, 1 + 2],
  ] as const) {
    await page.setInputFiles('#image input', { ...LARGE, buffer });
    await says(t, page, /title image is saved/);
    await page.waitForSelector('.toast', { state: 'detached' });
    t.equal((await textsOf(feed)).length, count, 'each picture once');
  }
});

t.test('settings are saved', async (t) => {
  const { page, proxy, feed } = await walk(t, 'settings', '/settings');
  for (const [when, request, days] of [
    ['before', '', 31],
    ['answer', 'POST /settings/details ', 30],
    ['page', 'GET /settings/settings', 29],
  ] as const) {
    for (const [field, value, button, saved] of [
      ['#title', `Title ${when}`, 'Save changes', /^The profile is saved/],
      ['#keep_days', String(days), 'Save what is kept', /^The limits for notes are saved/],
    ] as const) {
      await page.fill(field, value);
      if (field === '#keep_days') {
        await page.click(`text=${button}`);
        await page.click('text=Remove what is older');
      }
      if (when === 'before') await proxy.cut();
      else proxy.cutIn(when, request);
      await page.click(`text=${button}`);
      await page.waitForSelector('.not-saved:has-text("What you typed is still here")');
      t.equal(await page.inputValue(field), value);
      await isUsableInBoth(t, page);
      await proxy.mend();
      await page.click(`text=${button}`);
      await page.waitForSelector('.not-saved', { state: 'detached' });
      await says(t, page, saved);
    }
    t.match((await feed.get()).json, {
      title: `Title ${when}`,
      keep: { days },
    });
  }
});

t.test('settings are saved while the service has too much to do', async (t) => {
  const { page } = await walk(t, 'settings-busy', '/settings');
  await page.route('**/details', (route) => route.fulfill({ status: 503, body: 'Busy' }));
  await isRouted(page);
  await page.fill('#title', 'Mine');
  await page.click('text=Save changes');
  await page.waitForSelector('.not-saved');
  t.match(await page.textContent('.not-saved'), UNREACHED);
  t.equal(await page.inputValue('#title'), 'Mine');
});

t.test('a read id is changed', async (t) => {
  const { page, proxy, feed } = await walk(t, 'read-id', '/settings');
  await proxy.cut();
  await page.fill('#read_id', 'network-read-id');
  await page.click('text=Save read id');
  await page.click('button:text("Change all links")');
  await says(t, page, UNREACHED);
  await isUsableInBoth(t, page);
  await proxy.mend();
  await page.click('button:text("Change all links")');
  await page.waitForSelector('#sharing .done');
  t.equal(readIdIn((await feed.get()).json.read_url), 'network-read-id');
});

t.test('a password is changed', async (t) => {
  const proxy = await CutProxy.start(t, service.port);
  const feed = new FeedClient(service.url, 'password-changed', { 'x-feed-password': 'first' });
  await feed.post('First');
  const { page } = await visit(t, browser);
  await page.goto(`${proxy.url}/password-changed/settings`);
  await page.fill('#password', 'first');
  await proxy.cut();
  await page.keyboard.press('Enter');
  await says(t, page, UNREACHED);
  t.equal(await page.inputValue('#password'), 'first');
  await isUsableInBoth(t, page);
  await proxy.mend();
  await page.press('#password', 'Enter');
  await page.waitForURL(`${proxy.url}/password-changed/settings`);
  await page.fill('#change-current', 'first');
  await page.fill('#change-next', 'second');
  await proxy.cut();
  await page.click('text=Change password');
  await says(t, page, UNREACHED);
  t.equal(await page.inputValue('#change-next'), 'second');
  await proxy.mend();
  await page.click('text=Change password');
  await page.waitForSelector('#privacy .done');
  t.equal((await feed.with({ 'x-feed-password': 'second' }).get()).status, 200);
});

t.test('a feed is locked', async (t) => {
  const proxy = await CutProxy.start(t, service.port);
  await new FeedClient(service.url, 'locked', { 'x-feed-password': 'first' }).post('First');
  const { page } = await visit(t, browser, { says: 'yes' });
  const address = `${proxy.url}/locked`;
  await page.goto(address);
  await page.fill('#password', 'first');
  await page.keyboard.press('Enter');
  await page.waitForSelector('article');
  await write(page, 'Kept', () => proxy.cut());
  await page.waitForSelector('#waiting li');
  await page.fill('#note-text', 'Not posted');
  await stored(page, 'Not posted');
  proxy.loses = 'POST /locked ';
  await proxy.mend();
  await page.goto(`${address}/settings`);
  await proxy.cut();
  await page.click('text=Lock in this browser');
  await says(t, page, UNREACHED);
  t.same(await page.evaluate(STORED), ['Not posted'], 'nothing is forgotten yet');
  await proxy.mend();
  await page.goto(address);
  await page.waitForSelector('#waiting li:has-text("Kept")');
  await page.goto(`${address}/settings`);
  await page.click('text=Lock in this browser');
  await page.waitForSelector('text=This feed is locked');
  t.same(await page.evaluate(STORED), []);
});

t.test('the preview is opened', async (t) => {
  const { page, proxy } = await walk(t, 'preview', '', { viewport: { width: 800, height: 700 } });
  await boxIsReady(page);
  await page.fill('#note-text', '**bold**');
  await proxy.cut();
  await page.click('[data-tool=eye]');
  await page.waitForSelector('#compose .preview:has-text("cannot be reached")');
  await isUsableInBoth(t, page);
  await proxy.mend();
  await page.click('[data-tool=eye]');
  await page.click('[data-tool=eye]');
  await page.waitForSelector('#compose .preview strong');
  t.equal(await page.inputValue('#note-text'), '**bold**');
});

t.test('somebody logs in and out', async (t) => {
  const locked = await start(t, { SERVICE_PASSWORD: 'let us in' });
  for (const serviceWorkers of WORKERS) {
    const proxy = await CutProxy.start(t, locked.port);
    const { page, errors } = await visit(t, browser, { serviceWorkers });
    await page.goto(`${proxy.url}/login?next=/inside`);
    await page.fill('#password', 'let us in');
    await proxy.cut();
    await page.keyboard.press('Enter');
    await says(t, page, UNREACHED);
    t.equal(await page.inputValue('#password'), 'let us in');
    await isUsableInBoth(t, page);
    await proxy.mend();
    await page.press('#password', 'Enter');
    await page.waitForURL(`${proxy.url}/inside`);
    await page.focus('#note-text');
    await page.fill('#note-text', 'Not posted');
    await stored(page, 'Not posted');
    await page.goto(`${proxy.url}/logout`);
    await proxy.cut();
    await page.click('button.primary');
    await says(t, page, UNREACHED);
    t.same(await page.evaluate(STORED), ['Not posted'], 'nothing is forgotten yet');
    await proxy.mend();
    await page.goto(`${proxy.url}/inside`);
    await until(page, "document.querySelector('#note-text').value === 'Not posted'");
    await page.click('.visitor button');
    await page.waitForURL(`${proxy.url}/logout`);
    await page.click('button.primary');
    await page.waitForURL(/\/login/);
    t.same(errors, []);
  }
});

t.test('a feed is made from the start page', async (t) => {
  const proxy = await CutProxy.start(t, service.port);
  const { page, errors } = await visit(t, browser);
  await page.goto(proxy.url);
  await page.fill('#feed', 'made-without');
  await proxy.cut();
  await page.keyboard.press('Enter');
  await says(t, page, UNREACHED);
  t.equal(await page.inputValue('#feed'), 'made-without');
  await isUsableInBoth(t, page);
  await proxy.mend();
  await page.press('#feed', 'Enter');
  await page.waitForURL(`${proxy.url}/made-without`);
  const notes = () => ask(`${service.url}/api/v1/feeds/made-without/notes`);
  await write(page, 'Mine', () => proxy.cutIn('answer', 'POST /made-without '));
  await page.waitForSelector('#waiting li');
  await proxy.mend();
  await page.waitForSelector('article:has-text("Mine")');
  t.equal((await notes()).json.notes.length, 1);
  t.same(errors, []);
});

t.test('a link is followed, and what was written comes back with the page', async (t) => {
  for (const serviceWorkers of WORKERS) {
    const { page, proxy, feed, address } = await walk(t, `links-${serviceWorkers}`, '', { serviceWorkers });
    for (let n = 0; n < 50; n++) await feed.post(`Note ${n}`);
    await page.reload();
    await page.focus('#note-text');
    await page.fill('#note-text', 'Begun');
    await stored(page, 'Begun');
    await proxy.cut();
    await page.click('a[rel=next]');
    await isOut(page);
    await proxy.mend();
    await page.goto(address);
    await until(page, "document.querySelector('#note-text').value === 'Begun'");
    await page.click('a[rel=next]');
    await page.waitForSelector('article:has-text("First")');
  }
});

t.test('nothing went wrong beside what users see', async (t) => {
  t.same(
    faults.flatMap(({ violations, errors }) => [...violations, ...errors]),
    [],
  );
});
