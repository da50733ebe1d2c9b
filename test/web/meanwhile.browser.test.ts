/** What somebody else changed while a page was open, with two windows of Chromium: nothing is overwritten unseen or lost. */
import type { Page } from 'playwright-core';
import t from 'tap';
import {
  boxIsReady,
  isRouted,
  isUsable,
  mayBeLeft,
  PHONE,
  settled,
  startBrowser,
  visit,
} from '../support/browser.ts';
import { emptyBox } from '../support/drafts.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { PIXEL } from '../support/pictures.ts';
import { ask, start } from '../support/service.ts';
import { zipOf } from '../support/zips.ts';

const browser = await startBrowser(t);
const { url } = await start(t);
const mine = await visit(t, browser);
const theirs = await visit(t, browser, PHONE);
const scriptless = await visit(t, browser, { javaScriptEnabled: false });

/** Opens the edit of the first note of the page. */
async function edit(page: Page, address: string): Promise<void> {
  await page.goto(address);
  await page.click('article summary');
  await page.click('article [data-action=edit]');
  await page.waitForSelector('article .box.open');
}

/** Both windows edit a note, and theirs is saved first. */
async function bothEdit(
  feed: FeedClient,
  place: 'feed' | 'note',
  text: string,
  fields: Record<string, string>,
) {
  const { json: note } = await feed.post(text, { 'x-note-title': 'Old', 'x-note-tags': 'old' });
  const address = place === 'feed' ? note.feed_url : note.url;
  for (const { page } of [mine, theirs]) await edit(page, address);
  for (const [selector, value] of Object.entries(fields)) await theirs.page.fill(selector, value);
  await theirs.page.click('article .primary');
  await theirs.page.waitForSelector('article .box', { state: 'detached' });
  return { note, now: async () => (await feed.get(`/notes/${note.id}`)).json };
}

/**
 * Saves an edit whose answer is lost.
 * @param instead happens to the note in place of the edit, if the request is to be lost, too
 */
async function saveUnanswered(page: Page, id: string, instead?: () => Promise<unknown>): Promise<void> {
  const isNote = (address: URL) => address.pathname.endsWith(`/notes/${id}`);
  await page.route(isNote, async (route) => {
    await (instead === undefined ? route.fetch() : instead());
    await route.abort();
  });
  await isRouted(page);
  await page.click('article .primary');
  await page.waitForSelector('article .error:has-text("cannot be reached")');
  await page.unroute(isNote);
}

