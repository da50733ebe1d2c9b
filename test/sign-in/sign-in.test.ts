/** People sign in with a real provider: the way there and back, who may, and what they see if it fails (contract §10). */
import t, { type Test } from 'tap';
import { Sessions } from '../../src/access/cookies.ts';
import { readConfig } from '../../src/config.ts';
import { PendingSignIns, SignIn } from '../../src/sign-in/sign-in.ts';
import { Browser } from '../support/cookie-browser.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { NoteStream } from '../support/note-stream.ts';
import { answerIn, OAuthClient } from '../support/oauth-client.ts';
import { signInEnvironment, TestProvider } from '../support/oidc-provider.ts';
import { ask, type Reply, start } from '../support/service.ts';
import { zipOf } from '../support/zips.ts';

t.setTimeout(600_000);

const url = `http://127.0.0.1:${await freePort()}`;
const provider = await TestProvider.start(t, [url], {
  anna: { name: 'Anna Þ.', email: 'Anna@Notes.example', email_verified: true },
  ben: { name: ' \u202eBen\nB. ', nickname: 'Benny', email: 'ben@friends.example', email_verified: true },
  nameless: { email: 'x@friends.example', email_verified: true },
  markup: { name: '<i>Ann</i>', email: 'ann@friends.example', email_verified: true },
  long: { name: 'é'.repeat(150), email: 'long@friends.example', email_verified: true },
  eve: { name: 'Anna Þ.', email: 'eve@elsewhere.example', email_verified: true },
  unverified: { name: 'Anna Þ.', email: 'anna@notes.example', email_verified: false },
  unsaid: { name: 'Anna Þ.', email: 'anna@notes.example' },
  text: { name: 'Anna Þ.', email: 'anna@notes.example', email_verified: 'true' },
  subdomain: { email: 'x@sub.friends.example', email_verified: true },
  suffix: { email: 'x@notfriends.example', email_verified: true },
  kelvin: { email: '\u212aim@notes.example', email_verified: true },
  homeless: { name: 'Homeless' },
});
const PASSWORD = 'let us in';
const SETTINGS: Record<string, string> = {
  ...signInEnvironment(provider, url),
  SERVICE_OIDC_ALLOW: 'anna@notes.example, kim@notes.example, @Friends.example',
  SERVICE_OIDC_LABEL: 'Acme & Co',
  SERVICE_PASSWORD: PASSWORD,
  SERVICE_SECRET: 'the same secret in all the containers',
  SERVICE_TRUST_PROXY: '1',
  SERVICE_RATE_LIMIT: '5',
};
const SECRET = Buffer.from(SETTINGS.SERVICE_SECRET!);
const service = await start(t, SETTINGS);
const BEARER = { authorization: `Bearer ${PASSWORD}` };

/** Goes to the provider; where it leads back to. */
async function away(browser: Browser, name: string | undefined, next = '/'): Promise<string> {
  const departure = await browser.visit(`/api/oidc/start?${new URLSearchParams({ next })}`);
  const back = await provider.visit(departure.headers.get('location')!, name);
  return back.slice(url.length);
}

/** Signs in; the answer to the way back. */
async function signIn(browser: Browser, name: string | undefined, next = '/'): Promise<Reply> {
  return browser.visit(await away(browser, name, next));
}

async function signedIn(name = 'anna'): Promise<Browser> {
  const browser = new Browser(url);
  await signIn(browser, name);
  return browser;
}

/** The sign-in of an instance with these settings. */
function signInWith(changed: Record<string, string>): SignIn {
  const { providers } = readConfig({ ...SETTINGS, ...changed });
  return new SignIn({ providers, publicUrl: url, secret: SECRET, log: { warn: () => {}, info: () => {} } });
}

/** What the session of somebody who has signed in says of them. */
function personIn(browser: Browser): { email: string; provider: string } {
  const [, text = ''] = /session=([\w-]+)/.exec(browser.cookiesFor('/'))!;
  return JSON.parse(Buffer.from(text, 'base64url').toString());
}

