/** Reporting a note, as a reader in Chromium; with and without scripts. */
import t from 'tap';
import { isUsable, overflow, PHONE, startBrowser, visit } from '../support/browser.ts';
import { readIdIn } from '../support/feed-client.ts';
import { operate, WITH_OPERATOR } from '../support/operator.ts';
import { post, start } from '../support/service.ts';

t.setTimeout(600_000);

const browser = await startBrowser(t);
const { url } = await start(t, { ...WITH_OPERATOR, SERVICE_REPORT_URL: 'builtin' });

t.test('what a reader reports stays in the form until the service can be reached', async (t) => {
  const { json } = await post(`${url}/stonechat`, 'Buy my watches');
  const { page } = await visit(t, browser);
  await page.goto(`${url}/report?target=/r/${readIdIn(json.read_url)}/${json.id}`);
  await page.fill('#reason', 'They are fakes.');
  await page.context().setOffline(true);
  await page.click('text=Send the report');
  await page.waitForSelector('.toast:has-text("cannot be reached")');
  t.equal(await page.inputValue('#reason'), 'They are fakes.');
  await page.context().setOffline(false);
  await page.click('text=Send the report');
  await page.waitForSelector('h1 >> text=Thank you');
});

for (const [who, options] of [
  ['with scripts', {}],
  ['on a phone in the dark', { colorScheme: 'dark', ...PHONE }],
  ['without scripts', { javaScriptEnabled: false }],
] as const)
  t.test(`a reader reports a note, ${who}`, async (t) => {
    const { json } = await post(`${url}/bluethroat`, 'Buy my watches');
    const { page, ...faults } = await visit(t, browser, options);
    // What looks at the rest is a script.
    const isGood = async (name: string) =>
      'javaScriptEnabled' in options ? t.equal(await overflow(page), 0, name) : isUsable(t, page, name);
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
    await isGood('form');

    await page.fill('#target', `${url}/bluethroat`);
    await page.fill('#reason', 'They are fakes.');
    await page.click('text=Send the report');
    await page.waitForSelector('#target-error');
    t.equal(await page.inputValue('#reason'), 'They are fakes.');
    await isGood('refused');

    await page.fill('#target', noteUrl);
    await page.fill('#contact', 'reader@example.org');
    await page.click('text=Send the report');
    await page.waitForSelector('h1 >> text=Thank you');
    await isGood('sent');
    const { reports } = (await operate(url, 'GET', '/reports')).json;
    t.match(reports.at(-1), {
      target: noteUrl,
      reason: 'They are fakes.',
      contact: 'reader@example.org',
    });
    t.same(faults, { violations: [], errors: [], dialogs: [] });
  });
