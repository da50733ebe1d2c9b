/** Reserved names, and the feeds that they are where they have a password, through HTTP. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { ROUTE_NAMES } from '../../src/feeds/names.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { operate, WITH_OPERATOR } from '../support/operator.ts';
import { picture } from '../support/pictures.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { type Refused, refusesAll } from '../support/refused.ts';
import { ask, start, tempDir } from '../support/service.ts';

const NAMES = { SERVICE_RESERVED_FEEDS: 'gazette,bulletin' };
const WITH_PASSWORD = { ...NAMES, SERVICE_RESERVED_PASSWORD: 'editors only' };
const MD = { 'content-type': 'text/markdown' };
const POST = { method: 'POST', headers: MD, body: 'x', status: 400, code: 'reserved_feed', word: 'reserved' };

const NO_PASSWORD = /without SERVICE_RESERVED_PASSWORD/;

/** A post by both paths. */
function posts(name: string, headers: Record<string, string> = {}): Refused[] {
  const row = { ...POST, what: `the name ${name}`, headers: { ...MD, ...headers } };
  return [`/${name}`, `/${name}/`, `/api/v1/feeds/${name}/notes`].map((path) => ({ ...row, path }));
}

t.test('without their password nothing is posted to reserved names', async (t) => {
  const service = await start(t, NAMES);
  const routes = [...ROUTE_NAMES].flatMap((name) =>
    posts(name).filter(({ path }) => !/^\/logout\/?$/.test(path)),
  );
  const names = ['gazette', 'bulletin'].flatMap((name) => [
    ...posts(name),
    ...posts(name, { 'x-feed-password': 'editors only' }),
  ]);
  const views = [{ path: '/api/v1/feeds/gazette' }, { path: '/r/gazette/feed.xml' }, { path: '/health' }];
  // Reserved since later, if there is no such feed.
  const later = ['oauth', 'report'].flatMap((name) => [
    ...posts(name),
    { ...POST, what: 'a change', method: 'PUT', path: `/api/v1/feeds/${name}` },
  ]);
  await refusesAll(t, { service, views, secrets: ['gazette', 'bulletin'] }, [...routes, ...names, ...later]);
  t.equal((await new FeedClient(service.url, 'gazette').get()).status, 404);
  for (const path of ['/oauth', '/report/settings'])
    t.match(await ask(service.url + path, { headers: { accept: 'text/html' } }), {
      status: 400,
      text: /reserved/,
    });
  t.ok(
    service.lines.some(({ message }) => NO_PASSWORD.test(message)),
    'the start warns',
  );
});

t.test(
  'a feed that had such a name before goes on to work',
  { skip: (process.env.SERVICE_STORAGE ?? 'fs') !== 'fs' },
  async (t) => {
    const dir = await tempDir(t);
    mkdirSync(join(dir, 'report'));
    writeFileSync(join(dir, 'report', 'old.md'), 'An old note');
    const { url } = await start(t, {}, dir);
    const report = new FeedClient(url, 'report');
    t.match(await report.list(), { status: 200, json: { notes: [{ content: 'An old note' }] } });
    const posted = await report.post('A new note');
    t.equal(posted.status, 201);
    t.equal((await report.send('PATCH', `/notes/${posted.json.id}`, '{"title":"T"}')).status, 200);
    t.equal((await ask(`${url}/report`)).status, 200);
    t.equal((await report.delete()).status, 204);
    t.match(
      await report.post(),
      { status: 400, json: { code: 'reserved_feed' } },
      'deleted, it is as any other',
    );
  },
);

t.test('POST /logout is the way out of the pages', async (t) => {
  const service = await start(t, NAMES);
  for (const path of ['/logout', '/logout/']) {
    const reply = await ask(service.url + path, { method: 'POST', headers: MD, body: 'x' });
    t.equal(reply.status, 303);
    t.equal(reply.headers.get('location'), '/');
    t.equal(reply.headers.get('set-cookie'), null);
  }
  t.notOk(existsSync(join(service.dir, 'logout')));
});

