/**
 * Pictures of every page, to be looked at and compared.
 *
 *     node test/pictures/take.ts <folder> [<main.cjs of another copy of the service>]
 *     node test/pictures/take.ts --sheets <before> <after> <out>
 *
 * The first takes `<page>.<light|dark|phone>.png`, the second puts those of two folders beside each other.
 */
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BrowserContextOptions, Page } from 'playwright-core';
import t from 'tap';
import { isRouted, PHONE, startBrowser } from '../support/browser.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { freePort } from '../support/free-port.ts';
import { HOSTED } from '../support/licenses.ts';
import { OAuthClient } from '../support/oauth-client.ts';
import { signInEnvironment, TestProvider } from '../support/oidc-provider.ts';
import { tempDir } from '../support/service.ts';
import { ServiceProcess } from '../support/service-process.ts';
import { fillOtterLog, landscapes } from './samples.ts';
import { makeSheets } from './sheets.ts';

const LOOKS: Readonly<Record<string, BrowserContextOptions>> = {
  light: { viewport: { width: 1000, height: 800 } },
  dark: { viewport: { width: 1000, height: 800 }, colorScheme: 'dark' },
  phone: PHONE,
};
const MAX_HEIGHT = 1600;
/** The longest wait for one element, ms. */
const PATIENCE_MS = 4000;

interface Shot {
  readonly name: string;
  readonly url: string;
  /** What somebody does on the page before the picture is taken. */
  readonly act?: (page: Page, look: string) => unknown;
  /** Of the picture, px of the page. */
  readonly maxHeight?: number;
}

// The services and the browser end with the test of no tests.
t.setTimeout(0);
const [first = '', ...others] = process.argv.slice(2);
const browser = await startBrowser(t);
if (first === '--sheets') await makeSheets(browser, ...(others as [string, string, string]));
else await takeAll(first, others[0]);
t.pass('pictures are taken');
t.end();

