/** How much one client may write per minute, through HTTP. */
import t from 'tap';
import { FeedClient } from '../support/feed-client.ts';
import { picture } from '../support/pictures.ts';
import { refusesAll } from '../support/refused.ts';
import { ask, post, start } from '../support/service.ts';

const PROXIED = { SERVICE_TRUST_PROXY: '1' };
const MD = { 'content-type': 'text/markdown' };
const REFUSED = { status: 429, json: { code: 'rate_limited' } };

t.test('every kind of write is refused over the limit, and changes nothing', async (t) => {
  const service = await start(t, { ...PROXIED, SERVICE_RATE_LIMIT: '3' });
  const from = (address: string) =>
    new FeedClient(service.url, 'plover', { 'x-forwarded-for': address, 'x-feed-password': 'pass' });
  const { id, read_url: readUrl } = (await from('192.0.2.1').post()).json;
  for (let i = 0; i < 3; i++) t.equal((await from('192.0.2.9').post()).status, 201);

  const headers = { 'x-forwarded-for': '192.0.2.9', 'x-feed-password': 'pass' };
  const text = { headers: { ...headers, ...MD }, body: 'x' };
  const json = { headers: { ...headers, 'content-type': 'application/json' } };
  const refused = { what: 'no turn left', status: 429, code: 'rate_limited' };
  const api = '/api/v1/feeds/plover';
  const paths = [`/plover/${id}`, `${api}/notes/${id}`];
  const views = [
    { path: api, headers },
    { path: `${api}/notes`, headers },
    { path: new URL(readUrl).pathname },
  ];
  await refusesAll(t, { service, views, secrets: ['plover', 'pass'] }, [
    { ...refused, ...text, method: 'POST', path: '/plover' },
    { ...refused, ...text, method: 'POST', path: `${api}/notes` },
    { ...refused, ...text, method: 'POST', path: '/new-one' },
    ...paths.map((path) => ({ ...refused, ...text, method: 'PUT', path })),
    ...paths.map((path) => ({ ...refused, ...json, method: 'PATCH', path, body: '{"title":"a"}' })),
    ...paths.map((path) => ({ ...refused, headers, method: 'DELETE', path })),
    { ...refused, ...json, method: 'PUT', path: api, body: '{"title":"a","description":""}' },
    { ...refused, ...json, method: 'PUT', path: `${api}/password`, body: '{"password":"a"}' },
    { ...refused, headers, method: 'DELETE', path: `${api}/password` },
    { ...refused, headers, method: 'DELETE', path: api },
  ]);
  const reply = await from('192.0.2.9').post();
  t.match(reply.headers.get('retry-after'), /^([1-9]|[1-5]\d|60)$/);
  t.equal((await from('192.0.2.1').post()).status, 201, 'other clients have turns of their own');
});

t.test('each kind of write takes one turn', async (t) => {
  const service = await start(t, { ...PROXIED, SERVICE_RATE_LIMIT: '2' });
  const from = (address: string) => new FeedClient(service.url, 'plover', { 'x-forwarded-for': address });
  const { id } = (await from('192.0.2.1').post()).json;
  const { id: other } = (await from('192.0.2.1').post()).json;
  const writes: [string, (client: FeedClient) => Promise<{ status: number }>][] = [
    ['post', (client) => client.post()],
    ['a refused post', (client) => client.post('', { 'content-type': 'text/html' })],
    ['settings', (client) => client.set()],
    ['change', (client) => client.send('PATCH', `/notes/${id}`, '{"title":"a"}')],
    ['delete of a note', (client) => client.send('DELETE', `/notes/${other}`)],
    ['delete of an absent note', (client) => client.send('DELETE', '/notes/absent')],
    ['delete of a password that is not there', (client) => client.send('DELETE', '/password')],
  ];
  for (const [place, [what, write]] of writes.entries()) {
    const client = from(`198.51.100.${place}`);
    t.not((await write(client)).status, 429, what);
    t.equal((await client.post()).status, 201, `${what} took one turn`);
    t.match(await client.post(), REFUSED, `${what} took no less`);
  }
});

