/** People of two real providers: a button for each, and what one says of a person counts by its own list alone. */
import t from 'tap';
import { Browser } from '../support/cookie-browser.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { answerIn, OAuthClient, opensTools } from '../support/oauth-client.ts';
import { CLIENT, TestProvider } from '../support/oidc-provider.ts';
import { ask, start } from '../support/service.ts';

t.setTimeout(600_000);

const url = `http://127.0.0.1:${await freePort()}`;
const anna = { name: 'Anna', email: 'anna@notes.example', email_verified: true };
const ben = { name: 'Ben', email: 'ben@friends.example', email_verified: true };
const acme = await TestProvider.start(t, [url], { anna, ben });
const friends = await TestProvider.start(t, [url], { anna: { ...anna, name: 'Not Anna' }, ben });
const PROVIDERS: Record<string, TestProvider> = { acme, friends };

const SETTINGS: Record<string, string> = {
  PORT: new URL(url).port,
  PUBLIC_URL: url,
  SERVICE_SECRET: 'the same secret in all the containers',
  ...settingsOf('ACME', acme, 'anna@notes.example', 'Acme & Co'),
  ...settingsOf('FRIENDS', friends, '@friends.example', 'Friends'),
};
await start(t, SETTINGS);

function settingsOf(name: string, provider: TestProvider, allow: string, label: string) {
  const settings = {
    ISSUER: provider.url,
    CLIENT_ID: CLIENT.id,
    CLIENT_SECRET: CLIENT.secret,
    ALLOW: allow,
    LABEL: label,
  };
  return Object.fromEntries(
    Object.entries(settings).map(([key, value]) => [`SERVICE_OIDC_${name}_${key}`, value]),
  );
}

/** Goes to a provider, which leads back to this path. */
async function away(browser: Browser, provider: string, person: string): Promise<string> {
  const departure = await browser.visit(`/api/oidc/start?provider=${provider}&next=%2Fwalrus`);
  const back = await PROVIDERS[provider]!.visit(departure.headers.get('location')!, person);
  return back.slice(url.length);
}

async function signIn(provider: string, person: string) {
  const browser = new Browser(url);
  const reply = await browser.visit(await away(browser, provider, person));
  return { browser, location: reply.headers.get('location') };
}

/** What the login page says after a failure. */
async function problemAt(location: string | null): Promise<string | undefined> {
  const { text } = await ask(url + location);
  return /<p class="error" role="alert">([^<]*)/.exec(text)?.[1];
}

t.test('the login page has a button for each', async (t) => {
  const page = await new Browser(url).visit('/login?next=%2Fwalrus');
  const links = [...page.text.matchAll(/<a class="button primary" href="([^"]*)">Sign in with ([^<]*)</g)];
  t.strictSame(
    links.map(([, href, label]) => [href!.replaceAll('&amp;', '&'), label]),
    [
      ['/api/oidc/start?provider=acme&next=%2Fwalrus', 'Acme &amp; Co'],
      ['/api/oidc/start?provider=friends&next=%2Fwalrus', 'Friends'],
    ],
  );
  const to = async (path: string) => {
    const { headers } = await new Browser(url).visit(path);
    return headers.get('location')!;
  };
  t.match(await to(links[0]![1]!.replaceAll('&amp;', '&')), acme.url);
  t.match(await to(links[1]![1]!.replaceAll('&amp;', '&')), friends.url);
  t.match(await to('/api/oidc/start'), acme.url, 'the first one if none is named');
  const form = await new Browser(url).submit('/api/oidc/start', { provider: 'friends' });
  t.match(form.headers.get('location'), friends.url);
  for (const unknown of ['nobody', 'ACME', 'x'.repeat(3000)])
    t.equal(await to(`/api/oidc/start?provider=${unknown}`), '/login?error=sign_in_failed&next=%2F');
});

t.test('each admits the people on its own list', async (t) => {
  for (const [provider, person] of [
    ['acme', 'anna'],
    ['friends', 'ben'],
  ] as const) {
    const { browser, location } = await signIn(provider, person);
    t.equal(location, '/walrus', person);
    const headers = { 'content-type': 'text/markdown' };
    const { json } = await browser.fetch('/walrus', { method: 'POST', body: 'x', headers });
    const note = await browser.fetch(`/api/v1/feeds/walrus/notes/${json.id}`);
    t.equal(note.json.sender, provider === 'acme' ? 'Anna' : 'Ben');
  }
  for (const [provider, person] of [
    ['acme', 'ben'],
    ['friends', 'anna'],
  ] as const) {
    const { browser, location } = await signIn(provider, person);
    t.equal(location, `/login?error=not_allowed&provider=${provider}&next=%2Fwalrus`);
    t.match(
      await problemAt(location),
      provider === 'acme' ? 'at Acme &amp; Co may not' : 'at Friends may not',
    );
    t.equal((await browser.visit('/walrus')).status, 303);
  }
  t.match(await problemAt('/login?error=not_allowed&provider=%3Cb%3E'), 'Acme', 'another text is not shown');
});

