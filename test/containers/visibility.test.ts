/** Three containers on one PostgreSQL: what is written through one shows through the others. */
import t, { type Test } from 'tap';
import { askAll, lastStale, startContainers, viewsOf } from '../support/containers.ts';
import { Browser } from '../support/cookie-browser.ts';
import { eventually, untilDated } from '../support/eventually.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { picture } from '../support/pictures.ts';
import { PostgresServer } from '../support/postgres.ts';
import { ask } from '../support/service.ts';

t.setTimeout(600_000);

const SECOND = 1_000;

const server = await PostgresServer.start(t);
const services = await startContainers(t, await server.database(), [{}, {}, {}]);
const [one, two, three] = services as [(typeof services)[0], (typeof services)[0], (typeof services)[0]];

/** The tags of a view in all containers, which keep it ready from now on. */
async function tagsOf(path: string): Promise<string[]> {
  await askAll(services, path);
  return (await askAll(services, path)).map(({ headers }) => headers.get('etag') ?? '');
}

/** Makes a change: no container takes the old tags of these views for current when it is asked a second later. */
async function shows(t: Test, paths: readonly string[], change: () => Promise<{ status: number }>) {
  const before = new Map<string, string>();
  for (const path of paths) {
    // A text that could not be rendered in time makes another view for once.
    const isSame = async () => {
      const tags = await tagsOf(path);
      before.set(path, tags[0]!);
      return new Set(tags).size === 1;
    };
    t.ok(await eventually(isSame), `${path} is the same everywhere`);
  }
  const { status } = await change();
  t.ok(status < 300, `answered with ${status}`);
  const statuses = async () =>
    (
      await Promise.all(paths.map((path) => askAll(services, path, { 'if-none-match': before.get(path)! })))
    ).flatMap((replies) => replies.map((reply) => reply.status));
  const stale = await lastStale(async () => ((await statuses()).includes(304) ? 'stale' : 'fresh'));
  t.ok(stale < SECOND, `the last stale answer was asked for after ${Math.round(stale)} ms`);
  for (let i = 0; i < 2; i += 1) t.notOk((await statuses()).includes(304), 'and never again as it was');
}

t.test('every change through one container shows through all within a second', async (t) => {
  const posted = (await new FeedClient(one.url, 'wren').post('# One')).json;
  const readId = readIdIn(posted.read_url);
  const [rss, jsonFeed, feed, list, newest] = viewsOf(readId) as [string, string, string, string, string];
  const notes = [rss, jsonFeed, list];
  const at = (service: typeof one) => new FeedClient(service.url, 'wren');
  const note = `/notes/${posted.id}`;

  await shows(t, [...notes, newest], () => at(two).post('# Two'));
  await shows(t, notes, () => at(three).post(picture('png', 1_000), { 'content-type': 'image/png' }));
  const file = `/r/${readId}/${posted.file}`;
  await shows(t, [...notes, file], () =>
    ask(`${two.url}/api/v1/feeds/wren${note}`, {
      method: 'PUT',
      headers: { 'content-type': 'text/markdown' },
      body: '# Changed',
    }),
  );
  await shows(t, notes, () => at(three).send('PATCH', note, '{"title":"Another title"}'));
  await shows(t, [rss, jsonFeed, feed], () => at(one).set({ title: 'Wrens', description: 'Small' }));
  await shows(t, [...notes, file, `/api/v1/read/${readId}${note}`], () => at(two).send('DELETE', note));
  await shows(t, [rss, feed, list], () => at(three).set({ title: '', description: '', read_id: 'wrens' }));
  t.ok((await askAll(services, '/api/v1/read/wrens/notes')).every(({ json }) => json.notes.length === 2));
  await shows(t, ['/r/wrens/feed.xml', '/api/v1/read/wrens/notes'], () => at(one).delete());
  t.ok((await askAll(services, '/api/v1/read/wrens/notes')).every(({ json }) => json.notes.length === 0));
});

t.test('a file replaced within a second is not taken for the one before by a date', async (t) => {
  for (let round = 0; round < 4; round += 1) {
    const { read_url: readUrl, file, id } = (await new FeedClient(one.url, 'stint').post('before')).json;
    const path = `/r/${readIdIn(readUrl)}/${file}`;
    const [before] = await askAll([two], path);
    const body = { headers: { 'content-type': 'text/markdown' }, body: `after ${round}` };
    t.equal((await ask(`${three.url}/stint/${id}`, { method: 'PUT', ...body })).status, 200);
    // What a client may send that got no other date.
    const since = before!.headers.get('last-modified') ?? before!.headers.get('date')!;
    await untilDated();
    for (const { status } of await askAll(services, path, { 'if-modified-since': since }))
      t.equal(status, 200);
  }
});

t.test('a feed made anew is another one everywhere', async (t) => {
  const first = (await new FeedClient(one.url, 'rail').post('first')).json;
  const feeds = services.map(({ url }) => new FeedClient(url, 'rail'));
  for (const feed of feeds) t.equal((await feed.list()).json.notes.length, 1);
  t.equal((await feeds[1]!.delete()).status, 204);
  const second = (await feeds[2]!.post('second')).json;
  t.not(readIdIn(second.read_url), readIdIn(first.read_url));
  for (const feed of feeds) t.match((await feed.list()).json.notes, [{ content: 'second' }]);
  const old = await askAll(services, `/api/v1/read/${readIdIn(first.read_url)}/notes`);
  t.ok(old.every(({ json }) => json.notes.length === 0));
});

t.test('a password that one container changes is the one in the others at once', async (t) => {
  const make = new FeedClient(one.url, 'heron', { 'x-feed-password': 'first' });
  await make.post();
  const statuses = (password: string) =>
    Promise.all(
      services.map(
        async ({ url }) => (await new FeedClient(url, 'heron', { 'x-feed-password': password }).get()).status,
      ),
    );
  t.same(await statuses('first'), [200, 200, 200]);
  const changing = new FeedClient(two.url, 'heron', { 'x-feed-password': 'first' });
  t.equal((await changing.send('PUT', '/password', '{"password":"second"}')).status, 204);
  t.same(await statuses('first'), [401, 401, 401]);
  t.same(await statuses('second'), [200, 200, 200]);
});

t.test('a new name that all containers are sent at once is one feed with all notes', async (t) => {
  for (let round = 0; round < 3; round += 1) {
    const name = `snipe-${round}`;
    const posts = Array.from({ length: 12 }, (_, i) =>
      new FeedClient(services[i % 3]!.url, name).post(`${i}`),
    );
    const replies = await Promise.all(posts);
    t.same(new Set(replies.map(({ status }) => status)), new Set([201]));
    t.equal(new Set(replies.map(({ json }) => readIdIn(json.read_url))).size, 1);
    for (const { url } of services) t.equal((await new FeedClient(url, name).list()).json.notes.length, 12);
  }
});

t.test('a feed that is unlocked through one is unlocked in all, until its password changes', async (t) => {
  const owner = new FeedClient(one.url, 'dunlin', { 'x-feed-password': 'first' });
  await owner.post();
  const browser = new Browser(one.url);
  await browser.submit('/dunlin/access', { action: 'unlock', password: 'first' });
  const cookie = browser.cookiesFor('/dunlin');
  const statuses = () =>
    Promise.all(
      services.map(async ({ url }) => (await new Browser(url).visit('/dunlin/settings', { cookie })).status),
    );
  t.same(await statuses(), [200, 200, 200]);
  await owner.send('PUT', '/password', '{"password":"second"}');
  t.same(await statuses(), [401, 401, 401]);
});
