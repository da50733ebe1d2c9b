/** What the operator sees of an instance, and does to feeds without their passwords. */
import t from 'tap';
import { Browser } from '../support/cookie-browser.ts';
import { EventStream } from '../support/event-stream.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { FAR, HOSTED, licenseFor } from '../support/licenses.ts';
import { operate, WITH_OPERATOR } from '../support/operator.ts';
import { picture } from '../support/pictures.ts';
import { ask, start } from '../support/service.ts';

t.setTimeout(600_000);

const PNG = { 'content-type': 'image/png' };
const STORAGE = process.env.SERVICE_STORAGE ?? 'fs';

t.test('sums and lists of feeds', async (t) => {
  const { url } = await start(t, WITH_OPERATOR);
  const empty = await operate(url, 'GET', '/stats');
  const places = { storage: STORAGE, images: STORAGE === 'fs' ? 'fs' : 'db' };
  t.match(empty.json, { ...places, feeds: 0, notes: 0, pictures: 0, bytes: 0 });
  t.match(empty.json.version, /^\d+\.\d+\.\d+/);
  t.match(empty.headers.get('cache-control'), /no-store/);

  const made: Record<string, string> = {};
  for (const [name, notes] of [
    ['robin', 3],
    ['ruff', 1],
    ['shrike', 2],
  ] as const)
    for (let n = 0; n < notes; n += 1)
      made[name] = readIdIn((await new FeedClient(url, name).post('x'.repeat(10))).json.read_url);
  await new FeedClient(url, 'ruff').post(picture('png', 500), PNG);
  await new FeedClient(url, 'robin').set({ title: 'The robin' });
  t.match((await operate(url, 'GET', '/stats')).json, { feeds: 3, notes: 7, pictures: 1, bytes: 560 });

  const names = async (query: string) =>
    (await operate(url, 'GET', `/feeds${query}`)).json.feeds.map(({ name }: { name: string }) => name);
  t.strictSame(await names(''), ['ruff', 'robin', 'shrike'], 'by bytes unless asked otherwise');
  t.strictSame(await names('?sort=notes'), ['robin', 'shrike', 'ruff'].sort(byNotes));
  t.strictSame(await names('?sort=changed'), ['robin', 'ruff', 'shrike']);
  t.strictSame(await names('?sort=name'), ['robin', 'ruff', 'shrike']);
  if (STORAGE !== 'fs') t.strictSame(await names('?sort=created'), ['shrike', 'ruff', 'robin']);
  t.strictSame(await names('?sort=name&q=r'), ['robin', 'ruff']);
  t.strictSame(await names('?q=R%2F'), [], 'no feed has such a name');

  const [ruff, robin] = (await operate(url, 'GET', '/feeds')).json.feeds;
  const about = { name: 'ruff', read_id: made.ruff, title: '', notes: 2, pictures: 1, bytes: 510 };
  const { changed_at, ...rest } = ruff;
  t.strictSame(rest, { ...about, protected: false, blocked: false });
  t.ok(Math.abs(Date.parse(changed_at) - Date.now()) < 60_000);
  t.equal(robin.title, 'The robin');

  const seen = [];
  let after = '';
  do {
    const { json } = await operate(url, 'GET', `/feeds?limit=1&sort=bytes&after=${after}`);
    seen.push(...json.feeds.map(({ name }: { name: string }) => name));
    after = json.next ?? '';
  } while (after !== '');
  t.strictSame(seen, ['ruff', 'robin', 'shrike']);
});

/** Those with as many notes are in the order of their names. */
function byNotes(a: string, b: string): number {
  const notes: Record<string, number> = { robin: 3, ruff: 2, shrike: 2 };
  return notes[b]! - notes[a]! || (a < b ? -1 : 1);
}

t.test('what makes no sense is refused', async (t) => {
  const { url } = await start(t, WITH_OPERATOR);
  const cursor = (place: unknown) => Buffer.from(JSON.stringify(place)).toString('base64url');
  for (const query of [
    'sort=size',
    'limit=0',
    'limit=1001',
    'limit=x',
    'after=x',
    'after=WyJ4Il0',
    'after=bnVsbA',
    // What PostgreSQL does not take: 1.5 and a number beyond its integers.
    `after=${cursor([1.5, 'a'])}`,
    `after=${cursor([1e30, 'a'])}`,
  ])
    t.match((await operate(url, 'GET', `/feeds?${query}`)).json, { code: 'invalid_request' }, query);
  for (const query of ['limit=0', 'after=WyJ4IiwieSJd', `after=${cursor(['name', 'a\0'])}`])
    t.match((await operate(url, 'GET', `/blocks?${query}`)).json, { code: 'invalid_request' }, query);
  for (const after of ['WzFd', cursor(['\0'])])
    t.match((await operate(url, 'GET', `/reports?after=${after}`)).json, { code: 'invalid_request' });
  for (const [method, path, code] of [
    ['DELETE', '/feeds/nobody', 'not_found'],
    ['DELETE', '/feeds/No-Name', 'invalid_feed'],
    ['PUT', '/blocks/No-Name', 'invalid_feed'],
    ['DELETE', '/blocks/nobody', 'not_found'],
    ['DELETE', '/blocks/links/nobody', 'not_found'],
    ['DELETE', '/reports/%00', 'not_found'],
    ['DELETE', '/blocks/pictures/nobody', 'not_found'],
    ['DELETE', '/reports/nobody', 'not_found'],
    ['DELETE', '/feeds/nobody/password', 'not_found'],
  ] as const)
    t.match((await operate(url, method, path)).json, { code }, `${method} ${path}`);
  const { status } = await ask(`${url}/api/operator/stats`);
  t.equal(status, 401);
});