t.test('whoever has gone to one provider does not come back from the other', async (t) => {
  const browser = new Browser(url);
  const departure = await browser.visit('/api/oidc/start?provider=acme&next=%2Fwalrus');
  // All that the two have in common is as the flight wants it: state, nonce, challenge, client and redirect address.
  const elsewhere = departure.headers.get('location')!.replace(acme.url, friends.url);
  const back = await friends.visit(elsewhere, 'anna');
  const asked = acme.asked.length;
  const { headers } = await browser.visit(back.slice(url.length));
  t.equal(headers.get('location'), '/login?error=sign_in_failed&provider=acme&next=%2Fwalrus');
  t.strictSame(acme.asked.slice(asked), [], 'the code goes to neither');
  t.equal((await browser.visit('/walrus')).status, 303);
});

t.test('one that is down leaves the other', async (t) => {
  t.teardown(() => friends.recover());
  friends.breakDown();
  const other = await start(t, { ...SETTINGS, PORT: '0' });
  const warning = 'the sign-in provider cannot be used';
  t.ok(await eventually(() => other.lines.some(({ message }) => message === warning)));
  t.match(
    other.lines.filter(({ message }) => message === warning),
    [{ fields: { provider: 'friends' } }],
    'of the two',
  );
  const down = await ask(`${other.url}/api/oidc/start?provider=friends`, {
    headers: { accept: 'text/html' },
  });
  const location = down.headers.get('location');
  t.equal(location, '/login?error=sign_in_unavailable&provider=friends&next=%2F');
  t.match(await problemAt(location), 'Friends cannot be reached');
  t.equal((await signIn('acme', 'anna')).location, '/walrus');
});

t.test('one whose documents lack an endpoint shows at the start, by name', async (t) => {
  t.teardown(() => acme.recover());
  acme.intercept = ({ url: path }, response) => {
    if (path !== '/.well-known/openid-configuration') return false;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ issuer: acme.url, authorization_endpoint: `${acme.url}/auth` }));
    return true;
  };
  const { lines } = await start(t, { ...SETTINGS, PORT: '0' });
  const warning = () => lines.find(({ message }) => message === 'the sign-in provider cannot be used');
  t.ok(await eventually(() => warning() !== undefined));
  t.match(warning(), { fields: { provider: 'acme', reason: /lack token_endpoint, jwks_uri$/ } });
});

t.test('the one without a name stands beside the others, and first', async (t) => {
  const { PUBLIC_URL, SERVICE_SECRET } = SETTINGS;
  const unnamed = settingsOf('X', friends, '*', 'The first');
  const named = settingsOf('ACME', acme, '*', 'Acme');
  const env = Object.entries({ ...unnamed, ...named }).map(([key, value]) => [key.replace('_X', ''), value]);
  const other = await start(t, { PUBLIC_URL, SERVICE_SECRET, ...Object.fromEntries(env) });
  const { text } = await ask(`${other.url}/login`);
  t.strictSame(
    [...text.matchAll(/\/api\/oidc\/start\?([^"]*)">Sign in with ([^<]*)</g)].map((found) => found.slice(1)),
    [
      ['next=%2F', 'The first'],
      ['provider=acme&amp;next=%2F', 'Acme'],
    ],
  );
});

t.test('the token of an assistant ends with the provider of who let it in', async (t) => {
  const client = await OAuthClient.register(url);
  const tokens: string[] = [];
  for (const [provider, person] of [
    ['acme', 'anna'],
    ['friends', 'ben'],
  ] as const) {
    const { browser } = await signIn(provider, person);
    const code = answerIn(await client.consent({}, { cookie: browser.cookiesFor('/') })).get('code')!;
    const { json } = await client.exchange(code);
    t.equal(await opensTools(url, json.access_token), 200, person);
    tokens.push(json.access_token);
  }
  const other = await start(t, { ...SETTINGS, PORT: '0', SERVICE_OIDC_ACME_CLIENT_SECRET: 'other' });
  const found = [];
  for (const token of tokens) found.push(await opensTools(other.url, token));
  t.strictSame(found, [401, 200]);
});

t.test('what ends at one provider goes on at the other', async (t) => {
  const cookies = [
    (await signIn('acme', 'anna')).browser.cookiesFor('/'),
    (await signIn('friends', 'ben')).browser.cookiesFor('/'),
  ];
  for (const [changed, statuses] of [
    [{}, [200, 200]],
    [{ SERVICE_OIDC_ACME_CLIENT_SECRET: 'other' }, [303, 200]],
    [{ SERVICE_OIDC_FRIENDS_ALLOW: 'eve@friends.example' }, [200, 303]],
    [{ SERVICE_OIDC_FRIENDS_CLIENT_ID: 'other' }, [200, 303]],
    // Both lists admit both, and still the session says where it came from.
    [{ SERVICE_OIDC_ACME_ISSUER: friends.url, SERVICE_OIDC_ACME_ALLOW: '*' }, [303, 200]],
    [settingsOf('FRIENDS', acme, '*', 'x'), [200, 303]],
  ] as const) {
    const other = await start(t, { ...SETTINGS, PORT: '0', ...changed });
    const found = [];
    for (const cookie of cookies) found.push((await ask(other.url, { headers: { cookie } })).status);
    t.strictSame(found, statuses, JSON.stringify(changed));
    await other.stop();
  }
});
