/** Log in to a locked instance by browser, and what its session opens (contract §8). */
import { join } from 'node:path';
import t from 'tap';
import { Sessions } from '../../src/access/cookies.ts';
import { Browser } from '../support/cookie-browser.ts';
import { EventStream } from '../support/event-stream.ts';
import { FeedClient } from '../support/feed-client.ts';
import { ask, start } from '../support/service.ts';

t.setTimeout(600_000);

const PASSWORD = 'let us in';
const SECRET = 'the same secret in all the containers';
const SETTINGS = {
  SERVICE_PASSWORD: PASSWORD,
  SERVICE_SECRET: SECRET,
  SERVICE_TRUST_PROXY: '1',
  SERVICE_RATE_LIMIT: '5',
};
const service = await start(t, SETTINGS);
const { url } = service;
const owner = new FeedClient(url, 'walrus', {
  authorization: `Bearer ${PASSWORD}`,
  'x-forwarded-for': '10.8.0.1',
});
await owner.post();
const RECORD = '/api/v1/feeds/walrus';

/** A browser that has logged in. */
async function visitor(at = url): Promise<Browser> {
  const browser = new Browser(at);
  const reply = await browser.submit('/api/login', { password: PASSWORD });
  t.equal(reply.status, 303);
  return browser;
}

/** A session made as the service makes it, but for what is given. */
function forged({ voidedBy = [PASSWORD], secret = SECRET, age = 0 }) {
  const sessions = new Sessions({ secret: Buffer.from(secret), voidedBy, now: () => Date.now() - age });
  const browser = new Browser(url);
  browser.take([sessions.cookie({ root: '', isSecure: false })]);
  return browser;
}

t.test('a page leads to the login page and back, with its query', async (t) => {
  const browser = new Browser(url);
  const page = await browser.visit('/walrus/settings?saved=1&x=%2F');
  t.equal(page.status, 303);
  const login = page.headers.get('location')!;
  t.equal(login, '/login?next=%2Fwalrus%2Fsettings%3Fsaved%3D1%26x%3D%252F');
  const form = await browser.visit(login);
  t.equal(form.headers.get('cache-control'), 'private, no-store');
  const next = /name="next" value="([^"]*)"/.exec(form.text)![1]!.replaceAll('&amp;', '&');
  const reply = await browser.submit('/api/login', { password: PASSWORD, next });
  t.equal(reply.status, 303);
  t.equal(reply.headers.get('location'), '/walrus/settings?saved=1&x=%2F');
  const [cookie, ...others] = reply.headers.getSetCookie();
  t.match(cookie, /^session=[\w.-]+; Max-Age=604800; Path=\/; HttpOnly; SameSite=Lax$/);
  t.same(others, []);
  t.equal((await browser.visit('/walrus/settings')).status, 200);
  t.equal((await browser.visit('/')).status, 200);
});

t.test('behind https the cookie is one that no other host can set', async (t) => {
  const https = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'notes.example' };
  const browser = new Browser(url, https);
  const reply = await browser.submit('/api/login', { password: PASSWORD });
  t.match(reply.headers.get('set-cookie'), /^__Host-session=\S+; .*Path=\/; HttpOnly; Secure; SameSite=Lax$/);
  t.equal((await browser.visit('/walrus')).status, 200);
  const plain = browser.cookiesFor('/').replace('__Host-', '');
  t.equal((await new Browser(url, https).visit('/walrus', { cookie: plain })).status, 303);
});

t.test('a wrong password leads back to the login page, which says so', async (t) => {
  const browser = new Browser(url);
  const wrong = await browser.submit('/api/login', { password: 'wrong', next: '/walrus' });
  t.equal(wrong.status, 303);
  t.equal(wrong.headers.get('location'), '/login?error=auth&next=%2Fwalrus');
  t.same(wrong.headers.getSetCookie(), []);
  const logged = service.lines.findLast(({ fields }) => fields.route === '/api/login');
  t.equal(logged?.fields.code, 'auth');
  t.match((await browser.visit(wrong.headers.get('location')!)).text, /not the password of this instance/);
  // A session that is there does not make it right.
  const inside = await visitor();
  t.match((await inside.submit('/api/login', { password: 'wrong' })).headers.get('location'), /error=auth/);
});

