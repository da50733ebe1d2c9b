/** Protected feeds by browser: the unlock form, and what its cookies open (contract §8). */
import t from 'tap';
import { Browser } from '../support/cookie-browser.ts';
import { EventStream } from '../support/event-stream.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { ask, start } from '../support/service.ts';

t.setTimeout(600_000);

const service = await start(t, { SERVICE_TRUST_PROXY: '1', SERVICE_RATE_LIMIT: '5' });
const { url } = service;
const MARKDOWN = { 'content-type': 'text/markdown' };

let feeds = 0;

/** A feed with a password, a title and a note. */
async function newFeed(password = 'open up') {
  feeds += 1;
  const name = `heron-${feeds}`;
  const client = { 'x-forwarded-for': `10.7.0.${feeds}` };
  const owner = new FeedClient(url, name, { 'x-feed-password': password, ...client });
  const { id, read_url } = (await owner.post()).json;
  await owner.set({ title: 'Hidden title', description: 'Hidden description' });
  return { name, owner, id: id as string, readId: readIdIn(read_url), record: `/api/v1/feeds/${name}` };
}

/** A browser in which the feed is unlocked. */
async function unlocked(name: string, password = 'open up'): Promise<Browser> {
  const browser = new Browser(url);
  const reply = await browser.submit(`/${name}/access`, { action: 'unlock', password });
  t.equal(reply.status, 303);
  return browser;
}

/** Whether a browser gets to the pages and the API of a feed. */
async function opens(browser: Browser, name: string): Promise<boolean> {
  const settings = await browser.visit(`/${name}/settings`);
  const record = await browser.fetch(`/api/v1/feeds/${name}`);
  t.equal(settings.status, record.status);
  return settings.status === 200;
}

t.test('the pages of a locked feed are its unlock form', async (t) => {
  const { name, id } = await newFeed();
  for (const path of [`/${name}`, `/${name}/`, `/${name}/settings`]) {
    const page = await new Browser(url).visit(path);
    t.match(page, { status: 401, text: new RegExp(`action="/${name}/access"`) }, path);
    t.equal(page.headers.get('cache-control'), 'private, no-store');
    t.match(page.headers.get('vary'), /Accept/);
    t.equal(page.headers.get('www-authenticate'), 'Bearer');
    t.match(page.headers.get('referrer-policy'), 'same-origin');
    t.notMatch(page.text, new RegExp(`Hidden|${id}|role="alert"`));
    t.match(await ask(url + path), { status: 401, json: { code: 'auth' } });
  }
});

t.test('the password unlocks its pages and its API alone', async (t) => {
  const { name, record } = await newFeed();
  const other = await newFeed();
  const browser = new Browser(url);
  const reply = await browser.submit(`/${name}/access`, { action: 'unlock', password: 'open up' });
  t.equal(reply.status, 303);
  t.equal(reply.headers.get('location'), `/${name}`);
  const cookies = reply.headers.getSetCookie();
  t.equal(cookies.length, 2);
  for (const [place, path] of [`/${name}`, record].entries())
    t.match(cookies[place], new RegExp(`; Max-Age=31536000; Path=${path}; HttpOnly; SameSite=Lax$`));
  for (const cookie of cookies) t.notMatch(cookie.replace(/Path=[^;]*/, ''), name);
  t.ok(await opens(browser, name));
  t.equal((await browser.visit(`/${name}`)).status, 200);
  t.equal(browser.cookiesFor(`/${name}-x`), '');
  t.equal(browser.cookiesFor('/'), '');
  t.notOk(await opens(browser, other.name));
  const cookie = browser.cookiesFor(`/${name}`);
  t.equal((await new Browser(url).visit(`/${other.name}`, { cookie })).status, 401);
});

t.test('behind https the cookies are secure', async (t) => {
  const { name } = await newFeed();
  const browser = new Browser(url, { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'notes.example' });
  const reply = await browser.submit(`/${name}/access`, { action: 'unlock', password: 'open up' });
  for (const cookie of reply.headers.getSetCookie()) t.match(cookie, /; HttpOnly; Secure;/);
  t.ok(await opens(browser, name));
});

