/** A whole instance that is moved from one backend to another, as its users see it. */
import { createHmac, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import t from 'tap';
import { FeedClient } from '../../support/feed-client.ts';
import { answersTo, filesIn, placeFiles, retiredIn, runMove } from '../../support/moving.ts';
import { PostgresServer } from '../../support/postgres.ts';
import { start, tempDir } from '../../support/service.ts';
import { fillInstance, ON_FILES, questionsTo } from '../../support/whole-instance.ts';

t.setTimeout(600_000);

const SERVICE_SECRET = 'another secret than that of the files';

const server = await PostgresServer.start(t);

t.test('an instance is the same on every backend, by way of every other', async (t) => {
  const [url, secondUrl] = [await server.database(), await server.database()];
  const dir = await tempDir(t);
  const inDir = (name: string) => join(dir, name);
  for (const name of ['first', 'second']) mkdirSync(inDir(name));
  const [file, secondFile] = ['first/notefeed.db', 'second/notefeed.db'].map(inDir) as [string, string];

  const links = await fillInstance(t, inDir('before'));
  const original = await start(t, ON_FILES, inDir('before'));
  const questions = await questionsTo(original.url, links);
  await original.stop();
  /** What a new service answers. On a machine too busy to render a note in time it shows its text: then another is asked. */
  const rendered = async (settings: Record<string, string>, data: string) => {
    for (;;) {
      const service = await start(t, settings, data);
      const answers = await answersTo(service.url, questions);
      await service.stop();
      if (!JSON.stringify(answers).includes('&lt;pre&gt;by hand')) return answers;
    }
  };
  const expected = await rendered(ON_FILES, inDir('before'));
  t.match(expected, { '/api/v1/feeds/locked/notes': [401], '/api/v1/feeds/gone/notes': [409] });
  t.match(expected, { '/api/v1/feeds/emptied/license': [409] });
  t.match(expected, { '/api/operator/feeds?sort=bytes': [200] });
  t.match(expected, { '/api/v1/feeds/never-made/notes': [403], '/api/v1/feeds/shut/notes': [403] });

  const env = { SERVICE_DATABASE_URL: url };
  const moved = await runMove(`fs:${inDir('before')}`, `sqlite:${file}`);
  t.match(moved, { code: 0, stderr: '', stdout: /^Moved and compared: 5 feeds, 16 notes .* 1 read id of / });
  const same = { code: 0, stderr: '', stdout: moved.stdout };
  t.match(await runMove(`sqlite:${file}`, 'postgres', env), same);
  t.match(await runMove('postgres', `fs:${inDir('between')}`, env), same);
  t.match(await runMove(`fs:${inDir('between')}`, secondUrl), same);
  t.match(await runMove(secondUrl, `sqlite:${secondFile}`), same);
  t.match(await runMove(`sqlite:${secondFile}`, `fs:${inDir('after')}`), same);
  t.equal(statSync(inDir('after')).mode & 0o777, 0o700, 'as the service makes it');

  const services = {
    sqlite: [{ SERVICE_SECRET, SERVICE_STORAGE: 'sqlite' }, inDir('first')],
    postgres: [{ SERVICE_SECRET, SERVICE_STORAGE: 'postgres', SERVICE_DATABASE_URL: url }, inDir('none')],
    files: [{}, inDir('after')],
  } as const;
  for (const [name, [settings, data]] of Object.entries(services)) {
    t.same(await rendered({ ...ON_FILES, ...settings }, data), expected, name);
  }
  const files = filesIn(inDir('before'));
  const readIdFile = 'without-read-id/.readid';
  t.same(filesIn(inDir('after')), { ...files, [readIdFile]: filesIn(inDir('after'))[readIdFile] });
  t.same(retiredIn(inDir('after')), retiredIn(inDir('before')));
});

t.test('what other programs keep beside a note is still there after a change in a database', async (t) => {
  const dir = await tempDir(t);
  placeFiles(dir, [
    ['before/feed/.readid', 'read-feed\n', 0],
    ['before/feed/note.md', 'text', 1_000_000_000_000],
    ['before/feed/.note.md.json', '{"of others":{"a":[1]},"title":"T"}', 0],
  ]);
  mkdirSync(join(dir, 'data'));
  const url = await server.database();
  const databases: readonly (readonly [settings: Record<string, string>, place: string])[] = [
    [{ SERVICE_STORAGE: 'sqlite' }, `sqlite:${join(dir, 'data/notefeed.db')}`],
    [{ SERVICE_STORAGE: 'postgres', SERVICE_DATABASE_URL: url }, url],
  ];
  for (const [settings, place] of databases) {
    t.match(await runMove(`fs:${join(dir, 'before')}`, place), { code: 0, stderr: '' });
    const service = await start(t, { SERVICE_SECRET, ...settings }, join(dir, 'data'));
    const feed = new FeedClient(service.url, 'feed');
    const from = Date.now();
    t.match(await feed.send('PATCH', '/notes/note', '{"title":""}'), {
      status: 200,
      json: { title: 'text' },
    });
    await service.stop();
    const after = join(dir, `after-${settings.SERVICE_STORAGE}`);
    t.match(await runMove(place, `fs:${after}`), { code: 0, stderr: '' });
    const kept = JSON.parse(readFileSync(join(after, 'feed/.note.md.json'), 'utf8'));
    t.strictSame(kept, { edited: kept.edited, 'of others': { a: [1] } });
    t.ok(Date.parse(kept.edited) >= from && Date.parse(kept.edited) <= Date.now(), 'edited just now');
  }
});

t.test(
  'a tag that somebody wrote by hand, and that no index of PostgreSQL takes, moves with its note',
  async (t) => {
    const dir = await tempDir(t);
    const tag = randomBytes(3_000).toString('hex');
    placeFiles(dir, [
      ['before/feed/.readid', 'read-feed\n', 0],
      ['before/feed/note.md', 'text', 1_000_000_000_000],
      ['before/feed/.note.md.json', JSON.stringify({ tags: ['short', tag] }), 0],
    ]);
    const url = await server.database();
    t.match(await runMove(`fs:${join(dir, 'before')}`, url), { code: 0, stderr: '' });
    const settings = { SERVICE_SECRET, SERVICE_STORAGE: 'postgres', SERVICE_DATABASE_URL: url };
    const feed = new FeedClient((await start(t, settings, dir)).url, 'feed');
    t.match((await feed.get('/notes?tag=short')).json, { notes: [{ id: 'note', tags: ['short', tag] }] });
    t.match(await feed.send('PATCH', '/notes/note', '{"tags":[]}'), { status: 200, json: { tags: [] } });
  },
);

t.test('a tag in capitals that an older version left in a database is moved as files are read', async (t) => {
  const dir = await tempDir(t);
  placeFiles(dir, [
    ['before/feed/.readid', 'read-feed\n', 0],
    ['before/feed/note.md', 'text', 1_000_000_000_000],
    ['before/feed/.note.md.json', '{"tags":["News"]}', 0],
  ]);
  const file = join(dir, 'notefeed.db');
  t.match(await runMove(`fs:${join(dir, 'before')}`, `sqlite:${file}`), { code: 0, stderr: '' });
  const db = new Database(file);
  db.exec(`UPDATE notes SET metadata = '{"tags":["News"]}'; UPDATE tags SET tag = 'News'`);
  db.close();
  t.match(await runMove(`sqlite:${file}`, `fs:${join(dir, 'after')}`), { code: 0, stderr: '' });
  t.equal(readFileSync(join(dir, 'after/feed/.note.md.json'), 'utf8'), '{"tags":["news"]}');
});

t.test('derived read ids are moved as they are, ours and those of the reference', async (t) => {
  const dir = await tempDir(t);
  const key = Buffer.from(Array.from({ length: 32 }, (_, i) => 255 - i));
  const text = 'a text that is a secret of 32 bytes and more';
  const cases: [folder: string, secret: string | Buffer, hashed: string, env?: Record<string, string>][] = [
    ['raw', key, 'old'],
    ['text', text, 'read-id:old'],
    ['told', text, 'old', { SERVICE_DERIVED_READ_IDS: 'reference' }],
  ];
  for (const [folder, secret, hashed, env = {}] of cases) {
    placeFiles(join(dir, folder), [
      ['.secret', secret, 0],
      ['old/note.md', 'text', 0],
    ]);
    const readId = createHmac('sha256', secret).update(hashed).digest('base64url').slice(0, 22);
    const moved = (to: string, env: Record<string, string>) =>
      runMove(`fs:${join(dir, folder)}`, `fs:${join(dir, to)}`, env);
    t.match(await moved(`${folder} 1`, env), { code: 0, stderr: '' });
    const service = await start(t, { SERVICE_STORAGE: 'fs', ...env }, join(dir, folder));
    await service.stop();
    t.match(await moved(`${folder} 2`, {}), { code: 0, stderr: '' }, 'the mark tells it');
    for (const round of [1, 2])
      t.equal(readFileSync(join(dir, `${folder} ${round}`, 'old/.readid'), 'utf8'), `${readId}\n`);
  }
});

t.test('copied folders are named, and moved only if their read links are accepted', async (t) => {
  const dir = await tempDir(t);
  const files = join(dir, 'files');
  placeFiles(files, [
    ['.secret', 'a text that is a secret of 32 bytes and more', 0],
    ...['b-first', 'c-copy', 'd-copy'].map((name) => [`${name}/.readid`, 'the-same\n', 0] as const),
  ]);
  const [from, to] = [`fs:${files}`, `fs:${join(dir, 'after')}`];
  const refused = await runMove(from, to);
  t.match(refused, { code: 1, stderr: /c-copy \(as b-first\), d-copy \(as b-first\)\..*--accept-read-ids/ });
  t.match(await runMove(from, to, {}, ['--accept-read-ids']), { code: 0, stderr: '' });
  const readIdIn = (name: string) => readFileSync(join(dir, 'after', name, '.readid'), 'utf8').trim();
  t.equal(readIdIn('b-first'), 'the-same');
  t.equal(new Set(['b-first', 'c-copy', 'd-copy'].map(readIdIn)).size, 3);
});

t.test('files on which a service was killed', async (t) => {
  const dir = await tempDir(t);
  const leftover = 'feed/.tmp-nfs-019a7f3c-0000-7000-8000-000000000000';
  placeFiles(dir, [
    ['feed/.readid', 'read-feed\n', 0],
    ['feed/note.md', 'text', 0],
    [leftover, 'half a no', 0],
  ]);
  utimesSync(join(dir, 'feed'), 0, 1_000_000_000);
  t.match(await runMove(`fs:${dir}`, `sqlite:${join(dir, 'notes.db')}`), { code: 0, stderr: '' });
  t.notOk(existsSync(join(dir, leftover)));
});
