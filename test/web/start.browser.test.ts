/** The start page in Chromium: the feeds that this browser knows, and what is asked of them. */
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { axeFindings, overflow, PHONE, settled, startBrowser, visit } from '../support/browser.ts';
import { FeedClient } from '../support/feed-client.ts';
import { field, png } from '../support/multipart.ts';
import { picture } from '../support/pictures.ts';
import { ask, post, start } from '../support/service.ts';

t.setTimeout(600_000);

const browser = await startBrowser(t);
const { url } = await start(t);

let feeds = 0;

/** A feed with a note, whose name nobody sees. */
async function newFeed(title = '', headers: Record<string, string> = {}): Promise<string> {
  feeds += 1;
  const name = `secret-grebe-${feeds}`;
  const owner = new FeedClient(url, name, headers);
  await owner.post();
  if (title !== '') await owner.set({ title, description: '' });
  return name;
}

/** The titles in the list, each with what is said of its feed. */
async function listed(page: Page): Promise<string[]> {
  const items = await page.locator('#feeds li').all();
  return Promise.all(
    items.map(async (item) => (await item.innerText()).trim().replaceAll(/\s*\n\s*/g, ' | ')),
  );
}

/** A visitor who has opened the pages of these feeds, in that order. */
async function visitorOf(t: Test, names: readonly string[], options = {}) {
  const visited = await visit(t, browser, options);
  for (const name of names) await visited.page.goto(`${url}/${name}`);
  return visited;
}

t.test('the start page lists the feeds that were opened, with what is new in them', async (t) => {
  const otters = await newFeed('Otters');
  const untitled = await newFeed();
  const { page, ...faults } = await visitorOf(t, [otters, untitled, 'nothing-is-here']);
  await post(`${url}/${otters}`, 'New one');
  await post(`${url}/${otters}`, 'New two');
  const asked: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  await page.goto(url);
  await page.locator('#feeds .unread').waitFor();
  t.same(await listed(page), ['Untitled feed', 'Otters | 2 new']);
  t.ok(await page.locator('.story').isHidden(), 'whoever has feeds knows what this is');
  t.notMatch(await page.locator('body').innerText(), /secret-grebe/);
  t.ok(asked.every((address) => address.startsWith(`${url}/`)));
  t.equal(asked.filter((address) => address.includes('/api/')).length, 2, 'one request for each feed');

  await page.click('text=Otters');
  await page.waitForURL(`${url}/${otters}`);
  await page.goto(url);
  await page.waitForLoadState('networkidle');
  t.same(
    await listed(page),
    ['Otters', 'Untitled feed'],
    'nothing is new any more, and it is the last one opened',
  );
  t.same(faults, { violations: [], errors: [], dialogs: [] });
});

t.test('pictures that the page of a feed does not show by themselves are not new', async (t) => {
  const [owls, rails] = [await newFeed('Owls'), await newFeed('Rails')];
  const { page } = await visitorOf(t, [owls, rails]);
  await post(`${url}/${owls}`, picture('png'), { 'content-type': 'image/png', 'x-note-unlisted': '1' });
  const pictures = Array.from({ length: 10 }, (_, n) => png(`${n}.png`, picture('png')));
  await new FeedClient(url, rails).postForm([field('text', 'Ten'), ...pictures]);
  await page.goto(url);
  await page.locator('#feeds .unread').waitFor();
  await page.waitForLoadState('networkidle');
  t.same(await listed(page), ['Rails | 1+ new', 'Owls']);
});

t.test('a note that came while the page was open is not new later', async (t) => {
  const name = await newFeed('Herons');
  const { page } = await visitorOf(t, [name]);
  await post(`${url}/${name}`, 'Seen at once');
  await page.locator('article', { hasText: 'Seen at once' }).waitFor();
  await page.goto(url);
  await page.waitForLoadState('networkidle');
  t.same(await listed(page), ['Herons']);
});