t.test('a wrong password is the form again, and counts', async (t) => {
  const { name } = await newFeed();
  const browser = new Browser(url);
  const unlock = (password: string) => browser.submit(`/${name}/access`, { action: 'unlock', password });
  for (const [password, sentence] of [
    ['', /1 to 256 printable/],
    [' x', /1 to 256 printable/],
  ] as const)
    t.match(await unlock(password), { status: 400, text: sentence });
  for (let i = 0; i < 5; i += 1) {
    const reply = await unlock(`wrong ${i}`);
    t.match(reply, { status: 401, text: /role="alert">That is not the password of this feed\./ });
    t.notMatch(reply.text, /Hidden|wrong \d/);
    t.same(reply.headers.getSetCookie(), []);
  }
  const waiting = await unlock('open up');
  t.match(waiting, { status: 429, text: /wrong passwords. Try again in \d+ second/ });
  t.match(waiting.headers.get('retry-after'), /^\d+$/);
  t.same(waiting.headers.getSetCookie(), []);
  const json = await browser.submit(
    `/${name}/access`,
    { action: 'unlock', password: 'open up' },
    { accept: '*/*' },
  );
  t.match(json, { status: 429, json: { code: 'too_many_attempts' } });
});

t.test('the address of the form leads to the feed', async (t) => {
  const { name } = await newFeed();
  const browser = new Browser(url);
  t.equal((await browser.visit(`/${name}/access`)).status, 401);
  const back = /name="back" value="([^"]*)"/.exec((await browser.visit(`/${name}/access`)).text)![1]!;
  const reply = await browser.submit(`/${name}/access`, { action: 'unlock', password: 'open up', back });
  const next = await browser.visit(reply.headers.get('location')!);
  t.match(next, { status: 303 });
  t.equal(next.headers.get('location'), `/${name}`);
  t.equal((await browser.visit(`/${name}`)).status, 200);
});

t.test('after unlocking, the page that was asked for is shown, if it is of the feed', async (t) => {
  const { name, id } = await newFeed();
  const browser = new Browser(url);
  t.match((await browser.visit(`/${name}/settings?saved=1`)).text, `value="/${name}/settings?saved=1"`);
  for (const [back, location] of [
    [`/${name}/${id}`, `/${name}/${id}`],
    [`/${name}`, `/${name}`],
    [`/${name}?tag=a`, `/${name}?tag=a`],
    [`/${name}?text=https://other.example/a`, `/${name}?text=https://other.example/a`],
    ['/other', `/${name}`],
    [`/${name}-2/x`, `/${name}`],
    [`//evil.example/${name}`, `/${name}`],
    [`/${name}/\\evil`, `/${name}`],
    [`/${name}/x\r\nSet-Cookie: y`, `/${name}`],
    [`/${name}//evil`, `/${name}`],
  ] as const) {
    const reply = await browser.submit(`/${name}/access`, { action: 'unlock', password: 'open up', back });
    t.equal(reply.headers.get('location'), location, back);
  }
});

t.test('cookies count for the API only where a page of the instance asks', async (t) => {
  const { name, record, id } = await newFeed();
  const browser = await unlocked(name);
  const post = { method: 'POST', body: 'x', headers: MARKDOWN };
  const edit = { method: 'PATCH', body: '{"title":"T"}' };
  t.equal((await browser.fetch(`/${name}`, post)).status, 201);
  t.equal((await browser.fetch(`${record}/notes`, post)).status, 201);
  t.equal((await browser.fetch(`/${name}/${id}`, edit)).status, 200);
  t.equal(
    (await browser.fetch(`/${name}/${id}`, { ...edit, headers: { 'sec-fetch-site': '', origin: url } }))
      .status,
    200,
  );
  for (const [status, headers] of [
    [401, { 'sec-fetch-site': '' }],
    [401, { 'sec-fetch-site': 'none' }],
    [403, { 'sec-fetch-site': 'same-site' }],
    [403, { 'sec-fetch-site': 'cross-site' }],
    [403, { 'sec-fetch-site': '', origin: 'http://evil.example' }],
  ] as [number, Record<string, string>][]) {
    t.equal((await browser.fetch(record, { headers })).status, 401);
    const posted = await browser.fetch(`/${name}`, { ...post, headers: { ...MARKDOWN, ...headers } });
    t.equal(posted.status, status);
    t.equal((await browser.fetch(`/${name}/${id}`, { ...edit, headers })).status, status);
    t.equal((await browser.fetch(record, { method: 'DELETE', headers })).status, status);
  }
  t.equal((await browser.visit(`/${name}/settings`)).status, 200, 'a link of another site leads to the page');
});

