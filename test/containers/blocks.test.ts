/** Three containers on one PostgreSQL: what the operator closes or changes through one holds in all at once. */
import t from 'tap';
import { startContainers, viewsOf } from '../support/containers.ts';
import { Browser } from '../support/cookie-browser.ts';
import { EventStream } from '../support/event-stream.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { operate, WITH_OPERATOR } from '../support/operator.ts';
import { picture } from '../support/pictures.ts';
import { PostgresServer } from '../support/postgres.ts';
import { ask } from '../support/service.ts';

t.setTimeout(600_000);

const PNG = { 'content-type': 'image/png' };
const server = await PostgresServer.start(t);
const container = { env: WITH_OPERATOR };
const services = await startContainers(t, await server.database(), [container, container, container]);
const [one, ...others] = services as [(typeof services)[0], ...typeof services];

const inOthers = (name: string, headers: Record<string, string> = {}) =>
  others.map(({ url }) => new FeedClient(url, name, headers));

t.test('a closed name', async (t) => {
  await new FeedClient(one.url, 'crossbill').post();
  for (const name of ['crossbill', 'no-feed-yet'])
    for (let round = 0; round < 10; round += 1) {
      const feeds = inOthers(name);
      for (const feed of feeds) t.equal((await feed.post()).status, 201);
      t.equal((await operate(one.url, 'PUT', `/blocks/${name}`)).status, 204);
      for (const reply of await Promise.all(feeds.map((feed) => feed.post())))
        t.match(reply, { status: 403, json: { code: 'blocked' } });
      t.equal((await operate(one.url, 'DELETE', `/blocks/${name}`)).status, 204);
    }
});

t.test('the read link of a closed name', async (t) => {
  const { json } = await new FeedClient(one.url, 'dunnock').post('# Seen');
  const lists = viewsOf(readIdIn(json.read_url)).filter((path) => !/read\/[^/]+$/.test(path));
  const urls = lists.flatMap((path) => others.map(({ url }) => url + path));
  const shows = async (is: boolean) => {
    const replies = await Promise.all(urls.map((url) => ask(url)));
    return replies.every(({ text }) => text.includes('Seen') === is);
  };
  t.ok(await eventually(() => shows(true)));
  t.equal((await operate(one.url, 'PUT', '/blocks/dunnock')).status, 204);
  t.ok(await eventually(() => shows(false)));
  t.equal((await operate(one.url, 'DELETE', '/blocks/dunnock')).status, 204);
  t.ok(await eventually(() => shows(true)));
});

t.test('a feed that is taken down for good', async (t) => {
  const { json } = await new FeedClient(one.url, 'fieldfare').post('# Gone');
  const readId = readIdIn(json.read_url);
  const paths = [...viewsOf(readId), `/r/${readId}`, `/r/${readId}/${json.file}`];
  for (const path of paths)
    for (const { url } of services) t.equal((await ask(url + path)).status, 200, 'now it is kept ready');
  const taken = await operate(one.url, 'POST', '/takedown', { target: `/r/${readId}`, block: true });
  t.strictSame(taken.json, { removed: 1 });
  for (const feed of inOthers('fieldfare')) t.match((await feed.post()).json, { code: 'blocked' });
  const isGone = async () => {
    const replies = await Promise.all(paths.flatMap((path) => services.map(({ url }) => ask(url + path))));
    return replies.every(({ status }) => status === 410);
  };
  t.ok(await eventually(isGone));
  t.ok(await isGone(), 'and stays so');
});

t.test('the bytes of a picture', async (t) => {
  const bytes = picture('png', 500);
  const { json } = await new FeedClient(one.url, 'redwing').post(bytes, PNG);
  await operate(one.url, 'POST', '/takedown', { target: json.file_url, block: true });
  for (const feed of inOthers('whinchat'))
    t.match(await feed.post(bytes, PNG), { status: 451, json: { code: 'blocked' } });
});

t.test('a password', async (t) => {
  const old = { 'x-feed-password': 'old' };
  await new FeedClient(one.url, 'wryneck', old).post();
  const browsers = others.map(({ url }) => new Browser(url));
  for (const browser of browsers) {
    const form = { action: 'unlock', password: 'old', back: '/wryneck' };
    t.equal((await browser.submit('/wryneck/access', form)).status, 303);
    t.equal((await browser.visit('/wryneck')).status, 200);
  }
  const streams = await Promise.all(
    others.map(({ url }) => EventStream.open(t, `${url}/api/v1/feeds/wryneck/events`, old)),
  );
  const change = { password: 'new' };
  t.equal((await operate(one.url, 'PUT', '/feeds/wryneck/password', change)).status, 204);
  for (const feed of inOthers('wryneck', old)) t.equal((await feed.list()).status, 401);
  for (const browser of browsers) t.equal((await browser.visit('/wryneck')).status, 401);
  for (const stream of streams) t.ok(await eventually(() => stream.isEnded));
});

t.test('sums', async (t) => {
  const stats = await Promise.all(services.map(({ url }) => operate(url, 'GET', '/stats')));
  t.strictSame(new Set(stats.map(({ text }) => text)).size, 1);
});
