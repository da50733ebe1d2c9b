import type { Page } from 'playwright-core';
import type { CutProxy } from './cut-proxy.ts';
import { eventually } from './eventually.ts';
import type { FeedClient } from './feed-client.ts';

/** How many answers are kept in the caches whose name begins so. */
export function keptIn(page: Page, name: string): Promise<number> {
  return page.evaluate<number>(`(async () => {
    const names = (await caches.keys()).filter((one) => one.startsWith('note-feed-${name}'));
    const sizes = names.map(async (one) => (await (await caches.open(one)).keys()).length);
    return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  })()`);
}

/** Opens a page and waits until it is kept. */
export async function read(page: Page, address: string): Promise<void> {
  await page.goto(address);
  await page.evaluate('navigator.serviceWorker.ready.then(() => undefined)');
  const isControlled = () => page.evaluate<boolean>('navigator.serviceWorker.controller !== null');
  if (!(await eventually(isControlled))) throw new Error('no service worker controls the page');
  if (!(await eventually(async () => (await keptIn(page, 'pages')) > 0))) throw new Error('nothing is kept');
}

export async function write(page: Page, text: string): Promise<void> {
  await page.focus('#note-text');
  const before = await page.inputValue('#note-text');
  await page.fill('#note-text', [text, before].filter(Boolean).join('\n\n'));
  await page.keyboard.press('Control+Enter');
}

/**
 * Takes the network away. The browser's own offline mode is not enough: the browser itself is still online, and may start a
 * service worker that is not in that mode, to send what waits.
 * @param name of the feed to which posts are lost
 */
export async function leave(page: Page, network: CutProxy, name: string): Promise<void> {
  network.loses = `POST /${name} `;
  await page.context().setOffline(true);
}

export async function comeBack(page: Page, network: CutProxy): Promise<void> {
  network.loses = undefined;
  await page.context().setOffline(false);
}

export const textsOf = async (feed: FeedClient) =>
  (await feed.list()).json.notes.map(({ content }: { content?: string }) => content);