t.test('with their password they exist from the start', async (t) => {
  const service = await start(t, WITH_PASSWORD);
  const editor = (name: string) => new FeedClient(service.url, name, { 'x-feed-password': 'editors only' });
  t.notOk(service.lines.some(({ message }) => NO_PASSWORD.test(message)));
  const record = await editor('gazette').get();
  t.match(record, { status: 200, json: { name: 'gazette', protected: true, read_url: null } });
  t.equal((await ask(`${service.url}/r/gazette/feed.xml`)).status, 200);

  const views = [
    { path: '/api/v1/feeds/gazette', headers: { 'x-feed-password': 'editors only' } },
    { path: '/r/gazette/feed.xml' },
  ];
  const others = [{}, { 'x-feed-password': 'readers' }, { 'x-feed-password': 'Editors only' }];
  const rows = ['gazette', 'bulletin', 'static'].flatMap((name) =>
    others.flatMap((headers) => posts(name, headers)),
  );
  rows.push(...posts('static', { 'x-feed-password': 'editors only' }));
  await refusesAll(t, { service, views, secrets: ['gazette', 'bulletin', 'editors'] }, rows);
  t.equal((await new FeedClient(service.url, 'gazette').get()).status, 401);

  const first = await editor('gazette').post('# News', { 'x-read-id': 'ignored' });
  t.equal(first.status, 201);
  t.equal(first.json.read_url, `${service.url}/r/gazette/feed.xml`);
  t.equal((await editor('gazette').post(picture('png'), { 'content-type': 'image/png' })).status, 201);
  t.ok((await ask(first.json.read_url)).text.includes('News'));
  t.equal((await editor('bulletin').list()).json.notes.length, 0);
});

t.test('their password is the one of the setting, whoever may use it', async (t) => {
  const service = await start(t, WITH_PASSWORD);
  const right = { 'x-feed-password': 'editors only' };
  const views = [{ path: '/api/v1/feeds/gazette', headers: right }];
  const path = '/api/v1/feeds/gazette/password';
  const common = { path, headers: right, status: 400, code: 'reserved_feed', word: 'reserved' };
  await refusesAll(t, { service, views, secrets: ['gazette', 'editors'] }, [
    { ...common, what: 'another password', method: 'PUT', body: '{"password":"mine"}' },
    { ...common, what: 'no password', method: 'DELETE' },
  ]);
  await rm(join(service.dir, 'gazette', '.password'));
  const gazette = new FeedClient(service.url, 'gazette');
  t.ok(await eventually(async () => (await gazette.get()).json.protected === false));
  for (const headers of [{}, right])
    t.match(await gazette.with(headers).post(), { status: 400, json: { code: 'reserved_feed' } });
});

t.test('whoever has tried too many passwords is told that, and not that the name is reserved', async (t) => {
  const { url } = await start(t, { ...WITH_PASSWORD, SERVICE_RATE_LIMIT: '1' });
  const post = (password: string) => new FeedClient(url, 'gazette', { 'x-feed-password': password }).post();
  t.match(await post('wrong'), { status: 400, json: { code: 'reserved_feed' } });
  t.match(await post('editors only'), { status: 429, json: { code: 'too_many_attempts' } });
});