t.test('wrong passwords count, an empty one does not; over the limit the right one waits too', async (t) => {
  const browser = new Browser(url);
  for (let i = 0; i < 7; i += 1) await browser.submit('/api/login', { password: '' });
  for (let i = 0; i < 5; i += 1) {
    const reply = await browser.submit('/api/login', { password: `wrong ${i}` });
    t.match(reply.headers.get('location'), /error=auth/);
  }
  const reply = await browser.submit('/api/login', { password: PASSWORD, next: '/walrus' });
  const location = reply.headers.get('location')!;
  t.match(location, /^\/login\?error=too_many_attempts&retry=\d+&next=%2Fwalrus$/);
  t.match((await browser.visit(location)).text, /Try again in \d+ second/);
  t.same(reply.headers.getSetCookie(), []);
  const headers = { authorization: 'Bearer wrong' };
  t.match(await browser.fetch(RECORD, { headers }), { status: 429, json: { code: 'too_many_attempts' } });
});

const FOREIGN = [
  '//evil.example',
  '/\\evil.example',
  '\\/evil.example',
  'https://evil.example/',
  'javascript:alert(1)',
  'evil',
  '',
  '/.//evil.example',
  '/a//b',
  '/\t/evil.example',
  '/x\r\nSet-Cookie: session=mine',
  '/x\ny',
  '/ä',
  '/x y',
  `/${'x'.repeat(10_000)}`,
];
for (const next of FOREIGN)
  t.test(`next=${JSON.stringify(next.slice(0, 40))} leads to the start page`, async (t) => {
    const browser = new Browser(url);
    const reply = await browser.submit('/api/login', { password: PASSWORD, next });
    t.equal(reply.status, 303);
    t.equal(reply.headers.get('location'), '/');
    t.equal(reply.headers.getSetCookie().length, 1);
    const wrong = await browser.submit('/api/login', { password: 'wrong', next });
    t.equal(wrong.headers.get('location'), '/login?error=auth&next=%2F');
  });

const LONG = `/walrus?text=${'%C3%A4%20'.repeat(300)}`;
for (const next of ['/walrus?url=https://other.example/a//b', '/walrus?q=a\\b', LONG])
  t.test(
    `next=${next.slice(0, 40)} leads to that page, because only its path may not be another site's`,
    async (t) => {
      const browser = new Browser(url);
      const login = (await browser.visit(next)).headers.get('location')!;
      const [, field] = /name="next" value="([^"]*)"/.exec((await browser.visit(login)).text)!;
      const reply = await browser.submit('/api/login', { password: PASSWORD, next: field! });
      t.equal(reply.headers.get('location'), next);
    },
  );

t.test(
  'a page whose address is too long for the one of the login page leads to the start page',
  async (t) => {
    const page = await new Browser(url).visit(`/walrus?text=${'%20'.repeat(3000)}`);
    t.equal(page.headers.get('location'), '/login?next=%2F');
  },
);

t.test('the login page repeats nothing that is not a path of the instance', async (t) => {
  const query = new URLSearchParams({
    next: 'https://evil.example/"><script>',
    error: '<script>',
    retry: '<script>',
  });
  const { text } = await new Browser(url).visit(`/login?${query}`);
  t.notMatch(text, /evil|<script>/);
  const quoted = await new Browser(url).visit('/login?next=%2F%22%3E%3Cscript%3E');
  t.notMatch(quoted.text, /<script>/);
});