/** Nobody has been signed in, and the login page says why. */
async function isTurnedAway(t: Test, browser: Browser, reply: Reply, error: string, sentence: RegExp) {
  t.equal(reply.status, 303);
  t.match(reply.headers.get('location'), new RegExp(`^/login\\?error=${error}(&|$)`));
  t.notMatch(reply.headers.getSetCookie().join(), /^session=/);
  t.equal((await browser.visit('/')).status, 303, 'the instance stays closed');
  const page = await browser.visit(reply.headers.get('location')!);
  t.match(page.text.match(/<p class="error" role="alert">([^<]*)/)?.[1], sentence);
}

t.test('somebody signs in and goes on to where they wanted to', async (t) => {
  const browser = new Browser(url);
  const login = (await browser.visit('/walrus?tag=a')).headers.get('location')!;
  const page = await browser.visit(login);
  t.match(page.text, 'Sign in with Acme &amp; Co</a>');
  t.match(page.text, 'type="password"', 'the password lets in as well');
  const href = /href="(\/api\/oidc\/start[^"]*)"/.exec(page.text)![1]!.replaceAll('&amp;', '&');
  const departure = await browser.visit(href);
  t.equal(departure.status, 303);
  t.equal(departure.headers.get('cache-control'), 'private, no-store');
  t.match(departure.headers.getSetCookie(), [
    /^flight=[\w.-]+; Max-Age=600; Path=\/api\/oidc; HttpOnly; SameSite=Lax$/,
  ]);
  const to = new URL(departure.headers.get('location')!);
  t.equal(to.origin, provider.url);
  t.match(Object.fromEntries(to.searchParams), {
    client_id: 'notes',
    response_type: 'code',
    scope: 'openid profile email',
    redirect_uri: `${url}/api/oidc/callback`,
    code_challenge_method: 'S256',
    code_challenge: /^[\w-]{43}$/,
    state: /^[\w-]{43}$/,
    nonce: /^[\w-]{43}$/,
  });
  const back = await provider.visit(to.href, 'anna');
  const reply = await browser.visit(back.slice(url.length));
  t.match(reply, { status: 303 });
  t.equal(reply.headers.get('location'), '/walrus?tag=a');
  t.match(reply.headers.getSetCookie(), [
    /^session=[\w.-]+; Max-Age=604800; Path=\/; HttpOnly; SameSite=Lax$/,
    /^flight=; Max-Age=0; Path=\/api\/oidc; /,
  ]);
  t.equal((await browser.visit('/walrus')).status, 200);
  t.equal((await browser.fetch('/api/v1/feeds/walrus/notes')).status, 200);
  await browser.submit('/logout', {});
  t.equal((await browser.visit('/walrus')).status, 303, 'until they log out');
});

t.test('a sender in a zip says nothing where people sign in', async (t) => {
  const body = zipOf([{ name: 'a.md' }, { name: '.a.md.json', bytes: '{"sender":"Anna","title":"T"}' }]);
  const headers = { ...BEARER, 'x-forwarded-for': '192.0.2.77', 'content-type': 'application/zip' };
  const record = `${url}/api/v1/feeds/zipped`;
  t.match((await ask(`${record}/import`, { method: 'POST', headers, body })).json, { imported: 1 });
  const [note] = (await ask(`${record}/notes`, { headers: BEARER })).json.notes;
  t.match(note, { title: 'T', sender: undefined });
});

t.test('the way there begins by a form as well, and leads nowhere else', async (t) => {
  const browser = new Browser(url);
  const departure = await browser.submit('/api/oidc/start', { next: '/walrus/settings' });
  const back = await provider.visit(departure.headers.get('location')!, 'ben');
  t.equal((await browser.visit(back.slice(url.length))).headers.get('location'), '/walrus/settings');
  const foreign = await browser.submit('/api/oidc/start', {}, { 'sec-fetch-site': 'cross-site' });
  t.equal(foreign.status, 403);
  for (const next of ['//evil.example', 'https://evil.example', '/\\evil.example', `/${'x'.repeat(3000)}`])
    t.equal((await signIn(new Browser(url), 'anna', next)).headers.get('location'), '/', next.slice(0, 30));
  const longest = `/${'"'.repeat(2047)}`;
  t.equal((await signIn(new Browser(url), 'anna', longest)).headers.get('location'), longest);
});