t.test('a password that is sent wins over the cookie', async (t) => {
  const { name, record } = await newFeed();
  const browser = await unlocked(name);
  const headers = { 'x-feed-password': 'wrong' };
  t.equal((await browser.fetch(record, { headers })).status, 401);
  t.equal((await browser.visit(`/${name}`, headers)).status, 401);
  t.equal((await browser.fetch(record, { headers: { 'x-feed-password': 'open up' } })).status, 200);
});

t.test('what is no cookie of the feed is ignored, and not counted', async (t) => {
  const { name, record } = await newFeed();
  const browser = await unlocked(name);
  const real = browser.cookiesFor(`/${name}`);
  const client = new Browser(url);
  for (const cookie of [
    'unlock=',
    'unlock=x.y',
    `unlock=${'x'.repeat(5000)}`,
    `${real}x`,
    real.slice(0, -1),
    'x',
  ])
    for (let i = 0; i < 2; i += 1) {
      t.equal((await client.fetch(record, { headers: { cookie } })).status, 401);
      t.equal((await client.visit(`/${name}`, { cookie })).status, 401);
    }
  t.equal((await client.fetch(record, { headers: { cookie: real } })).status, 200);
});

t.test('another password ends it, by the API and by the form, which gives new cookies', async (t) => {
  const { name, owner } = await newFeed();
  const browser = await unlocked(name);
  const old = browser.copy();
  const headers = { cookie: browser.cookiesFor(`/${name}`), 'sec-fetch-site': 'same-origin' };
  const stream = await EventStream.open(t, `${url}/api/v1/feeds/${name}/events`, headers);
  t.equal(stream.response.statusCode, 200);
  const fields = { action: 'change', current: 'open up', next: 'another' };
  const changed = await browser.submit(`/${name}/access`, fields);
  t.equal(changed.status, 303);
  t.equal(changed.headers.get('location'), `/${name}/settings?saved=1`);
  t.ok(await opens(browser, name));
  t.notOk(await opens(old, name));
  t.ok(await stream.ends());
  await owner.with({ 'x-feed-password': 'another' }).send('PUT', '/password', '{"password":"open up"}');
  t.notOk(await opens(browser, name));
  t.notOk(await opens(old, name), 'the same password again is another one');
});

t.test('a feed that is deleted and made anew is another one', async (t) => {
  const { name, owner } = await newFeed();
  const browser = await unlocked(name);
  const headers = { cookie: browser.cookiesFor(`/${name}`), 'sec-fetch-site': 'same-origin' };
  const stream = await EventStream.open(t, `${url}/api/v1/feeds/${name}/events`, headers);
  await owner.delete();
  t.ok(await stream.ends());
  t.equal((await browser.visit(`/${name}`)).status, 200, 'anybody may make it');
  await owner.post();
  t.notOk(await opens(browser, name));
});

t.test('another read id leaves it unlocked, and so does a restart', async (t) => {
  const first = await start(t);
  const post = (path: string) =>
    ask(`${first.url}/${path}`, {
      method: 'POST',
      body: 'x',
      headers: { ...MARKDOWN, 'x-feed-password': 'p' },
    });
  await post('heron');
  const browser = new Browser(first.url);
  await browser.submit('/heron/access', { action: 'unlock', password: 'p' });
  t.equal((await browser.submit('/heron/details', { read_id: 'heron-link', sure: '1' })).status, 303);
  t.equal((await browser.visit('/heron/settings')).status, 200);
  const again = await first.restart();
  const cookie = browser.cookiesFor('/heron');
  t.equal((await new Browser(again.url).visit('/heron/settings', { cookie })).status, 200);
});

