/** What a browser has to fetch before it shows a feed: little, and in few pieces. */
import t from 'tap';
import { startBrowser, visit } from '../support/browser.ts';
import { ask, post, start } from '../support/service.ts';

const MAX_BYTES = 24 * 1024;
/** Page, styles, script, and on pages for writers what that shares with scripts that are loaded late. */
const MAX_REQUESTS = 4;

const browser = await startBrowser(t);
const { url } = await start(t);
for (let number = 1; number <= 50; number += 1)
  await post(
    `${url}/long`,
    `# Note ${number}\n\n${`A text with *some* words, number ${number}. `.repeat(8)}`,
  );
const { read_url } = (await ask(`${url}/api/v1/feeds/long`)).json;

for (const [kind, address] of [
  ['the page of a feed', `${url}/long`],
  ['its read-only page', read_url.replace('/feed.xml', '')],
]) {
  t.test(`${kind} with 50 notes is light`, async (t) => {
    const { page } = await visit(t, browser);
    await page.goto(address);
    await page.waitForLoadState();
    // What an idle page loads later is for writing.
    const entries = await page.evaluate<{ name: string; startTime: number; transferSize: number }[]>(
      `[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
        .filter(({startTime}) => startTime <= performance.getEntriesByType('navigation')[0].loadEventStart)
        .map(({name, startTime, transferSize}) => ({name, startTime, transferSize}))`,
    );
    const bytes = entries.reduce((sum, { transferSize }) => sum + transferSize, 0);
    t.comment(`${bytes} bytes in ${entries.length} requests`);
    t.ok(bytes <= MAX_BYTES, `${bytes} bytes`);
    const needed = entries.filter(({ name }) => !/icon|manifest/.test(name));
    t.ok(needed.length <= MAX_REQUESTS, needed.map(({ name }) => name).join(' '));
  });
}