const ORIGIN = { 'sec-fetch-site': '', origin: url };
const ELSEWHERE: Record<string, Record<string, string>> = {
  'another site': { 'sec-fetch-site': 'cross-site' },
  'another host of the site': { 'sec-fetch-site': 'same-site' },
  'nowhere, as typed': { 'sec-fetch-site': 'none' },
  'another site, whatever Origin says': { 'sec-fetch-site': 'cross-site', origin: url },
  'another origin': { 'sec-fetch-site': '', origin: 'http://evil.example' },
  'another port': { 'sec-fetch-site': '', origin: 'http://127.0.0.1:1' },
  'a sandbox': { 'sec-fetch-site': '', origin: 'null' },
  'no browser': { 'sec-fetch-site': '' },
};
for (const [place, headers] of Object.entries(ELSEWHERE)) {
  t.test(`forms from ${place} are refused`, async (t) => {
    const browser = new Browser(url);
    const login = await browser.submit('/api/login', { password: PASSWORD }, headers);
    t.match(login, { status: 403, text: /pages of this instance/ });
    t.same(login.headers.getSetCookie(), []);
    const json = await browser.submit('/api/login', { password: PASSWORD }, { ...headers, accept: '*/*' });
    t.match(json, { status: 403, json: { code: 'foreign_form' } });
    const inside = await visitor();
    for (const path of ['/walrus/access', '/walrus/details', '/walrus/delete']) {
      const fields = { action: 'lock', title: 'Foreign', name: 'walrus' };
      const reply = await inside.submit(path, fields, headers);
      t.equal(reply.status, 403, path);
      t.match(reply.headers.get('content-type'), /html/, path);
    }
    t.match(await owner.get(), { status: 200, json: { title: '' } });
  });

  t.test(`the session does not count for what ${place} asks of the API`, async (t) => {
    const inside = await visitor();
    for (const path of [RECORD, `${RECORD}/notes`, `${RECORD}/events`])
      t.equal((await inside.fetch(path, { headers })).status, 401, path);
    const init = { method: 'POST', body: 'x', headers: { ...headers, 'content-type': 'text/markdown' } };
    for (const path of ['/walrus', '/walrus-2', `${RECORD}/notes`])
      t.ok([401, 403].includes((await inside.fetch(path, init)).status), path);
    t.equal((await inside.fetch(RECORD, { method: 'DELETE', headers })).status < 400, false);
  });
}

t.test(
  'for the pages of the instance the session counts, by Origin where there is nothing else',
  async (t) => {
    for (const headers of [{}, ORIGIN]) {
      const browser = await visitor();
      const reply = await browser.submit('/api/login', { password: PASSWORD }, headers);
      t.equal(reply.headers.get('location'), '/');
      t.equal((await browser.fetch(RECORD, { headers })).status, 200);
      const init = { method: 'POST', body: 'x', headers: { ...headers, 'content-type': 'text/markdown' } };
      t.equal((await browser.fetch('/walrus', init)).status, 201);
    }
  },
);

t.test(
  'a read without both counts by its Referer, as of a page without https; a write does not',
  async (t) => {
    const browser = await visitor();
    const by = (referer: string) => ({ 'sec-fetch-site': '', referer });
    for (const path of [RECORD, `${RECORD}/notes`, `${RECORD}/export`])
      t.equal((await browser.fetch(path, { headers: by(`${url}/walrus`) })).status, 200, path);
    for (const referer of ['http://evil.example/', 'http://127.0.0.1:1/', 'walrus'])
      t.equal((await browser.fetch(RECORD, { headers: by(referer) })).status, 401, referer);
    const foreign = { ...by(`${url}/walrus`), origin: 'http://evil.example' };
    t.equal((await browser.fetch(RECORD, { headers: foreign })).status, 401);
    const headers = { ...by(`${url}/walrus`), 'content-type': 'text/markdown' };
    t.equal((await browser.fetch('/walrus', { method: 'POST', body: 'x', headers })).status, 401);
  },
);

t.test('a Bearer token wins over the session', async (t) => {
  const browser = await visitor();
  const wrong = { authorization: 'Bearer wrong' };
  t.equal((await browser.fetch(RECORD, { headers: wrong })).status, 401);
  t.equal((await browser.visit('/walrus', wrong)).status, 401);
  t.equal((await browser.fetch(RECORD, { headers: { authorization: `Bearer ${PASSWORD}` } })).status, 200);
  // Of a proxy in front, for example.
  t.equal((await browser.fetch(RECORD, { headers: { authorization: 'Basic eDp5' } })).status, 200);
});

