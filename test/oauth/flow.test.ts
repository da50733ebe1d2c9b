/** The OAuth server of a locked instance: registration, consent, codes and tokens, and the attacks on them. */
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { OAuth, SignedTokens } from '../../src/oauth/oauth.ts';
import { eventually } from '../support/eventually.ts';
import {
  answerIn,
  challengeOf,
  OAuthClient,
  opensTools,
  REDIRECT,
  registered,
} from '../support/oauth-client.ts';
import { ask, start, tempDir } from '../support/service.ts';

const PASSWORD = 'let us in';
const SECRET = 'the secret of a test, long enough';

const service = await start(t, { SERVICE_PASSWORD: PASSWORD, SERVICE_SECRET: SECRET });
const { url } = service;

t.test('an open instance has nothing of it', async (t) => {
  const open = await start(t);
  for (const path of [
    '/.well-known/oauth-protected-resource',
    '/.well-known/oauth-protected-resource/mcp',
    '/.well-known/oauth-authorization-server',
    '/oauth/authorize',
  ])
    t.match(await ask(open.url + path), { status: 404, json: { code: 'not_found' } }, path);
  for (const path of ['/oauth/register', '/oauth/token', '/api/oauth/authorize'])
    t.equal((await ask(open.url + path, { method: 'POST', body: '{}' })).status, 404, path);
});

t.test('metadata names the endpoints, for every page', async (t) => {
  for (const path of ['', '/mcp']) {
    const { json, headers } = await ask(`${url}/.well-known/oauth-protected-resource${path}`);
    t.match(json, { resource: `${url}/mcp`, authorization_servers: [url] });
    t.equal(headers.get('access-control-allow-origin'), '*');
  }
  const { json } = await ask(`${url}/.well-known/oauth-authorization-server`);
  t.match(json, {
    issuer: url,
    authorization_endpoint: `${url}/oauth/authorize`,
    token_endpoint: `${url}/oauth/token`,
    registration_endpoint: `${url}/oauth/register`,
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
    authorization_response_iss_parameter_supported: true,
  });
  for (const path of ['/oauth/register', '/oauth/token']) {
    const preflight = await ask(url + path, { method: 'OPTIONS' });
    t.equal(preflight.status, 204);
    t.equal(preflight.headers.get('access-control-allow-origin'), '*');
    t.equal(preflight.headers.get('access-control-allow-methods'), 'POST');
  }
  t.equal((await ask(`${url}/oauth/authorize`, { method: 'OPTIONS' })).status, 405);
});

t.test('clients register with addresses that are their own', async (t) => {
  const good = [
    ['https://assistant.example/callback?x=1'],
    ['http://localhost/cb', 'http://127.0.0.1:1234/cb', 'http://[::1]:5/cb'],
    [`https://a.example/${'x'.repeat(494)}`],
    ['https://xn--bcher-kva.example:8443/cb', 'https://A-1.Example./cb'],
    ['https://192.0.2.1/cb', 'https://[2001:db8::1]:8443/cb'],
  ];
  for (const redirect_uris of good) {
    const { status, json } = await registered(url, { redirect_uris, client_name: 'Café', scope: 'x' });
    t.match({ status, json }, { status: 201, json: { redirect_uris, client_name: 'Café' } });
    t.equal(json.token_endpoint_auth_method, 'none');
  }
  const bad = [
    [],
    ['http://assistant.example/cb'],
    ['https://user@assistant.example/cb'],
    ['https://user:secret@assistant.example/cb'],
    ['https://@assistant.example/cb'],
    ['https://assistant.example/cb#x'],
    ['https://assistant.example/cb#'],
    ['https:assistant.example'],
    ['https://assistant.example\\@evil.example/'],
    ['https://assistant.example/\n'],
    ['javascript:alert(1)'],
    ['com.example.app:/cb'],
    ['http://localhost.evil.example/cb'],
    // The host enters the page's policy.
    ['https://*/'],
    ['https://*.example/cb'],
    ['https://a;b.example/cb'],
    ["https://a'b.example/cb"],
    ['https://a,b.example/cb'],
    ['https://a_b.example/cb'],
    ['https://%2A.example/cb'],
    ['https://a.example:*/cb'],
    ['https://b\u00fccher.example/cb'],
    ['https://assistant.example/cb', 'https://*/'],
    [`https://a.example/${'x'.repeat(495)}`],
    Array.from({ length: 6 }, (_, i) => `https://a.example/${i}`),
    'https://assistant.example/cb',
    [1],
  ];
  for (const redirect_uris of bad)
    t.match(
      await registered(url, { redirect_uris }),
      { status: 400, json: { error: 'invalid_redirect_uri', error_description: String } },
      JSON.stringify(redirect_uris).slice(0, 60),
    );
  for (const client_name of ['a\nb', 'x'.repeat(101), 1])
    t.match(await registered(url, { redirect_uris: [REDIRECT], client_name }), {
      status: 400,
      json: { error: 'invalid_client_metadata' },
    });
  t.match(await ask(`${url}/oauth/register`, { method: 'POST', body: '{' }), {
    status: 400,
    json: { error: 'invalid_client_metadata' },
  });
  t.equal((await ask(`${url}/oauth/register`, { method: 'POST', body: 'x'.repeat(20_000) })).status, 413);
});

