/** Start page, settings, and the ways in and out, as a user of Chromium; with and without scripts. */
import t from 'tap';
import { isRouted, isUsable, PHONE, startBrowser, visit } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { EXIF_MARK, exif, jpegWith } from '../support/exif.ts';
import { FeedClient } from '../support/feed-client.ts';
import { PIXEL, picture } from '../support/pictures.ts';
import { ask, post, start } from '../support/service.ts';

const browser = await startBrowser(t);
const open = await start(t);
const locked = await start(t, { SERVICE_PASSWORD: 'instance password' });
const { url } = open;
const { page, ...faults } = await visit(t, browser, { permissions: ['clipboard-read', 'clipboard-write'] });
const scriptless = await visit(t, browser, { javaScriptEnabled: false, ...PHONE });

t.test('the start page leads to a feed whose name nobody guesses', async (t) => {
  await page.goto(url);
  const suggested = await page.inputValue('#feed');
  t.match(suggested, /^[a-z]+-[a-z]+-[a-z0-9]{13}$/);
  await isUsable(t, page, 'start');
  await page.click('[data-copy=curl-line]');
  await page.waitForSelector('.toast >> text=Copied.');
  t.match(await page.evaluate('navigator.clipboard.readText()'), `${url}/${suggested}`);
  await page.reload();
  t.not(await page.inputValue('#feed'), suggested, 'a new one each time');
  await page.fill('#feed', 'My Feed!');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#feed-error');
  t.equal(await page.inputValue('#feed'), 'my-feed!');
  await isUsable(t, page, 'start, refused');
  await page.fill('#feed', 'logout');
  await page.keyboard.press('Enter');
  await page.waitForSelector('text=This name belongs to the service itself');
  await page.fill('#feed', 'My Feed');
  await page.keyboard.press('Enter');
  await page.waitForURL(`${url}/my-feed`);
  await scriptless.page.goto(url);
  await scriptless.page.fill('#feed', ' My Other Feed ');
  await scriptless.page.click('button.primary');
  t.equal(scriptless.page.url(), `${url}/my-other-feed`);
});

t.test('settings and deletion work without scripts', async (t) => {
  await post(`${url}/plain`, 'text');
  const { page } = scriptless;
  await page.goto(`${url}/plain/settings`);
  await page.fill('#title', 'Café');
  await page.fill('#description', 'x'.repeat(500));
  await page.click('text=Save changes');
  t.equal(page.url(), `${url}/plain/settings?saved=1&section=profile`);
  t.equal(await page.textContent('#profile .done:focus'), 'The profile is saved.');
  t.match((await ask(`${url}/api/v1/feeds/plain`)).json, { title: 'Café' });
  await page.fill('#read_id', 'API');
  await page.click('text=Save read id');
  t.match(await page.textContent('#read_id-error'), /read id/i);
  t.equal(await page.getAttribute(':focus', 'id'), 'read_id');
  t.equal(await page.inputValue('#read_id'), 'API', 'what was typed stays');
  const link = await page.textContent('#read-link');
  await page.click('text=Generate a random one');
  t.equal(await page.textContent('.ask h2'), 'Change all links?');
  await page.click('text=Keep them');
  t.equal(await page.textContent('#read-link'), link);
  await page.click('text=Generate a random one');
  await page.click('button:text("Change all links")');
  t.not(await page.textContent('#read-link'), link);
  t.match(await page.textContent('#read-link'), /\/r\/[\w-]{22}$/);
  await page.fill('#name', 'Plain');
  await page.click('text=Delete this feed');
  t.match(await page.textContent('#name-error'), 'exactly');
  await page.fill('#name', 'plain');
  await page.click('text=Delete this feed');
  t.equal(page.url(), `${url}/?deleted=1`);
  t.equal((await ask(`${url}/api/v1/feeds/plain`)).status, 404);
});

