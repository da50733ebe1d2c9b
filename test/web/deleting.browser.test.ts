/** Deleting notes in Chromium: it can be undone, and what becomes of it is said. */
import type { Page, Route } from 'playwright-core';
import t from 'tap';
import { axeFindings, overflow, PHONE, settled, startBrowser, visit } from '../support/browser.ts';
import { BLOCK_STORAGE } from '../support/browser-storage.ts';
import { CutProxy } from '../support/cut-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { ask, start } from '../support/service.ts';

const browser = await startBrowser(t);
const { url, port } = await start(t);
const user = await visit(t, browser, { permissions: ['clipboard-read', 'clipboard-write'] });
const { page } = user;
await page.clock.install();

/** A feed with notes of these texts, the first posted first, on the page. */
async function open(name: string, ...texts: string[]) {
  const feed = new FeedClient(url, name);
  const notes: { id: string; url: string }[] = [];
  for (const text of texts) notes.push((await feed.post(text)).json);
  await page.goto(`${url}/${name}`);
  return {
    notes,
    left: async () => (await feed.list()).json.notes.map((note: { content: string }) => note.content),
  };
}

async function choose(text: string, choice: string): Promise<void> {
  await page.click(`article:has-text("${text}") summary`);
  await page.click(`article:has-text("${text}") [data-action=${choice}]`);
}

const isShown = (text: string) => page.isVisible(`article:has-text("${text}")`);
const focused = (one: Page = page) => one.evaluate<string>('document.activeElement.innerText');
const change = (note: { url: string }, body: string) =>
  ask(note.url, { method: 'PUT', headers: { 'content-type': 'text/markdown' }, body });

t.test('a keyboard walks through the menu, deletes and undoes', async (t) => {
  const { left } = await open('walked', 'Oldest', 'Middle', 'Newest');
  await page.focus('article:has-text("Middle") summary');
  await page.keyboard.press('ArrowDown');
  for (const choice of ['Edit', 'Copy link', 'Public page', 'Delete', 'Edit']) {
    t.equal((await focused()).trim(), choice);
    await page.keyboard.press('ArrowDown');
  }
  t.same(await axeFindings(page), []);
  await page.keyboard.press('Escape');
  t.notOk(await page.isVisible('.menu ul'));
  t.equal(await page.evaluate('document.activeElement.tagName'), 'SUMMARY');
  await page.keyboard.press('Enter');
  await page.keyboard.press('ArrowUp');
  t.equal((await focused()).trim(), 'Delete');
  await page.keyboard.press('Enter');
  t.notOk(await isShown('Middle'));
  t.match(await focused(), 'Oldest', 'the next note has the focus');
  t.match(await page.textContent('#toasts[role=status]'), 'Deleted.');
  t.same(await left(), ['Newest', 'Middle', 'Oldest'], 'not yet');
  t.same(await axeFindings(page), []);
  await page.keyboard.press('Control+z');
  t.match(await focused(), 'Middle');
  t.notOk(await page.isVisible('.toast'));
  await page.clock.fastForward(11_000);
  t.same(await left(), ['Newest', 'Middle', 'Oldest']);
});

t.test('a menu closes by a click elsewhere, by another one and by a choice', async (t) => {
  await open('menus', 'One', 'Two');
  await page.click('article:has-text("One") summary');
  await page.click('article:has-text("Two") summary');
  t.equal(await page.locator('.menu[open]').count(), 1);
  await page.click('h1');
  t.equal(await page.locator('.menu[open]').count(), 0);
  await choose('One', 'copy-link');
  t.equal(await page.locator('.menu[open]').count(), 0);
  t.equal(await page.evaluate('document.activeElement.tagName'), 'SUMMARY');
  await page.waitForSelector('.toast:has-text("copied")');
  const link = await page.evaluate<string>('navigator.clipboard.readText()');
  t.match(link, /\/r\/[\w-]{22}\/\w+/);
  t.match((await ask(link)).text, 'One');
});