t.test('the page says who asks, can be framed by nobody, and leads on to the client alone', async (t) => {
  const client = await OAuthClient.register(url);
  const page = await client.page();
  t.equal(page.status, 200);
  t.match(page.text, /An &lt;assistant&gt;/);
  t.match(page.text, /<strong>assistant\.example<\/strong>/);
  t.match(page.text, /type="password"/);
  const policy = page.headers.get('content-security-policy')!;
  t.match(policy, "form-action 'self' https://assistant.example;");
  t.match(policy, "frame-ancestors 'none'");
  t.equal(page.headers.get('x-frame-options'), 'DENY');
  t.equal(page.headers.get('cache-control'), 'private, no-store');
  const local = await OAuthClient.register(url, 'http://[::1]:5/cb');
  t.match((await local.page()).headers.get('content-security-policy'), "form-action 'self' http:;");
});

t.test('a wrong client or address is a page, and never leads there', async (t) => {
  const client = await OAuthClient.register(url);
  const { id } = client;
  const table: Record<string, URLSearchParams> = {
    'no client': client.request({ client_id: '' }),
    'a made-up client': client.request({ client_id: 'x.y.z' }),
    'another address': client.request({ redirect_uri: 'https://evil.example/callback' }),
    'another path': client.request({ redirect_uri: `${REDIRECT}/x` }),
    'another port on https': client.request({ redirect_uri: 'https://assistant.example:444/callback' }),
    'a user in it': client.request({ redirect_uri: 'https://user@assistant.example/callback' }),
    'a fragment in it': client.request({ redirect_uri: `${REDIRECT}#x` }),
    'two addresses': new URLSearchParams([...client.request(), ['redirect_uri', REDIRECT]]),
    'two clients': new URLSearchParams([...client.request(), ['client_id', id]]),
  };
  for (let at = 0; at < id.length; at += Math.ceil(id.length / 25)) {
    const other = id[at] === 'A' ? 'B' : 'A';
    const changed = id.slice(0, at) + other + id.slice(at + 1);
    table[`byte ${at} of the client changed`] = client.request({ client_id: changed });
  }
  const last = String.fromCharCode(id.charCodeAt(id.length - 1) + 1);
  table['the last bit changed'] = client.request({ client_id: id.slice(0, -1) + last });
  for (const [what, parameters] of Object.entries(table)) {
    const page = await client.page(parameters);
    t.equal(page.status, 400, what);
    t.notOk(page.headers.has('location'));
    t.match(page.headers.get('content-type'), /text\/html/);
    t.equal((await client.consent({ password: PASSWORD }, {}, parameters)).status, 400);
  }
  const local = await OAuthClient.register(url, 'http://127.0.0.1:1234/cb');
  const port = local.request({ redirect_uri: 'http://127.0.0.1:9/cb' });
  t.equal((await local.page(port)).status, 200, 'its port on the own machine is any');
  const near = [
    'http://localhost:9/cb',
    'http://127.0.0.1:9\\cb',
    'http://127.0.0.1:9/c\tb',
    'HTTP://127.0.0.1:9/cb',
  ];
  for (const redirect_uri of near)
    t.equal((await local.page(local.request({ redirect_uri }))).status, 400, redirect_uri);
  const secure = await OAuthClient.register(url, 'https://localhost/cb');
  t.equal((await secure.page(secure.request({ redirect_uri: 'https://localhost:9/cb' }))).status, 400);
});

