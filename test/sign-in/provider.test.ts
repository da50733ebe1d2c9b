/** What is asked of a provider, and how often. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { promisify } from 'node:util';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import t from 'tap';
import { Provider } from '../../src/sign-in/provider.ts';
import { missing, program } from '../support/installed.ts';
import { CLIENT, TestProvider } from '../support/oidc-provider.ts';
import { tempDir } from '../support/service.ts';

t.setTimeout(600_000);

const HOUR = 60 * 60 * 1000;
const HOME = 'https://notes.example';
const provider = await TestProvider.start(t, [HOME], {
  anna: { name: 'Anna', email: 'anna@notes.example', email_verified: true },
});
const parts = {
  issuer: provider.url,
  clientId: CLIENT.id,
  clientSecret: CLIENT.secret,
  redirectUri: `${HOME}/api/oidc/callback`,
};

/** What the provider says of Anna when she has signed in. */
async function signIn(asking: Provider, isEnough = false) {
  const { url, pending } = await asking.start('/');
  const back = new URL(await provider.visit(url, 'anna'));
  return asking.finish(back.search.slice(1), pending, () => isEnough);
}

/** How often this was asked for since the last time. */
function asked(path: string): number {
  const count = provider.asked.filter((one) => one === path).length;
  provider.asked.splice(0, provider.asked.length, ...provider.asked.filter((one) => one !== path));
  return count;
}

const DOCUMENT = '/.well-known/openid-configuration';

t.test('its documents are kept for an hour, and fetched once for all who come at once', async (t) => {
  let now = 0;
  const asking = new Provider({ ...parts, now: () => now });
  await Promise.all([asking.start('/'), asking.start('/'), asking.start('/')]);
  t.equal(asked(DOCUMENT), 1);
  t.equal(asked('/jwks'), 0);
  await signIn(asking);
  now = HOUR - 1;
  await signIn(asking);
  t.equal(asked(DOCUMENT), 0);
  t.equal(asked('/jwks'), 1);
  now = HOUR;
  await signIn(asking);
  t.equal(asked(DOCUMENT), 1);
  t.equal(asked('/jwks'), 1);
});

t.test('what is in the id token need not be asked for', async (t) => {
  const asking = new Provider(parts);
  asked('/me');
  t.match(await signIn(asking, true), [{ sub: 'anna' }]);
  t.equal(asked('/me'), 0);
  t.match(await signIn(asking), [{ sub: 'anna' }, { name: 'Anna', email: 'anna@notes.example' }]);
  t.equal(asked('/me'), 1);
});

t.test('a slash at the end of the issuer makes no difference, anything else does', async (t) => {
  t.match((await new Provider({ ...parts, issuer: `${provider.url}/` }).start('/')).url, provider.url);
  for (const issuer of [provider.url.replace('127.0.0.1', 'localhost'), `${provider.url}//`])
    await t.rejects(new Provider({ ...parts, issuer }).start('/'), { name: 'ProviderUnavailable' }, issuer);
});

t.test('the secret is sent in the way that the provider takes', async (t) => {
  t.teardown(() => {
    provider.authMethod = 'client_secret_post';
  });
  for (const method of ['client_secret_basic', 'client_secret_post'] as const) {
    provider.authMethod = method;
    provider.renew();
    t.match(await signIn(new Provider(parts)), [{ sub: 'anna' }, {}], method);
  }
  const wrong = new Provider({ ...parts, clientSecret: 'wrong' });
  await t.rejects(signIn(wrong), { name: 'ResponseBodyError', message: /error/ });
});

t.test('an id token that another key has signed is refused', async (t) => {
  t.teardown(() => provider.recover());
  const asking = new Provider(parts);
  await asking.start('/');
  const others = JSON.stringify({ keys: [] });
  provider.intercept = (request, response) => {
    if (!request.url!.startsWith('/jwks')) return false;
    response.setHeader('content-type', 'application/json');
    response.end(others);
    return true;
  };
  await t.rejects(signIn(asking), { message: /no applicable keys/ });
});

t.test('an id token that was issued to another client is refused', async (t) => {
  t.teardown(() => provider.recover());
  const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true });
  const key = { ...(await exportJWK(publicKey)), kid: 'ours', alg: 'RS256', use: 'sig' };
  const tokenFor = (nonce: string, azp: string | undefined) =>
    new SignJWT({ nonce, azp })
      .setProtectedHeader({ alg: 'RS256', kid: 'ours' })
      .setIssuer(provider.url)
      .setSubject('anna')
      .setAudience(CLIENT.id)
      .setIssuedAt()
      .setExpirationTime('1m')
      .sign(privateKey);
  const claimsWith = async (azp: string | undefined) => {
    const asking = new Provider(parts);
    const { url, pending } = await asking.start('/');
    const back = new URL(await provider.visit(url, 'anna'));
    const answers: Record<string, object> = {
      '/jwks': { keys: [key] },
      '/token': { access_token: 'a', token_type: 'Bearer', id_token: await tokenFor(pending.nonce, azp) },
    };
    provider.intercept = ({ url = '' }, response) => {
      if (!(url in answers)) return false;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(answers[url]));
      return true;
    };
    return asking.finish(back.search.slice(1), pending, () => true).finally(() => provider.recover());
  };
  t.match(await claimsWith(undefined), [{ sub: 'anna' }]);
  t.match(await claimsWith(CLIENT.id), [{ sub: 'anna' }]);
  for (const azp of ['another', '']) await t.rejects(claimsWith(azp), { message: /another client/ });
});

t.test(
  'a provider with https gets no code and no secret without it',
  { skip: missing('openssl') },
  async (t) => {
    const dir = await tempDir(t);
    const [keyFile, certFile] = [join(dir, 'key.pem'), join(dir, 'cert.pem')];
    const request = [
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-days',
      '2',
      '-keyout',
      keyFile,
      '-out',
      certFile,
    ];
    const name = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
    await promisify(execFile)(program('openssl'), ['req', ...request, ...name]);
    const [key, cert] = [keyFile, certFile].map((file) => readFileSync(file, 'utf8')) as [string, string];
    const trusted = getCACertificates('default');
    setDefaultCACertificates([...trusted, cert]);
    const server = createServer({ key, cert }, (_, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(documents));
    }).listen(0, '127.0.0.1');
    t.teardown(() => {
      setDefaultCACertificates(trusted);
      server.closeAllConnections();
      server.close();
    });
    await once(server, 'listening');
    const issuer = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const documents = {
      issuer,
      authorization_endpoint: `${issuer}/auth`,
      token_endpoint: `${provider.url}/token`,
      jwks_uri: `${provider.url}/jwks`,
    };
    const asking = new Provider({ ...parts, issuer });
    const { pending } = await asking.start('/');
    asked('/token');
    const finished = asking.finish(`code=x&state=${pending.state}`, pending, () => true);
    await t.rejects(finished, { message: /HTTPS/ });
    t.equal(asked('/token'), 0);
  },
);
