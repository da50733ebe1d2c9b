/** Who may keep an answer, which web pages may read it, and what paths and methods there are. */
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { exactly } from '../support/exact-request.ts';
import { OPERATOR_TOKEN } from '../support/image-settings.ts';
import { WITH_OPERATOR } from '../support/operator.ts';
import { picture } from '../support/pictures.ts';
import { untilItRenders } from '../support/rendering.ts';
import { unlessBusy } from '../support/searching.ts';
import { post, start } from '../support/service.ts';

const { url } = await start(t);
await untilItRenders(url);
const text = await post(`${url}/key`, '# Note');
const cat = await post(`${url}/key`, picture('png'), { 'content-type': 'image/png' });
const readId: string = text.json.read_url.split('/').at(-2);
const { id } = text.json;

/** Waits until the index has all notes: before that, caches may keep the view of a search for a shorter time than others. */
const untilIndexed = () =>
  eventually(
    async () => (await exactly(`${url}/r/${readId}/feed.xml?q=note`)).headers['cache-control'] === VIEW,
  );

const VIEW = 'public, max-age=60, stale-while-revalidate=30, stale-if-error=300';

/** Public paths, and what their answers may be kept for. */
const PUBLIC: Record<string, string> = {
  [`/r/${readId}/feed.xml`]: VIEW,
  [`/r/${readId}/feed.json`]: VIEW,
  [`/r/${readId}/feed.xml?tag=a`]: VIEW,
  [`/r/${readId}/feed.xml?q=note`]: VIEW,
  [`/api/v1/read/${readId}`]: VIEW,
  [`/api/v1/read/${readId}/notes`]: VIEW,
  [`/api/v1/read/${readId}/notes/${id}`]: VIEW,
  [`/api/v1/read/${readId}/tags`]: 'public, max-age=0, must-revalidate',
  '/api/v1/read/nobody-has-this/notes': VIEW,
  [`/r/${readId}/${cat.json.file}`]: 'public, max-age=300, must-revalidate',
  [`/r/${readId}/${text.json.file}`]: 'public, max-age=300, must-revalidate',
};
const NAMED = ['/api/v1/feeds/key/notes', `/api/v1/feeds/key/notes/${id}`];
const OTHERS = ['/', '/health', '/health/ready'];
const ORIGIN = { origin: 'https://other.example' };

const TYPES: Record<string, string> = {
  [`/r/${readId}/feed.xml`]: 'application/rss+xml; charset=utf-8',
  [`/r/${readId}/feed.json`]: 'application/feed+json',
  [`/api/v1/read/${readId}/notes`]: 'application/json',
  [`/r/${readId}/${cat.json.file}`]: 'image/png',
  [`/r/${readId}/${text.json.file}`]: 'text/markdown; charset=utf-8',
  [NAMED[0]!]: 'application/json',
};

t.test('media types', async (t) => {
  for (const [path, type] of Object.entries(TYPES))
    for (const method of ['GET', 'HEAD'])
      t.equal((await exactly(url + path, { method })).headers['content-type'], type, path);
});

t.test('public reads may be kept, and read by every web page', async (t) => {
  t.ok(await untilIndexed());
  for (const [path, kept] of Object.entries(PUBLIC))
    for (const method of ['GET', 'HEAD']) {
      const reply = await unlessBusy(() => exactly(url + path, { method, headers: ORIGIN }));
      t.equal(reply.status, 200, path);
      t.equal(reply.headers['cache-control'], kept, path);
      t.equal(reply.headers['cache-tag'], `feed-${/(?:r|read)\/([^/?]+)/.exec(path)![1]}`, path);
      t.equal(reply.headers['access-control-allow-origin'], '*', path);
      t.equal(reply.headers['access-control-allow-credentials'], undefined);
      t.equal(reply.headers['x-content-type-options'], 'nosniff');
      t.equal(reply.headers['set-cookie'], undefined);
    }
  const absent = await exactly(`${url}/r/${readId}/none.png`, { headers: ORIGIN });
  t.match(absent.headers, { 'access-control-allow-origin': '*', 'cache-control': 'private, no-store' });
  t.equal(absent.headers['cache-tag'], undefined);
  const { headers } = await exactly(`${url}/r/${readId}/${cat.json.file}`, {
    headers: { range: 'bytes=0-1' },
  });
  t.equal(headers['cache-tag'], `feed-${readId}`, 'a part too');
});

