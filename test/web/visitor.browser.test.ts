/** Who is logged in, on every page for writers, and the way out. */
import type { Page } from 'playwright-core';
import t from 'tap';
import { boxIsReady, isUsable, overflow, PHONE, startBrowser, visit } from '../support/browser.ts';
import { BLOCK_STORAGE } from '../support/browser-storage.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { HOSTED } from '../support/licenses.ts';
import { OAuthClient } from '../support/oauth-client.ts';
import { signInEnvironment, TestProvider } from '../support/oidc-provider.ts';
import { ask, post, start } from '../support/service.ts';

t.setTimeout(600_000);

const PASSWORD = 'instance password';
const BEARER = { authorization: `Bearer ${PASSWORD}` };

const browser = await startBrowser(t);
// By its name, so that the provider is another site to the browser.
const url = `http://localhost:${await freePort()}`;
const provider = await TestProvider.start(t, [url], {
  anna: { name: 'Anna Þ.', email: 'anna@notes.example', email_verified: true },
  ben: { name: 'Ben <b>', email: 'ben@notes.example', email_verified: true },
});
await start(t, {
  ...signInEnvironment(provider, url),
  ...HOSTED,
  SERVICE_OIDC_ALLOW: '@notes.example',
  SERVICE_OIDC_LABEL: 'Acme',
  SERVICE_PASSWORD: PASSWORD,
});
const { id, read_url } = (await post(`${url}/puffin`, 'At the cliff', BEARER)).json;
await post(`${url}/locked-puffin`, 'In the burrow', { ...BEARER, 'x-feed-password': 'open up' });
const readPage = read_url.replace('/feed.xml', '');
const client = await OAuthClient.register(url, 'http://127.0.0.1/callback');

/** A page of each kind on which somebody is logged in. */
const PAGES = {
  start: '/',
  feed: '/puffin',
  'feed to be made': '/razorbill',
  note: `/puffin/${id}`,
  settings: '/puffin/settings',
  'no settings yet': '/razorbill/settings',
  locked: '/locked-puffin',
  'not there': '/puffin/nothing',
  license: '/license',
  consent: `/oauth/authorize?${client.request({})}`,
};

async function signIn(page: Page, name: string): Promise<void> {
  await page.goto(`${url}/login`);
  await page.click('text=Sign in with Acme');
  await page.waitForURL(`${provider.url}/**`);
  await page.fill('[name=name]', name);
  await page.click('text=Go on');
  await page.waitForURL(`${url}/`);
}

async function givePassword(page: Page): Promise<void> {
  await page.goto(`${url}/login`);
  await page.fill('#password', PASSWORD);
  await page.keyboard.press('Enter');
  await page.waitForURL(`${url}/`);
}

/** What the header says of the visitor; undefined for nothing. */
async function shown(page: Page): Promise<string | undefined> {
  const visitor = page.locator('.top .visitor');
  return (await visitor.count()) === 0
    ? undefined
    : (await visitor.innerText()).replaceAll(/\s+/g, ' ').trim();
}

t.test('each page says who has signed in, and logs out', async (t) => {
  const { page, ...faults } = await visit(t, browser, PHONE);
  for (const [kind, path] of Object.entries(PAGES)) {
    await signIn(page, 'anna');
    await page.goto(url + path);
    t.equal(await shown(page), 'Anna Þ. Log out', kind);
    t.equal(await overflow(page), 0, kind);
    await page.click('text=Log out');
    await page.waitForURL(`${url}/login?**`);
    t.equal(await shown(page), undefined);
    await page.goto(`${url}/puffin`);
    t.match(page.url(), `${url}/login?`, `logged out on ${kind}`);
    await page.context().clearCookies();
  }
  t.same(faults, { violations: [], errors: [], dialogs: [] });
});

t.test('a page that is cached shows nobody else', async (t) => {
  const people = {
    'Anna Þ. Log out': (page: Page) => signIn(page, 'anna'),
    'Ben <b> Log out': (page: Page) => signIn(page, 'ben'),
    'Log out': givePassword,
  };
  for (const [said, come] of Object.entries(people)) {
    const { page } = await visit(t, browser);
    await come(page);
    for (const path of Object.values(PAGES)) {
      await page.goto(url + path);
      t.equal(await shown(page), said, path);
    }
  }
});

t.test('public pages say nothing of who reads', async (t) => {
  const { page } = await visit(t, browser);
  const { text } = await ask(readPage);
  await signIn(page, 'anna');
  for (const address of [readPage, `${readPage}/${id}`, `${readPage}/nothing`]) {
    await page.goto(address);
    t.equal(await shown(page), undefined, address);
    t.notMatch(await page.content(), /Anna|[Ll]og out/);
  }
  t.equal((await ask(readPage)).text, text);
});