t.test('what people post says who they are, and what a client says of that counts for nothing', async (t) => {
  const post = async (browser: Browser, headers: Record<string, string> = {}) => {
    const init = { method: 'POST', body: 'text', headers: { 'content-type': 'text/markdown', ...headers } };
    const { json } = await browser.fetch('/puffin', init);
    return (await ask(`${url}/api/v1/feeds/puffin/notes/${json.id}`, { headers: BEARER })).json.sender;
  };
  t.equal(await post(await signedIn('anna')), 'Anna Þ.');
  t.equal(await post(await signedIn('ben')), 'Ben B.');
  t.equal(await post(await signedIn('nameless')), 'x@friends.example');
  t.equal(await post(await signedIn('long')), 'é'.repeat(100));
  t.equal(await post(await signedIn(), { 'x-sender': 'Eve' }), 'Anna Þ.');
  const { json } = await (await signedIn('ben')).fetch('/puffin', {
    method: 'POST',
    body: 'text',
    headers: { 'content-type': 'text/markdown' },
  });
  const sender = JSON.stringify({ sender: 'Eve', title: 'Changed' });
  const change = { method: 'PATCH', body: sender, headers: { 'content-type': 'application/json' } };
  const changed = await (await signedIn('anna')).fetch(`/puffin/${json.id}`, change);
  t.match(changed, { status: 200, json: { title: 'Changed', sender: 'Ben B.' } }, 'nor is it who changes it');
  t.equal(await post(await signedIn(), BEARER), undefined, 'a Bearer token wins over the session');
  const markup = await signedIn('markup');
  await post(markup);
  t.match((await markup.visit('/puffin')).text, 'by <bdi>&lt;i&gt;Ann&lt;/i&gt;</bdi>');
  const body = zipOf([{ name: 'zipped.md' }, { name: '.zipped.md.json', bytes: '{"sender":"Eve"}' }]);
  const zip = { method: 'POST', body, headers: { 'content-type': 'application/zip' } };
  t.match((await markup.fetch('/api/v1/feeds/puffin/import', zip)).json, { imported: 1 });
  t.equal((await markup.fetch('/api/v1/feeds/puffin/notes/zipped')).json.sender, undefined, 'nor a zip');
  const byPassword = new Browser(url);
  await byPassword.submit('/api/login', { password: PASSWORD });
  t.equal(await post(byPassword), undefined);
});

t.test('readers see who posted as long as the feed shows it', async (t) => {
  const browser = await signedIn();
  const headers = { 'content-type': 'text/markdown' };
  const posted = await browser.fetch('/curlew', { method: 'POST', body: '# A note', headers });
  const { id, read_url } = posted.json;
  const readUrl = read_url.replace(/\/feed\.xml$/, '');
  const readId = readUrl.split('/').at(-1);
  /** Where readers look, and what they find there. */
  const PLACES: [path: string, shown: RegExp][] = [
    [`/r/${readId}/feed.xml`, /<dc:creator>Anna Þ\.<\/dc:creator>/],
    [`/r/${readId}/feed.json`, /"authors":\[\{"name":"Anna Þ\."\}\]/],
    [`/api/v1/read/${readId}/notes`, /"sender":"Anna Þ\."/],
    [`/api/v1/read/${readId}/notes/${id}`, /"sender":"Anna Þ\."/],
    [`/r/${readId}`, /by <bdi>Anna Þ\.<\/bdi>/],
    [`/r/${readId}/${id}`, /by <bdi>Anna Þ\.<\/bdi>/],
  ];
  const senderTold = async () => {
    const stream = await NoteStream.open(t, `${url}/r/${readId}/events?notes=1&since=0`);
    t.ok(await stream.hears(1, 'note'));
    stream.close();
    return stream.events[0]!.note.sender;
  };
  const settings = '/curlew/settings';
  t.match((await browser.visit(settings)).text, /name="show_sender" value="1" checked/);
  t.equal(await senderTold(), 'Anna Þ.');
  for (const [path, shown] of PLACES) t.match((await ask(url + path)).text, shown, path);
  // As a browser sends a box that is not ticked.
  await browser.submit('/curlew/details', { title: 'Hidden', description: '', show_sender: '0' });
  t.match((await browser.visit(settings)).text, /name="show_sender" value="1" aria/);
  for (const [path] of PLACES) {
    const { status, text } = await ask(url + path);
    t.equal(status, 200, path);
    t.notMatch(text, /Anna/, path);
  }
  t.equal(await senderTold(), undefined);
  t.match(
    (await browser.fetch('/api/v1/feeds/curlew/notes')).text,
    /"sender":"Anna Þ\."/,
    'by name it stays',
  );
  t.match((await browser.visit('/curlew')).text, /by <bdi>Anna/);
  const ticked = [
    ['show_sender', '0'],
    ['show_sender', '1'],
  ] as const;
  await browser.submit('/curlew/details', ticked);
  for (const [path, shown] of PLACES) t.match((await ask(url + path)).text, shown, path);
});

