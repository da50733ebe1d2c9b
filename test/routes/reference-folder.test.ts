/** A data folder of the service that this one takes the place of, opened as it is. */
import { randomBytes, scryptSync } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { placeFiles } from '../support/moving.ts';
import { picture } from '../support/pictures.ts';
import { ask, type LogLine, type Reply, start, type TestService, tempDir } from '../support/service.ts';

process.env.SERVICE_STORAGE = 'fs';
t.setTimeout(600_000);

const ID = '20250102T030405Z-6f0f3c1e-5b1c-4c53-9d5e-0f3a0c7a1b2c';
const PASSWORD = 'correct horse';
const SETTINGS = {
  title: 'Birds',
  description: 'Seen',
  showSender: false,
  theme: { dark: [true] },
  __proto__x: 1,
};
const META = { title: 'Heron', tags: ['a'], sender: 'Ann', views: 7, nested: { a: [1, null, 'ä'] } };

function scryptForm(password: string): string {
  const [N, r, p, salt] = [16_384, 8, 1, randomBytes(16)];
  return ['scrypt', N, r, p, salt.toString('base64'), scryptSync(password, salt, 64).toString('base64')].join(
    '$',
  );
}

/** One open feed, with a note that was put there by hand, and protected ones that have the same. */
async function referenceFolder(t: Test, protectedFeeds: readonly string[] = []): Promise<string> {
  const dir = await tempDir(t);
  const notes = [
    ['.feed.json', JSON.stringify(SETTINGS)],
    [`${ID}.md`, '# Seen today'],
    [`.${ID}.md.json`, JSON.stringify(META)],
    ['by hand.md', 'by hand'],
    ['.by hand.md.json', JSON.stringify({ views: 1 })],
    ['cat.png', picture('png')],
  ] as const;
  for (const feed of ['open', ...protectedFeeds]) {
    placeFiles(dir, [
      [`${feed}/.readid`, `read-${feed}\n`, 0],
      ...notes.map(([name, bytes]) => [`${feed}/${name}`, bytes, 1_700_000_000_000] as const),
    ]);
  }
  for (const feed of protectedFeeds) writeFileSync(join(dir, feed, '.password'), `${scryptForm(PASSWORD)}\n`);
  return dir;
}

const read = (...path: string[]) => readFileSync(join(...path), 'utf8');
const members = (...path: string[]) => JSON.parse(read(...path));
/** Of a metadata file, without when the note was edited, which must be since `from`. */
function membersEdited(t: Test, file: string, from: number): Record<string, unknown> {
  const { edited, ...others } = members(file);
  t.equal(new Date(edited).toISOString(), edited);
  t.ok(Date.parse(edited) >= from && Date.parse(edited) <= Date.now(), 'edited just now');
  return others;
}

t.test('is read as it is', async (t) => {
  const dir = await referenceFolder(t);
  const { url } = await start(t, {}, dir);
  const open = new FeedClient(url, 'open');
  t.match((await open.get()).json, { title: 'Birds', description: 'Seen', show_sender: false });
  const { notes } = (await open.list()).json;
  t.match(notes.map(({ id }: { id: string }) => id).sort(), [ID, 'by hand', 'cat']);
  t.match((await open.get(`/notes/${ID}`)).json, {
    title: 'Heron',
    tags: ['a'],
    sender: 'Ann',
    content: '# Seen today',
  });
  const shown = (await ask(`${url}/api/v1/read/read-open/notes/${ID}`)).json;
  t.equal(shown.sender, undefined, 'the feed hides it');
  for (const text of [JSON.stringify(shown), (await ask(`${url}/r/read-open/feed.xml`)).text])
    t.notMatch(text, /views|nested/);
});

t.test('what others keep beside a note survives every change of it', async (t) => {
  const dir = await referenceFolder(t);
  const { url } = await start(t, {}, dir);
  const open = new FeedClient(url, 'open');
  const file = join(dir, 'open', `.${ID}.md.json`);
  let from = Date.now();
  t.match(await open.send('PATCH', `/notes/${ID}`, '{"title":"Egret"}'), {
    status: 200,
    json: { title: 'Egret' },
  });
  t.strictSame(membersEdited(t, file, from), { ...META, title: 'Egret' });
  const replaced = { method: 'PUT', body: '# Other', headers: { 'content-type': 'text/markdown' } };
  from = Date.now();
  t.equal((await ask(`${open.record}/notes/${ID}`, replaced)).status, 200);
  t.strictSame(membersEdited(t, file, from), { ...META, title: 'Egret' });

  const byHand = join(dir, 'open/.by hand.md.json');
  t.equal((await ask(`${open.record}/notes/by%20hand`, replaced)).status, 200);
  const created = new Date(1_700_000_000_000).toISOString();
  t.strictSame(
    membersEdited(t, byHand, from),
    { views: 1, created },
    'with the date that the file no longer says',
  );

  writeFileSync(file, JSON.stringify({ title: 'Alone', views: 7 }));
  t.equal((await open.send('PATCH', `/notes/${ID}`, '{"title":""}')).status, 200);
  t.strictSame(membersEdited(t, file, from), { views: 7 }, 'alone');
  writeFileSync(file, '[1, 2]');
  t.equal((await open.send('PATCH', `/notes/${ID}`, '{"title":"New"}')).status, 409);
  t.strictSame(members(file), [1, 2], 'what is no object is left as it is');
  t.equal((await open.send('DELETE', `/notes/${ID}`)).status, 204);
  t.notOk(existsSync(file));
});

