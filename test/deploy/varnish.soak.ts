/** The service behind Varnish, as deploy/varnish.vcl describes it. */
import t, { type Test } from 'tap';
import { Browser } from '../support/cookie-browser.ts';
import { EventStream } from '../support/event-stream.ts';
import { eventually } from '../support/eventually.ts';
import { exactly } from '../support/exact-request.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { freePort } from '../support/free-port.ts';
import { OPERATOR_TOKEN } from '../support/image-settings.ts';
import { missing } from '../support/installed.ts';
import { operate, WITH_OPERATOR } from '../support/operator.ts';
import { picture } from '../support/pictures.ts';
import { untilItRenders } from '../support/rendering.ts';
import { ask, start, type TestService } from '../support/service.ts';
import { startVarnish, type Varnish } from '../support/varnish.ts';
import { serve } from '../support/websub-hub.ts';

t.setTimeout(600_000);

const skip = missing('varnishd');
const GZIP = { headers: { 'accept-encoding': 'gzip' } };

/** The service behind the cache, which it tells of changes; links have the address of the cache. */
async function startBehind(t: Test, env: Record<string, string> = {}, edit?: (config: string) => string) {
  const port = await freePort();
  const varnish = await startVarnish(t, port, edit);
  const service = await start(t, {
    PORT: `${port}`,
    PUBLIC_URL: varnish.url,
    SERVICE_TRUST_PROXY: '1',
    SERVICE_PURGE_URL: varnish.purgeUrl,
    ...env,
  });
  t.ok(await eventually(async () => (await ask(`${varnish.url}/health`)).status === 200));
  return { varnish, service, url: varnish.url };
}

/** How many requests reached the service, but for those of the cache itself. */
function reached({ lines }: TestService): number {
  return lines.filter(({ message, fields }) => message === 'request' && fields.route !== '/health').length;
}