t.test('who is not on the list is not let in', async (t) => {
  for (const name of ['eve', 'unverified', 'unsaid', 'text', 'subdomain', 'suffix', 'kelvin', 'homeless']) {
    const browser = new Browser(url);
    const reply = await signIn(browser, name, '/walrus');
    await isTurnedAway(t, browser, reply, 'not_allowed', /^Your account at Acme &amp; Co may not use this/);
  }
  t.notMatch(JSON.stringify(service.lines), /elsewhere|notes\.example/, 'the log says nothing of who it was');
  const told = service.lines.filter(({ message }) => message === 'sign-in not allowed');
  t.same(
    told.map(({ fields }) => fields.verified),
    [true, false, false, false, true, true, true, false],
  );
});

const FAILED = /^Signing in did not work\. Please try again\.$/;

t.test('who lets go at the provider is not let in', async (t) => {
  const browser = new Browser(url);
  await isTurnedAway(t, browser, await signIn(browser, undefined), 'sign_in_failed', FAILED);
});

t.test('a wrong state ends the sign-in', async (t) => {
  const browser = new Browser(url);
  const back = await away(browser, 'anna');
  const wrong = back.replace(/state=[^&]*/, 'state=wrong');
  await isTurnedAway(t, browser, await browser.visit(wrong), 'sign_in_failed', FAILED);
  await isTurnedAway(t, browser, await browser.visit(back), 'sign_in_failed', FAILED);
});

t.test('the log repeats only the beginning of what an answer of the provider says', async (t) => {
  const browser = new Browser(url);
  const back = await away(browser, 'anna');
  const reply = await browser.visit(back.replace(/code=[^&]*/, `error=${'x'.repeat(1000)}`));
  await isTurnedAway(t, browser, reply, 'sign_in_failed', FAILED);
  const { reason } = service.lines.findLast(({ message }) => message === 'sign-in failed')!.fields;
  t.match(reason, /^.{300}$/);
});

t.test('nobody goes on with what began in the browser of another', async (t) => {
  const [mine, theirs] = [new Browser(url), new Browser(url)];
  const back = await away(mine, 'anna');
  await away(theirs, 'ben');
  await isTurnedAway(t, theirs, await theirs.visit(back), 'sign_in_failed', FAILED);
});

t.test('a callback counts once', async (t) => {
  const browser = new Browser(url);
  const back = await away(browser, 'anna');
  const before = browser.copy();
  t.equal((await browser.visit(back)).headers.get('location'), '/');
  // With the flight cookie, which a thief may have kept: the provider takes the code once.
  await isTurnedAway(t, before, await before.visit(back), 'sign_in_failed', FAILED);
  const fresh = new Browser(url);
  await isTurnedAway(t, fresh, await fresh.visit(back), 'sign_in_failed', FAILED);
});

t.test('whoever takes longer than ten minutes begins anew', async (t) => {
  const browser = new Browser(url);
  const back = await away(browser, 'anna');
  const voidedBy = [personIn(await signedIn()).provider];
  const flights = (age: number) => new PendingSignIns(SECRET, voidedBy, () => Date.now() - age);
  const flight = flights(0).read(browser.cookiesFor('/api/oidc/callback'))!;
  const late = browser.copy();
  late.take([flights(601_000).cookie(flight, { root: '', isSecure: false })]);
  await isTurnedAway(t, late, await late.visit(back), 'sign_in_failed', FAILED);
  browser.take([flights(599_000).cookie(flight, { root: '', isSecure: false })]);
  t.equal((await browser.visit(back)).headers.get('location'), '/', 'and until then goes on');
});