t.test('what is no session is ignored', async (t) => {
  const real = (await visitor()).cookiesFor('/');
  const tampered = real.replace(/=(.)/, (_, letter) => `=${letter === 'A' ? 'B' : 'A'}`);
  for (const cookie of [
    'session=',
    'session',
    'session=x',
    'session=.',
    'session=e30.',
    `session=${'x'.repeat(5000)}`,
    'session="a"; session=b',
    real.slice(0, -1),
    `${real}x`,
    `${real}.x`.replace('session=', 'session=x.'),
    tampered,
    real.replace('session', 'SESSION'),
    real.replace('session', '__Host-session'),
    ';;;=;',
    'session=caf\u00e9',
  ]) {
    const headers = { cookie };
    t.equal((await new Browser(url).fetch(RECORD, { headers })).status, 401, cookie);
    t.equal((await new Browser(url).visit('/walrus', headers)).status, 303, cookie);
    const authorization = `Bearer ${PASSWORD}`;
    t.equal((await new Browser(url).fetch(RECORD, { headers: { ...headers, authorization } })).status, 200);
  }
  const between = { cookie: `a=b; ${real}; other=session` };
  t.equal((await new Browser(url).fetch(RECORD, { headers: between })).status, 200);
});

t.test('it ends after seven days, with another password, and with another secret', async (t) => {
  const day = 24 * 60 * 60 * 1000;
  t.equal((await forged({ age: 7 * day - 60_000 }).visit('/walrus')).status, 200);
  for (const other of [
    { age: 7 * day + 1 },
    { voidedBy: ['Let us in'] },
    { voidedBy: [] },
    { secret: `${SECRET}x` },
  ])
    t.equal((await forged(other).visit('/walrus')).status, 303);
});

t.test('it opens every container of the instance, also after a restart', async (t) => {
  const other = await start(t, SETTINGS);
  const cookie = (await visitor()).cookiesFor('/');
  t.equal((await new Browser(other.url).visit('/walrus', { cookie })).status, 200);
  const restarted = await other.restart();
  t.equal((await new Browser(restarted.url).visit('/walrus', { cookie })).status, 200);
});

t.test('forms that cannot be read', async (t) => {
  const browser = new Browser(url);
  const type = 'application/x-www-form-urlencoded';
  for (const [what, status, code, body, contentType] of [
    ['another type', 415, 'unsupported_type', '{}', 'application/json'],
    ['another encoding', 415, 'unsupported_type', 'password=x', `${type}; charset=latin1`],
    ['multipart', 415, 'unsupported_type', 'x', 'multipart/form-data; boundary=x'],
    ['too large', 413, 'too_large', `password=${'x'.repeat(16 * 1024)}`, type],
    ['no UTF-8', 400, 'invalid_body', 'password=%ff', type],
    ['half a character', 400, 'invalid_body', 'password=%c3&next=/', type],
    ['bytes that are no UTF-8', 400, 'invalid_body', Buffer.from([0x70, 0x3d, 0xff]), type],
  ] as const) {
    const headers = { accept: '*/*', 'content-type': contentType };
    const reply = await browser.fetch('/api/login', { method: 'POST', headers, body });
    t.match(reply, { status, json: { code } }, what);
  }
});

t.test('log out', async (t) => {
  const browser = await visitor();
  const page = await browser.visit('/logout');
  t.match(page, { status: 200, text: /<form method="post" action="\/logout">/ });
  t.equal((await browser.visit('/walrus')).status, 200);
  for (const headers of Object.values(ELSEWHERE)) {
    const reply = await browser.submit('/logout', {}, headers);
    t.equal(reply.status, 303);
    t.same(reply.headers.getSetCookie(), []);
  }
  const open = (who: Browser, query = '') =>
    EventStream.open(t, `${url}${RECORD}/events${query}`, {
      cookie: who.cookiesFor('/'),
      'sec-fetch-site': 'same-origin',
    });
  const stream = await open(browser);
  const ofNotes = await open(browser, '?notes=1');
  const another = await open(await visitor());
  const byToken = await EventStream.open(t, `${url}${RECORD}/events`, {
    authorization: `Bearer ${PASSWORD}`,
    'sec-fetch-site': 'same-origin',
    cookie: browser.cookiesFor('/'),
  });
  t.equal(stream.response.statusCode, 200);
  const reply = await browser.submit('/logout', {});
  t.equal(reply.status, 303);
  t.equal(reply.headers.get('location'), '/');
  t.match(reply.headers.get('set-cookie'), /^session=; Max-Age=0; Path=\/; HttpOnly; SameSite=Lax$/);
  t.equal((await browser.visit('/walrus')).status, 303);
  for (const ended of [stream, ofNotes]) t.ok(await ended.ends());
  await owner.post();
  for (const other of [another, byToken]) {
    t.ok(await other.hears(1));
    t.notOk(other.isEnded);
  }
});