t.test('what others keep in the settings survives every change of them', async (t) => {
  const dir = await referenceFolder(t);
  const { url } = await start(t, {}, dir);
  const open = new FeedClient(url, 'open');
  const file = join(dir, 'open/.feed.json');
  const set = await open.set({ title: 'New', description: 'Seen', image: 'cat.png' });
  t.match(set, { status: 200, json: { title: 'New', show_sender: false } });
  t.strictSame(members(file), { ...SETTINGS, title: 'New', image: 'cat.png', show_sender: false });
  t.equal((await open.send('DELETE', '/notes/cat')).status, 204, 'the title image');
  t.strictSame(members(file), { ...SETTINGS, title: 'New', show_sender: false });
  t.equal((await open.set({ show_sender: true, read_id: 'other-id' })).status, 200);
  const { theme } = SETTINGS;
  t.strictSame(members(file), { theme, __proto__x: 1, showSender: true }, 'both spellings say the same');
});

t.test('a right password is stored anew, and what it came with is done', async (t) => {
  const requests: Record<string, (feed: FeedClient) => Promise<Reply>> = {
    post: (feed) => feed.post('new'),
    get: (feed) => feed.get(),
    patch: (feed) => feed.send('PATCH', `/notes/${ID}`, '{"title":"Egret"}'),
    delete: (feed) => feed.send('DELETE', `/notes/${ID}`),
    settings: (feed) => feed.set({ title: 'New' }),
    password: (feed) => feed.send('PUT', '/password', JSON.stringify({ password: PASSWORD })),
  };
  const dir = await referenceFolder(t, Object.keys(requests));
  const service = await start(t, {}, dir);
  const client = (url: string, name: string, password: string) =>
    new FeedClient(url, name, { 'x-feed-password': password });
  for (const [name, request] of Object.entries(requests)) {
    const before = read(dir, name, '.password');
    for (const refused of [client(service.url, name, 'wrong'), new FeedClient(service.url, name)])
      t.match(await request(refused), { status: 401, json: { code: 'auth' } }, name);
    t.equal(read(dir, name, '.password'), before, 'and nothing is stored');
    t.ok((await request(client(service.url, name, PASSWORD))).status < 300, name);
    t.match(read(dir, name, '.password'), /^\$argon2id\$/, name);
  }
  t.same(
    service.lines.filter(({ level }) => level === 'warn'),
    [],
  );
  const { url } = await service.restart();
  for (const name of Object.keys(requests)) {
    t.equal((await client(url, name, PASSWORD).get()).status, 200);
    t.equal((await client(url, name, 'wrong').get()).status, 401);
  }
});

t.test('many who come at once with the right password are all let in', async (t) => {
  const dir = await referenceFolder(t, ['locked']);
  const { url, lines } = await start(t, {}, dir);
  const owner = new FeedClient(url, 'locked', { 'x-feed-password': PASSWORD });
  const work = Array.from({ length: 60 }, (_, i) =>
    i % 3 === 0 ? owner.set({ title: `${i}` }) : i % 3 === 1 ? owner.post('x') : owner.list(),
  );
  t.same(new Set((await Promise.all(work)).map(({ status }) => status)), new Set([200, 201]));
  t.match(read(dir, 'locked/.password'), /^\$argon2id\$/);
  t.same(
    lines.filter(({ level }) => level === 'warn'),
    [],
  );
});

t.test(
  'a reserved feed takes its password, is stored anew, and is as it should be at the next start',
  async (t) => {
    const dir = await tempDir(t);
    placeFiles(dir, [
      ['news/.readid', 'news\n', 0],
      ['news/.password', scryptForm(PASSWORD), 0],
    ]);
    const env = { SERVICE_RESERVED_FEEDS: 'news', SERVICE_RESERVED_PASSWORD: PASSWORD };
    const service = await start(t, env, dir);
    const post = (url: string, password: string) =>
      new FeedClient(url, 'news', { 'x-feed-password': password }).post('x');
    t.match(await post(service.url, 'wrong'), { status: 400, json: { code: 'reserved_feed' } });
    const posted = await post(service.url, PASSWORD);
    t.equal(posted.status, 201);
    t.equal(readIdIn(posted.json.read_url), 'news');
    const stored = read(dir, 'news/.password');
    t.match(stored, /^\$argon2id\$/);
    const restarted = await service.restart();
    t.equal(read(dir, 'news/.password'), stored);
    t.equal((await post(restarted.url, PASSWORD)).status, 201);
    t.same(
      [...service.lines, ...restarted.lines].filter(({ level }) => level === 'warn'),
      [],
    );
  },
);

function warningsOf(service: TestService): LogLine[] {
  return service.lines.filter(({ level }) => level === 'warn');
}

t.test('what a crash of the reference left is cleared away at the start', async (t) => {
  const dir = await referenceFolder(t);
  const leftovers = ['.deleted-0123456789ab/note.md', '.fedcba987654.tmp', 'open/.0123456789ab.tmp'];
  const others = [
    '.deleted-0123456789abc',
    '.0123456789AB.tmp',
    'open/.0123456789ab.tmp.md',
    'open/.0123.tmp',
  ];
  placeFiles(
    dir,
    [...leftovers, ...others].map((name) => [name, 'half', 0]),
  );
  await start(t, {}, dir);
  t.ok(await eventually(() => leftovers.every((name) => !existsSync(join(dir, name.split('/note')[0]!)))));
  for (const name of others) t.ok(existsSync(join(dir, name)), name);
});

t.test(
  'folders that nobody reaches, because they are named like routes, are told at the start',
  async (t) => {
    const dir = await referenceFolder(t);
    for (const name of ['r', 'api']) placeFiles(dir, [[`${name}/note.md`, 'x', 0]]);
    const service = await start(t, {}, dir);
    t.match(
      warningsOf(service).filter(({ fields }) => fields.names !== undefined),
      [{ message: /named like an address of the service/, fields: { names: ['api', 'r'] } }],
    );
  },
);
