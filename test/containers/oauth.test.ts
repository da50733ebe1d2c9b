/** Codes and refresh tokens over three containers on one PostgreSQL: each works once, wherever it is used. */
import t from 'tap';
import { startContainers } from '../support/containers.ts';
import { answerIn, OAuthClient, opensTools, REDIRECT } from '../support/oauth-client.ts';
import { PostgresServer } from '../support/postgres.ts';

t.setTimeout(600_000);

/** As a proxy in front of them says. */
const PROXIED = { 'x-forwarded-host': 'notes.example', 'x-forwarded-proto': 'https' };
const PASSWORD = 'let us in';

const server = await PostgresServer.start(t);
const env = { SERVICE_PASSWORD: PASSWORD };
const services = await startContainers(t, await server.database(), [{ env }, { env }, { env }]);
const urls = services.map(({ url }) => url);
const client = await OAuthClient.register(urls[0]!, REDIRECT, PROXIED);

async function code(): Promise<string> {
  const parameters = client.request({ resource: 'https://notes.example/mcp' });
  return answerIn(await client.consent({ password: PASSWORD }, {}, parameters)).get('code')!;
}

t.test('a code is exchanged once, in whichever container, and its token works in all', async (t) => {
  const given = await code();
  const replies = await Promise.all(urls.map((url) => client.exchange(given, {}, url)));
  t.same(replies.map(({ status }) => status).sort(), [200, 400, 400]);
  const { json } = replies.find(({ status }) => status === 200)!;
  for (const url of urls) t.equal(await opensTools(url, json.access_token, PROXIED), 200);
  for (const url of urls) t.equal((await client.refresh(json.refresh_token, {}, url)).status, 400);
});

t.test('a refresh token that was used in one container ends its family in another', async (t) => {
  const [first, second, third] = urls as [string, string, string];
  let { json } = await client.exchange(await code(), {}, second);
  const tokens = [json.refresh_token];
  for (const url of [third, first, second]) {
    ({ json } = await client.refresh(tokens.at(-1), {}, url));
    tokens.push(json.refresh_token);
  }
  t.match(await client.refresh(tokens[1], {}, third), { status: 400, json: { error: 'invalid_grant' } });
  t.equal((await client.refresh(tokens.at(-1), {}, first)).status, 400);
});