t.test('changing and removing the password need the current one', async (t) => {
  const { name, owner } = await newFeed();
  const browser = await unlocked(name);
  for (const action of ['change', 'remove']) {
    const fields = { action, current: 'wrong', next: 'another' };
    const wrong = await browser.submit(`/${name}/access`, fields);
    t.match(wrong, { status: 401, text: /name="current"[^\n]*role="alert">That is not the password/ });
    t.match(wrong.text, /Hidden title/);
    t.notMatch(wrong.text, /value="(wrong|another)"/);
    t.equal((await wrong.text.match(/role="alert"/g))?.length, 1);
    const locked = await new Browser(url).submit(`/${name}/access`, fields);
    t.match(locked, { status: 401, text: /value="unlock"/ });
    t.notMatch(locked.text, /Hidden/);
  }
  const bad = await browser.submit(`/${name}/access`, { action: 'change', current: 'open up', next: '' });
  t.match(bad, { status: 400, text: /name="next"[^\n]*role="alert">The new password must be/ });
  t.equal((await owner.get()).status, 200);

  const removed = await browser.submit(`/${name}/access`, { action: 'remove', current: 'open up' });
  t.equal(removed.status, 303);
  t.equal(browser.cookiesFor(`/${name}`), '');
  t.equal((await new Browser(url).visit(`/${name}/settings`)).status, 200);
  const unprotected = await browser.submit(`/${name}/access`, { action: 'remove', current: 'open up' });
  t.match(unprotected, { status: 409, text: /has no password/ });
});

t.test('changes of the password count as writes', async (t) => {
  const { name } = await newFeed();
  const browser = await unlocked(name);
  const change = () =>
    browser.submit(`/${name}/access`, { action: 'change', current: 'open up', next: 'open up' });
  for (let i = 0; i < 5; i += 1) t.equal((await change()).status, 303);
  // On a busy machine another window may have begun.
  const isRefused = async () => {
    const reply = await change();
    if (reply.status === 303) return false;
    t.match(reply, { status: 429, text: /too much in a short time/ });
    return true;
  };
  t.ok(await eventually(isRefused));
});

t.test('lock takes the cookies away', async (t) => {
  const { name } = await newFeed();
  const browser = await unlocked(name);
  const reply = await browser.submit(`/${name}/access`, { action: 'lock' });
  t.equal(reply.status, 303);
  t.equal(reply.headers.get('location'), `/${name}`);
  t.equal(browser.cookiesFor(`/${name}`) + browser.cookiesFor(`/api/v1/feeds/${name}`), '');
  t.notOk(await opens(browser, name));
});

t.test('other forms at that address', async (t) => {
  const { name } = await newFeed();
  const browser = new Browser(url);
  t.match(await browser.submit(`/${name}/access`, { action: 'steal' }), { status: 400 });
  t.match(await browser.submit(`/${name}/access`, {}), { status: 400 });
  t.match(await browser.submit('/Heron/access', { action: 'lock' }), { status: 400 });
  t.match(await browser.submit('/login/access', { action: 'lock' }), { status: 404 });
  const absent = await browser.submit('/heron-nowhere/access', { action: 'unlock', password: 'x' });
  t.equal(absent.status, 303);
  t.same(absent.headers.getSetCookie(), []);
  const gone = await browser.submit('/heron-nowhere/access', { action: 'remove', current: 'x' });
  t.match(gone, { status: 404, text: /nothing here/ });
});

t.test('the page that makes a protected feed has it unlocked', async (t) => {
  const headers = { ...MARKDOWN, 'x-feed-password': 'mine' };
  const browser = new Browser(url);
  const made = await browser.fetch('/heron-made', { method: 'POST', body: 'x', headers });
  t.equal(made.status, 201);
  t.equal(made.headers.getSetCookie().length, 2);
  t.ok(await opens(browser, 'heron-made'));
  const again = await browser.fetch('/heron-made', { method: 'POST', body: 'x', headers });
  t.same([again.status, again.headers.getSetCookie()], [201, []]);
  const byScript = new Browser(url);
  const foreign = { ...headers, 'sec-fetch-site': '' };
  const other = await byScript.fetch('/heron-script', { method: 'POST', body: 'x', headers: foreign });
  t.same([other.status, other.headers.getSetCookie()], [201, []]);
  const open = await browser.fetch('/heron-open', { method: 'POST', body: 'x', headers: MARKDOWN });
  t.same([open.status, open.headers.getSetCookie()], [201, []]);
});

t.test('no log line names a feed or holds a password', async (t) => {
  const text = JSON.stringify(service.lines);
  t.match(text, /too_many_attempts/);
  t.notMatch(text, /heron|open up|Hidden|unlock=/);
});