t.test('their read id stays their name', async (t) => {
  const service = await start(t, WITH_PASSWORD);
  const gazette = new FeedClient(service.url, 'gazette', { 'x-feed-password': 'editors only' });
  await gazette.post();
  for (const readId of ['', 'herald'])
    t.match(await gazette.set({ read_id: readId }), { status: 400, json: { code: 'reserved_feed' } });
  t.match(await gazette.set({ title: 'News', read_id: 'gazette' }), {
    status: 200,
    json: { title: 'News', read_url: /\/r\/gazette\// },
  });
});

t.test('they keep their notes, and take a new password, at another start', async (t) => {
  const first = await start(t, WITH_PASSWORD);
  const old = { 'x-feed-password': 'editors only' };
  await new FeedClient(first.url, 'gazette', old).post();
  await first.stop();
  const second = await start(t, { ...WITH_PASSWORD, SERVICE_RESERVED_PASSWORD: 'new editors' }, first.dir);
  const gazette = new FeedClient(second.url, 'gazette');
  t.match(await gazette.with(old).post(), { status: 400, json: { code: 'reserved_feed' } });
  const now = gazette.with({ 'x-feed-password': 'new editors' });
  t.equal((await now.post()).status, 201);
  t.equal((await now.list()).json.notes.length, 2);
  t.strictSame(
    second.lines.filter(({ level }) => level === 'warn'),
    [],
  );
});

t.test('a feed that was there before it was reserved stays as it is, with a warning', async (t) => {
  const first = await start(t);
  const { id, read_url: readUrl } = (await new FeedClient(first.url, 'gazette').post('mine')).json;
  const owned = { 'x-feed-password': 'mine' };
  await new FeedClient(first.url, 'herald', owned).post();
  await first.stop();
  const locked = await start(t, { SERVICE_RESERVED_FEEDS: 'herald' }, first.dir);
  const refused = await new FeedClient(locked.url, 'herald', owned).post();
  t.match(
    refused,
    { status: 400, json: { code: 'reserved_feed' } },
    'nobody posts there, with its password neither',
  );
  await locked.stop();
  for (const env of [NAMES, WITH_PASSWORD]) {
    const service = await start(t, env, first.dir);
    const warnings = service.lines.filter(({ level }) => level === 'warn');
    t.equal(warnings.length, env === NAMES ? 2 : 1);
    t.notMatch(JSON.stringify(warnings), /gazette|editors/);
    const reader = await ask(service.url + new URL(readUrl).pathname);
    t.ok(reader.text.includes(id.slice(-36)), 'its read link lives on');
    if (env === NAMES) t.match(await new FeedClient(service.url, 'gazette').post(), { status: 400 });
    await service.stop();
  }
});

t.test('nobody else gets a read id that is a reserved name', async (t) => {
  const service = await start(t, WITH_PASSWORD);
  const client = new FeedClient(service.url, 'magpie');
  t.match(await client.post('x', { 'x-read-id': 'gazette' }), {
    status: 400,
    json: { code: 'invalid_request' },
  });
  t.equal((await client.post()).status, 201);
  t.match(await client.set({ read_id: 'bulletin' }), { status: 400, json: { code: 'invalid_request' } });
});

t.test('one that was deleted is there again after the next start, with its link', async (t) => {
  const first = await start(t, WITH_PASSWORD);
  const editor = (url: string) => new FeedClient(url, 'gazette', { 'x-feed-password': 'editors only' });
  await editor(first.url).post('# Old');
  t.equal((await editor(first.url).delete()).status, 204);
  t.match(await editor(first.url).post(), { status: 400, json: { code: 'reserved_feed' } });
  // More than once, because a deletion after the first one must leave the name free too.
  for (
    let service = await first.restart(), round = 0;
    round < 2;
    service = await service.restart(), round += 1
  ) {
    const posted = await editor(service.url).post('# New');
    t.match(posted, { status: 201, json: { read_url: `${service.url}/r/gazette/feed.xml` } });
    const shown = await ask(`${service.url}/r/gazette/feed.xml`);
    t.match(shown.text, 'New');
    t.notMatch(shown.text, 'Old');
    t.same(
      service.lines.filter(({ level }) => level === 'warn'),
      [],
    );
    t.equal((await editor(service.url).delete()).status, 204);
  }
});

t.test('a post that was on its way when one was deleted does not make it, with another link', async (t) => {
  const service = await start(t, WITH_PASSWORD);
  const editor = new FeedClient(service.url, 'gazette', { 'x-feed-password': 'editors only' });
  const connection = await RawConnection.open(service.port);
  t.teardown(() => connection.close());
  const fields = 'Host: test\r\nX-Feed-Password: editors only\r\nContent-Type: text/markdown\r\n';
  connection.send(`POST /gazette HTTP/1.1\r\n${fields}Content-Length: 9\r\n\r\nlate`);
  await delay(100);
  t.equal((await editor.delete()).status, 204);
  connection.send(' news');
  t.match(await connection.response(), { status: 400, body: /reserved_feed/ });
  t.equal((await editor.get()).status, 404);
  const again = await service.restart();
  t.match(await new FeedClient(again.url, 'gazette', { 'x-feed-password': 'editors only' }).post(), {
    status: 201,
    json: { read_url: `${again.url}/r/gazette/feed.xml` },
  });
});

t.test(
  'a feed with the read id of a reserved name keeps it, and stops neither the start nor the others',
  async (t) => {
    const first = await start(t);
    t.equal((await new FeedClient(first.url, 'mine').post('x', { 'x-read-id': 'gazette' })).status, 201);
    await first.stop();
    const second = await start(t, WITH_PASSWORD, first.dir);
    const headers = { 'x-feed-password': 'editors only' };
    t.match(await new FeedClient(second.url, 'gazette', headers).post(), { status: 400 });
    t.equal((await new FeedClient(second.url, 'bulletin', headers).post()).status, 201);
    const warnings = second.lines.filter(({ level }) => level === 'warn');
    t.match(warnings, [{ fields: { place: 1 } }]);
    t.notMatch(JSON.stringify(warnings), 'gazette');
  },
);

t.test('one that the operator took down for good stays closed, and does not stop the start', async (t) => {
  const first = await start(t, { ...WITH_PASSWORD, ...WITH_OPERATOR });
  const taken = { target: `${first.url}/r/gazette`, block: true };
  t.equal((await operate(first.url, 'POST', '/takedown', taken)).status, 200);
  const second = await first.restart();
  const headers = { 'x-feed-password': 'editors only' };
  t.match(await new FeedClient(second.url, 'gazette', headers).post(), { status: 400 });
  t.equal((await new FeedClient(second.url, 'bulletin', headers).post()).status, 201);
  const warnings = second.lines.filter(({ level }) => level === 'warn');
  t.match(warnings, [{ fields: { place: 1 } }]);
  t.notMatch(JSON.stringify(warnings), 'gazette');
});