t.test('nothing private has a tag, or may be shown stale', async (t) => {
  const locked = await start(t, { SERVICE_PASSWORD: 'let me in', ...WITH_OPERATOR, SERVICE_METRICS: '1' });
  const bearer = { authorization: 'Bearer let me in' };
  const operator = { authorization: `Bearer ${OPERATOR_TOKEN}` };
  await post(`${locked.url}/locked`, 'x', { ...bearer, 'x-feed-password': 'hush' });
  const of = (base: string, paths: readonly string[], headers: Record<string, string> = {}) =>
    paths.map((path) => [base + path, headers] as const);
  const named = (name: string) => [
    ...[
      `/${name}`,
      `/${name}/settings`,
      `/${name}/none`,
      `/api/v1/feeds/${name}`,
      `/api/v1/feeds/${name}/notes`,
    ],
    ...[`/api/v1/feeds/${name}/tags`, `/api/v1/feeds/${name}/events`, `/api/v1/feeds/${name}/export`],
  ];
  for (const [address, headers] of [
    ...of(url, [...named('key'), ...named('nobody-has'), `/key/${id}`, '/', '/login', `/r/${readId}/events`]),
    ...of(locked.url, [...named('locked'), '/', '/login', '/logout', '/metrics']),
    ...of(locked.url, named('locked'), { ...bearer, 'x-feed-password': 'hush' }),
    ...of(locked.url, ['/api/operator/stats', '/api/operator/feeds'], operator),
    ...of(locked.url, ['/api/operator/stats']),
  ]) {
    const reply = await exactly(address, { method: 'HEAD', headers });
    const { 'cache-tag': tag, 'cache-control': kept } = reply.headers;
    t.equal(tag, undefined, address);
    t.match(kept, /no-store/, address);
    t.notMatch(kept, /public|stale/, address);
  }
});

t.test('what is keyed by the name is for one client, and for no other web page', async (t) => {
  for (const path of [...NAMED, '/api/v1/feeds/none/notes', '/api/v1/feeds/key/notes/none'])
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'PATCH', 'PUT']) {
      const { headers } = await exactly(url + path, { method, headers: ORIGIN });
      t.equal(headers['cache-control'], 'private, no-store', `${method} ${path}`);
      for (const name of Object.keys(headers)) t.notMatch(name, /^access-control/, `${method} ${path}`);
    }
  const posted = await post(`${url}/key`, 'x', { origin: url });
  t.equal(posted.status, 201);
  t.equal(posted.headers.get('cache-control'), 'private, no-store');
  t.equal(posted.headers.get('access-control-allow-origin'), null);
});

t.test('CORS preflight is answered for public reads only', async (t) => {
  const asked = { ...ORIGIN, 'access-control-request-method': 'GET' };
  for (const path of Object.keys(PUBLIC)) {
    const reply = await exactly(url + path, { method: 'OPTIONS', headers: asked });
    t.match(reply, {
      status: 204,
      headers: {
        'access-control-allow-origin': '*',
        'access-control-allow-methods': 'GET, HEAD',
        'access-control-allow-headers': '*',
      },
    });
    t.equal(reply.bytes.length, 0);
  }
  for (const path of [...NAMED, ...OTHERS, '/key']) {
    const reply = await exactly(url + path, { method: 'OPTIONS', headers: asked });
    t.equal(reply.status, 405, path);
    for (const name of Object.keys(reply.headers)) t.notMatch(name, /^access-control/, path);
  }
  t.equal((await exactly(`${url}/no/such/path/at/all`, { method: 'OPTIONS', headers: asked })).status, 404);
});

t.test('a known path with another method says which it takes', async (t) => {
  // The start page has a form, and every name is an address to post to, if only to be told that it is reserved.
  const POSTED = new Set(['/', '/health']);
  const takes = (paths: readonly string[], allow: string) => paths.map((path) => [path, allow] as const);
  for (const [path, allow] of [
    ...takes([...Object.keys(PUBLIC), ...OTHERS.filter((path) => !POSTED.has(path))], 'GET, HEAD'),
    ...takes([...POSTED], 'GET, HEAD, POST'),
    ...takes([NAMED[0]!], 'POST, GET, HEAD, PUT'),
    ...takes([NAMED[1]!], 'GET, HEAD, PUT, PATCH, DELETE'),
  ])
    for (const method of ['PUT', 'DELETE', 'PATCH'].filter((name) => !allow.includes(name))) {
      const reply = await exactly(url + path, { method });
      t.match(reply, { status: 405, text: /method_not_allowed/ }, `${method} ${path}`);
      t.same(reply.headers.allow?.split(', ').sort(), allow.split(', ').sort(), `${method} ${path}`);
    }
  for (const path of Object.keys(PUBLIC))
    t.equal((await exactly(url + path, { method: 'POST' })).status, 405);
});

t.test('a trailing slash changes nothing, and never redirects', async (t) => {
  t.ok(await untilIndexed());
  for (const path of [...Object.keys(PUBLIC), ...NAMED, '/health', '/health/ready']) {
    const [place, query = ''] = path.split('?');
    const plain = await unlessBusy(() => exactly(url + path));
    const slashed = await unlessBusy(() => exactly(`${url}${place}/${query && `?${query}`}`));
    t.equal(slashed.status, 200, path);
    t.ok(slashed.bytes.equals(plain.bytes), path);
    t.equal(slashed.headers.etag, plain.headers.etag, path);
  }
  for (const path of [`/r/${readId}//`, `/r//feed.xml`, `/r/${readId}/feed.xml//`, '/api/v1//'])
    t.equal((await exactly(url + path)).status, 404, path);
});
