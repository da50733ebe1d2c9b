/** Tags of any script: one rule for posts, changes, tools, queries, feeds and pages (contract §3). */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { CLIENTS } from '../support/mcp-clients.ts';
import { ask, start } from '../support/service.ts';

const { url, dir } = await start(t);
const feed = new FeedClient(url, 'siskin');
/** What is sent, and what is stored. */
const TAGS = {
  GRÖSSE: 'grösse',
  'A\u0308rger': '\u00e4rger',
  日本語: '日本語',
  हिन्दी: 'हिन्दी',
  İstanbul: 'i\u0307stanbul',
  News: 'news',
};
const SENT = Object.keys(TAGS);
const STORED = Object.values(TAGS);
const bytesOf = (text: string) => Buffer.from(text).toString('latin1');
const mcp = await CLIENTS['client 2.4'](url);
t.teardown(() => mcp.close());

t.test('they are stored in lower case and NFC, whichever way they come', async (t) => {
  const extended = `UTF-8''${encodeURIComponent(SENT.join())}`;
  const word = `=?UTF-8?B?${Buffer.from(SENT.join()).toString('base64')}?=`;
  for (const headers of [
    { 'x-note-tags': bytesOf(SENT.join(', ')) },
    { 'x-note-tags*': extended },
    { 'x-note-tags': word },
  ] as Record<string, string>[]) {
    const { json } = await feed.post('x', headers);
    t.same((await feed.get(`/notes/${json.id}`)).json.tags, STORED, JSON.stringify(headers));
  }
  const { id } = (await feed.post()).json;
  t.same((await feed.send('PATCH', `/notes/${id}`, JSON.stringify({ tags: SENT }))).json.tags, STORED);
  const made = await mcp.call('post_note', { feed: 'siskin', markdown: 'x', tags: SENT });
  t.same((await feed.get(`/notes/${made.value.id}`)).json.tags, STORED);
});

t.test('they are found in each of their forms', async (t) => {
  const { id, read_url } = (
    await new FeedClient(url, 'siskin-2').post('# A note', { 'x-note-tags': bytesOf(SENT.join()) })
  ).json;
  await new FeedClient(url, 'siskin-2').post('# Another');
  const readId = readIdIn(read_url);
  for (const tag of [...SENT, ...STORED, ...STORED.map((tag) => tag.normalize('NFD'))]) {
    const query = `?tag=${encodeURIComponent(tag)}`;
    for (const list of [`/api/v1/feeds/siskin-2/notes`, `/api/v1/read/${readId}/notes`])
      t.same(
        (await ask(url + list + query)).json.notes.map((note: { id: string }) => note.id),
        [id],
        tag,
      );
    for (const path of [`/r/${readId}/feed.xml`, `/r/${readId}/feed.json`, `/r/${readId}`, '/siskin-2']) {
      const { status, text } = await ask(url + path + query);
      t.equal(status, 200);
      t.match(text, 'A note');
      t.notMatch(text, 'Another', `${path} ${tag}`);
    }
    const listed = await mcp.call('list_notes', { feed: 'siskin-2', tag });
    t.equal(listed.value.notes.length, 1);
  }
});

t.test('what somebody wrote by hand in other forms is found as well', async (t) => {
  const client = new FeedClient(url, 'siskin-4');
  const readId = readIdIn((await client.post('# Another')).json.read_url);
  await writeFile(join(dir, 'siskin-4', '.old.md.json'), JSON.stringify({ tags: SENT }));
  await writeFile(join(dir, 'siskin-4', 'old.md'), '# Old');
  t.ok(await eventually(async () => (await client.get('/notes/old')).status === 200));
  t.same((await client.get('/notes/old')).json.tags, STORED);
  const page = `${url}/r/${readId}`;
  const links = [...(await ask(page)).text.matchAll(/href="(\?tag=[^"]*)"/g)].map(([, link]) => link);
  t.equal(links.length, STORED.length);
  for (const link of links) t.match((await ask(page + link)).text, 'Old');
  const all = `${url}/api/v1/read/${readId}/tags`;
  const found = await ask(`${all}?q=NEW`);
  t.same(found.json.tags, [{ tag: 'news', count: 1 }]);
  t.equal(found.headers.get('x-robots-tag'), 'noindex');
  t.equal((await ask(all)).headers.get('x-robots-tag'), null);
  t.ok(await eventually(async () => (await client.get('/notes?q=old&tag=News')).json.notes?.length === 1));
});

t.test('a page links to what it shows', async (t) => {
  const { read_url } = (
    await new FeedClient(url, 'siskin-3').post('# A note', { 'x-note-tags': bytesOf(SENT.join()) })
  ).json;
  const page = `${url}/r/${readIdIn(read_url)}`;
  const links = [...(await ask(page)).text.matchAll(/href="(\?tag=[^"]*)"/g)].map(([, link]) => link);
  t.equal(links.length, STORED.length);
  for (const link of links) t.match((await ask(page + link)).text, 'A note');
});

t.test('what is none is refused by one rule everywhere, and told', async (t) => {
  const { id } = (await feed.post()).json;
  const error = /^The tag "a b" has a space in it\. /;
  const refusal = { code: 'invalid_request', error };
  t.match(await feed.post('x', { 'x-note-tags': 'a b' }), { status: 400, json: refusal });
  t.match(await feed.send('PATCH', `/notes/${id}`, '{"tags":["a b"]}'), { status: 400, json: refusal });
  for (const path of [
    '/api/v1/feeds/siskin/notes',
    '/siskin',
    '/r/abc',
    '/r/abc/feed.xml',
    '/api/v1/read/abc/notes',
  ])
    t.match(await ask(`${url}${path}?tag=a%20b`), { status: 400, json: refusal }, path);
  t.match((await mcp.call('post_note', { feed: 'siskin', markdown: 'x', tags: ['a b'] })).value, refusal);
  t.match((await mcp.call('list_notes', { feed: 'siskin', tag: 'a b' })).value, refusal);
});