t.test('readers are answered by the cache, and all have a post at once', { skip }, async (t) => {
  const { service, url } = await startBehind(t);
  await untilItRenders(service.url);
  const feed = new FeedClient(url, 'heron');
  const first = (await feed.post('# First\n\nSome text.', { 'x-note-tags': 'a' })).json;
  const cat = (await feed.post(picture('png'), { 'content-type': 'image/png' })).json;
  const readId = readIdIn(first.read_url);
  const views = ['feed.xml', 'feed.json', 'feed.xml?tag=a', ''].map((view) => `${url}/r/${readId}/${view}`);
  const api = `${url}/api/v1/read/${readId}`;
  const paths = [...views, api, `${api}/notes`, `${api}/notes/${first.id}`, first.file_url, cat.file_url];
  // A later purge of a post may come between.
  const areKept = async () => {
    for (const path of paths) await ask(path);
    const before = reached(service);
    for (const path of paths) await Promise.all([ask(path, GZIP), ask(path), ask(path, { method: 'HEAD' })]);
    return reached(service) === before;
  };
  t.ok(await eventually(areKept), 'the cache answers');
  for (const path of paths) {
    const kept = await exactly(path);
    const direct = await exactly(path.replace(url, service.url));
    t.equal(kept.status, 200, path);
    t.ok(kept.bytes.equals(direct.bytes), path);
    t.ok(Number(kept.headers.age) >= 0, path);
    t.equal(kept.headers['cache-control'], direct.headers['cache-control']);
    for (const name of ['cache-tag', 'xkey', 'set-cookie', 'x-request-id', 'x-varnish', 'via'])
      t.equal(kept.headers[name], undefined, name);
    const unchanged = await exactly(path, { headers: { 'if-none-match': String(kept.headers.etag) } });
    t.match(unchanged, { status: 304, bytes: { length: 0 } }, path);
  }
  const asked = { 'accept-encoding': 'br;q=0.9, gzip' };
  const page = await exactly(`${url}/r/${readId}/`, { headers: asked });
  t.equal(page.headers['content-encoding'], 'gzip');
  t.match(page.headers.etag, /-gzip"$/);
  const again = { ...asked, 'if-none-match': String(page.headers.etag) };
  t.equal((await exactly(`${url}/r/${readId}/`, { headers: again })).status, 304);
  const part = await exactly(cat.file_url, { headers: { range: 'bytes=1-3' } });
  t.match(part, { status: 206, text: 'PNG' });
  t.ok(await eventually(areKept), 'the cache answers again');

  const readers = paths.slice(0, 4);
  await feed.post('# Second', { 'x-note-tags': 'a' });
  t.ok(
    await eventually(async () => {
      const shown = await Promise.all(readers.map((path) => ask(path)));
      return shown.every(({ text }) => text.includes('Second'));
    }),
    'a post reaches all readers',
  );
  await feed.delete();
  t.ok(await eventually(async () => (await ask(first.file_url)).status === 404), 'what is deleted is gone');
  t.ok(await eventually(async () => !(await ask(readers[0]!)).text.includes('First')));
});

t.test('nothing private is kept, and nobody else can purge', { skip }, async (t) => {
  const password = 'let-me-in';
  const { service, url } = await startBehind(t, { SERVICE_PASSWORD: password, ...WITH_OPERATOR });
  const bearer = { authorization: `Bearer ${password}` };
  const owner = new FeedClient(url, 'key', { ...bearer, 'x-feed-password': 'hush' });
  const { id, read_url: rss } = (await owner.post('A note')).json;
  const readId = readIdIn(rss);
  const browser = new Browser(url);
  t.equal((await browser.submit('/api/login', { password, next: '/' })).status, 303);
  t.equal((await browser.submit('/key/access', { action: 'unlock', password: 'hush' })).status, 303);
  for (const path of [
    '/key',
    '/key/settings',
    `/key/${id}`,
    '/api/v1/feeds/key',
    '/api/v1/feeds/key/notes',
  ]) {
    for (let n = 0; n < 2; n += 1) {
      const before = reached(service);
      const isApi = path.startsWith('/api');
      const reply = isApi ? await browser.fetch(path) : await browser.visit(path);
      t.equal(reply.status, 200, path);
      t.equal((await ask(url + path)).status, isApi ? 401 : 303, `${path} without cookies`);
      t.equal(reached(service) - before, 2, path);
      t.equal(reply.headers.get('age') ?? '0', '0');
    }
  }
  for (const path of ['/stats', '/feeds']) {
    t.equal((await operate(url, 'GET', path)).status, 200);
    t.equal((await ask(`${url}/api/operator${path}`)).status, 401, path);
  }
  // The first request of all carries what must not be kept.
  const secrets = { cookie: 'session=x', authorization: `Bearer ${OPERATOR_TOKEN}` };
  for (const headers of [secrets, {}]) {
    const reply = await exactly(rss, { headers });
    t.equal(reply.status, 200);
    t.equal(reply.headers['set-cookie'], undefined);
    t.match(reply.text, 'A note');
  }
  t.ok(
    await eventually(async () => {
      const before = reached(service);
      await browser.visit(`/r/${readId}/feed.xml`);
      return reached(service) === before;
    }),
    'one with a cookie is answered as all others',
  );
  const tag = { 'cache-tag': `feed-${readId}` };
  const isStillThere = async () => {
    for (const method of ['POST', 'PURGE', 'BAN', 'GET'])
      for (const path of ['', '/', `/r/${readId}/feed.xml`])
        await exactly(url + path, { method, headers: { ...bearer, ...tag } });
    const before = reached(service);
    await ask(rss);
    return reached(service) === before;
  };
  // The service itself may purge the post for the last time between.
  t.ok(await eventually(isStillThere), 'it is still there');
});

t.test('streams, clients and star fields pass', { skip }, async (t) => {
  const { service, url } = await startBehind(t, { SERVICE_RATE_LIMIT: '2' });
  const from = (client: string) => new FeedClient(url, 'wren', { 'x-forwarded-for': client });
  const { json } = await from('10.1.0.1').post('x', { 'x-note-title*': "UTF-8''caf%C3%A9" });
  t.match((await ask(json.read_url)).text, '<title>café</title>');
  const statuses = [];
  for (const client of ['10.1.0.1', '10.1.0.1', '10.1.0.2'])
    statuses.push((await from(client).post()).status);
  t.strictSame(statuses, [201, 429, 201], 'each client has a limit of its own');
  const events = json.read_url.replace('feed.xml', 'events');
  const direct = await EventStream.open(t, events.replace(url, service.url));
  const streams = [
    await EventStream.open(t, events),
    await EventStream.open(t, `${url}/api/v1/feeds/wren/events`),
  ];
  await from('10.1.0.3').post();
  t.ok(await eventually(() => streams.every(({ text }) => text.includes('event: changed'))));
  t.notMatch(direct.text, /^:/m, 'before anything else is sent');
  t.notMatch(JSON.stringify(service.lines), /"level":"error"/);
});

/** Answers are stale soon, and not shown so where the service answers. */
const HASTY = (config: string) =>
  config
    .replace('set req.grace = 30s;', 'set req.grace = 0s;')
    .replace(
      'set beresp.keep = 1h;',
      'if (beresp.ttl > 0s) { set beresp.ttl = 0.2s; } set beresp.keep = 1h;',
    );

t.test('while the service is away, what is stale is shown if it may be', { skip }, async (t) => {
  // Else it could tell the cache once more of the post when it stops.
  const { service, url } = await startBehind(t, { SERVICE_PURGE_URL: '' }, HASTY);
  const feed = new FeedClient(url, 'crake');
  const { id, read_url: rss, file_url: file } = (await feed.post('# Before')).json;
  const readId = readIdIn(rss);
  const paths = [rss, `${url}/r/${readId}`, `${url}/api/v1/read/${readId}/notes/${id}`];
  for (const path of [...paths, file, `${url}/crake`]) t.equal((await ask(path)).status, 200, path);
  await service.stop();
  for (const path of paths)
    t.ok(
      await eventually(async () => {
        const { status, headers, text } = await ask(path);
        t.equal(status, 200, path);
        t.match(text, 'Before');
        return Number(headers.get('age')) >= 2;
      }),
      'long after it was stale',
    );
  t.equal((await ask(file)).status, 503, 'of a file it is forbidden');
  t.match(await ask(`${url}/crake`), { status: 503, json: { code: 'store_unavailable' } });
  t.match(await ask(`${url}/crake`, { headers: { accept: 'text/html' } }), { text: /^<!doctype html>/ });
  const again = await start(t, { PORT: `${service.port}`, PUBLIC_URL: url }, service.dir);
  t.ok(
    await eventually(async () => (await new FeedClient(again.url, 'crake').post('# After')).status === 201),
  );
  t.ok(await eventually(async () => (await ask(rss)).text.includes('After')), 'it is asked again');
});

t.test('an error takes the place of nothing', { skip }, async (t) => {
  let status = 200;
  const terms = 'public, max-age=60, stale-while-revalidate=30, stale-if-error=300';
  const failing = await serve(t, ({ url }, response) => {
    // Of a service that the cache holds to be down, nothing but what is stale would be shown, not even a 410.
    if (url === '/health') return response.end();
    const kept = status === 200 ? terms : 'private, no-store';
    response.writeHead(status, { 'cache-control': kept, 'cache-tag': 'feed-a' }).end(`${status}`);
  });
  for (const edit of [HASTY, (config: string) => HASTY(config).replace('set req.grace = 0s;', '')]) {
    status = 200;
    const { url }: Varnish = await startVarnish(t, Number(new URL(failing).port), edit);
    t.ok(await eventually(async () => (await ask(`${url}/r/abc`)).status === 200));
    status = 500;
    t.ok(
      await eventually(async () => {
        const { text, headers } = await ask(`${url}/r/abc`);
        t.equal(text, '200');
        return Number(headers.get('age')) >= 2;
      }),
    );
    t.equal((await ask(`${url}/r/other`)).status, 500);
    status = 410;
    t.ok(await eventually(async () => (await ask(`${url}/r/abc`)).status === 410), 'but what is gone is');
  }
});
