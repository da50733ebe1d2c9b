/** Reporting a note, as a reader in Chromium; with and without scripts. */
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { axeFindings, overflow, PHONE, startBrowser, visit } from '../support/browser.ts';
import { readIdIn } from '../support/feed-client.ts';
import { operate, WITH_OPERATOR } from '../support/operator.ts';
import { post, start } from '../support/service.ts';

t.setTimeout(600_000);

const browser = await startBrowser(t);
const { url } = await start(t, { ...WITH_OPERATOR, SERVICE_REPORT_URL: 'builtin' });

/** Everybody can use the page as it is now, on a screen of any size. What looks at it is a script. */
async function isGood(t: Test, page: Page, name: string, hasScripts: boolean): Promise<void> {
  if (hasScripts) t.same(await axeFindings(page), [], `axe, ${name}`);
  t.equal(await overflow(page), 0, `width, ${name}`);
}

for (const [who, options] of [
  ['with scripts', {}],
  ['on a phone in the dark', { colorScheme: 'dark', ...PHONE }],
  ['without scripts', { javaScriptEnabled: false }],
] as const)
  t.test(`a reader reports a note, ${who}`, async (t) => {
    const { json } = await post(`${url}/bluethroat`, 'Buy my watches');
    const { page, ...faults } = await visit(t, browser, options);
    const hasScripts = !('javaScriptEnabled' in options);
    const referers: (string | undefined)[] = [];
    page.on('request', (request) => {
      if (request.url().includes('/report')) referers.push(request.headers().referer);
    });
    const noteUrl = `${url}/r/${readIdIn(json.read_url)}/${json.id}`;
    await page.goto(noteUrl);
    await page.click('a.report');
    await page.waitForURL(`${url}/report?target=*`);
    t.same(referers[0], undefined);
    t.equal(await page.inputValue('#target'), new URL(noteUrl).pathname);
    t.equal(await page.evaluate('document.activeElement.id'), 'reason', 'one can type at once');
    await isGood(t, page, 'form', hasScripts);

    await page.fill('#target', `${url}/bluethroat`);
    await page.fill('#reason', 'They are fakes.');
    await page.click('text=Send the report');
    await page.waitForSelector('#target-error');
    t.equal(await page.inputValue('#reason'), 'They are fakes.');
    await isGood(t, page, 'refused', hasScripts);

    await page.fill('#target', noteUrl);
    await page.fill('#contact', 'reader@example.org');
    await page.click('text=Send the report');
    await page.waitForSelector('h1 >> text=Thank you');
    await isGood(t, page, 'sent', hasScripts);
    const { reports } = (await operate(url, 'GET', '/reports')).json;
    t.match(reports.at(-1), {
      target: noteUrl,
      reason: 'They are fakes.',
      contact: 'reader@example.org',
    });
    t.same(faults, { violations: [], errors: [], dialogs: [] });
  });