t.test('other faults are a page too, so nobody is led anywhere without a consent', async (t) => {
  const client = await OAuthClient.register(url, `${REDIRECT}?kept=1`);
  const table: readonly (readonly [RegExp, URLSearchParams])[] = [
    [/response_type/, client.request({ response_type: 'token' })],
    [/response_type/, client.request({ response_type: '' })],
    [/code_challenge/, client.request({ code_challenge: '' })],
    [/code_challenge/, client.request({ code_challenge: 'too-short' })],
    [/code_challenge_method/, client.request({ code_challenge_method: 'plain' })],
    [/more than once/, new URLSearchParams([...client.request(), ['scope', 'a'], ['scope', 'b']])],
    [/resource/, client.request({ resource: 'https://other.example/mcp' })],
  ];
  for (const [sentence, parameters] of table)
    for (const reply of [
      await client.page(parameters),
      await client.consent({}, { accept: 'text/html' }, parameters),
      await client.consent({ password: PASSWORD }, { accept: 'text/html' }, parameters),
      await client.consent({ deny: '1' }, { accept: 'text/html' }, parameters),
    ]) {
      t.equal(reply.status, 400);
      t.notOk(reply.headers.has('location'));
      t.match(reply.headers.get('content-type'), /text\/html/);
      t.match(reply.text, sentence);
      t.notMatch(reply.headers.get('content-security-policy'), 'assistant.example');
    }
});

t.test('a denial goes back to the client', async (t) => {
  const client = await OAuthClient.register(url, `${REDIRECT}?kept=1`);
  const denied = await client.consent({ password: PASSWORD, deny: '1' });
  t.equal(denied.status, 303);
  t.ok(denied.headers.get('location')!.startsWith(`${REDIRECT}?kept=1&`));
  t.match(Object.fromEntries(answerIn(denied)), { error: 'access_denied', state: 'a state', iss: url });
  const stateless = client.request();
  stateless.delete('state');
  t.notOk(answerIn(await client.consent({ deny: '1' }, {}, stateless)).has('state'));
});

t.test('only the page itself can send the form, and only with the password', async (t) => {
  const client = await OAuthClient.register(url);
  for (const site of ['cross-site', 'same-site', 'none'])
    t.equal((await client.consent({ password: PASSWORD }, { 'sec-fetch-site': site })).status, 403, site);
  for (const password of ['', 'wrong']) {
    const reply = await client.consent({ password });
    t.equal(reply.status, 303);
    const back = new URL(reply.headers.get('location')!, url);
    t.equal(back.pathname, '/oauth/authorize');
    t.equal(back.searchParams.get('error'), 'auth');
    t.notMatch(back.search, /wrong|password|[?&]code=/);
    const page = await ask(back.href);
    t.match(page.text, /role="alert">That is not the password/);
  }
});

