/** Who may keep an answer, which web pages may read it, and what paths and methods there are. */
import t from 'tap';
import { exactly } from '../support/exact-request.ts';
import { picture } from '../support/pictures.ts';
import { untilItRenders } from '../support/rendering.ts';
import { post, start } from '../support/service.ts';

const { url } = await start(t);
await untilItRenders(url);
const text = await post(`${url}/key`, '# Note');
const cat = await post(`${url}/key`, picture('png'), { 'content-type': 'image/png' });
const readId: string = text.json.read_url.split('/').at(-2);
const { id } = text.json;

/** Public paths, and what their answers may be kept for. */
const PUBLIC: Record<string, string> = {
  [`/r/${readId}/feed.xml`]: 'public, max-age=60',
  [`/r/${readId}/feed.json`]: 'public, max-age=60',
  [`/r/${readId}/feed.xml?tag=a`]: 'public, max-age=60',
  [`/api/v1/read/${readId}`]: 'public, max-age=60',
  [`/api/v1/read/${readId}/notes`]: 'public, max-age=60',
  [`/api/v1/read/${readId}/notes/${id}`]: 'public, max-age=60',
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
  for (const [path, kept] of Object.entries(PUBLIC))
    for (const method of ['GET', 'HEAD']) {
      const reply = await exactly(url + path, { method, headers: ORIGIN });
      t.match(reply, { status: 200, headers: { 'cache-control': kept } }, path);
      t.equal(reply.headers['access-control-allow-origin'], '*', path);
      t.equal(reply.headers['access-control-allow-credentials'], undefined);
      t.equal(reply.headers['x-content-type-options'], 'nosniff');
      t.equal(reply.headers['set-cookie'], undefined);
    }
  const absent = await exactly(`${url}/r/${readId}/none.png`, { headers: ORIGIN });
  t.match(absent.headers, { 'access-control-allow-origin': '*', 'cache-control': 'private, no-store' });
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
      headers: { 'access-control-allow-origin': '*', 'access-control-allow-methods': 'GET, HEAD' },
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
  for (const path of [...Object.keys(PUBLIC), ...NAMED, '/health', '/health/ready']) {
    const [place, query = ''] = path.split('?');
    const plain = await exactly(url + path);
    const slashed = await exactly(`${url}${place}/${query && `?${query}`}`);
    t.equal(slashed.status, 200, path);
    t.ok(slashed.bytes.equals(plain.bytes), path);
    t.equal(slashed.headers.etag, plain.headers.etag, path);
  }
  for (const path of [`/r/${readId}//`, `/r//feed.xml`, `/r/${readId}/feed.xml//`, '/api/v1//'])
    t.equal((await exactly(url + path)).status, 404, path);
});