t.test('a feed is forgotten and taken back; all are forgotten', async (t) => {
  const { page, ...faults } = await visitorOf(t, [
    await newFeed('One'),
    await newFeed('Two'),
    await newFeed('Three'),
  ]);
  await page.goto(url);
  await page.click('[aria-label="Forget Two"]');
  t.same(await listed(page), ['Three', 'One']);
  t.equal(
    await page.locator(':focus').getAttribute('aria-label'),
    'Forget One',
    'the focus goes to the next one',
  );
  await page.click('text=Undo');
  t.same(await listed(page), ['Three', 'Two', 'One']);
  await page.reload();
  t.same(await listed(page), ['Three', 'Two', 'One']);
  await page.click('[aria-label="Forget Three"]');
  await page.reload();
  t.same(await listed(page), ['Two', 'One']);
  await page.click('text=Forget all');
  t.ok(await page.locator('#feeds').isHidden());
  t.ok(await page.locator('.story').isVisible());
  await page.reload();
  t.ok(await page.locator('#feeds').isHidden());
  t.equal(await page.evaluate('Object.keys(localStorage).join()'), '');
  t.same(faults, { violations: [], errors: [], dialogs: [] });
});

t.test('a feed that is forgotten does not come back when its page is left in another window', async (t) => {
  const { page } = await visitorOf(t, [await newFeed('Terns')]);
  const other = await page.context().newPage();
  await other.goto(url);
  await other.click('[aria-label="Forget Terns"]');
  await page.goto('about:blank');
  await other.reload();
  t.same(await listed(other), []);
});