t.test('wrong passwords are counted', async (t) => {
  const limited = await start(t, { SERVICE_PASSWORD: PASSWORD, SERVICE_RATE_LIMIT: '2' });
  const client = await OAuthClient.register(limited.url);
  for (let i = 0; i < 2; i += 1) await client.consent({ password: 'wrong' });
  const reply = await client.consent({ password: PASSWORD });
  const back = new URL(reply.headers.get('location')!, limited.url);
  t.equal(back.searchParams.get('error'), 'too_many_attempts');
  const consents = limited.lines.filter(({ fields }) => fields.route === '/api/oauth/authorize');
  const codes = consents.map(({ fields }) => fields.code);
  t.strictSame(codes, ['auth', 'auth', 'too_many_attempts'], 'and the log says so');
  t.match((await ask(back.href)).text, /Try again in \d+ second/);
});

t.test('a code and its tokens work, each once, and for the tools alone', async (t) => {
  const client = await OAuthClient.register(url);
  const answer = answerIn(await client.consent({ password: PASSWORD }));
  t.match(Object.fromEntries(answer), { code: String, state: 'a state', iss: url });
  const code = answer.get('code')!;

  const failed: readonly (readonly [string, Record<string, string>])[] = [
    ['invalid_grant', { code_verifier: 'x'.repeat(43) }],
    ['invalid_request', { code_verifier: '' }],
    ['invalid_grant', { redirect_uri: `${REDIRECT}/other` }],
    ['invalid_target', { resource: `${url}/other` }],
    ['invalid_grant', { client_id: (await OAuthClient.register(url, 'https://other.example/')).id }],
    ['invalid_grant', { code: `${code.slice(0, -1)}${code.endsWith('A') ? 'B' : 'A'}` }],
    ['unsupported_grant_type', { grant_type: 'password' }],
  ];
  for (const [error, changes] of failed)
    t.match(await client.exchange(code, changes), { status: 400, json: { error } }, JSON.stringify(changes));
  const unknown = await client.exchange(code, { client_id: 'x' });
  t.match(unknown, { status: 401, json: { error: 'invalid_client' } });
  t.equal(unknown.headers.get('www-authenticate'), 'Bearer');

  const first = await client.exchange(code);
  t.match(
    first,
    { status: 200, json: { token_type: 'Bearer', expires_in: 3600 } },
    'a failed try spends nothing',
  );
  t.equal(first.headers.get('cache-control'), 'private, no-store');
  const { access_token: access, refresh_token: refresh } = first.json;
  t.equal(await opensTools(url, access), 200);
  for (const token of [refresh, code, client.id, `${access}x`]) t.equal(await opensTools(url, token), 401);
  const headers = { authorization: `Bearer ${access}` };
  t.equal((await ask(`${url}/api/v1/feeds/x/notes`, { headers })).status, 401);
  t.equal((await ask(`${url}/x`, { method: 'POST', body: 'x', headers })).status, 401);

  t.match(await client.exchange(refresh), { status: 400, json: { error: 'invalid_grant' } });
  const other = await OAuthClient.register(url, 'https://other.example/');
  t.match(await other.refresh(refresh), { status: 400, json: { error: 'invalid_grant' } });
  t.match(await client.refresh(access), { status: 400, json: { error: 'invalid_grant' } });
  const second = await client.refresh(refresh);
  t.equal(second.status, 200);
  t.equal(await opensTools(url, second.json.access_token), 200);
  const third = await client.refresh(second.json.refresh_token, { resource: `${url}/mcp` });
  t.equal(third.status, 200);

  t.match(await client.refresh(refresh), { status: 400, json: { error: 'invalid_grant' } }, 'used twice');
  t.match(await client.refresh(third.json.refresh_token), { status: 400 }, 'and that ended the family');
});

t.test('a code is not used up while the storage is away', async (t) => {
  const dir = join(await tempDir(t), 'data');
  const { url } = await start(t, { SERVICE_PASSWORD: PASSWORD, SERVICE_STORAGE: 'fs' }, dir);
  const client = await OAuthClient.register(url);
  const code = await client.code(PASSWORD);
  await rename(dir, `${dir}-away`);
  const refused = await client.exchange(code);
  t.match(refused, { status: 503, json: { error: 'temporarily_unavailable' } });
  t.match(refused.headers.get('retry-after'), /^\d+$/);
  await rename(`${dir}-away`, dir);
  t.ok(await eventually(async () => (await client.exchange(code)).status === 200));
});