t.test('a protected feed is deleted without its password', async (t) => {
  const { url } = await start(t, WITH_OPERATOR);
  const feed = new FeedClient(url, 'siskin', { 'x-feed-password': 'forgotten' });
  await feed.post();
  t.match((await operate(url, 'GET', '/feeds')).json.feeds, [{ name: 'siskin', protected: true }]);
  const { status, text } = await operate(url, 'DELETE', '/feeds/siskin');
  t.strictSame([status, text], [204, '']);
  t.equal((await feed.get()).status, 404);
  t.equal((await operate(url, 'DELETE', '/feeds/siskin')).status, 404);
  t.equal((await feed.post()).status, 201, 'its name is free');
});

t.test('a password that was forgotten is changed, and what it had opened ends', async (t) => {
  const service = await start(t, WITH_OPERATOR);
  const { url } = service;
  const old = new FeedClient(url, 'smew', { 'x-feed-password': 'old' });
  await old.post();
  const unlocked = new Browser(url);
  const form = { action: 'unlock', password: 'old', back: '/smew' };
  t.equal((await unlocked.submit('/smew/access', form)).status, 303);
  t.equal((await unlocked.visit('/smew')).status, 200);
  const stream = await EventStream.open(t, `${url}/api/v1/feeds/smew/events`, { 'x-feed-password': 'old' });

  t.equal((await operate(url, 'PUT', '/feeds/smew/password', { password: 'new' })).status, 204);
  t.equal((await old.list()).status, 401);
  t.equal((await old.with({ 'x-feed-password': 'new' }).list()).status, 200);
  t.equal((await unlocked.visit('/smew')).status, 401);
  t.ok(await eventually(() => stream.isEnded));

  t.equal((await operate(url, 'DELETE', '/feeds/smew/password')).status, 204);
  t.equal((await new FeedClient(url, 'smew').list()).status, 200);
  for (const [method, body] of [
    ['PUT', { password: 'x' }],
    ['DELETE', undefined],
  ] as const)
    t.match((await operate(url, method, '/feeds/smew/password', body)).json, { code: 'feed_exists' });
  t.match((await operate(url, 'PUT', '/feeds/smew/password', { password: 'pä' })).json, {
    code: 'invalid_request',
  });
  t.match((await operate(url, 'PUT', '/feeds/smew/password', {})).json, { code: 'invalid_body' });

  const audit = service.lines.filter(({ fields }) => fields.audit === true);
  t.match(audit, [
    { level: 'info', message: 'operator', fields: { what: 'change password', client: '127.0.0.1' } },
    { fields: { what: 'remove password' } },
  ]);
  t.equal(audit.length, 2, 'nothing that was refused');
  const { feed } = service.lines.find(({ message }) => message === 'feed created')!.fields;
  t.match(feed, /^[0-9a-f]{12}$/);
  for (const { fields } of audit) t.equal(fields.feed, feed);
  t.notMatch(JSON.stringify(service.lines), /smew|forgotten/);
});

t.test('wrong tokens are counted, but not as wrong passwords', async (t) => {
  const { url } = await start(t, { ...WITH_OPERATOR, SERVICE_RATE_LIMIT: '2' });
  const feed = new FeedClient(url, 'twite', { 'x-feed-password': 'right' });
  await feed.post();
  const headers = { authorization: 'Bearer wrong' };
  for (let n = 0; n < 2; n += 1) t.equal((await ask(`${url}/api/operator/stats`, { headers })).status, 401);
  t.match(await operate(url, 'GET', '/stats'), { status: 429, json: { code: 'too_many_attempts' } });
  t.equal((await feed.list()).status, 200);
});

t.test('a hosted instance says which feeds have a license', async (t) => {
  const { url } = await start(t, { ...WITH_OPERATOR, ...HOSTED });
  const [free, licensed] = [new FeedClient(url, 'linnet'), new FeedClient(url, 'serin')];
  for (const feed of [free, licensed]) await feed.post();
  await licensed.send('PUT', '/license', JSON.stringify({ license: licenseFor() }));
  t.match((await operate(url, 'GET', '/feeds?sort=name')).json.feeds, [
    { name: 'linnet', license: null },
    { name: 'serin', license: { until: FAR } },
  ]);
});
