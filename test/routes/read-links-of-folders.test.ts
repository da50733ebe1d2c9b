/** The read links of a data folder: which secret they follow from, and folders whose .readid says none or that of another. */
import { createHmac } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { placeFiles, runMove } from '../support/moving.ts';
import { operate, WITH_OPERATOR } from '../support/operator.ts';
import { picture } from '../support/pictures.ts';
import { ask, type LogLine, start, type TestService, tempDir } from '../support/service.ts';
import { ServiceProcess } from '../support/service-process.ts';

process.env.SERVICE_STORAGE = 'fs';
t.setTimeout(600_000);

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

t.test('a copied folder that takes a read link is told at the start', async (t) => {
  const dir = await tempDir(t);
  placeFiles(dir, [
    ['open/.readid', 'read-open\n', 0],
    ['open/note.md', 'x', 0],
  ]);
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

const UNREADABLE: Record<string, (path: string) => void> = {
  'a folder': (path) => mkdirSync(path),
  'a link': (path) => symlinkSync('note.md', path),
  'no read id': (path) => writeFileSync(path, 'not a read id\n'),
  nothing: (path) => writeFileSync(path, ''),
};
for (const [what, make] of Object.entries(UNREADABLE)) {
  t.test(`a .readid that is ${what}: the feed has no read link, and never another one`, async (t) => {
    const dir = await tempDir(t);
    placeFiles(dir, [
      ['.secret', RAW_SECRET, 0],
      ['odd/note.md', '# Odd ![](cat.png) [more](more.md)', 0],
      ['odd/cat.png', picture('png'), 0],
      ['odd/.feed.json', '{"image":"cat.png"}', 0],
    ]);
    const path = join(dir, 'odd/.readid');
    make(path);
    const service = await start(t, WITH_OPERATOR, dir);
    const odd = new FeedClient(service.url, 'odd');
    t.match(
      service.lines.filter(({ level }) => level === 'error'),
      [{ message: /\.readid of a feed cannot be read/, fields: { feed: /^[0-9a-f]{12}$/ } }],
    );
    t.match((await odd.get()).json, { read_url: null, image_url: null });
    t.match((await operate(service.url, 'GET', '/feeds')).json.feeds, [{ name: 'odd', read_id: null }]);
    t.match((await odd.get('/notes/note')).json, { file_url: null });
    t.match(await odd.post('x'), { status: 201, json: { read_url: null, file_url: null } });
    for (const readId of [referenceReadId('odd'), 'not a read id'])
      t.notMatch((await ask(`${service.url}/r/${encodeURIComponent(readId)}/feed.xml`)).text, 'Odd');
    const html = { headers: { accept: 'text/html' } };
    for (const page of ['odd', 'odd/note', 'odd/settings']) {
      const { status, text } = await ask(`${service.url}/${page}`, html);
      t.equal(status, 200, page);
      t.notMatch(text, /(?:href|src)="[^"]*\/r\/|Copy the read link|feed\.xml/, page);
    }
    for (const read_id of ['', 'chosen'])
      t.match(await odd.set({ read_id }), {
        status: 409,
        json: { code: 'unreadable_file', error: /\.readid/ },
      });
    t.match(await odd.set({ title: 'Odd' }), { status: 200, json: { title: 'Odd', read_url: null } });
    await service.stop();
    t.match(await runMove(`fs:${dir}`, `fs:${join(await tempDir(t), 'moved')}`), {
      code: 1,
      stderr: /\.readid/,
    });

    rmSync(path, { recursive: true });
    writeFileSync(path, 'right-one\n');
    const again = await start(t, {}, dir);
    t.equal(await readIdOf(again.url, 'odd'), 'right-one');
    rmSync(path);
    t.ok(await eventually(async () => (await readIdOf(again.url, 'odd')) === referenceReadId('odd')));
    make(path);
    t.equal((await new FeedClient(again.url, 'odd').delete()).status, 204);
    t.notMatch(
      readdirSync(dir)
        .map((name) => name === '.deleted-read-ids' && readFileSync(join(dir, name), 'utf8'))
        .join(),
      '!',
    );
  });
}

const isRoot = process.getuid?.() === 0;
t.test('a .readid of somebody else is no link either', { skip: !isRoot && 'needs root' }, async (t) => {
  const dir = await tempDir(t);
  placeFiles(dir, [
    ['odd/note.md', '# Odd', 0],
    ['odd/.readid', 'read-odd\n', 0],
  ]);
  chmodSync(join(dir, 'odd/.readid'), 0);
  for (const name of ['.', 'odd', 'odd/note.md']) chownSync(join(dir, name), 1234, 1234);
  const service = await ServiceProcess.start(t, { dir, env: { PUID: '1234', PGID: '1234' } });
  t.equal((await new FeedClient(service.url, 'odd').get()).json.read_url, null);
});