t.test('what fails counts as a wrong password, but only where a sign-in has begun', async (t) => {
  const browser = new Browser(url);
  for (let i = 0; i < 9; i += 1) {
    const reply = await browser.visit('/api/oidc/callback?code=x&state=y');
    t.match(reply.headers.get('location'), /error=sign_in_failed/);
  }
  for (let i = 0; i < 5; i += 1)
    t.match((await signIn(browser, 'eve')).headers.get('location'), /error=not_allowed/);
  const reply = await signIn(browser, 'anna', '/walrus');
  const location = reply.headers.get('location')!;
  t.match(location, /^\/login\?error=too_many_attempts&retry=\d+&next=%2Fwalrus$/);
  t.match(reply.headers.getSetCookie(), [/^flight=; Max-Age=0; /]);
  t.match((await browser.visit(location)).text, /Try again in \d+ second/);
  const password = await browser.submit('/api/login', { password: PASSWORD });
  t.match(password.headers.get('location'), /error=too_many_attempts/);
});

t.test('where the provider is down the login page says so, and all else goes on', async (t) => {
  const DOWN = /^Acme &amp; Co cannot be reached right now\. Please try again later\.$/;
  const [leaving, returning, late] = [new Browser(url), new Browser(url), new Browser(url)];
  const back = await away(returning, 'anna');
  const lateBack = await away(late, 'anna');
  const member = await signedIn();
  t.teardown(() => provider.recover());
  const error =
    (status: number) => (_: unknown, response: { writeHead(status: number): { end(): void } }) => {
      response.writeHead(status).end();
      return true;
    };
  provider.intercept = error(503);
  const fresh = await start(t, { ...SETTINGS, PORT: '0' });
  await isTurnedAway(t, returning, await returning.visit(back), 'sign_in_unavailable', DOWN);
  const departures = new Browser(fresh.url);
  const departure = () => departures.visit('/api/oidc/start?next=/walrus');
  t.equal((await departure()).headers.get('location'), '/login?error=sign_in_unavailable&next=%2Fwalrus');
  provider.breakDown();
  await isTurnedAway(t, departures, await departure(), 'sign_in_unavailable', DOWN);
  t.equal((await member.visit('/walrus')).status, 200);
  t.equal((await leaving.submit('/api/login', { password: PASSWORD })).headers.get('location'), '/');
  // It takes the connection and says nothing.
  provider.intercept = () => true;
  const [waiting, lateWaiting] = [departure(), late.visit(lateBack)];
  t.equal((await member.visit('/walrus')).status, 200);
  await isTurnedAway(t, departures, await waiting, 'sign_in_unavailable', DOWN);
  await isTurnedAway(t, late, await lateWaiting, 'sign_in_unavailable', DOWN);
  provider.intercept = (request, response) => {
    if (!request.url!.includes('.well-known')) return false;
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({ issuer: 'https://evil.example', authorization_endpoint: 'https://evil.example/' }),
    );
    return true;
  };
  await isTurnedAway(t, departures, await departure(), 'sign_in_unavailable', DOWN);
  provider.recover();
  t.match(
    (await departure()).headers.get('location'),
    provider.url,
    'it is asked again as soon as somebody comes',
  );
});

t.test('the start says what is wrong with the provider', async (t) => {
  t.teardown(() => provider.recover());
  const warning = async () => {
    const { lines } = await start(t, { ...SETTINGS, PORT: '0' });
    const found = () => lines.find(({ message }) => message === 'the sign-in provider cannot be used');
    t.ok(await eventually(() => found() !== undefined));
    return found()?.fields.reason;
  };
  provider.intercept = (_, response) => {
    response.writeHead(503).end();
    return true;
  };
  t.type(await warning(), 'string');
  const whole = {
    issuer: provider.url,
    authorization_endpoint: `${provider.url}/auth`,
    token_endpoint: `${provider.url}/token`,
    jwks_uri: `${provider.url}/jwks`,
  };
  for (const lacking of ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const) {
    provider.intercept = (_, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ ...whole, [lacking]: undefined }));
      return true;
    };
    t.equal(await warning(), `its documents lack ${lacking}`);
    const fresh = await start(t, { ...SETTINGS, PORT: '0' });
    const { headers } = await new Browser(fresh.url).visit('/api/oidc/start');
    t.match(headers.get('location'), /error=sign_in_unavailable/);
  }
});