t.test('two deletions are undone one by one, or carried out after ten seconds', async (t) => {
  const { left } = await open('two-gone', 'First', 'Second', 'Third');
  await choose('Third', 'delete');
  await choose('Second', 'delete');
  t.equal(await page.locator('.toast').count(), 2);
  // What happens meanwhile does not bring them back.
  await new FeedClient(url, 'two-gone').post('Meanwhile');
  await page.waitForSelector('.new, article:has-text("Meanwhile")');
  t.notOk(await isShown('Third'));
  await page.locator('.toast button').first().click();
  t.ok(await isShown('Third'));
  t.match(await focused(), 'Third');
  t.notOk(await isShown('Second'));
  await page.clock.fastForward(10_001);
  t.ok(await eventually(async () => (await left()).length === 3));
  t.same(await left(), ['Meanwhile', 'Third', 'First']);
  await page.waitForSelector('article:has-text("Second")', { state: 'detached' });
});

t.test('leaving the page carries it out', async (t) => {
  const { left } = await open('left', 'Stays', 'Goes');
  await choose('Goes', 'delete');
  await page.goto(`${url}/`);
  t.ok(await eventually(async () => (await left()).length === 1));
});

t.test('leaving the page while the service is slow to answer does so, too', async (t) => {
  const { left } = await open('left-late', 'Stays', 'Goes');
  await choose('Goes', 'delete');
  const asked = Promise.withResolvers<void>();
  // The request of a page that is left is not seen here.
  await page.route('**/notes/*', () => asked.resolve());
  await page.clock.fastForward(10_001);
  await asked.promise;
  await page.goto(`${url}/`);
  await page.unroute('**/notes/*');
  await page.goto(`${url}/left-late`);
  t.ok(await eventually(async () => (await left()).length === 1));
});

t.test('a note whose deletion is tried again is hidden until it is certain', async (t) => {
  const { left } = await open('tried-again', 'Stays', 'Goes');
  const proxy = await CutProxy.start(t, port);
  await page.goto(`${proxy.url}/tried-again`);
  await choose('Goes', 'delete');
  await proxy.cut();
  await page.goto(`${url}/`);
  await proxy.mend();
  const held = Promise.withResolvers<Route>();
  await page.route('**/notes/*', (route) => held.resolve(route));
  await page.goto(`${proxy.url}/tried-again`);
  const deletion = await held.promise;
  t.notOk(await isShown('Goes'));
  t.same(await left(), ['Goes', 'Stays']);
  await deletion.continue();
  t.ok(await eventually(async () => (await left()).length === 1));
  await page.unroute('**/notes/*');
});

t.test('a deletion that fails comes back and is said', async (t) => {
  const { left } = await open('failed', 'Kept');
  await choose('Kept', 'delete');
  await page.waitForSelector('.toast:has-text("Deleted.")');
  await page.context().setOffline(true);
  await page.clock.fastForward(10_001);
  await page.waitForSelector('.toast:has-text("may still exist")');
  t.ok(await isShown('Kept'));
  await page.context().setOffline(false);
  t.same(await left(), ['Kept']);
});

t.test('a note that somebody else changes meanwhile is not deleted', async (t) => {
  const { left, notes } = await open('changed', 'Before', 'Other');
  await choose('Before', 'delete');
  await change(notes[0]!, 'After');
  await page.waitForSelector('.toast:has-text("changed meanwhile")');
  t.ok(await isShown('After'));
  t.notOk(await page.isVisible('.toast:has-text("Undo")'));
  await page.clock.fastForward(10_001);
  t.same(await left(), ['Other', 'After']);
});

t.test('Undo leads to a note that is not in the list any more', async (t) => {
  const { notes } = await open('pushed', 'Kept', 'Other');
  await choose('Kept', 'delete');
  await page.waitForSelector('.toast:has-text("Undo")');
  // As the list does if newer notes push it to the next page.
  await page.evaluate(`document.querySelector('[data-id="${notes[0]!.id}"]').remove()`);
  await page.click('.toast button');
  await page.click('.toast:has-text("not on this page any more") button');
  await page.waitForURL(notes[0]!.url);
  t.ok(await isShown('Kept'));
});

t.test('nothing is said of a deletion that was undone when its note is changed later', async (t) => {
  const { left, notes } = await open('undone', 'Before', 'Other');
  await choose('Before', 'delete');
  await page.click('.toast button');
  await change(notes[0]!, 'After');
  await page.waitForSelector('article:has-text("After")');
  t.same(await page.locator('.toast').allTextContents(), []);
  t.same(await left(), ['Other', 'After']);
});

