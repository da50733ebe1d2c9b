/** The page that asks whether an assistant may use the instance, in Chromium. */
import { createServer } from 'node:http';
import t from 'tap';
import { startBrowser } from '../support/browser.ts';
import { OAuthClient, opensTools } from '../support/oauth-client.ts';
import { start } from '../support/service.ts';

const PASSWORD = 'let us in';

const browser = await startBrowser(t);

t.test('somebody lets an assistant in, or does not', async (t) => {
  const { url } = await start(t, { SERVICE_PASSWORD: PASSWORD });
  const assistant = createServer((_, response) => response.end('back again'));
  await new Promise<void>((resolve) => assistant.listen(0, '127.0.0.1', resolve));
  t.teardown(() => assistant.close());
  const { port } = assistant.address() as { port: number };

  const client = await OAuthClient.register(url, 'http://127.0.0.1/callback');
  const parameters = client.request({ redirect_uri: `http://127.0.0.1:${port}/callback` });
  const page = await browser.newPage();
  const open = () => page.goto(`${url}/oauth/authorize?${parameters}`);

  await open();
  t.match(await page.textContent('main'), /An <assistant> wants to use Note Feed/);
  await page.fill('input[name=password]', 'wrong');
  await page.press('input[name=password]', 'Enter');
  t.match(await page.textContent('[role=alert]'), /not the password/);
  await page.fill('input[name=password]', PASSWORD);
  await page.press('input[name=password]', 'Enter');
  await page.waitForURL(/callback/);
  const back = new URL(page.url()).searchParams;
  t.match(Object.fromEntries(back), { code: String, state: 'a state', iss: url });
  const redirect_uri = `http://127.0.0.1:${port}/callback`;
  const { json } = await client.exchange(back.get('code')!, { redirect_uri });
  t.equal(await opensTools(url, json.access_token), 200);

  await open();
  await page.click('text=Deny');
  await page.waitForURL(/callback/);
  t.equal(new URL(page.url()).searchParams.get('error'), 'access_denied');

  // A page of another site cannot send the form, though it knows all that is in it.
  const fields = [...parameters, ['password', PASSWORD]]
    .map(([name, value]) => `<input name="${name}" value="${value}">`)
    .join('');
  await page.goto(`http://localhost:${port}/`);
  await page.setContent(
    `<form method="post" action="${url}/api/oauth/authorize">${fields}<button>x</button></form>`,
  );
  await Promise.all([page.waitForURL(/authorize/), page.click('button')]);
  t.match(await page.textContent('body'), /only taken from the pages of this instance/);

  await page.goto(`http://localhost:${port}/`);
  await page.setContent(`<iframe src="${url}/oauth/authorize?${parameters}"></iframe>`);
  const frame = await (await page.waitForSelector('iframe')).contentFrame();
  await frame!.waitForLoadState();
  t.notMatch(await frame!.content(), /Allow access/);
});