t.test('a title image is picked, removed, chosen and dropped', async (t) => {
  await post(`${url}/pictured`, PIXEL, { 'content-type': 'image/png', 'x-note-alt': 'a dot' });
  const imageOf = async () => (await ask(`${url}/api/v1/feeds/pictured`)).json.image_url;
  await page.goto(`${url}/pictured/settings`);
  await page.click('[data-action=pick]');
  const pick = await page.waitForSelector('.picks img[alt="a dot"]');
  const { width, height } = (await pick.boundingBox())!;
  t.equal(height, width, 'a title image is shown as a square');
  await isUsable(t, page, 'settings');
  await page.click('.picks button');
  await page.waitForSelector('img.title-image');
  await page.waitForSelector('.toast >> text="The title image is saved."');
  t.match(await imageOf(), /\.png$/);
  await page.click('[data-action=remove]');
  await page.waitForSelector('img.title-image', { state: 'detached' });
  t.equal(await imageOf(), null);
  const dot = (buffer: Buffer) => ({ name: 'dot.png', mimeType: 'image/png', buffer });
  await page.setInputFiles('#image input', dot(PIXEL));
  await page.waitForSelector('img.title-image');
  t.equal((await ask(`${url}/api/v1/feeds/pictured/notes`)).json.notes.length, 2);
  await page.setInputFiles('#image input', dot(Buffer.from('none')));
  await page.waitForSelector('#image .error:not(:empty)');
});

t.test('a title image that says where it was taken is posted only if that is wanted', async (t) => {
  const feed = new FeedClient(url, 'positioned');
  await feed.post();
  const { page, dialogs } = await visit(t, browser);
  await page.goto(`${url}/positioned/settings`);
  const buffer = jpegWith(picture('jpg'), Buffer.concat([EXIF_MARK, exif({ position: true })]));
  await page.setInputFiles('#image input', { name: 'photo.jpg', mimeType: 'image/jpeg', buffer });
  t.ok(await eventually(() => dialogs.length > 0));
  t.match(dialogs, [/confirm: .*where it was taken/]);
  const plain = { name: 'dot.png', mimeType: 'image/png', buffer: PIXEL };
  await page.setInputFiles('#image input', plain);
  await page.waitForSelector('img.title-image');
  const [image, ...others] = (await feed.list()).json.notes;
  t.match(image, { type: 'image/png', unlisted: true });
  t.equal(others.length, 1);
});

t.test('pictures to pick are all shown, or none and an error', async (t) => {
  for (const alt of ['first', 'second'])
    await post(`${url}/paged`, PIXEL, { 'content-type': 'image/png', 'x-note-alt': alt });
  const { page } = await visit(t, browser);
  // Two pages of one note each, of which the second is refused once.
  await page.route(/paged\/notes\?/, (route) =>
    route.continue({ url: route.request().url().replace('limit=100', 'limit=1') }),
  );
  await page.route(/&before=./, (route) => route.abort(), { times: 1 });
  await page.goto(`${url}/paged/settings`);
  await page.click('[data-action=pick]');
  await page.waitForSelector('#image .error:has-text("cannot be reached")');
  t.equal(await page.locator('.picks button').count(), 0);
  await page.click('[data-action=pick]');
  await page.waitForSelector('.picks img[alt=second]');
  await page.waitForSelector('.picks img[alt=first]');
  t.equal(await page.locator('.picks button').count(), 2);
});