t.test('new keys of the provider are fetched when one of them has signed', async (t) => {
  await signedIn();
  for (let i = 0; i < 2; i += 1) {
    provider.renew();
    provider.asked.length = 0;
    t.equal((await signIn(new Browser(url), 'anna', '/walrus')).headers.get('location'), '/walrus');
    t.equal((await signIn(new Browser(url), 'ben', '/walrus')).headers.get('location'), '/walrus');
    t.equal(provider.asked.filter((path) => path === '/jwks').length, 1, 'once');
    t.notOk(provider.asked.includes('/.well-known/openid-configuration'));
  }
});

t.test('a provider that becomes another one signs nobody in', async (t) => {
  t.teardown(() => provider.renew());
  provider.renew('http://127.0.0.1:1');
  const browser = new Browser(url);
  const departure = await browser.visit('/api/oidc/start');
  const back = await provider.visit(departure.headers.get('location')!, 'anna');
  await isTurnedAway(t, browser, await browser.visit(back.slice(url.length)), 'sign_in_failed', FAILED);
});

t.test('a session ends with what it was signed in by', async (t) => {
  const cookie = (await signedIn('anna')).cookiesFor('/');
  const guest = (await signedIn('ben')).cookiesFor('/');
  const CHANGES: [changed: Record<string, string>, anna: number, ben: number][] = [
    [{ SERVICE_OIDC_ALLOW: '@friends.example', SERVICE_OIDC_LABEL: 'Other' }, 303, 200],
    [{ SERVICE_OIDC_CLIENT_SECRET: 'other' }, 303, 303],
  ];
  for (const [changed, anna, ben] of CHANGES) {
    const other = await start(t, { ...SETTINGS, PORT: '0', ...changed });
    const status = async (cookie: string) => (await ask(other.url, { headers: { cookie } })).status;
    t.same([await status(cookie), await status(guest)], [anna, ben], JSON.stringify(changed));
  }
  // Each start takes a second, so the others are asked without one.
  const person = personIn(await signedIn());
  const flight = { provider: '', state: 's', nonce: 'n', verifier: 'v', next: '/walrus' };
  const begun = signInWith({}).pending.cookie(flight, { root: '/below', isSecure: true });
  t.match(begun, /; Path=\/below\/api\/oidc; HttpOnly; Secure; SameSite=Lax$/);
  const knows = (signIn: SignIn) => [signIn.admits(person), signIn.pending.read(begun.split(';')[0])];
  t.strictSame(knows(signInWith({})), [true, flight]);
  for (const changed of ['SERVICE_OIDC_ISSUER', 'SERVICE_OIDC_CLIENT_ID', 'SERVICE_OIDC_CLIENT_SECRET']) {
    const other = signInWith({ [changed]: 'https://other.example' });
    t.strictSame(knows(other), [false, undefined], `${changed}: nor does a sign-in go on that has begun`);
  }
});

t.test('where the id token has the name alone, the provider is asked for the address', async (t) => {
  const signIn = signInWith({ SERVICE_OIDC_SENDER_CLAIM: 'nickname' });
  const request = { requestId: 'a request' };
  const started = await signIn.start('', '/', { root: '', isSecure: false }, request);
  if (typeof started === 'string') return t.fail(started);
  const back = new URL(await provider.visit(started.url, 'ben'));
  const pending = signIn.pending.read(started.cookie.split(';')[0])!;
  t.match(await signIn.finish(back.search.slice(1), pending, request), {
    email: 'ben@friends.example',
    sender: 'Benny',
  });
});

