/**
 * Pages of another site in a real browser, and an instance without https at a name: to it the browser sends no
 * `Sec-Fetch-Site`.
 */
import t from 'tap';
import { headers } from '../../src/http/headers.ts';
import { startBrowser, visit } from '../support/browser.ts';
import { listen } from '../support/http-server.ts';
import { contents } from '../support/refused.ts';
import { start } from '../support/service.ts';

const ENCODINGS = ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'];
/** Where the pages of the other site are: in a sandbox their origin is `null`. */
const PAGES: Record<string, Record<string, string>> = {
  '/': {},
  '/sandboxed': { 'Content-Security-Policy': 'sandbox allow-scripts allow-forms' },
};

const browser = await startBrowser(t, ['--host-resolver-rules=MAP *.example 127.0.0.1']);
const { port, dir } = await start(t);
const notes = `http://notes.example:${port}`;
const forms = ENCODINGS.map(
  (type) =>
    `<form method="post" enctype="${type}" action="${notes}/vole"><input name="text" value="x"></form>`,
);
const pages = Object.entries(PAGES).map(([path, fields]) => ({
  ...{ id: path, method: 'GET' as const, path },
  handle: () => ({
    status: 200,
    headers: headers({ 'Content-Type': 'text/html', ...fields }),
    body: Buffer.from(forms.join('')),
  }),
}));
const evil = `http://evil.example:${(await listen(t, pages)).port}`;

for (const path of Object.keys(PAGES)) {
  t.test(`the page of another site at ${path} stores nothing`, async (t) => {
    const before = contents(dir);
    const statusOf = async (script: string) => {
      const { page } = await visit(t, browser);
      await page.goto(evil + path);
      const answer = page.waitForResponse(`${notes}/vole`);
      await page.evaluate(script);
      const response = await answer;
      t.notOk((await response.request().allHeaders())['sec-fetch-site'], 'no Sec-Fetch-Site');
      return response.status();
    };
    for (const [place, type] of ENCODINGS.entries())
      t.equal(await statusOf(`document.forms[${place}].submit()`), 403, `a form of ${type}`);
    for (const type of [...ENCODINGS.slice(0, 2), ''])
      t.equal(
        await statusOf(
          `fetch('${notes}/vole', {method: 'POST', mode: 'no-cors', body: new Blob(['x'], {type: '${type}'})}), 0`,
        ),
        403,
        `a script that sends ${type}`,
      );
    t.same(contents(dir), before);
  });
}

t.test("the instance's own page posts and deletes", async (t) => {
  const { page } = await visit(t, browser);
  await page.goto(`${notes}/vole`);
  await page.fill('#note-text', 'A **note**');
  await page.click('#compose button.primary');
  await page.waitForSelector('article strong');
  await page.goto(`${notes}/vole/settings`);
  await page.fill('form[action$="/delete"] [name=name]', 'vole');
  await page.click('form[action$="/delete"] button');
  await page.waitForURL(`${notes}/`);
});

t.test('a page of a locked instance reads by the session', async (t) => {
  const locked = await start(t, { SERVICE_PASSWORD: 'let us in' });
  const { page } = await visit(t, browser);
  await page.goto(`http://notes.example:${locked.port}/login?next=/vole`);
  await page.fill('[name=password]', 'let us in');
  await page.click('main button');
  await page.waitForSelector('#compose');
  const read = "fetch('/api/v1/feeds/vole/notes').then(({ status }) => status)";
  t.equal(await page.evaluate(read), 200);
});