t.test('an open instance has nobody to log out', async (t) => {
  const open = await start(t);
  await post(`${open.url}/puffin`, 'Open');
  for (const path of ['/', '/puffin', '/puffin/settings', '/puffin/nothing'])
    t.notMatch((await ask(open.url + path, { headers: { accept: 'text/html' } })).text, /[Ll]og out/);
});

t.test('logging out forgets what the browser keeps, and asks first where a note is not posted', async (t) => {
  const { page, ...faults } = await visit(t, browser);
  const kept = () => page.evaluate<string[]>('Object.keys(localStorage)');
  await givePassword(page);
  await page.goto(`${url}/puffin`);
  await page.goto(url);
  await page.locator('#feeds a').waitFor();
  t.same(await kept(), ['feeds']);
  await page.click('text=Log out');
  await page.waitForURL(`${url}/login?**`);
  t.same(await kept(), []);

  await givePassword(page);
  await page.goto(`${url}/puffin`);
  await boxIsReady(page);
  await page.fill('#note-text', 'Not posted yet');
  await page.locator('#note-text').blur();
  await page.goto(url);
  await page.click('.visitor >> text=Log out');
  await page.waitForURL(`${url}/logout`);
  t.match(await page.textContent('main'), 'notes that you have not posted');
  await page.click('text=Stay');
  await page.goto(`${url}/puffin`);
  t.ok(await eventually(async () => (await page.inputValue('#note-text')) === 'Not posted yet'));
  await page.click('.visitor >> text=Log out');
  await page.waitForURL(`${url}/logout`);
  await page.click('button.primary');
  await page.waitForURL(`${url}/login?**`);
  await givePassword(page);
  await page.goto(`${url}/puffin`);
  t.equal(await page.inputValue('#note-text'), '');

  // As the version before kept it.
  await page.evaluate(
    "localStorage.setItem('draft-of-another-feed', JSON.stringify({text: 'Kept', tags: ''}))",
  );
  await page.click('.visitor >> text=Log out');
  await page.waitForURL(`${url}/logout`);
  await page.click('button.primary');
  await page.waitForURL(`${url}/login?**`);
  t.same(await kept(), []);
  t.same(faults, { violations: [], errors: [], dialogs: [] });
});

t.test(
  'logging out on the page of a feed forgets it, too, and first carries out its deletions',
  async (t) => {
    const { page } = await visit(t, browser);
    const { url: note } = (await post(`${url}/puffin`, 'To be deleted', BEARER)).json;
    await givePassword(page);
    await page.goto(`${url}/puffin`);
    // As a deletion on the page of a note leaves it, if the page of the feed cannot be loaded.
    await page.evaluate("sessionStorage.setItem('deleting', JSON.stringify({id: 'x', etag: ''}))");
    // As a deletion of a feed leaves it, if that was refused.
    await page.evaluate("sessionStorage.setItem('leaving', 'draft-x/puffin')");
    await page.click('article:has-text("To be deleted") summary');
    await page.click('article:has-text("To be deleted") [data-action=delete]');
    await page.click('.visitor >> text=Log out');
    await page.waitForURL(`${url}/login?**`);
    t.same(await page.evaluate('Object.keys(localStorage)'), []);
    t.same(await page.evaluate("Object.keys(sessionStorage).filter((key) => key !== 'window')"), []);
    t.ok(await eventually(async () => (await ask(note, { headers: BEARER })).status === 404));
  },
);

t.test('a browser that blocks its databases logs out, too', async (t) => {
  const { page } = await visit(t, browser, { serviceWorkers: 'block' });
  await page.addInitScript(BLOCK_STORAGE);
  for (const [path, button] of [
    ['/', '.visitor >> text=Log out'],
    ['/logout', 'main form button'],
  ] as const) {
    await givePassword(page);
    await page.goto(url + path);
    await page.click(button);
    await page.waitForURL(`${url}/login?**`);
  }
});

t.test('without JavaScript one logs in and out, too', async (t) => {
  const { page } = await visit(t, browser, { javaScriptEnabled: false });
  await givePassword(page);
  await page.goto(`${url}/puffin`);
  await page.click('text=Log out');
  await page.waitForURL(`${url}/login?**`);
  await page.goto(`${url}/puffin`);
  t.match(page.url(), `${url}/login?`);
});

for (const [kind, options] of Object.entries({
  light: {},
  dark: { colorScheme: 'dark' },
  phone: PHONE,
} as const)) {
  t.test(`everybody can use these pages: ${kind}`, async (t) => {
    const { page } = await visit(t, browser, options);
    for (const path of [
      '/login',
      '/login?error=auth',
      '/login?error=not_allowed',
      '/logout',
      PAGES.consent,
    ]) {
      await page.goto(url + path);
      await isUsable(t, page, path);
    }
    await signIn(page, 'anna');
    for (const name of ['start', 'locked', 'not there', 'license', 'consent', 'no settings yet'] as const) {
      await page.goto(url + PAGES[name]);
      await isUsable(t, page, name);
    }
  });
}