t.test('a list that lets everybody in asks for no address', async (t) => {
  const base = `http://127.0.0.1:${await freePort()}`;
  provider.redirectUris.push(`${base}/api/oidc/callback`);
  provider.renew();
  const everybody = { ...SETTINGS, SERVICE_OIDC_ALLOW: '*', SERVICE_OIDC_SENDER_CLAIM: 'nickname,name' };
  const address = { PORT: new URL(base).port, PUBLIC_URL: base };
  await start(t, { ...everybody, ...address });
  const homeless = new Browser(base);
  for (const [name, sender, browser = new Browser(base)] of [
    ['homeless', 'Homeless', homeless],
    ['unverified', 'Anna Þ.'],
    ['ben', 'Benny'],
    ['subdomain', undefined],
  ] as const) {
    const departure = await browser.visit('/api/oidc/start');
    const back = await provider.visit(departure.headers.get('location')!, name);
    await browser.visit(back.slice(base.length));
    const init = { method: 'POST', body: name, headers: { 'content-type': 'text/markdown' } };
    const { json } = await browser.fetch('/gannet', init);
    const note = await browser.fetch(`/api/v1/feeds/gannet/notes/${json.id}`);
    t.equal(note.json.sender, sender, name);
  }

  const cookie = homeless.cookiesFor('/');
  const sessionsFor = (mayStay: boolean) =>
    new Sessions({ secret: SECRET, voidedBy: [PASSWORD], admits: () => mayStay });
  t.match(sessionsFor(true).read(cookie, false), { email: '', sender: 'Homeless' });
  t.equal(sessionsFor(false).read(cookie, false), undefined, 'who has no address is judged as well');

  const client = await OAuthClient.register(base);
  const code = answerIn(await client.consent({}, { cookie })).get('code')!;
  const { json } = await client.exchange(code);
  const params = { name: 'post_note', arguments: { feed: 'gannet', markdown: 'by a tool' } };
  await ask(`${base}/mcp`, {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${json.access_token}`,
    },
  });
  const newest = await homeless.fetch('/api/v1/feeds/gannet/notes?limit=1');
  t.match(newest.json.notes, [{ content: 'by a tool', sender: 'Homeless' }], 'also by an assistant');
});

t.test('with sign-in alone there is no password', async (t) => {
  const { SERVICE_PASSWORD: _, SERVICE_OIDC_LABEL: __, ...alone } = SETTINGS;
  const base = `http://127.0.0.1:${await freePort()}`;
  const { url } = await start(t, { ...alone, PORT: new URL(base).port, PUBLIC_URL: base });
  const record = `${url}/api/v1/feeds/walrus`;
  t.match(await ask(record), { status: 401, json: { code: 'auth', error: /sign in/ } });
  t.match(await ask(record, { headers: BEARER }), { status: 401, json: { code: 'auth' } });
  const browser = new Browser(url);
  t.equal((await browser.visit('/walrus')).headers.get('location'), '/login?next=%2Fwalrus');
  const page = await browser.visit('/login?next=%2Fwalrus');
  t.match(page.text, `Sign in with ${new URL(provider.url).host}</a>`);
  t.notMatch(page.text, /type="password"|curl|Bearer/);
  const password = await browser.submit('/api/login', { password: PASSWORD });
  t.match(password.headers.get('location'), '/login?error=auth');
  t.match((await browser.visit('/login?error=auth')).text, 'not the password');
  const client = await OAuthClient.register(url);
  const consent = (await client.page()).text;
  t.notMatch(consent, /type="password"|>Allow</, 'whoever asks for an assistant signs in first');
  t.match(consent, />Deny</);
  const [, href = ''] = /href="(\/api\/oidc\/start[^"]*)"/.exec(consent) ?? [];
  const next = new URL(href.replaceAll('&amp;', '&'), url).searchParams.get('next');
  t.equal(next, `/oauth/authorize?${client.request()}`, 'and comes back');
});

t.test('without sign-in there is nothing of it', async (t) => {
  const { url } = await start(t, { SERVICE_PASSWORD: PASSWORD });
  for (const path of ['/api/oidc/start', '/api/oidc/callback']) {
    t.match(await ask(url + path), { status: 404, json: { code: 'not_found' } });
    t.equal((await ask(url + path, { method: 'POST' })).status, 404);
  }
  t.notMatch((await ask(`${url}/login?error=not_allowed`)).text, /Sign in with|list/);
  const browser = new Browser(url);
  await browser.submit('/api/login', { password: PASSWORD });
  await browser.fetch('/walrus', { method: 'POST', body: 'x', headers: { 'content-type': 'text/markdown' } });
  t.notMatch((await browser.visit('/walrus/settings')).text, /show_sender/);
});