t.test('a token request says each thing once, and has a verifier of the right length', async (t) => {
  const client = await OAuthClient.register(url);
  const code_verifier = 'v'.repeat(42);
  const challenged = client.request({ code_challenge: challengeOf(code_verifier) });
  const code = answerIn(await client.consent({ password: PASSWORD }, {}, challenged)).get('code')!;
  t.match(await client.exchange(code, { code_verifier }), { status: 400, json: { error: 'invalid_grant' } });
  const fields = {
    grant_type: 'authorization_code',
    client_id: client.id,
    code,
    redirect_uri: REDIRECT,
    code_verifier: client.verifier,
    resource: `${url}/mcp`,
  };
  for (const again of Object.entries(fields)) {
    const body = new URLSearchParams([...Object.entries(fields), again]);
    const error = again[0] === 'resource' ? 'invalid_target' : 'invalid_request';
    t.match(
      await ask(`${url}/oauth/token`, { method: 'POST', body }),
      { status: 400, json: { error } },
      again[0],
    );
  }
});

t.test('a code used twice ends its family, also after a restart', async (t) => {
  const dir = await start(t, {
    SERVICE_PASSWORD: PASSWORD,
    SERVICE_SECRET: SECRET,
    PUBLIC_URL: 'https://n.example/below',
  });
  const { json: metadata } = await ask(`${dir.url}/.well-known/oauth-protected-resource`);
  t.strictSame(metadata.authorization_servers, ['https://n.example/below'], 'with the path of the instance');
  const client = await OAuthClient.register(dir.url);
  const parameters = client.request({ resource: 'https://n.example/below/mcp' });
  const consented = await client.consent({ password: PASSWORD }, {}, parameters);
  const code = answerIn(consented).get('code')!;
  const { json } = await client.exchange(code);
  const again = await dir.restart();
  const refreshed = await client.refresh(json.refresh_token, {}, again.url);
  t.equal(refreshed.status, 200);
  t.match(await client.exchange(code, {}, again.url), { status: 400, json: { error: 'invalid_grant' } });
  t.equal((await client.refresh(refreshed.json.refresh_token, {}, again.url)).status, 400);
});

t.test('another password voids everything, but clients stay registered', async (t) => {
  const client = await OAuthClient.register(url);
  const { json } = await client.exchange(await client.code(PASSWORD));
  const code = await client.code(PASSWORD);
  const host = new URL(url).host;
  const other = await start(t, {
    SERVICE_PASSWORD: 'another',
    SERVICE_SECRET: SECRET,
    PUBLIC_URL: `http://${host}`,
  });
  t.equal(await opensTools(other.url, json.access_token), 401);
  t.match(await client.refresh(json.refresh_token, {}, other.url), { json: { error: 'invalid_grant' } });
  t.match(await client.exchange(code, {}, other.url), { json: { error: 'invalid_grant' } });
  t.equal((await ask(`${other.url}/oauth/authorize?${client.request()}`)).status, 200);
});

t.test('a token is for one instance', async (t) => {
  const client = await OAuthClient.register(url);
  const { json } = await client.exchange(await client.code(PASSWORD));
  const other = await start(t, { SERVICE_PASSWORD: PASSWORD, SERVICE_SECRET: SECRET });
  t.equal(await opensTools(other.url, json.access_token), 401);
  t.match(await client.refresh(json.refresh_token, {}, other.url), { json: { error: 'invalid_grant' } });
});

