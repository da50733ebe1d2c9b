import type { Test } from 'tap';
import { FeedClient, readIdIn } from './feed-client.ts';
import { HOSTED, licenseFor } from './licenses.ts';
import { placeFiles, type Question } from './moving.ts';
import { picture } from './pictures.ts';
import { ask, start } from './service.ts';

const OPERATOR_TOKEN = 'the token of the operator of the tests';

/** Settings of a service on plain files whose answers hold nothing of its own address. */
export const ON_FILES = {
  SERVICE_STORAGE: 'fs',
  PUBLIC_URL: 'https://notes.example',
  SERVICE_OPERATOR_TOKEN: OPERATOR_TOKEN,
  ...HOSTED,
};

const BYTES = '\ufeff# BOM\r\n\0 and NUL\n\n![x][x]\n\n[x]: cat.png\r\n';
const PASSWORD = 'hush hush';
const LICENSE = JSON.stringify({ license: licenseFor() });
const ODD_ID = '\u{1f600} \uff01 %41 a\nb';

/** Fills a data folder through the service, and by hand, with everything that an instance can have. */
export async function fillInstance(t: Test, dir: string): Promise<{ readonly readId: string }> {
  const service = await start(t, ON_FILES, dir);
  const plain = new FeedClient(service.url, 'plain');
  const first = await plain.post(BYTES, { 'x-note-title': 'First', 'x-note-tags': 'a,b' });
  await plain.send('PUT', '/license', LICENSE);
  const image = await plain.post(picture('png', 70_000), {
    'content-type': 'image/png',
    'x-note-alt': 'A "cat"',
    'x-note-name': 'cat.png',
    'x-note-tags': 'b',
  });
  for (let n = 0; n < 5; n += 1) await plain.post(`# note ${n}`, { 'x-note-tags': 'a' });
  await plain.send('PATCH', `/notes/${first.json.id}`, '{"title": "Other"}');
  await plain.set({
    title: 'T',
    description: 'D "x"',
    show_sender: false,
    listed: true,
    image: image.json.file,
  });
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
    ['plain/20010203T040506Z-by-name.md', 'dated by its name', 1_100_000_000_000],
    [
      'plain/.dated.md.json',
      '{"of others":{"a":[1]},"title":"T","sender":"Ann","created":"1999-12-31T23:59:59.999Z"}',
      0,
    ],
    [`plain/${ODD_ID}.md`, 'odd', 1_200_000_000_000],
    ['without-read-id/note.md', 'by hand alone', 1_300_000_000_000],
    ['shut/note.md', 'of a closed feed', 1_300_000_000_000],
    ['shut/.readid', 'shut-id\n', 0],
    ['.blocked', 'never-made\nshut\t2026-01-02T03:04:05.006Z\t"because\\nof this"\n', 0],
    ['.tombstones', 'removed-id\n', 0],
    ['.blocklist', `${'0a'.repeat(32)}\n`, 0],
    ['.reports', '{"id":"1","at":"2026-01-02T03:04:05.006Z","report":"{}"}\n', 0],
  ]);
  return { readId: readIdIn(first.json.read_url) };
}

/** What is asked of each instance; the read id of the feed that was made by hand is none that is stored. */
export async function questionsTo(url: string, { readId }: { readonly readId: string }): Promise<Question[]> {
  const { json } = await ask(`${url}/api/v1/feeds/without-read-id`);
  const readIds = [readId, readIdIn(json.read_url), 'chosen-id', 'gone-id', 'shut-id'];
  const list = `/api/v1/read/${readId}/notes`;
  const { notes } = (await ask(url + list)).json;
  const locked = { headers: { 'x-feed-password': PASSWORD } };
  const post = {
    method: 'POST',
    body: 'x',
    headers: { 'content-type': 'text/markdown', 'x-read-id': 'gone-id' },
  };
  const operator = { headers: { authorization: `Bearer ${OPERATOR_TOKEN}` } };
  return [
    ['/api/operator/feeds?sort=bytes', operator],
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
    ['/api/v1/feeds/never-made/notes', { ...post, headers: {} }],
    ['/api/v1/feeds/shut/notes', { ...post, headers: {} }],
    ['/api/v1/feeds/emptied/license', { method: 'PUT', body: LICENSE }],
  ];
}