t.test('a stream ends when its session does', async (t) => {
  const browser = forged({ age: 7 * 24 * 60 * 60 * 1000 - 3_000 });
  const headers = { cookie: browser.cookiesFor('/'), 'sec-fetch-site': 'same-origin' };
  const stream = await EventStream.open(t, `${url}${RECORD}/events`, headers);
  t.equal(stream.response.statusCode, 200);
  t.ok(await stream.ends());
  t.equal((await ask(`${url}${RECORD}/events`, { headers })).status, 401);
});

t.test('what the read link opens, and the login page, are open to all', async (t) => {
  const { read_url: readUrl } = (await owner.get()).json;
  t.equal((await ask(readUrl)).status, 200);
  for (const path of ['/login', '/logout', '/health', '/api/v1/openapi.json'])
    t.equal((await new Browser(url).visit(path)).status, 200, path);
});

t.test('pages say who is logged in, but none below the read link', async (t) => {
  const browser = await visitor();
  const read = new URL((await owner.get()).json.read_url).pathname.replace('/feed.xml', '');
  const form = '<form class="visitor"';
  const headers = { authorization: `Bearer ${PASSWORD}`, accept: 'text/html' };
  t.notMatch((await ask(`${url}/walrus`, { headers })).text, form, 'somebody without a session');
  for (const path of ['/walrus', '/walrus/none']) t.match((await browser.visit(path)).text, form, path);
  for (const path of [read, `${read}/none`]) {
    const { text } = await browser.visit(path);
    t.match(text, '</html>');
    t.notMatch(text, form, path);
  }
});

t.test('below a path of PUBLIC_URL, addresses and cookies begin with it', async (t) => {
  const imprint = join(t.testdir({ 'imprint.md': 'Us' }), 'imprint.md');
  const below = { PUBLIC_URL: 'https://notes.example/our/notes/', SERVICE_IMPRINT_FILE: imprint };
  const { url } = await start(t, { ...SETTINGS, ...below });
  const browser = new Browser(url);
  t.equal((await browser.visit('/walrus')).headers.get('location'), '/our/notes/login?next=%2Fwalrus');
  t.match((await browser.visit('/login')).text, /action="\/our\/notes\/api\/login"/);
  const login = await browser.submit('/api/login', { password: PASSWORD, next: '/walrus' });
  t.equal(login.headers.get('location'), '/our/notes/walrus');
  t.match(login.headers.get('set-cookie'), /^__Host-session=\S+; .*Path=\/;/);
  t.match((await browser.visit('/walrus')).text, 'action="/our/notes/logout"');
  const legal = await browser.visit('/imprint');
  t.match(legal.text, 'Us');
  t.notMatch(legal.text, /logout/, 'a page that caches may keep does not say who is logged in');
  const headers = { 'sec-fetch-site': '', origin: 'https://notes.example' };
  t.equal((await browser.submit('/api/login', { password: PASSWORD }, headers)).status, 303);
  const init = {
    method: 'POST',
    body: 'x',
    headers: { 'content-type': 'text/markdown', 'x-feed-password': 'p' },
  };
  t.same(
    (await browser.fetch('/walrus', init)).headers.getSetCookie().map((one) => /Path=([^;]+)/.exec(one)?.[1]),
    ['/our/notes/walrus', '/our/notes/api/v1/feeds/walrus'],
  );
});

t.test('no log line names a feed, a password or a session', async (t) => {
  const text = JSON.stringify(service.lines);
  t.match(text, /too_many_attempts/);
  t.notMatch(text, /walrus|let us in|wrong 1|__Host/);
});