t.test('what one window typed or saved outlives what another one changes', async (t) => {
  await post(`${url}/windows`, PIXEL, { 'content-type': 'image/png' });
  const settings = `${url}/windows/settings`;
  const other = await visit(t, browser);
  await page.goto(settings);
  await other.page.goto(settings);
  await page.fill('#description', 'typed here');
  await other.page.fill('#title', 'Saved there');
  await other.page.click('text=Save changes');
  await other.page.waitForSelector('.toast >> text="The profile is saved."');
  await page.click('[data-action=pick]');
  await page.click('.picks button');
  await page.waitForSelector('img.title-image');
  t.equal(await page.inputValue('#description'), 'typed here');
  t.match((await ask(`${url}/api/v1/feeds/windows`)).json, { title: 'Saved there', image_url: String });
  await page.fill('#keep_days', '3000');
  await page.click('text=Save what is kept');
  await page.waitForSelector('#removes-error');
  t.equal(await page.getAttribute(':focus', 'name'), 'removes');
  await isUsable(t, page, 'settings, refused');
  await page.click('text=Remove what is older');
  await page.click('text=Save what is kept');
  await page.waitForSelector('.toast >> text="The limits for notes are saved."');
  t.equal(await page.inputValue('#description'), 'typed here', 'another section stays as it was');
  await page.fill('#title', 'Typed here');
  await page.click('text=Save changes');
  await page.waitForSelector('#title-error');
  t.match(await page.textContent('#title-error'), 'Meanwhile it was changed to "Saved there"');
  await page.click('text=Save changes');
  await page.waitForSelector('.toast >> text="The profile is saved."');
  t.match((await ask(`${url}/api/v1/feeds/windows`)).json, {
    title: 'Typed here',
    description: 'typed here',
    keep: { days: 3000 },
  });
});

