/** Drafts of edits: they come back with the edit, and can be written anew if its note is gone. */
import type { Page } from 'playwright-core';
import t from 'tap';
import { boxIsReady, isRouted, settled, startBrowser, visit } from '../support/browser.ts';
import { HOLD_DRAFTS, isKept, restored, storage, textOf, twoWindows } from '../support/drafts.ts';
import { eventually } from '../support/eventually.ts';
import { EXIF_MARK, exif, jpegWith } from '../support/exif.ts';
import { FeedClient } from '../support/feed-client.ts';
import { PIXEL, picture } from '../support/pictures.ts';
import { ask, post, start } from '../support/service.ts';

const browser = await startBrowser(t);
const { url } = await start(t);

/** Opens the edit of the first note of a feed. */
async function editFirst(page: Page, name: string): Promise<void> {
  await page.goto(`${url}/${name}`);
  await page.click('article summary');
  await page.click('article a.edit');
  await page.waitForSelector('#edit-text');
}

/** Waits until a draft has the text. */
const isDrafted = (page: Page, text: string) => eventually(async () => (await storage(page)).includes(text));

t.test('an edit that is saved before its draft is back shows the draft first', async (t) => {
  const { first, second } = await twoWindows(t, browser, url, 'saved-early');
  await editFirst(first, 'saved-early');
  await first.fill('#edit-text', 'Words');
  t.ok(await isDrafted(first, 'Words'));
  await second.evaluate(HOLD_DRAFTS);
  await editFirst(first, 'saved-early');
  await first.click('article .primary');
  await second.evaluate('isHeld = false');
  await restored(first);
  await settled(first);
  t.equal(await first.inputValue('#edit-text'), 'Words');
});

t.test('an edit that is closed before its draft is back leaves it for the next one', async (t) => {
  await post(`${url}/closed-early`, 'A note');
  const { page } = await visit(t, browser, { serviceWorkers: 'block', says: 'yes' });
  await editFirst(page, 'closed-early');
  await page.fill('#edit-text', 'Words');
  t.ok(await isDrafted(page, 'Words'));
  const other = await page.context().newPage();
  await other.goto(url);
  await other.evaluate(HOLD_DRAFTS);
  await editFirst(page, 'closed-early');
  await page.fill('#edit-text', 'Typed and not wanted');
  await page.click('article [data-action=close]');
  await page.waitForSelector('article .box', { state: 'detached' });
  await other.evaluate('isHeld = false');
  await page.click('article summary');
  await page.click('article a.edit');
  await restored(page);
  t.equal(await page.inputValue('#edit-text'), 'Words');
});

t.test(
  'an edit that is closed after Save was pressed, while its draft is looked for, saves nothing',
  async (t) => {
    const feed = new FeedClient(url, 'closed-saved');
    await feed.post('A note');
    const { page } = await visit(t, browser, { serviceWorkers: 'block', says: 'yes' });
    await page.goto(`${url}/closed-saved`);
    await boxIsReady(page);
    const other = await page.context().newPage();
    await other.goto(url);
    await other.evaluate(HOLD_DRAFTS);
    await editFirst(page, 'closed-saved');
    await page.fill('#edit-text', 'Words');
    await page.click('article .primary');
    const methods: string[] = [];
    page.on('request', (request) => methods.push(request.method()));
    await page.click('article [data-action=close]');
    await page.waitForSelector('article .box', { state: 'detached' });
    await other.evaluate('isHeld = false');
    await page.click('article summary');
    await page.click('article a.edit');
    await page.waitForSelector('#edit-text:focus');
    t.equal(await page.inputValue('#edit-text'), 'A note');
    t.notOk(methods.includes('PUT'));
  },
);

t.test('whoever writes before the draft of an edit was looked for goes on at the same place', async (t) => {
  const { first, second } = await twoWindows(t, browser, url, 'caret');
  await second.evaluate(HOLD_DRAFTS);
  await editFirst(first, 'caret');
  await first.focus('#edit-text');
  await first.keyboard.press('Control+Home');
  await first.keyboard.type('One ');
  await second.evaluate('isHeld = false');
  await isKept(first, 'One A note');
  await first.keyboard.type('two ');
  t.equal(await first.inputValue('#edit-text'), 'One two A note');
});

t.test('an edit that is saved takes no words while its draft is deleted', async (t) => {
  const { first, second } = await twoWindows(t, browser, url, 'saved-slowly');
  await editFirst(first, 'saved-slowly');
  await first.fill('#edit-text', 'Words');
  t.ok(await isDrafted(first, 'Words'));
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
    t.ok(await isDrafted(page, 'Second words'));
    const answered = page.waitForResponse(note.url);
    held.resolve();
    await (await answered).finished();
    await settled(page);
    await page.reload();
    t.ok(await isDrafted(page, 'Second words'));
  },
);

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
  const { first, second } = await twoWindows(t, browser, url, 'anew-sent');
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

t.test('a picture that cannot be written anew stays in the draft of its edit', async (t) => {
  await post(`${url}/anew-refused`, 'Another');
  const { json: note } = await post(`${url}/anew-refused`, PIXEL, { 'content-type': 'image/png' });
  const { page } = await visit(t, browser);
  await page.goto(note.url);
  await page.click('article summary');
  await page.click('article a.edit');
  await page.setInputFiles('#edit-replacement', {
    name: 'words.txt',
    mimeType: 'text/plain',
    buffer: Buffer.from('x'),
  });
  t.ok(await isDrafted(page, 'words.txt'));
  await ask(note.url, { method: 'DELETE' });
  await page.goto(`${url}/anew-refused`);
  await page.click('#toasts :text("Write it anew")');
  await page.waitForSelector('#compose .pictures .problem:has-text("words.txt")');
  await settled(page);
  t.match(await storage(page), 'words.txt');
});

/** New notes can have no draft in a page that has run this. */
const NO_ROOM_FOR_NOTES = `{
  const { put } = IDBObjectStore.prototype;
  IDBObjectStore.prototype.put = function (...entry) {
    if (entry[0].note === '') throw new DOMException('no room', 'QuotaExceededError');
    return put.apply(this, entry);
  };
}`;

t.test('what is written anew stays in the draft of its edit until the box has one', async (t) => {
  const { json: note } = await post(`${url}/anew-kept`, 'As it was');
  await post(`${url}/anew-kept`, 'Another');
  const { page } = await visit(t, browser, { serviceWorkers: 'block' });
  await page.goto(note.url);
  await page.click('article summary');
  await page.click('article a.edit');
  await page.fill('#edit-text', 'Half writ');
  t.ok(await isDrafted(page, 'Half writ'));
  await ask(note.url, { method: 'DELETE' });
  await page.goto(`${url}/anew-kept`);
  await boxIsReady(page);
  await page.evaluate(NO_ROOM_FOR_NOTES);
  await page.click('#toasts :text("Write it anew")');
  await page.waitForSelector('#compose .error:has-text("keeps no drafts")');
  await settled(page);
  t.match(await storage(page), 'Half writ');
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
