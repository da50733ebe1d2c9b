/** The license of a feed, as a user of Chromium attaches it, sees it, lets it end and detaches it; with and without scripts. */
import t from 'tap';
import { isUsable, PHONE, startBrowser, visit } from '../support/browser.ts';
import { FeedClient } from '../support/feed-client.ts';
import { HOSTED, licenseFor } from '../support/licenses.ts';
import { picture } from '../support/pictures.ts';
import { start } from '../support/service.ts';

t.setTimeout(600_000);

const DAY = 24 * 60 * 60 * 1000;
/** The clock of the service, which runs in this process. */
const realNow = Date.now;
let ahead = 0;
Date.now = () => realNow() + ahead;

const browser = await startBrowser(t);
const { url } = await start(t, { ...HOSTED, SERVICE_LICENSE_URL: 'https://shop.example/' });

for (const javaScriptEnabled of [true, false])
  t.test(`attach, see, let end, detach, ${javaScriptEnabled ? 'with' : 'without'} scripts`, async (t) => {
    ahead = 0;
    const { page, ...faults } = await visit(t, browser, { javaScriptEnabled, ...PHONE });
    const feed = new FeedClient(url, `knot-${javaScriptEnabled}`);
    const settings = `${url}/${feed.name}/settings`;
    const feedPage = `${url}/${feed.name}`;
    const good = async (name: string) => javaScriptEnabled && isUsable(t, page, name);
    const until = new Date(realNow() + 20 * DAY).toISOString().slice(0, 10);
    const license = licenseFor({ until });
    await feed.post('first');

    await page.goto(feedPage);
    await page.waitForSelector('text=1 of 1,000 notes');
    if (javaScriptEnabled) {
      await page.click('#note-text');
      await page.waitForSelector('#compose >> text=Pictures need a license');
      await good('feed, free');
      await page.click('text=What a license is for');
    } else await page.click('text=Free tier');
    await page.waitForSelector('h1:text("Licenses")');
    await good('license page');

    await page.goto(settings);
    await page.fill('#license-text', license.slice(0, -1));
    await page.click('text=Attach');
    t.match(await page.textContent('#license-text-error'), 'cut off');
    t.equal(await page.inputValue('#license-text'), '', 'it is not shown again');
    await good('settings, refused');
    await page.fill('#license-text', license);
    await page.click('text=Attach');
    await page.waitForSelector('.done:text("The license is saved.")');
    await page.waitForSelector(`text=This feed has a license until the end of ${until}`);
    await good('settings, licensed');
    t.equal((await feed.post(picture('png'), { 'content-type': 'image/png' })).status, 201);
    await page.goto(feedPage);
    t.equal(await page.locator('.quota').count(), 0);
    t.equal(await page.locator('#compose [data-tool=picture]').count(), 1);

    ahead = 10 * DAY;
    await page.reload();
    await page.waitForSelector(`text=The license of this feed ends on ${until}`);
    await good('feed, soon over');

    ahead = 21 * DAY;
    await page.reload();
    await page.waitForSelector(`text=The license of this feed ended on ${until}`);
    t.equal(await page.locator('#compose [data-tool=picture]').count(), 0);
    await page.goto(settings);
    await page.waitForSelector(`text=The license of this feed ended on ${until}`);
    await good('settings, over');
    await page.click('text=Detach the license');
    await page.waitForSelector('.done:text("The license is saved.")');
    t.equal(await page.locator('text=Detach the license').count(), 0);
    t.equal(await page.locator('text=ended on').count(), 0);
    t.same(faults, { violations: [], errors: [], dialogs: [] });
  });