t.test('Ctrl with Z undoes what is typed, and no deletion', async (t) => {
  const { left } = await open('typed', 'Stays', 'Goes');
  await choose('Goes', 'delete');
  await page.fill('#note-text', 'Words');
  await page.press('#note-text', 'Control+z');
  t.notOk(await isShown('Goes'));
  await page.clock.fastForward(10_001);
  t.ok(await eventually(async () => (await left()).length === 1));
});

t.test('nothing is said of a note that somebody else has deleted, too', async (t) => {
  const { notes } = await open('both-deleted', 'Stays', 'Goes');
  await choose('Goes', 'delete');
  await ask(notes[1]!.url, { method: 'DELETE' });
  const answered = page.waitForResponse((answer) => answer.request().method() === 'DELETE');
  await page.clock.fastForward(10_001);
  t.equal((await answered).status(), 404);
  await page.waitForSelector('article:has-text("Goes")', { state: 'detached' });
  await settled(page);
  t.same(await page.locator('.toast').allTextContents(), []);
});

t.test('a browser that keeps nothing deletes a note on its own page at once', async (t) => {
  const { left, notes } = await open('kept-nowhere', 'Stays', 'Goes');
  const { page } = await visit(t, browser, { serviceWorkers: 'block' });
  await page.addInitScript(BLOCK_STORAGE);
  await page.goto(notes[1]!.url);
  await page.click('article summary');
  await page.click('article [data-action=delete]');
  t.ok(await eventually(async () => (await left()).length === 1));
});

t.test('a change that the page has not heard of is seen', async (t) => {
  const { left, notes } = await open('unheard', 'Before', 'Other');
  await page.evaluate("dispatchEvent(new Event('pagehide'))");
  await change(notes[0]!, 'After');
  await choose('Before', 'delete');
  await page.waitForSelector('.toast:has-text("changed meanwhile")');
  t.ok(await isShown('After'));
  t.same(await left(), ['Other', 'After']);
});

t.test('deleted on its own page, a note can be brought back on that of the feed', async (t) => {
  const { left, notes } = await open('alone', 'One', 'Two');
  const deleteAlone = async (text: string, id: number) => {
    await page.goto(notes[id]!.url);
    t.same(await axeFindings(page), []);
    await choose(text, 'delete');
    await page.waitForURL(`${url}/alone`);
    await page.waitForSelector('.toast');
    t.notOk(await isShown(text));
  };
  await deleteAlone('One', 0);
  await page.click('.toast button');
  t.match(await focused(), 'One');
  await deleteAlone('Two', 1);
  await page.clock.fastForward(10_001);
  t.ok(await eventually(async () => (await left()).length === 1));
  await page.reload();
  t.notOk(await page.isVisible('.toast'));
  await page.goto(notes[0]!.url);
  await change(notes[0]!, 'Not seen');
  await choose('One', 'delete');
  await page.waitForURL(`${url}/alone`);
  await page.clock.fastForward(10_001);
  await page.waitForSelector('.toast:has-text("changed meanwhile")');
  t.same(await left(), ['Not seen']);
});

t.test('deleted twice because the page of the feed is slow, it is brought back by one Undo', async (t) => {
  const { left, notes } = await open('slow-feed', 'Kept');
  await page.goto(notes[0]!.url);
  // The page stays, as it does while the next one is slow.
  await page.context().route(`${url}/slow-feed`, (route) => route.fulfill({ status: 204 }), { times: 2 });
  for (let n = 0; n < 2; n += 1) await choose('Kept', 'delete');
  await page.goto(`${url}/slow-feed`);
  await page.locator('.toast button').first().click();
  t.ok(await isShown('Kept'));
  await page.goto(`${url}/`);
  await page.goto(`${url}/slow-feed`);
  t.same(await left(), ['Kept']);
});

t.test('it fits on a phone, in the dark', async (t) => {
  await open('small', 'One', 'Two');
  const phone = await visit(t, browser, { ...PHONE, colorScheme: 'dark' });
  await phone.page.goto(`${url}/small`);
  await phone.page.click('article summary');
  t.same(await axeFindings(phone.page), []);
  await phone.page.click('[data-action=delete]');
  await phone.page.waitForSelector('.toast');
  t.same(await axeFindings(phone.page), []);
  t.equal(await overflow(phone.page), 0);
  t.same([...phone.violations, ...phone.errors], []);
});

t.test('nothing went wrong beside what users see', async (t) => {
  t.same([...user.violations, ...user.errors], []);
});