t.test('what is refused earlier takes no turn, nor does a read', async (t) => {
  const service = await start(t, { SERVICE_RATE_LIMIT: '2' });
  const client = new FeedClient(service.url, 'plover', { 'x-feed-password': 'pass' });
  const { read_url: readUrl } = (await client.post()).json;
  for (let i = 0; i < 5; i++) {
    t.equal((await new FeedClient(service.url, 'plover').post()).status, 401);
    t.equal((await post(`${service.url}/Plover`, 'x')).status, 400);
    t.equal((await post(`${service.url}/static`, 'x')).status, 400);
    t.equal((await ask(`${service.url}/logout`, { method: 'POST' })).status, 303);
    t.equal((await client.get()).status, 200);
    t.equal((await client.list()).status, 200);
    t.equal((await ask(readUrl)).status, 200);
  }
  t.equal((await client.post()).status, 201);
  t.match(await client.post(), REFUSED);
});

t.test('a preview takes no turn, and has a limit of its own', async (t) => {
  const { url } = await start(t, { SERVICE_RATE_LIMIT: '1' });
  const preview = () => ask(`${url}/api/v1/feeds/plover/preview`, { method: 'POST', body: '{"text":""}' });
  for (let i = 0; i < 240; i++) if ((await preview()).status !== 200) t.fail(`preview ${i}`);
  t.match(await preview(), { ...REFUSED, json: { error: /^Too many previews/ } });
  t.equal((await new FeedClient(url, 'plover').post()).status, 201);
});

t.test('no more get through at once than one after the other', async (t) => {
  const service = await start(t, { SERVICE_RATE_LIMIT: '20' });
  const client = new FeedClient(service.url, 'plover');
  const replies = await Promise.all(Array.from({ length: 50 }, () => client.post()));
  t.equal(replies.filter(({ status }) => status === 201).length, 20);
  t.equal(replies.filter(({ status }) => status === 429).length, 30);
  t.equal((await client.list()).json.notes.length, 20);
});

t.test('the limit is 60 unless set, and off with 0', async (t) => {
  const counted = async (env: Record<string, string>, posts: number) => {
    const service = await start(t, env);
    const client = new FeedClient(service.url, 'plover');
    const replies = await Promise.all(Array.from({ length: posts }, () => client.post()));
    return replies.filter(({ status }) => status === 201).length;
  };
  t.equal(await counted({ SERVICE_RATE_LIMIT: '' }, 70), 60);
  t.equal(await counted({ SERVICE_RATE_LIMIT: '0' }, 70), 70);
});

t.test('behind a proxy the client is the last address, an IPv6 one by its /64', async (t) => {
  const service = await start(t, { ...PROXIED, SERVICE_RATE_LIMIT: '1' });
  const from = (forwarded: string) =>
    post(`${service.url}/plover`, 'x', { 'x-forwarded-for': forwarded }).then(({ status }) => status);
  t.equal(await from('192.0.2.1'), 201);
  t.equal(await from('203.0.113.7, 192.0.2.1'), 429, 'what the client made up before it does not help');
  t.equal(await from('192.0.2.1, 203.0.113.7'), 201);
  t.equal(await from('2001:db8:1:2::1'), 201);
  t.equal(await from('2001:db8:1:2:ffff::9'), 429, 'one /64');
  t.equal(await from('2001:db8:1:3::1'), 201, 'another /64');
  t.equal(await from('::ffff:192.0.2.1'), 429, 'an IPv4 address in the form of an IPv6 one');
});

t.test('without a proxy X-Forwarded-For says nothing', async (t) => {
  const service = await start(t, { SERVICE_RATE_LIMIT: '1' });
  const from = (forwarded: string) => post(`${service.url}/plover`, 'x', { 'x-forwarded-for': forwarded });
  t.equal((await from('192.0.2.1')).status, 201);
  t.match(await from('192.0.2.2'), REFUSED);
});

t.test('a refused picture is not read, and the connection is left well', async (t) => {
  const service = await start(t, { SERVICE_RATE_LIMIT: '1' });
  const client = new FeedClient(service.url, 'plover');
  await client.post();
  const headers = { 'content-type': 'image/png' };
  for (let i = 0; i < 3; i++) t.match(await client.post(picture('png', 500_000), headers), REFUSED);
  t.equal((await client.list()).json.notes.length, 1);
});
