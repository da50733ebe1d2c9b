/** A whole instance that is moved from one backend to another, as its users see it. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { FeedClient, readIdIn } from '../../support/feed-client.ts';
import { answersTo, filesIn, placeFiles, type Question, retiredIn, runMove } from '../../support/moving.ts';
import { picture } from '../../support/pictures.ts';
import { ask, start, tempDir } from '../../support/service.ts';

t.setTimeout(120_000);

const PUBLIC_URL = 'https://notes.example';
const onFiles = { SERVICE_STORAGE: 'fs', PUBLIC_URL };
const onSqlite = {
  ...onFiles,
  SERVICE_STORAGE: 'sqlite',
  SERVICE_SECRET: 'another secret than that of the files',
};

const BYTES = '\ufeff# BOM\r\n\0 and NUL\n\n![x][x]\n\n[x]: cat.png\r\n';
const PASSWORD = 'hush hush';
const ODD_ID = '\u{1f600} \uff01 %41 a\nb';

/** Fills a data folder through the service, and by hand, with everything that an instance can have. */
async function fill(t: Test, dir: string): Promise<{ readonly readId: string }> {
  const service = await start(t, onFiles, dir);
  const plain = new FeedClient(service.url, 'plain');
  const first = await plain.post(BYTES, { 'x-note-title': 'First', 'x-note-tags': 'a,b' });
  const image = await plain.post(picture('png', 70_000), {
    'content-type': 'image/png',
    'x-note-alt': 'A "cat"',
    'x-note-name': 'cat.png',
    'x-note-tags': 'b',
  });
  for (let n = 0; n < 5; n += 1) await plain.post(`# note ${n}`, { 'x-note-tags': 'a' });
  await plain.send('PATCH', `/notes/${first.json.id}`, '{"title": "Other"}');
  await plain.set({ title: 'T', description: 'D "x"', show_sender: false, image: image.json.file });
  const locked = new FeedClient(service.url, 'locked', { 'x-feed-password': PASSWORD });
  await locked.post('for few', { 'x-read-id': 'chosen-id' });
  const gone = new FeedClient(service.url, 'gone');
  await gone.post('soon gone', { 'x-read-id': 'gone-id' });
  await gone.delete();
  const emptied = new FeedClient(service.url, 'emptied');
  await emptied.send('DELETE', `/notes/${(await emptied.post('x')).json.id}`);
  await service.stop();
  placeFiles(dir, [
    ['plain/by hand.md', '# by hand', 1_000_000_000_123],
    ['plain/by hand.gif', picture('gif', 100), 1_000_000_000_123],
    ['plain/before 1970.md', 'old', -86_400_001],
    ['plain/dated.md', 'dated', 1_100_000_000_000],
    ['plain/.dated.md.json', '{"title":"T","sender":"Ann","created":"1999-12-31T23:59:59.999Z"}', 0],
    [`plain/${ODD_ID}.md`, 'odd', 1_200_000_000_000],
    ['without-read-id/note.md', 'by hand alone', 1_300_000_000_000],
  ]);
  return { readId: readIdIn(first.json.read_url) };
}

/** What is asked of each instance; the read id of the feed that was made by hand is none that is stored. */
async function questionsTo(url: string, { readId }: { readonly readId: string }): Promise<Question[]> {
  const { json } = await ask(`${url}/api/v1/feeds/without-read-id`);
  const readIds = [readId, readIdIn(json.read_url), 'chosen-id', 'gone-id'];
  const list = `/api/v1/read/${readId}/notes`;
  const { notes } = (await ask(url + list)).json;
  const locked = { headers: { 'x-feed-password': PASSWORD } };
  const post = {
    method: 'POST',
    body: 'x',
    headers: { 'content-type': 'text/markdown', 'x-read-id': 'gone-id' },
  };
  return [
    ...readIds.map((id) => [`/api/v1/read/${id}`] as const),
    ...readIds.map((id) => [`/api/v1/read/${id}/notes`] as const),
    ...readIds.map((id) => [`/r/${id}/feed.xml`] as const),
    ...readIds.map((id) => [`/r/${id}/feed.json`] as const),
    [`${list}?limit=2&tag=a`],
    ...notes.map(({ file_url }: { file_url: string }) => [new URL(file_url).pathname] as const),
    ['/api/v1/feeds/plain'],
    ['/api/v1/feeds/emptied/notes'],
    ['/api/v1/feeds/locked', locked],
    ['/api/v1/feeds/locked/notes'],
    ['/api/v1/feeds/gone/notes', post],
  ];
}

t.test('an instance is the same on files, in a database, and on files again', async (t) => {
  const dir = await tempDir(t);
  const [before, inDatabase, after] = ['before', 'database', 'after'].map((name) => join(dir, name)) as [
    string,
    string,
    string,
  ];
  const database = join(inDatabase, 'notefeed.db');
  mkdirSync(inDatabase);
  const links = await fill(t, before);
  const original = await start(t, onFiles, before);
  const questions = await questionsTo(original.url, links);
  const expected = await answersTo(original.url, questions);
  t.match(expected, { '/api/v1/feeds/locked/notes': [401], '/api/v1/feeds/gone/notes': [409] });
  await original.stop();

  const moved = await runMove(`fs:${before}`, `sqlite:${database}`);
  t.match(moved, { code: 0, stderr: '', stdout: /^Moved and compared: 4 feeds, 14 notes .* 1 read ids of/ });
  const second = await start(t, onSqlite, inDatabase);
  t.same(await answersTo(second.url, questions), expected);
  await second.stop();

  t.match(await runMove(`sqlite:${database}`, `fs:${after}`), { code: 0, stderr: '', stdout: moved.stdout });
  const files = filesIn(before);
  t.same(filesIn(after), { ...files, 'without-read-id/.readid': filesIn(after)['without-read-id/.readid'] });
  t.same(retiredIn(after), retiredIn(before));
  const third = await start(t, onFiles, after);
  t.same(await answersTo(third.url, questions), expected);
});
