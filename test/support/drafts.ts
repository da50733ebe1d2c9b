import type { Browser, Page } from 'playwright-core';
import type { Test } from 'tap';
import { visit } from './browser.ts';
import { ALL_DRAFTS } from './browser-storage.ts';
import { eventually } from './eventually.ts';
import { post } from './service.ts';

export const textOf = (page: Page) => page.inputValue('#note-text');
export const restored = (page: Page) => page.waitForSelector('.restored:has-text("Your draft of")');
/** Waits until a note is written to the browser's database. Not with `waitForFunction`: its eval is against the policy of pages. */
export async function isKept(page: Page, text: string, expires = ''): Promise<void> {
  const has = async () =>
    JSON.parse(await storage(page)).some(
      ({ fields }: { fields: { text: string; expires: string } }) =>
        fields.text === text && fields.expires === expires,
    );
  if (!(await eventually(has))) throw new Error(`no draft holds ${text}`);
}
/** Empties the box for new notes, and waits until its draft is gone, which would come back when the page is loaded again. */
export async function emptyBox(page: Page): Promise<void> {
  for (const field of ['#note-text', '#note-tags']) await page.fill(field, '');
  const box = await page.getAttribute('#compose', 'data-draft');
  const isGone = async () =>
    JSON.parse(await storage(page)).every(
      ({ feed, note }: { feed: string; note: string }) => feed !== box || note !== '',
    );
  if (!(await eventually(isGone))) throw new Error('a draft is left');
}

/** Returns all drafts that the browser keeps in IndexedDB, as JSON. */
export const storage = async (page: Page) => JSON.stringify(await page.evaluate(ALL_DRAFTS));

/** Two windows of one browser on a feed with a note. */
export async function twoWindows(t: Test, browser: Browser, url: string, name: string) {
  await post(`${url}/${name}`, 'A note');
  // Its service worker would answer for scripts that a test holds back.
  const { page: first, ...faults } = await visit(t, browser, { serviceWorkers: 'block' });
  const second = await first.context().newPage();
  for (const page of [first, second]) await page.goto(`${url}/${name}`);
  return { first, second, faults, open: () => first.context().newPage() };
}

export async function write(page: Page, text: string): Promise<void> {
  await page.fill('#note-text', text);
  await isKept(page, text);
}

/** A script that blocks writes to one of the browser's databases until `isHeld` is set to false in its page. */
export const hold = (name: string, ...stores: string[]) => `new Promise((held) => {
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
export const HOLD_DRAFTS = hold('drafts', 'drafts', 'files');
