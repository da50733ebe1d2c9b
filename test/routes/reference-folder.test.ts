/** A data folder of the service that this one takes the place of, opened as it is. */
import { createHmac, randomBytes, scryptSync } from 'node:crypto';
import { cpSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { placeFiles } from '../support/moving.ts';
import { picture } from '../support/pictures.ts';
import { ask, type LogLine, type Reply, start, type TestService, tempDir } from '../support/service.ts';

process.env.SERVICE_STORAGE = 'fs';
t.setTimeout(120_000);

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
  t.match(await open.send('PATCH', `/notes/${ID}`, '{"title":"Egret"}'), {
    status: 200,
    json: { title: 'Egret' },
  });
  t.strictSame(members(file), { ...META, title: 'Egret' });
  const replaced = { method: 'PUT', body: '# Other', headers: { 'content-type': 'text/markdown' } };
  t.equal((await ask(`${open.record}/notes/${ID}`, replaced)).status, 200);
  t.strictSame(members(file), { ...META, title: 'Egret' });

  const byHand = join(dir, 'open/.by hand.md.json');
  t.equal((await ask(`${open.record}/notes/by%20hand`, replaced)).status, 200);
  const created = new Date(1_700_000_000_000).toISOString();
  t.strictSame(members(byHand), { views: 1, created }, 'with the date that the file no longer says');

  writeFileSync(file, JSON.stringify({ title: 'Alone', views: 7 }));
  t.equal((await open.send('PATCH', `/notes/${ID}`, '{"title":""}')).status, 200);
  t.strictSame(members(file), { views: 7 }, 'alone');
  writeFileSync(file, '[1, 2]');
  t.equal((await open.send('PATCH', `/notes/${ID}`, '{"title":"New"}')).status, 200);
  t.strictSame(members(file), { title: 'New' }, 'what is no object has no members');
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

/** 32 raw bytes, as the reference writes them; not all of them are UTF-8. */
const RAW_SECRET = Buffer.from(Array.from({ length: 32 }, (_, i) => (i * 37 + 200) % 256));

/** The read id that the reference derives: HMAC-SHA256 over the bare name. */
function referenceReadId(name: string, key: Buffer = RAW_SECRET): string {
  return createHmac('sha256', key).update(name).digest('base64url').slice(0, 22);
}

async function readIdOf(url: string, name: string): Promise<string> {
  return readIdIn((await new FeedClient(url, name).get()).json.read_url);
}

function warningsOf(service: TestService): LogLine[] {
  return service.lines.filter(({ level }) => level === 'warn');
}

t.test('feeds without .readid keep their links, with and without its .secret', async (t) => {
  const dir = await tempDir(t);
  placeFiles(dir, [
    ['.secret', RAW_SECRET, 0],
    ['old/note.md', '# Old', 0],
  ]);
  const first = await start(t, {}, dir);
  t.equal(await readIdOf(first.url, 'old'), referenceReadId('old'));
  t.match((await ask(`${first.url}/r/${referenceReadId('old')}/feed.xml`)).text, 'Old');
  placeFiles(dir, [['older/note.md', '# Older', 0]]);
  t.ok(await eventually(async () => (await new FeedClient(first.url, 'older').get()).status === 200));
  t.equal(await readIdOf(first.url, 'older'), referenceReadId('older'), 'a folder copied in later too');
  await first.stop();
  t.same(warningsOf(first), []);

  const key = 'another secret of 32 bytes, or more';
  const second = await start(t, { SERVICE_SECRET: key }, dir);
  t.equal(await readIdOf(second.url, 'old'), referenceReadId('old', Buffer.from(key)), 'the mark says how');
  t.match(warningsOf(second), [{ message: /not that of the last start/, fields: { feedsWithoutReadId: 2 } }]);
  t.notMatch(JSON.stringify(second.lines), /older|another secret/);
  await second.stop();
  const third = await start(t, {}, dir);
  t.equal(await readIdOf(third.url, 'old'), referenceReadId('old'), 'and its own secret brings them back');
});

t.test('a setting says how the links follow where no file does', async (t) => {
  const dir = await tempDir(t);
  placeFiles(dir, [['old/note.md', '# Old', 0]]);
  const SERVICE_SECRET = 'the secret that the reference was run with';
  const env = { SERVICE_SECRET, SERVICE_DERIVED_READ_IDS: 'reference' };
  const first = await start(t, env, dir);
  const expected = referenceReadId('old', Buffer.from(SERVICE_SECRET));
  t.equal(await readIdOf(first.url, 'old'), expected);
  t.match(warningsOf(first), [{ message: /nothing in DATA_DIR tells/, fields: { feedsWithoutReadId: 1 } }]);
  await first.stop();
  const second = await start(t, { SERVICE_SECRET }, dir);
  t.equal(await readIdOf(second.url, 'old'), expected, 'the mark keeps it');
  t.same(warningsOf(second), []);
});

t.test('a folder of ours keeps its links, marked or not', async (t) => {
  const dir = await tempDir(t);
  const text = 'a text of 32 bytes and some more';
  placeFiles(dir, [
    ['.secret', `${text}\n`, 0],
    ['mine/note.md', '# Mine', 0],
  ]);
  const ours = createHmac('sha256', text).update('read-id:mine').digest('base64url').slice(0, 22);
  const first = await start(t, {}, dir);
  t.equal(await readIdOf(first.url, 'mine'), ours);
  const second = await first.restart();
  t.equal(await readIdOf(second.url, 'mine'), ours);
  t.equal(statSync(join(dir, '.secret-mark')).size < 40, true);
  t.same([...warningsOf(first), ...warningsOf(second)], []);
});

t.test('a start without the secret of the last one says how many read links change', async (t) => {
  const dir = await tempDir(t);
  const first = await start(t, {}, dir);
  await new FeedClient(first.url, 'posted').post('x');
  await first.stop();
  placeFiles(dir, [['by-hand/note.md', 'x', 0]]);
  const second = await start(t, {}, dir);
  const before = await readIdOf(second.url, 'by-hand');
  t.same(warningsOf(second), []);
  await second.stop();
  rmSync(join(dir, '.secret'));
  const third = await start(t, {}, dir);
  t.not(await readIdOf(third.url, 'by-hand'), before);
  t.match(warningsOf(third), [{ message: /not that of the last start/, fields: { feedsWithoutReadId: 1 } }]);
  await third.stop();
  for (const name of ['.secret', '.secret-mark']) rmSync(join(dir, name));
  const fourth = await start(t, {}, dir);
  t.match(warningsOf(fourth), [{ message: /nothing in DATA_DIR tells/, fields: { feedsWithoutReadId: 1 } }]);
  t.notMatch(JSON.stringify([...third.lines, ...fourth.lines]), /by-hand|posted/);
});

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

t.test('a copied folder that takes a read link is told at the start', async (t) => {
  const dir = await referenceFolder(t);
  const first = await start(t, {}, dir);
  t.same(warningsOf(first), []);
  await first.stop();
  cpSync(join(dir, 'open'), join(dir, 'a-copy'), { recursive: true });
  const second = await start(t, {}, dir);
  t.equal(await readIdOf(second.url, 'a-copy'), 'read-open', 'the rule of the specification');
  t.match(warningsOf(second), [{ message: /name sorts first/, fields: { feed: /^[0-9a-f]{12}$/ } }]);
  t.notMatch(JSON.stringify(second.lines), /a-copy|"open"/);
  await second.stop();
  rmSync(join(dir, 'a-copy/.readid'));
  t.same(warningsOf(await start(t, {}, dir)), []);
});