t.test('what is typed while a section is saved, or into another form of it, stays', async (t) => {
  await post(`${url}/typing`, 'text');
  const { page } = await visit(t, browser);
  await page.goto(`${url}/typing/settings`);
  const [sent, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await page.route('**/details', async (route) => {
    sent.resolve();
    await held.promise;
    await route.continue();
  });
  await isRouted(page);
  await page.fill('#title', 'Saved');
  await page.click('text=Save changes');
  await sent.promise;
  await page.fill('#description', 'Typed meanwhile');
  held.resolve();
  await page.waitForSelector('.toast >> text="The profile is saved."');
  t.equal(await page.inputValue('#title'), 'Saved');
  t.equal(await page.inputValue('#description'), 'Typed meanwhile');
  t.equal(await page.getAttribute(':focus', 'id'), 'description');
  await page.fill('#read_id', 'typed-before');
  await page.click('#sharing button:text-is("Save")');
  await page.waitForSelector('.toast >> text="Sharing is saved."');
  t.equal(await page.inputValue('#read_id'), 'typed-before');
});

t.test('a box that is checked while its section is saved stays so', async (t) => {
  await post(`${url}/checking`, 'text');
  const { page } = await visit(t, browser);
  await page.goto(`${url}/checking/settings`);
  const [sent, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await page.route('**/details', async (route) => {
    sent.resolve();
    await held.promise;
    await route.continue();
  });
  await isRouted(page);
  const before = await page.isChecked('[name=listed][type=checkbox]');
  await page.click('#sharing button:text-is("Save")');
  await sent.promise;
  await page.click('text=Search engines may list');
  held.resolve();
  await page.waitForSelector('.toast >> text="Sharing is saved."');
  t.equal(await page.isChecked('[name=listed][type=checkbox]'), !before);
});

t.test('leaving the page with words that were not saved asks', async (t) => {
  await post(`${url}/unsaved`, 'text');
  const { page, dialogs } = await visit(t, browser);
  await page.goto(`${url}/unsaved/settings`);
  await page.fill('#title', 'unsaved');
  await page.click('text=Back to the feed');
  t.same(dialogs, ['beforeunload: ']);
  t.equal(page.url(), `${url}/unsaved/settings`);
  await page.route('**/details', (route) => route.abort());
  await isRouted(page);
  await page.click('text=Save changes');
  await page.waitForSelector('text=What you typed is still here');
  await page.unroute('**/details');
  await page.click('text=Save changes');
  await page.waitForSelector('.toast >> text="The profile is saved."');
  await page.click('text=Back to the feed');
  await page.waitForURL(`${url}/unsaved`);
});

t.test('leaving the page also asks after a form that was not sent', async (t) => {
  await post(`${url}/unsent`, 'text');
  const { page, dialogs } = await visit(t, browser);
  const asksToLeave = async () => {
    await page.click('text=Back to the feed');
    t.equal(dialogs.pop(), 'beforeunload: ');
    t.equal(page.url(), `${url}/unsent/settings`);
  };
  await page.goto(`${url}/unsent/settings`);
  await page.fill('#read_id', 'typed-here');
  await page.click('text=Save read id');
  await page.click('text=Keep them');
  await page.waitForSelector('#change-links', { state: 'hidden' });
  await asksToLeave();
  await page.fill('#read_id', await page.evaluate("document.querySelector('#read_id').defaultValue"));
  await page.fill('#name', 'unsent');
  await page.route('**/health', (route) => route.abort());
  await isRouted(page);
  await page.click('text=Delete this feed');
  await page.waitForSelector('text=nothing was sent');
  await asksToLeave();
});

t.test('leaving the page asks while a file is sent', async (t) => {
  await post(`${url}/sending`, 'text');
  const { page, dialogs } = await visit(t, browser);
  await page.goto(`${url}/sending/settings`);
  const sent = Promise.withResolvers<void>();
  await page.route('**/import', () => sent.resolve());
  await isRouted(page);
  const zip = { name: 'feed.zip', mimeType: 'application/zip', buffer: Buffer.from('PK') };
  await page.setInputFiles('#import input[type=file]', zip);
  await sent.promise;
  t.ok(await page.isDisabled('[data-action=import]'), 'one zip at a time');
  await page.click('text=Back to the feed');
  t.same(dialogs, ['beforeunload: ']);
  await page.click('#import .sending button');
  await page.click('text=Back to the feed');
  await page.waitForURL(`${url}/sending`);
});

t.test('leaving the page asks nothing while pictures are only listed', async (t) => {
  await post(`${url}/listing`, PIXEL, { 'content-type': 'image/png' });
  const { page, dialogs } = await visit(t, browser);
  await page.goto(`${url}/listing/settings`);
  const asked = Promise.withResolvers<void>();
  await page.route('**/notes?*', () => asked.resolve());
  await isRouted(page);
  await page.click('[data-action=pick]');
  await asked.promise;
  await page.click('text=Back to the feed');
  await page.waitForURL(`${url}/listing`);
  t.same(dialogs, []);
});

t.test('search engines may list the read page if that is wanted', async (t) => {
  await post(`${url}/found`, 'text');
  const listed = async () => (await ask(`${url}/api/v1/feeds/found`)).json.listed;
  for (const { page } of [await visit(t, browser), scriptless]) {
    await page.goto(`${url}/found/settings`);
    const before = await listed();
    t.equal(await page.isChecked('[name=listed][type=checkbox]'), before);
    await page.click('text=Search engines may list');
    await page.click('#sharing >> button:text-is("Save")');
    await page.waitForSelector('text=Sharing is saved.');
    t.equal(await listed(), !before);
  }
});

t.test('another read id is asked for in a dialog', async (t) => {
  await post(`${url}/linked`, 'text');
  const link = async () => (await ask(`${url}/api/v1/feeds/linked`)).json.read_url;
  const before = await link();
  await page.goto(`${url}/linked/settings`);
  await page.fill('#read_id', 'linked-by-hand');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#change-links[open]');
  await isUsable(t, page, 'settings, dialog');
  t.equal(await page.textContent(':focus'), 'Keep them');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#change-links', { state: 'hidden' });
  await page.click('text=Generate a random one');
  await page.keyboard.press('Escape');
  t.equal(await link(), before);
  await page.fill('#read_id', 'linked-by-hand');
  await page.click('text=Save read id');
  await page.click('button:text("Change all links")');
  await page.waitForSelector('#sharing .done:focus');
  t.match(await link(), '/r/linked-by-hand/');
  await page.click('text=Generate a random one');
  await page.click('button:text("Change all links")');
  await page.waitForSelector('#sharing .done:focus');
  t.match(await link(), /\/r\/[\w-]{22}\//);
});

t.test('what was refused is not saved: leaving the page asks, and it can be sent again', async (t) => {
  const [owner, other] = [new FeedClient(url, 'refused'), new FeedClient(url, 'refused-other')];
  for (const feed of [owner, other]) await feed.post();
  await other.set({ read_id: 'wanted-by-two' });
  const { page, dialogs } = await visit(t, browser);
  await page.goto(`${url}/refused/settings`);
  const save = async () => {
    await page.click('text=Save read id');
    await page.click('button:text("Change all links")');
  };
  await page.fill('#read_id', 'wanted-by-two');
  await save();
  await page.waitForSelector('#read_id-error');
  await page.click('text=Back to the feed');
  t.same(dialogs, ['beforeunload: ']);
  await page.check('#listed');
  await page.click('form:has(#listed) button');
  await page.waitForSelector('.toast:has-text("saved")');
  t.equal(await page.inputValue('#read_id'), 'wanted-by-two', 'another form of the section leaves it');
  await other.set({ read_id: 'left-to-the-other' });
  await save();
  await page.waitForSelector('#sharing .done:focus');
  t.match((await owner.get()).json, { read_url: `${url}/r/wanted-by-two/feed.xml` });
  await page.click('text=Back to the feed');
  await page.waitForURL(`${url}/refused`);
});

t.test('a feed is unlocked, its password changed and removed', async (t) => {
  await post(`${url}/guarded`, 'text', { 'x-feed-password': 'first' });
  await page.goto(`${url}/guarded/settings`);
  await isUsable(t, page, 'unlock');
  await page.fill('#password', 'wrong');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#password-error');
  await page.fill('#password', 'first');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#privacy');
  t.match(await page.textContent('#curl-line'), "-H 'X-Feed-Password: FEED-PASSWORD'");
  await isUsable(t, page, 'settings, protected');
  const dark = await visit(t, browser, { colorScheme: 'dark', ...PHONE });
  await dark.page.goto(`${url}/guarded/settings`);
  await dark.page.fill('#password', 'first');
  await dark.page.keyboard.press('Enter');
  await dark.page.waitForSelector('#privacy');
  await isUsable(t, dark.page, 'settings, protected, dark, on a phone');
  await dark.page.click('text=Generate a random one');
  await isUsable(t, dark.page, 'settings, dialog, dark, on a phone');
  await page.fill('#change-current', 'first');
  await page.fill('#change-next', 'second');
  await page.click('text=Change password');
  await page.waitForSelector('#privacy .done:focus');
  await page.fill('#remove-current', 'first');
  await page.click('text=Remove password');
  await page.waitForSelector('#remove-current-error');
  await page.fill('#remove-current', 'second');
  await page.click('text=Remove password');
  await page.waitForSelector('#privacy', { state: 'detached' });
  t.equal((await ask(`${url}/api/v1/feeds/guarded`)).status, 200);
});

t.test('a feed is deleted by its name, and the ways in and out can be used by everybody', async (t) => {
  await post(`${url}/leaving`, 'text');
  await page.goto(`${url}/leaving/settings`);
  await page.fill('#name', 'wrong');
  await page.click('text=Delete this feed');
  await page.waitForSelector('#name-error');
  t.equal(await page.getAttribute(':focus', 'id'), 'name');
  await page.fill('#name', 'leaving');
  await page.click('text=Delete this feed');
  await page.waitForSelector('text=The feed is deleted.');
  await page.goto(`${locked.url}/some-feed`);
  await isUsable(t, page, 'login');
  await page.fill('#password', 'wrong');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#password-error');
  t.equal(await page.getAttribute(':focus', 'id'), 'password');
  await page.fill('#password', 'instance password');
  await page.keyboard.press('Enter');
  await page.waitForURL(`${locked.url}/some-feed`);
  t.match(await page.textContent('#curl-line'), "-H 'Authorization: Bearer INSTANCE-PASSWORD'");
  await page.goto(`${locked.url}/logout`);
  await isUsable(t, page, 'log out');
  await page.click('button.primary');
  await page.waitForURL(/\/login\?next=%2F$/);
});

t.test('nothing went wrong beside what users see', async (t) => {
  t.same(faults.violations, []);
  t.same(faults.errors, []);
  t.same(scriptless.violations, []);
});