t.test('an edit that meets a newer version shows both, and overwrites nothing unasked', async (t) => {
  const feed = new FeedClient(url, 'both-edit');
  const { page } = mine;

  for (const place of ['feed', 'note'] as const)
    t.test(`mine, theirs or both, on the page of the ${place}`, async (t) => {
      for (const [button, expected] of [
        ['[data-action=theirs]', 'Their text'],
        ['[data-action=mine]', 'My text'],
        ['article .primary', 'My text and their text'],
      ] as const) {
        const { now } = await bothEdit(feed, place, 'Text', {
          '#edit-text': 'Their text',
          '#edit-tags': 'theirs',
        });
        await page.fill('#edit-text', 'My text');
        await page.keyboard.press('Control+Enter');
        await page.waitForSelector('.meanwhile.changed:focus');
        t.match(await now(), { content: 'Their text', tags: ['theirs'] });
        t.equal(await page.inputValue('#edit-theirs'), 'Their text');
        t.equal(await page.inputValue('#edit-text'), 'My text');
        t.equal(await page.inputValue('#edit-tags'), 'theirs', 'what only they changed is taken in');
        await isUsable(t, page);
        if (button === 'article .primary') await page.fill('#edit-text', expected);
        await page.click(button);
        await page.waitForSelector(`article:focus:has-text("${expected}")`);
        t.equal(await page.locator('article .box').count(), 0);
        t.match(await now(), { content: expected, title: 'Old', tags: ['theirs'] });
      }
    });

  t.test('again, if the page is left before anything is chosen', async (t) => {
    const fields = { '#edit-text': 'Their text', '#edit-tags': 'theirs' };
    const { note, now } = await bothEdit(feed, 'note', 'Text', fields);
    await page.fill('#edit-text', 'My text');
    await page.click('article .primary');
    await page.waitForSelector('.meanwhile.changed:focus');
    await mayBeLeft(page);
    await edit(page, note.url);
    await page.waitForSelector('article .restored:has-text("Your draft")');
    await page.click('article .primary');
    await page.waitForSelector('.meanwhile.changed:focus');
    t.equal(await page.inputValue('#edit-theirs'), 'Their text');
    t.equal((await now()).content, 'Their text');
    await page.click('[data-action=mine]');
    await page.waitForSelector('article:focus:has-text("My text")');
    t.match(await now(), { content: 'My text', title: 'Old', tags: ['theirs'] });
  });

  t.test('in a browser that does not know :has, as before 2024', async (t) => {
    const older = await visit(t, browser);
    await older.page.addInitScript(`for (const { prototype } of [Element, Document, DocumentFragment]) {
      const { querySelector } = prototype;
      prototype.querySelector = function (selector) {
        return querySelector.call(this, selector.replaceAll(':has(', ':is-not-known('));
      };
    }`);
    const { note, now } = await bothEdit(feed, 'note', 'Text', { '#edit-text': 'Their text' });
    await edit(older.page, note.url);
    await feed.with({ 'if-match': '*' }).put(`/notes/${note.id}`, 'Their last text');
    await older.page.fill('#edit-text', 'My text');
    await older.page.click('article .primary');
    await older.page.waitForSelector('.meanwhile.changed:focus');
    t.equal(await older.page.inputValue('#edit-theirs'), 'Their last text');
    t.equal((await now()).content, 'Their last text');
    t.same(older.errors, []);
  });

  t.test('not by a second click, before anybody has seen it', async (t) => {
    const { note, now } = await bothEdit(feed, 'feed', 'Text', { '#edit-text': 'Their text' });
    await page.fill('#edit-text', 'My text');
    const [asked, shown] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await page.context().route(note.url, async (route) => {
      asked.resolve();
      await shown.promise;
      await route.fallback();
    });
    await isRouted(page);
    await page.click('article .primary');
    await asked.promise;
    t.ok(await page.isDisabled('article .primary'));
    shown.resolve();
    await page.waitForSelector('.meanwhile.changed:focus');
    await page.context().unroute(note.url);
    await page.waitForSelector('article .primary:enabled');
    await page.dispatchEvent('article .primary', 'click', { detail: 2 });
    await page.click('[data-action=theirs]');
    await page.waitForSelector('article:focus:has-text("Their text")');
    t.equal((await now()).content, 'Their text');
  });

  const thirdEdits = (address: string) =>
    ask(address, { method: 'PUT', headers: { 'content-type': 'text/markdown' }, body: 'Third text' });

  t.test('nor by a second click on what was chosen', async (t) => {
    const { note, now } = await bothEdit(feed, 'feed', 'Text', { '#edit-text': 'Their text' });
    await page.fill('#edit-text', 'My text');
    await page.click('article .primary');
    await page.waitForSelector('.meanwhile.changed:focus');
    await thirdEdits(note.url);
    await page.click('[data-action=mine]');
    const isShown = async () => (await page.inputValue('#edit-theirs')) === 'Third text';
    t.ok(await eventually(isShown));
    await page.waitForSelector('article .primary:enabled');
    for (const button of ['mine', 'theirs'])
      await page.dispatchEvent(`[data-action=${button}]`, 'click', { detail: 2 });
    await settled(page);
    t.equal(await page.inputValue('#edit-text'), 'My text');
    await page.click('[data-action=theirs]');
    await page.waitForSelector('article:focus:has-text("Third text")');
    t.equal((await now()).content, 'Third text');
  });

  t.test('nor by keys that are held down', async (t) => {
    const { now } = await bothEdit(feed, 'feed', 'Text', { '#edit-text': 'Their text' });
    await page.fill('#edit-text', 'My text');
    await page.keyboard.down('Control');
    await page.keyboard.down('Enter');
    await page.waitForSelector('.meanwhile.changed:focus');
    await page.waitForSelector('article .primary:enabled');
    await page.keyboard.down('Enter');
    await page.keyboard.up('Enter');
    await page.keyboard.up('Control');
    await page.click('[data-action=theirs]');
    await page.waitForSelector('article:focus:has-text("Their text")');
    t.equal((await now()).content, 'Their text');
  });

  t.test('theirs is not called kept while mine is being saved in its place', async (t) => {
    const { note, now } = await bothEdit(feed, 'feed', 'Text', { '#edit-text': 'Their text' });
    await page.fill('#edit-text', 'My text');
    await page.click('article .primary');
    await page.waitForSelector('.meanwhile.changed:focus');
    const [stored, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const api = `${url}/api/v1/feeds/both-edit/notes/${note.id}`;
    await page.context().route(api, async (route) => {
      const response = await route.fetch();
      stored.resolve();
      await answered.promise;
      await route.fulfill({ response }).catch(() => {});
    });
    await isRouted(page);
    await page.click('[data-action=mine]');
    await stored.promise;
    await page.click('[data-action=theirs]');
    await settled(page);
    answered.resolve();
    await page.waitForSelector('#toasts:has-text("Saved.")');
    await page.context().unroute(api);
    t.equal((await now()).content, 'My text');
  });

  t.test('titles', async (t) => {
    const { now } = await bothEdit(feed, 'feed', 'Text', { '#edit-title': 'Theirs' });
    await page.fill('#edit-title', 'Mine');
    await page.click('article .primary');
    await page.waitForSelector('.meanwhile.changed:focus');
    t.equal(await page.textContent('#edit-title-theirs'), 'Theirs: Theirs');
    t.equal((await now()).title, 'Theirs');
    await isUsable(t, page);
    await page.click('[data-action=mine]');
    await page.waitForSelector('article h3:has-text("Mine")');
    t.match(await now(), { title: 'Mine', content: 'Text' });
  });

  t.test('a picture', async (t) => {
    const { json: note } = await feed.post(PIXEL, { 'content-type': 'image/png', 'x-note-alt': 'Old' });
    await edit(page, note.url);
    await page.click('[data-action=title]');
    await page.fill('#edit-title', 'Mine');
    const buffer = Buffer.concat([PIXEL, Buffer.alloc(9)]);
    await page.setInputFiles('#edit-replacement', { name: 'x.png', mimeType: 'image/png', buffer });
    await feed.put(`/notes/${note.id}`, Buffer.concat([PIXEL, Buffer.alloc(5)]));
    await page.click('article .primary');
    await page.waitForSelector('.meanwhile.changed:focus');
    t.match((await feed.get(`/notes/${note.id}`)).json, { size: PIXEL.length + 5, title: 'Old' });
    await page.click('[data-action=mine]');
    await page.waitForSelector('article h1:has-text("Mine")');
    t.match((await feed.get(`/notes/${note.id}`)).json, { size: buffer.length, alt: 'Old' });
  });

  t.test('a note that was deleted is posted anew', async (t) => {
    const { note } = await bothEdit(feed, 'feed', 'Text', {});
    await page.fill('#edit-text', 'Words of mine');
    await feed.send('DELETE', `/notes/${note.id}`);
    await page.waitForSelector('#notes[data-version]');
    await page.click('article .primary');
    await page.waitForSelector('.meanwhile.deleted:focus');
    t.equal(await page.inputValue('#edit-text'), 'Words of mine');
    await isUsable(t, page);
    await page.click('[data-action=repost]');
    await page.waitForURL((address) => !address.href.endsWith('both-edit'));
    await page.waitForSelector('article:has-text("Words of mine")');
    t.match((await feed.list()).json.notes[0], { content: 'Words of mine', title: 'Old', tags: ['old'] });
  });

  t.test('a picture whose note was deleted is posted anew', async (t) => {
    const headers = { 'content-type': 'image/png', 'x-note-alt': 'Old', 'x-note-expires': '7d' };
    const { json: note } = await feed.post(PIXEL, headers);
    await edit(page, note.url);
    const buffer = Buffer.concat([PIXEL, Buffer.alloc(9)]);
    await page.setInputFiles('#edit-replacement', { name: 'x.png', mimeType: 'image/png', buffer });
    await feed.send('DELETE', `/notes/${note.id}`);
    await page.click('article .primary');
    await page.waitForSelector('.meanwhile.deleted:focus');
    await page.click('[data-action=repost]');
    await page.waitForURL((address) => address.href !== note.url);
    const [posted] = (await feed.list()).json.notes;
    t.match(posted, { size: buffer.length, alt: 'Old' });
    t.equal(posted.expires_at, undefined, 'when the other one would have expired says nothing of it');
  });

  t.test(
    'an edit is told of a change as it comes, and keeps its place when its note is deleted',
    async (t) => {
      const { json: note } = await feed.post('As it was');
      await edit(page, note.feed_url);
      await page.fill('#edit-text', 'My words');
      await feed.put(`/notes/${note.id}`, 'Theirs');
      await page.waitForSelector('article .status:has-text("Somebody else has changed this note")');
      t.equal(await page.inputValue('#edit-text'), 'My words');
      await feed.send('DELETE', `/notes/${note.id}`);
      await feed.post('A sign of life');
      await page.waitForSelector('#notes button:has-text("1 new note")');
      t.equal(await page.inputValue('#edit-text'), 'My words');
      await page.click('article .primary');
      await page.waitForSelector('.meanwhile.deleted:focus');
      await page.click('[data-action=leave]');
      await page.waitForSelector(`article[data-id="${note.id}"]`, { state: 'detached' });
    },
  );
});

t.test('an edit is saved where a proxy makes ETags weak', async (t) => {
  const feed = new FeedClient(url, 'weakened');
  const { page } = mine;
  const { json: note } = await feed.post('As it was');
  await edit(page, note.feed_url);
  await page.evaluate(`{
    const { prototype } = XMLHttpRequest;
    const { getResponseHeader } = prototype;
    prototype.getResponseHeader = function (name) {
      const value = getResponseHeader.call(this, name);
      return name === 'ETag' && value !== null ? 'W/' + value : value;
    };
  }`);
  await page.click('article [data-action=title]');
  await page.fill('#edit-title', 'A title');
  await page.fill('#edit-text', 'Changed');
  await page.click('article .primary');
  await page.waitForSelector('article .box', { state: 'detached' });
  t.match((await feed.get(`/notes/${note.id}`)).json, { title: 'A title', content: 'Changed' });
});

t.test('an edit that is closed in a list shows what others did to its note meanwhile', async (t) => {
  const feed = new FeedClient(url, 'closed-edits');
  const { page } = mine;
  for (const text of ['Lower', 'Upper']) await feed.post(text);
  const { json: note } = await feed.post('Deleted');
  await edit(page, note.feed_url);
  await feed.send('DELETE', `/notes/${note.id}`);
  await feed.post('A sign of life');
  await page.waitForSelector('#notes button:has-text("1 new note")');
  await page.click('article [data-action=close]');
  await page.waitForSelector(`article[data-id="${note.id}"]`, { state: 'detached' });

  const [{ id }] = (await feed.list()).json.notes;
  await edit(page, note.feed_url);
  await feed.put(`/notes/${id}`, 'By others');
  await page.waitForSelector('article .status:has-text("Somebody else has changed this note")');
  await page.click('article:has-text("Lower") summary');
  await page.click('article:has-text("Lower") [data-action=edit]');
  await page.waitForSelector('article:has-text("By others")');
  await page.waitForSelector('article:has-text("Lower") .box.open');
  t.equal(await page.locator('article .box').count(), 1);
});

t.test('a note that is deleted while its edit is opened goes', async (t) => {
  const feed = new FeedClient(url, 'opened-gone');
  await feed.post('Stays');
  const { json: note } = await feed.post('Goes');
  const { page } = await visit(t, browser, { serviceWorkers: 'block' });
  await page.goto(`${url}/opened-gone`);
  const [asked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await page.route(note.url, async (route) => {
    asked.resolve();
    await held.promise;
    await route.fallback();
  });
  await isRouted(page);
  await page.click('article:has-text("Goes") summary');
  await page.click('article:has-text("Goes") a.edit');
  await asked.promise;
  await ask(note.url, { method: 'DELETE' });
  await feed.post('Meanwhile');
  // The page knows by now, and leaves the note alone.
  await page.waitForSelector('article:has-text("Meanwhile"), .new:has-text("1 new note")');
  held.resolve();
  await page.waitForSelector('#toasts:has-text("deleted meanwhile")');
  await page.waitForSelector('article:has-text("Goes")', { state: 'detached' });
});

t.test('a picture that could not be saved is not lost when somebody else changes the title', async (t) => {
  const feed = new FeedClient(url, 'swapped');
  const { json: picture } = await feed.post(PIXEL, { 'content-type': 'image/png' });
  const { json: note } = await feed.post(`![](${picture.file})`);
  const { page } = mine;
  await edit(page, note.url);
  await page.fill('#edit-text', '');
  const file = { name: 'dot.png', mimeType: 'image/png', buffer: PIXEL };
  await page.setInputFiles('article [type=file]', file);
  await page.waitForSelector('.attachments li');
  const isNote = (address: URL) => address.pathname.endsWith(`/notes/${note.id}`);
  await page.route(isNote, (route) => route.abort());
  await isRouted(page);
  await page.click('article .primary');
  await page.waitForSelector('article .error:has-text("cannot be reached")');
  await page.unroute(isNote);
  await feed.send('PATCH', `/notes/${note.id}`, JSON.stringify({ title: 'Theirs' }));
  await page.click('article .primary');
  await page.waitForSelector('.meanwhile.changed:focus');
  await page.click('[data-action=mine]');
  await page.waitForSelector('article .box', { state: 'detached' });
  const { title, content } = (await feed.get(`/notes/${note.id}`)).json;
  t.equal(title, 'Theirs');
  t.notMatch(content, picture.file);
});

t.test('a picture that the text does not show is not lost when the answer for the title is', async (t) => {
  const feed = new FeedClient(url, 'not-shown');
  const { json: note } = await feed.post('Words');
  const { page } = mine;
  await edit(page, note.url);
  await page.setInputFiles('article [type=file]', { name: 'dot.png', mimeType: 'image/png', buffer: PIXEL });
  await page.waitForSelector('.attachments li');
  await page.fill('#edit-text', 'Words');
  await page.click('article [data-action=title]');
  await page.fill('#edit-title', 'Mine');
  await saveUnanswered(page, note.id);
  await page.click('article .primary');
  await page.waitForSelector('.meanwhile.changed:focus');
  await page.click('[data-action=mine]');
  await page.waitForSelector('article .box', { state: 'detached' });
  const { title, content } = (await feed.get(`/notes/${note.id}`)).json;
  t.equal(title, 'Mine');
  t.match(content, /^Words\n\n!\[.*\]\(\S+\.png\)$/);
});

t.test('a picture that the text does not show is added once if the answer for it is lost', async (t) => {
  const { page } = mine;
  for (const [name, isArrived] of [
    ['added', true],
    ['not-added', false],
  ] as const) {
    const feed = new FeedClient(url, name);
    const { json: note } = await feed.post('Words');
    await edit(page, note.url);
    const file = { name: 'dot.png', mimeType: 'image/png', buffer: PIXEL };
    await page.setInputFiles('article [type=file]', file);
    await page.waitForSelector('.attachments li');
    await page.fill('#edit-text', 'Words');
    const theirs = () => feed.put(`/notes/${note.id}`, 'Their words');
    await saveUnanswered(page, note.id, isArrived ? undefined : theirs);
    await page.click('article .primary');
    if (!isArrived) {
      await page.waitForSelector('.meanwhile.changed:focus');
      await page.click('[data-action=mine]');
    }
    await page.waitForSelector('article .box', { state: 'detached' });
    const { content } = (await feed.get(`/notes/${note.id}`)).json;
    t.match(content, isArrived ? /^Words\n\n!\[\]\(\S+\.png\)$/ : /^Their words\n\n!\[\]\(\S+\.png\)$/);
  }
});

t.test('a picture whose answer was lost is there once, though words were added since', async (t) => {
  const { page } = mine;
  for (const isLeft of [false, true]) {
    const feed = new FeedClient(url, `words-added-${isLeft}`);
    const { json: note } = await feed.post('Words');
    await edit(page, note.url);
    await page.setInputFiles('article [type=file]', {
      name: 'dot.png',
      mimeType: 'image/png',
      buffer: PIXEL,
    });
    await page.waitForSelector('.attachments li');
    await page.fill('.attachments .alt', 'A dot');
    await saveUnanswered(page, note.id);
    if (isLeft) {
      await mayBeLeft(page);
      await edit(page, note.url);
      await page.waitForSelector('article .restored:has-text("Your draft of")');
    }
    await page.locator('#edit-text').press('Control+Home');
    await page.keyboard.type('More ');
    await page.click('article .primary');
    await page.waitForSelector('.meanwhile.changed:focus');
    await page.click('[data-action=mine]');
    await page.waitForSelector('article .box', { state: 'detached' });
    const { notes } = (await feed.list()).json;
    const pictures = notes.filter(({ type }: { type: string }) => type === 'image/png');
    t.match(pictures, [{ attached_to: note.id }]);
    t.equal(pictures.length, 1);
    const { content } = (await feed.get(`/notes/${note.id}`)).json;
    t.equal(content, `More Words\n\n![A dot](${pictures[0].file})`);
  }
});

t.test('settings of two windows survive, and one that both changed is asked for again', async (t) => {
  const feed = new FeedClient(url, 'both-set');
  await feed.post(PIXEL, { 'content-type': 'image/png' });
  const [first, second] = [scriptless.page, theirs.page];
  const open = async () => {
    for (const page of [first, second]) await page.goto(`${url}/both-set/settings`);
  };
  await open();
  await first.fill('#title', 'A title');
  await first.click('text=Save changes');
  await second.fill('#description', 'A description');
  await second.click('text=Save changes');
  await second.waitForSelector('text=Saved.');
  t.match((await feed.get()).json, { title: 'A title', description: 'A description' });
  await open();
  await first.fill('#title', 'First');
  await first.click('text=Save changes');
  await second.fill('#title', 'Second');
  await second.click('text=Save changes');
  t.match(await second.textContent('#title-error'), 'Meanwhile it was changed to "First".');
  t.equal(await second.inputValue('#title'), 'Second');
  await second.dispatchEvent('#profile .primary', 'click', { detail: 2 });
  await isUsable(t, second);
  t.equal((await feed.get()).json.title, 'First', 'a second click saves nothing that was not seen');
  await second.click('text=Save changes');
  await second.waitForSelector('text=Saved.');
  t.match((await feed.get()).json, { title: 'Second', description: 'A description' });
  await open();
  await first.fill('#description', 'Another one');
  await first.click('text=Save changes');
  await second.click('[data-action=pick]');
  await second.click('.picks button');
  await second.waitForSelector('img.title-image');
  t.match((await feed.get()).json, { title: 'Second', description: 'Another one', image_url: /\.png$/ });
});

t.test('a page of a feed that is gone or another one posts nothing unasked', async (t) => {
  const { page } = mine;
  const feed = new FeedClient(url, 'gone');
  /** Opens the page, lets something happen, and posts. */
  const postAfter = async (text: string, happens: () => Promise<unknown>) => {
    await page.goto(`${url}/gone`);
    // What happens meanwhile does not show by itself.
    await page.evaluate(
      "document.dispatchEvent(new Event('pagehide')), dispatchEvent(new Event('pagehide'))",
    );
    await happens();
    await page.fill('#note-text', text);
    await page.click('#compose .primary');
    await page.waitForSelector('.outdated p:not(:empty)');
    t.equal(await page.inputValue('#note-text'), text);
    await isUsable(t, page);
  };

  await t.test('deleted: it is made anew, with a password if wanted', async (t) => {
    await feed.post('x', { 'x-feed-password': 'first' });
    await page.goto(`${url}/gone`);
    await page.fill('#password', 'first');
    await page.click('button.primary');
    await page.waitForSelector('#compose');
    await postAfter('A secret', () => feed.with({ 'x-feed-password': 'first' }).send('DELETE'));
    t.match(await page.textContent('.outdated'), 'This feed was deleted');
    t.equal((await feed.get()).status, 404, 'no unprotected feed is made');
    await page.click('[data-action=renew]');
    await page.waitForSelector('#feed-password:focus');
    t.equal((await feed.get()).status, 404);
    await page.keyboard.type('second');
    await page.click('#compose .primary');
    await page.waitForSelector('article:has-text("A secret")');
    t.equal((await feed.get()).status, 401, 'it is protected');
    t.equal((await feed.with({ 'x-feed-password': 'second' }).send('DELETE')).status, 204);
  });

  await t.test('deleted and made by somebody else', async (t) => {
    await feed.post('First');
    await postAfter('To the first', async () => {
      await feed.send('DELETE');
      await feed.post('Second');
    });
    t.match(await page.textContent('.outdated'), 'another feed');
    t.equal((await feed.list()).json.notes.length, 1);
    await page.click('[data-action=renew]');
    await page.waitForSelector('article:has-text("To the first")');
    t.equal((await feed.list()).json.notes.length, 2);
    await feed.send('DELETE');
  });

  await t.test('made by somebody else, which the page shows by itself', async (t) => {
    await page.goto(`${url}/gone`);
    await feed.post('Shown');
    await page.waitForSelector('article:has-text("Shown")');
    await page.fill('#note-text', 'Below it');
    await page.click('#compose .primary');
    await page.waitForSelector('article:has-text("Below it")');
    t.equal((await feed.list()).json.notes.length, 2);
    await feed.send('DELETE');
  });

  await t.test('made by somebody else while a password was typed for it', async (t) => {
    await page.goto(`${url}/gone`);
    await page.focus('#note-text');
    await page.fill('#feed-password', 'mine');
    await feed.post('Theirs');
    await page.waitForSelector('article:has-text("Theirs")');
    await page.fill('#note-text', 'A secret');
    await page.click('#compose .primary');
    await page.waitForSelector('.outdated p:has-text("so it can get no password here")');
    t.equal((await feed.list()).json.notes.length, 1);
    await feed.send('DELETE');
  });

  await t.test('made by somebody else, and then with a password', async (t) => {
    await postAfter('To a new one', () => feed.post('Theirs'));
    t.match(await page.textContent('.outdated'), 'Somebody has made this feed');
    t.equal((await feed.list()).json.notes.length, 1);
    await feed.send('DELETE');
    await emptyBox(page);
    await postAfter('To a new one', () => feed.post('Theirs', { 'x-feed-password': 'theirs' }));
    t.match(await page.textContent('.outdated'), 'You may not post');
    t.notOk(await page.isVisible('[data-action=renew]'));
    t.ok(await page.isVisible('.outdated a'));
  });
});

t.test('a note that expires says when', async (t) => {
  const { page } = mine;
  await page.goto(`${url}/passing`);
  await page.fill('#note-text', 'Not for long');
  await page.selectOption('#note-expires', '1d');
  await isUsable(t, page);
  await page.click('#compose .primary');
  await page.waitForSelector('article:has-text("Not for long") :text("expires") time');
  const [note] = (await new FeedClient(url, 'passing').list()).json.notes;
  t.equal(await page.getAttribute('article :text("expires") time', 'datetime'), note.expires_at);
  await isUsable(t, page);
});

t.test('settings say what a feed keeps, and ask before notes go for it', async (t) => {
  // Leaving what was refused is asked about.
  const { page } = await visit(t, browser, { ...PHONE, says: 'yes' });
  const feed = new FeedClient(url, 'keeping');
  for (const text of ['one', 'two', 'three']) await feed.post(text);
  const set = async (days: string, notes: string) => {
    await page.goto(`${url}/keeping/settings`);
    await page.fill('#keep_days', days);
    await page.fill('#keep_notes', notes);
    const answered = page.waitForResponse((response) => response.request().method() === 'POST');
    await page.press('#keep_notes', 'Enter');
    await answered;
    // Until then the page holds what is not saved, and asks before it is left.
    await page.waitForSelector('#toasts .toast, [role=alert]');
  };
  const keep = async () => (await feed.get()).json.keep;
  await set('', '3');
  t.same(await keep(), { notes: 3 }, 'none goes for it');
  for (const [days, notes] of [
    ['0', ''],
    ['3651', ''],
    ['', 'many'],
  ] as const) {
    await set(days, notes);
    await page.waitForSelector('[role=alert]:has-text("a number from 1 to")');
  }
  await set('7', '2');
  t.same(await keep(), { notes: 3 });
  await page.waitForSelector('[role=alert]:has-text("removed for good")');
  await isUsable(t, page);
  await page.check('[name=removes]');
  const saved = page.waitForResponse((response) => response.request().method() === 'POST');
  await page.press('#keep_notes', 'Enter');
  await saved;
  await page.waitForSelector('#toasts .toast');
  t.same(await keep(), { days: 7, notes: 2 });
  await set('', '');
  t.equal(await keep(), null);
});

t.test('a feed goes out as a zip and comes back in', async (t) => {
  const { page } = theirs;
  const feed = new FeedClient(url, 'travelling');
  await feed.post('A note');
  await feed.post(PIXEL, { 'content-type': 'image/png' });
  await scriptless.page.goto(`${url}/travelling/settings`);
  const download = scriptless.page.waitForEvent('download');
  await scriptless.page.click('a[download]');
  const zip = await (await download).path();
  const { notes } = (await feed.list()).json;
  await feed.send('DELETE', `/notes/${notes[0].id}`);
  await page.goto(`${url}/travelling/settings`);
  await page.setInputFiles('#import input', zip);
  await page.waitForSelector('#import .status:text("1 imported, 1 there already.")');
  t.same((await feed.list()).json.notes, notes);
  const buffer = zipOf(Array.from({ length: 1_001 }, (_, n) => ({ name: `${n}.txt` })));
  await page.setInputFiles('#import input', { name: 'texts.zip', mimeType: 'application/zip', buffer });
  await page.waitForSelector('#import .status:text("0 imported, 0 there already. 1001 refused:")');
  await isUsable(t, page);
  await feed.send('DELETE');
  await page.setInputFiles('#import input', zip);
  await page.waitForSelector('#import .error:text("changed meanwhile")');
  t.equal((await feed.get()).status, 404, 'a stale page makes no feed');
});

t.test('a note that was deleted and imported again stays', async (t) => {
  const feed = new FeedClient(url, 'imported-again');
  await feed.post('Imported again');
  const { page } = await visit(t, browser);
  await page.goto(`${url}/imported-again/settings`);
  const download = page.waitForEvent('download');
  await page.click('a[download]');
  const zip = await (await download).path();
  await page.goto(`${url}/imported-again`);
  await page.click('article summary');
  await page.click('article [data-action=delete]');
  await page.waitForSelector('#toasts:has-text("Deleted.")');
  await page.goto(`${url}/imported-again/settings`);
  const texts = async () => (await feed.list()).json.notes.length;
  t.ok(await eventually(async () => (await texts()) === 0));
  await page.setInputFiles('#import input', zip);
  await page.waitForSelector('#import .status:text("1 imported")');
  await page.goto(`${url}/imported-again`);
  await boxIsReady(page);
  await settled(page);
  t.ok(await page.isVisible('article:has-text("Imported again")'));
  t.equal(await texts(), 1);
});

t.test(
  'a note that was deleted and imported again stays, though the answer to the import was lost',
  async (t) => {
    const feed = new FeedClient(url, 'imported-unsaid');
    await feed.post('Imported again');
    const { bytes: buffer } = await feed.get('/export');
    const zip = { name: 'notes.zip', mimeType: 'application/zip', buffer };
    const { page } = await visit(t, browser, { serviceWorkers: 'block' });
    await page.goto(`${url}/imported-unsaid`);
    await page.click('article summary');
    await page.click('article [data-action=delete]');
    await page.waitForSelector('#toasts:has-text("Deleted.")');
    await page.goto(`${url}/imported-unsaid/settings`);
    const texts = async () => (await feed.list()).json.notes.length;
    t.ok(await eventually(async () => (await texts()) === 0));
    await page.route(
      '**/import',
      async (route) => {
        await route.fetch();
        await route.abort();
      },
      { times: 1 },
    );
    await isRouted(page);
    await page.setInputFiles('#import input', zip);
    await page.waitForSelector('#import .error:text("cannot be reached")');
    await page.setInputFiles('#import input', zip);
    await page.waitForSelector('#import .status:text("0 imported, 1 there already.")');
    await page.goto(`${url}/imported-unsaid`);
    await boxIsReady(page);
    await settled(page);
    t.ok(await page.isVisible('article:has-text("Imported again")'));
    t.equal(await texts(), 1);
  },
);

t.test('a note that was deleted long ago and imported by somebody else stays', async (t) => {
  const feed = new FeedClient(url, 'imported-elsewhere');
  await feed.post('Imported elsewhere');
  const address = `${url}/imported-elsewhere`;
  const { page } = await visit(t, browser);
  await page.clock.install();
  const { bytes: body } = await feed.get('/export');
  await page.goto(address);
  await page.click('article summary');
  await page.click('article [data-action=delete]');
  await page.waitForSelector('#toasts:has-text("Deleted.")');
  await page.goto(`${url}/`);
  const texts = async () => (await feed.list()).json.notes.length;
  t.ok(await eventually(async () => (await texts()) === 0));
  const headers = { 'content-type': 'application/zip' };
  t.equal((await ask(`${feed.record}/import`, { method: 'POST', headers, body })).json.imported, 1);
  await page.clock.fastForward(11 * 60_000);
  await page.goto(address);
  await boxIsReady(page);
  await settled(page);
  t.ok(await page.isVisible('article:has-text("Imported elsewhere")'));
  t.equal(await texts(), 1);
});

t.test('a feed that was deleted and made by somebody else is not deleted unseen', async (t) => {
  const feed = new FeedClient(url, 'made-again');
  await feed.post('Mine');
  const { page } = await visit(t, browser);
  await page.goto(`${url}/made-again/settings`);
  await feed.send('DELETE');
  await feed.post('By somebody else');
  const remove = async () => {
    await page.fill('form[action$="/delete"] [name=name]', 'made-again');
    await page.click('form[action$="/delete"] button');
  };
  await remove();
  await page.waitForURL(/\/delete|deleted/);
  t.match(await page.textContent('main'), 'The feed of this name is another one now');
  t.equal((await feed.list()).json.notes.length, 1);
  await isUsable(t, page);
  await remove();
  await page.waitForURL(`${url}/`);
  t.equal((await feed.get()).status, 404, 'but by whoever has seen that');
});

t.test('nothing went wrong beside what users see', async (t) => {
  for (const { violations, errors } of [mine, theirs, scriptless]) t.same([...violations, ...errors], []);
});