t.test(
  'a locked feed says so; one without notes stays, and is forgotten if it is deleted here',
  async (t) => {
    const password = { 'x-feed-password': 'open up' };
    const locked = await newFeed('Locked away', password);
    const gone = await newFeed('Gone');
    const { page } = await visitorOf(t, [gone, locked]);
    await page.fill('#password', 'open up');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${url}/${locked}`);
    await page.locator('article').waitFor();
    await page.goto(`${url}/${locked}/settings`);
    await page.click('text=Lock in this browser');
    await page.locator('#password').waitFor();
    await page.goto(url);
    await page.locator('#feeds >> text=Gone').waitFor();
    t.same(await listed(page), ['Gone'], 'a feed that is locked here is forgotten');
    await page.goto(`${url}/${locked}`);
    await page.fill('#password', 'open up');
    await page.keyboard.press('Enter');
    await page.locator('article').waitFor();
    await page.context().clearCookies();
    for (const { id } of (await ask(`${url}/api/v1/feeds/${gone}/notes`)).json.notes)
      await ask(`${url}/api/v1/feeds/${gone}/notes/${id}`, { method: 'DELETE' });
    const asked = page.waitForResponse((answer) => answer.url().includes(`/${gone}/notes`));
    await page.goto(url);
    await page.locator('#feeds .state', { hasText: 'Locked' }).waitFor();
    await (await asked).finished();
    await settled(page);
    t.same(await listed(page), ['Locked away | Locked', 'Gone'], 'nobody else may know its name');
    await post(`${url}/${gone}`, 'Back');
    await page.goto(`${url}/${gone}/settings`);
    await page.fill('form[action$="/delete"] input', gone);
    await page.click('form[action$="/delete"] button');
    await page.locator('#feeds >> text=Locked away').waitFor();
    t.equal((await listed(page)).length, 1);
  },
);

t.test('a feed that was opened elsewhere stays when another one is taken back', async (t) => {
  const { page } = await visitorOf(t, [await newFeed('First')]);
  await page.goto(url);
  await page.click('[aria-label="Forget First"]');
  const other = await page.context().newPage();
  await other.goto(`${url}/${await newFeed('Second')}`);
  await other.goto(url);
  await other.locator('#feeds >> text=Second').waitFor();
  await page.click('text=Undo');
  await page.reload();
  await page.locator('#feeds >> text=First').waitFor();
  t.same(await listed(page), ['Second', 'First']);
});

t.test('of two feeds that were forgotten, one is taken back without the other', async (t) => {
  const { page } = await visitorOf(t, [await newFeed('One'), await newFeed('Two'), await newFeed('Three')]);
  await page.goto(url);
  for (const title of ['Two', 'Three']) await page.click(`[aria-label="Forget ${title}"]`);
  await page.click('.toast:has-text("Two") button');
  t.same(await listed(page), ['Two', 'One']);
  await page.click('.toast:has-text("Three") button');
  t.same((await listed(page)).toSorted(), ['One', 'Three', 'Two']);
  const shown = await listed(page);
  await page.reload();
  t.same(await listed(page), shown, 'as it is kept');
  await page.click('[aria-label="Forget One"]');
  await page.reload();
  t.notOk((await listed(page)).includes('One'));
});

t.test('whoever makes a feed is asked once to keep its address', async (t) => {
  const { page, ...faults } = await visit(t, browser);
  await page.goto(`${url}/secret-grebe-made`);
  t.ok(await page.locator('#keep').isHidden());
  await page.fill('#note-text', 'The first one');
  await page.click('#compose .primary');
  await page.locator('#keep').waitFor();
  t.equal((await page.textContent('#feed-address'))!.trim(), `${url}/secret-grebe-made`);
  t.same(await axeFindings(page), []);
  await page.click('#keep >> text=QR code');
  t.match(await page.locator('dialog.qr').innerText(), `${url}/secret-grebe-made`);
  await page.keyboard.press('Escape');
  await page.reload();
  await page.locator('#keep').waitFor();
  await page.click('#keep >> text=Done');
  t.ok(await page.locator('#keep').isHidden());
  await page.reload();
  await page.locator('article').waitFor();
  t.ok(await page.locator('#keep').isHidden());
  await page.goto(`${url}/secret-grebe-made/settings`);
  t.ok(await page.locator('#feed-address').isHidden());
  await page.click('text=Show the address');
  t.equal((await page.textContent('#feed-address'))!.trim(), `${url}/secret-grebe-made`);
  t.same(await axeFindings(page), []);
  const other = await visit(t, browser);
  await other.page.goto(`${url}/secret-grebe-made`);
  await other.page.locator('article').waitFor();
  t.ok(await other.page.locator('#keep').isHidden(), 'somebody else has not made it');
  t.same(faults, { violations: [], errors: [], dialogs: [] });
});

t.test('what was shared with the app goes to the feed that is chosen', async (t) => {
  const name = await newFeed('Taker');
  const { page } = await visitorOf(t, [name]);
  await page.goto(`${url}/?shared=1`);
  t.match(await page.textContent('main'), 'It takes what you have shared.');
  await page.click('text=Taker');
  await page.waitForURL(`${url}/${name}?shared=1`);
  await page.goto(`${url}/?shared=1`);
  await page.fill('#feed', 'a-new-taker');
  await page.keyboard.press('Enter');
  await page.waitForURL(`${url}/a-new-taker?shared=1`);
});

for (const [kind, options] of Object.entries({
  light: {},
  dark: { colorScheme: 'dark' },
  phone: PHONE,
} as const)) {
  t.test(`everybody can use it: ${kind}`, async (t) => {
    const { page } = await visit(t, browser, options);
    for (const names of [[], [await newFeed('Otters'), await newFeed()]]) {
      for (const name of names) await page.goto(`${url}/${name}`);
      if (names.length > 0) {
        await page.click('.secret summary');
        t.same(await axeFindings(page), []);
        t.equal(await overflow(page), 0);
        await post(`${url}/${names[0]}`, 'New');
      }
      await page.goto(url);
      if (names.length > 0) await page.locator('#feeds .unread').waitFor();
      t.same(await axeFindings(page), []);
      t.equal(await overflow(page), 0);
    }
  });
}

t.test('the name of a feed without a title is shown on request only', async (t) => {
  const name = await newFeed();
  const { id, url: address } = (await post(`${url}/${name}`, '![](http://x.example/a.png)')).json;
  const { page } = await visit(t, browser);
  for (const [path, title] of [
    ['', /^Untitled feed · Note Feed$/],
    [`/${id}`, /Untitled feed · Note Feed$/],
    ['/settings', /Note Feed$/],
    ['/nothing', /^Not here · Note Feed$/],
  ] as const) {
    await page.goto(`${url}/${name}${path}`);
    t.match(await page.title(), title);
    t.notMatch(await page.title(), name);
    t.notMatch(await page.locator('h1').allInnerTexts(), [name]);
    t.notMatch(await page.locator('head').innerHTML(), name, path);
    if (path !== '/settings') t.notMatch(await page.locator('body').innerText(), name, path);
  }
  t.ok(address);
  await page.goto(`${url}/${name}`);
  await page.click('text=Show its name');
  t.equal(await page.innerText('#feed-name'), name);
  await new FeedClient(url, name).set({ title: 'A title', description: '' });
  await page.reload();
  t.equal(await page.innerText('h1'), 'A title');
  t.equal(await page.locator('.secret').count(), 0);
});
