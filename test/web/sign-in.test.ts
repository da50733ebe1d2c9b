/** Signing in as a user of Chromium: there and back, a note with a name, and the name hidden. */
import t from 'tap';
import { isUsable, PHONE, startBrowser, visit } from '../support/browser.ts';
import { freePort } from '../support/free-port.ts';
import { signInEnvironment, TestProvider } from '../support/oidc-provider.ts';
import { ask, start } from '../support/service.ts';

t.setTimeout(600_000);

const browser = await startBrowser(t);
// By its name, so that the provider is another site to the browser.
const url = `http://localhost:${await freePort()}`;
const provider = await TestProvider.start(t, [url], {
  anna: { name: 'Anna Þ.', email: 'anna@notes.example', email_verified: true },
  eve: { name: 'Eve', email: 'eve@elsewhere.example', email_verified: true },
});
const other = await TestProvider.start(t, [url], {
  eve: { name: 'Eve', email: 'eve@elsewhere.example', email_verified: true },
});
const named = Object.entries(signInEnvironment(other, url)).map(([key, value]) => [
  key.replace('OIDC', 'OIDC_OTHER'),
  value,
]);
await start(t, {
  ...signInEnvironment(provider, url),
  SERVICE_OIDC_ALLOW: '@notes.example',
  SERVICE_OIDC_LABEL: 'Acme',
  ...Object.fromEntries(named),
  SERVICE_OIDC_OTHER_ALLOW: '*',
  SERVICE_OIDC_OTHER_LABEL: 'Elsewhere',
  SERVICE_PASSWORD: 'instance password',
});
const { page, ...faults } = await visit(t, browser, PHONE);

/** From the login page to a provider, and back. */
async function signInAs(name: string, at = 'Acme'): Promise<void> {
  await page.click(`text=Sign in with ${at}`);
  await page.waitForURL(`${(at === 'Acme' ? provider : other).url}/**`);
  await page.fill('[name=name]', name);
  await page.click('text=Go on');
  await page.waitForURL(`${url}/**`);
}

t.test('who is not allowed is told so, on the page where they can try again', async (t) => {
  await page.goto(`${url}/puffin`);
  await isUsable(t, page, 'login');
  await signInAs('eve');
  t.match(await page.textContent('[role=alert]'), 'Your account at Acme may not use this instance');
  await isUsable(t, page, 'not allowed');
  await signInAs('eve', 'Elsewhere');
  t.equal(page.url(), `${url}/puffin`, 'another provider has another list');
  await page.context().clearCookies();
});

t.test('somebody signs in, posts from the page, and hides the name', async (t) => {
  await page.goto(`${url}/puffin`);
  await signInAs('anna');
  t.equal(page.url(), `${url}/puffin`);
  await page.fill('#note-text', 'Seen at the cliff');
  await page.keyboard.press('Control+Enter');
  const article = page.locator('article', { hasText: 'Seen at the cliff' });
  await article.waitFor();
  t.match(await article.textContent(), 'by Anna Þ.');
  await page.goto(`${url}/puffin/settings`);
  await isUsable(t, page, 'settings');
  const readLink = (await page.textContent('#read-link'))!.trim();
  t.match((await ask(readLink)).text, 'Anna');
  await page.uncheck('text=Show who posted');
  await page.click('text=Save changes');
  await page.waitForSelector('#toasts:has-text("Profile is saved")');
  t.notOk(await page.isChecked('text=Show who posted'));
  await page.goto(readLink);
  t.match(await page.textContent('article'), 'Seen at the cliff');
  t.notMatch(await page.content(), 'Anna');
  await page.goto(`${url}/puffin/settings`);
  await page.check('text=Show who posted');
  await page.click('text=Save changes');
  await page.waitForSelector('#toasts:has-text("Profile is saved")');
  t.match((await ask(readLink)).text, 'by <bdi>Anna');
});

t.test('a log out ends it here', async (t) => {
  await page.goto(`${url}/logout`);
  await page.click('button.primary');
  await page.waitForURL(`${url}/login?**`);
  await page.goto(`${url}/puffin`);
  t.match(page.url(), `${url}/login?next=`);
  t.same(faults, { violations: [], errors: [], dialogs: [] });
});