t.test('what has expired is refused, and not counted as a wrong password', async (t) => {
  const limited = await start(t, {
    SERVICE_PASSWORD: PASSWORD,
    SERVICE_SECRET: SECRET,
    SERVICE_RATE_LIMIT: '2',
  });
  const { base, now } = { base: limited.url, now: Date.now() };
  const parts = { secret: Buffer.from(SECRET), voidedBy: [PASSWORD] };
  const tokens = new SignedTokens(parts);
  const allowed = new Set(['ann@acme.example']);
  // A storage that lets every token be used, so that only the time is looked at.
  const grants = new OAuth(parts, { useToken: async () => true }, ({ email }) => allowed.has(email));
  const asking = await OAuthClient.register(limited.url);
  const { redirectUri } = asking;
  const client = { id: asking.id, name: '', redirectUris: [redirectUri] };
  const challenge = asking.request().get('code_challenge')!;
  const consent = { client, redirectUri, challenge, person: undefined };
  const old = (minutes: number) => ({ base, now: now - minutes * 60_000 });
  const refreshing = (refresh_token: string) =>
    new URLSearchParams({ grant_type: 'refresh_token', client_id: asking.id, refresh_token });

  t.equal((await asking.exchange(await grants.createCode(consent, old(4)))).status, 200);
  t.match(await asking.exchange(await grants.createCode(consent, old(6))), {
    status: 400,
    json: { error: 'invalid_grant', error_description: /expired/ },
  });

  const exchange = { client, redirectUri, verifier: asking.verifier };
  const given = await grants.exchangeCode(await grants.createCode(consent, old(0)), exchange, old(61));
  const headers = { authorization: `Bearer ${given.access_token}`, 'content-type': 'application/json' };
  for (let i = 0; i < 5; i += 1) {
    const reply = await ask(`${base}/mcp`, { method: 'POST', body: '{}', headers });
    t.equal(reply.status, 401);
    t.match(reply.headers.get('www-authenticate'), /^Bearer error="invalid_token", resource_metadata=/);
  }
  t.equal(await opensTools(base, PASSWORD), 200);

  const person = { sender: 'Ann', email: 'ann@acme.example', provider: 'acme' };
  for (const [who, days] of [
    [undefined, 30],
    [person, 7],
  ] as const) {
    const code = await grants.createCode({ ...consent, person: who }, old(0));
    const { until } = (await tokens.verify('code', code)) as { until: number };
    t.equal(Math.round((until - now) / 86_400_000), days);
    let { refresh_token } = await grants.exchangeCode(code, exchange, old(0));
    for (let n = 0; n < 3; n += 1) {
      const { exp } = (await tokens.verify('refresh', refresh_token)) as { exp: number };
      t.equal(exp, Math.floor(until / 1000), 'no refresh makes it longer');
      ({ refresh_token } = await grants.answerTokenRequest(refreshing(refresh_token), old(0)));
    }
  }

  const hers = await grants.exchangeCode(
    await grants.createCode({ ...consent, person }, old(0)),
    exchange,
    old(0),
  );
  t.strictSame(
    await grants.verifyAccessToken(hers.access_token, base),
    { sender: 'Ann' },
    'who signed in is who posts',
  );
  const unused = await grants.createCode({ ...consent, person }, old(0));
  allowed.clear();
  t.equal(await grants.verifyAccessToken(hers.access_token, base), undefined, 'off the list is out at once');
  await t.rejects(grants.answerTokenRequest(refreshing(hers.refresh_token), old(0)), {
    code: 'invalid_grant',
  });
  await t.rejects(grants.exchangeCode(unused, exchange, old(0)), { code: 'invalid_grant' });
});

t.test('whoever is logged in need only allow it', async (t) => {
  const { Sessions } = await import('../../src/access/cookies.ts');
  const sessions = new Sessions({ secret: Buffer.from(SECRET), voidedBy: [PASSWORD] });
  const [cookie = ''] = sessions.cookie({ root: '', isSecure: false }).split(';');
  const client = await OAuthClient.register(url);
  t.notMatch((await client.page(client.request(), { cookie })).text, /type="password"/);
  const code = answerIn(await client.consent({}, { cookie })).get('code')!;
  const { json } = await client.exchange(code);
  t.equal(await opensTools(url, json.access_token), 200);
});