async function takeAll(folder: string, main?: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const pictures = await landscapes(browser, {
    title: { hue: 205, width: 800, height: 800 },
    dam: { hue: 190, width: 1200, height: 600 },
    night: { hue: 250, width: 1200, height: 800 },
    home: { hue: 215, width: 1600, height: 900 },
    new: { hue: 160, width: 1000, height: 700 },
  });
  const dir = await tempDir(t);
  // The service gives up being root.
  await chmod(dir, 0o755);
  const clock = join(dir, 'clock');
  const legal = join(dir, 'legal.md');
  await writeFile(clock, '0');
  await writeFile(
    legal,
    '# Imprint\n\nOtter Society, River Lane 3, Lutraville\n\n- mail: otters@example.org\n- phone: +1 555 0100\n\n## Responsible\n\nAnn Otter, who answers within a week.\n',
  );
  const start = async (env: Record<string, string>) => {
    const flags = [`--import=${new URL('../support/set-clock.mjs', import.meta.url).pathname}`];
    const service = await ServiceProcess.start(t, {
      flags,
      env: { CLOCK_FILE: clock, ...env },
      ...(main !== undefined && { main }),
    });
    return service.url;
  };
  const texts = { SERVICE_IMPRINT_FILE: legal, SERVICE_PRIVACY_FILE: legal };
  const url = await start({ ...texts, SERVICE_REPORT_URL: 'https://example.org/report?note={note_id}' });
  const withPassword = await start({ SERVICE_PASSWORD: 'let us in' });
  const licensed = await start({ ...HOSTED, SERVICE_LICENSE_URL: 'https://example.org/buy' });
  const signInUrl = `http://localhost:${await freePort()}`;
  const provider = await TestProvider.start(t, [signInUrl], { ann: { name: 'Ann' } });
  const signIn = { ...signInEnvironment(provider, signInUrl), SERVICE_OIDC_LABEL: 'Acme' };
  await start({ ...signIn, SERVICE_OIDC_ALLOW: '@example.org', SERVICE_PASSWORD: 'let us in' });

  const feed = new FeedClient(url, 'otter-log');
  const { everything, home } = await fillOtterLog(feed, pictures, clock);
  const weir = new FeedClient(url, 'weir');
  const { json: edited } = await weir.post('The weir is *closed* on Monday.', { 'x-note-tags': 'dam' });
  await new FeedClient(url, 'locked-feed').post('secret', { 'x-feed-password': 'open sesame' });
  await new FeedClient(licensed, 'hosted-feed').post('A note without a license');
  const readPage = `${url}/r/${readIdIn(everything.read_url)}`;
  const assistant = await OAuthClient.register(withPassword, 'http://127.0.0.1/callback');
  const logIn = async (page: Page) => {
    await page.fill('input[name=password]', 'let us in');
    await page.press('input[name=password]', 'Enter');
    await page.waitForURL((address) => address.pathname !== '/login');
  };

  const write = async (page: Page) => {
    await page.locator('textarea:visible').first().click();
    await page.keyboard.type('The *new* dam holds.\n\n> It was time.\n\n- next: the weir\n');
    await fillShown(page, '[name=tags]', 'dam, river');
    const file = { name: 'river.jpg', mimeType: 'image/jpeg', buffer: pictures.new };
    await page.locator('form input[type=file][accept*="image/"]').first().setInputFiles(file);
    await page.waitForSelector('form img[src^="blob:"]', { timeout: PATIENCE_MS });
    // The preview.
    await page.waitForTimeout(700);
  };
  const shots: Shot[] = [
    { name: 'start', url: `${url}/` },
    { name: 'feed-new', url: `${url}/brand-new-feed` },
    { name: 'feed-writing', url: `${url}/otter-log`, act: write },
    { name: 'feed', url: `${url}/otter-log` },
    {
      name: 'feed-second-page',
      url: `${url}/otter-log`,
      act: (page) => page.click('a[rel=next]', { timeout: PATIENCE_MS }),
    },
    { name: 'feed-tag', url: `${url}/otter-log?tag=photo` },
    { name: 'search', url: `${readPage}?q=otter*` },
    {
      name: 'search-filters',
      url: `${url}/otter-log?q=river&tag=river`,
      act: async (page) => {
        await page.click('.find summary');
        await page.waitForSelector('.tags li >> nth=3', { timeout: PATIENCE_MS });
      },
    },
    { name: 'search-nothing', url: `${url}/otter-log?q=beaver` },
    { name: 'search-refused', url: `${url}/otter-log?q=%3F` },
    { name: 'note', url: everything.url, maxHeight: 2600 },
    { name: 'note-picture', url: home.url },
    { name: 'note-editing', url: edited.url, act: edit },
    {
      name: 'note-conflict',
      url: edited.url,
      act: async (page, look) => {
        await edit(page);
        await page.locator('textarea:visible').first().fill('The weir is closed on Monday and Tuesday.');
        await weir.put(`/notes/${edited.id}`, `The weir is *open* on Monday (${look}).`);
        await page.keyboard.press('Control+Enter');
        await page.waitForSelector('text=changed meanwhile', { timeout: PATIENCE_MS });
      },
    },
    { name: 'settings', url: `${url}/otter-log/settings`, maxHeight: 4000 },
    {
      name: 'settings-refused',
      url: `${url}/otter-log/settings`,
      act: async (page) => {
        await page.locator('[name=keep_days]').fill('soon');
        await page.locator('[name=keep_days]').press('Enter');
        await page.waitForSelector('[role=alert]', { timeout: PATIENCE_MS });
      },
      maxHeight: 4000,
    },
    { name: 'settings-license', url: `${licensed}/hosted-feed/settings`, maxHeight: 4000 },
    { name: 'locked-feed', url: `${url}/locked-feed` },
    {
      name: 'locked-feed-refused',
      url: `${url}/locked-feed`,
      act: async (page) => {
        await page.fill('input[name=password]', 'wrong');
        await page.press('input[name=password]', 'Enter');
        await page.waitForSelector('[role=alert], .error', { timeout: PATIENCE_MS });
      },
    },
    { name: 'login', url: `${withPassword}/otter-log` },
    { name: 'login-refused', url: `${withPassword}/login?error=auth` },
    { name: 'login-sign-in', url: `${signInUrl}/otter-log` },
    {
      name: 'logout',
      url: `${withPassword}/login`,
      act: async (page) => {
        await logIn(page);
        await page.goto(`${withPassword}/logout`);
      },
    },
    { name: 'consent', url: `${withPassword}/oauth/authorize?${assistant.request()}` },
    {
      name: 'consent-logged-in',
      url: `${withPassword}/login`,
      act: async (page) => {
        await logIn(page);
        await page.goto(`${withPassword}/oauth/authorize?${assistant.request()}`);
      },
    },
    { name: 'license', url: `${licensed}/license` },
    { name: 'legal', url: `${url}/imprint` },
    { name: 'public-feed', url: readPage },
    { name: 'public-note', url: `${readPage}/${everything.id}`, maxHeight: 2600 },
    { name: 'public-feed-empty', url: `${url}/r/a-read-id-of-nobody` },
    { name: 'error-404', url: `${url}/otter-log/no-such-note` },
    {
      name: 'uploading',
      url: `${url}/otter-log`,
      act: async (page) => {
        await write(page);
        await page.route('**/otter-log', (route) =>
          route.request().method() === 'POST' ? undefined : route.continue(),
        );
        await isRouted(page);
        await page.locator('textarea:visible').first().press('Control+Enter');
        await page.waitForSelector('progress:visible', { timeout: PATIENCE_MS });
      },
    },
    {
      name: 'print',
      url: `${readPage}/${everything.id}`,
      act: (page) => page.emulateMedia({ media: 'print' }),
      maxHeight: 2600,
    },
  ];

  for (const [look, options] of Object.entries(LOOKS))
    for (const shot of shots) {
      if (shot.name === 'print' && look !== 'light') continue;
      const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
      const page = await context.newPage();
      page.setDefaultTimeout(PATIENCE_MS);
      try {
        await page.goto(shot.url);
        await shot.act?.(page, look);
      } catch (error) {
        console.error(`${shot.name}, ${look}: ${String(error).split('\n')[0]}`);
      }
      await takePicture(page, join(folder, `${shot.name}.${look}.png`), shot.maxHeight ?? MAX_HEIGHT);
      await context.close();
    }
}

/** Opens the editor of a note, which may be behind a menu. */
async function edit(page: Page): Promise<void> {
  const button = page.locator('[data-action=edit]').first();
  if (!(await button.isVisible()))
    await page.locator('article summary, article [aria-haspopup]').first().click();
  await button.click();
}

/** Fills a field, which may be shown only after a button that names it was pressed. */
async function fillShown(page: Page, selector: string, value: string): Promise<void> {
  const field = page.locator(selector).first();
  if (!(await field.isVisible())) await page.locator('form button:has-text("tags")').first().click();
  await field.fill(value);
}

async function takePicture(page: Page, path: string, maxHeight: number): Promise<void> {
  await page.waitForLoadState();
  // Text, because tests are checked without the types of browsers.
  await page.evaluate(`Promise.all([...document.images].map((image) => {
    image.loading = 'eager';
    return image.decode().catch(() => {});
  }))`);
  await page.waitForTimeout(150);
  const width = page.viewportSize()!.width;
  const height = await page.evaluate<number>('document.documentElement.scrollHeight');
  const clip = { x: 0, y: 0, width, height: Math.min(height, maxHeight) };
  await page.screenshot({ path, clip, fullPage: true, animations: 'disabled', caret: 'initial' });
}
