/** Pages by HTTP: what they hold, how they are cached, and what they never tell. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { untilDated } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { PIXEL } from '../support/pictures.ts';
import { unlessBusy } from '../support/searching.ts';
import { ask, post, start, tempDir } from '../support/service.ts';

const HTML = { headers: { accept: 'text/html' } };
const NAME = 'quiet-otter-x7k2p4m9qd8zr';

const dir = await tempDir(t);
const imprint = join(dir, 'imprint.md');
await writeFile(imprint, '## Who we are\n\n<script>alert(1)</script>');
const service = await start(t, {
  TZ: 'Asia/Tokyo',
  SERVICE_TITLE: 'Our notes',
  SERVICE_IMPRINT_FILE: imprint,
  SERVICE_REPORT_URL: 'https://report.example/{read_id}/{note_id}?file={file}',
});
const { url } = service;
const feed = `${url}/${NAME}`;

const texts = ['# First\n\n### Deep\n\n- [x] done\n\n|a|\n|-|\n|b|', 'Second [link](https://a.example/)'];
const posted: { id: string; file: string }[] = [];
for (const [n, text] of texts.entries())
  posted.push((await post(feed, text, { 'x-note-tags': n === 0 ? 'old' : 'new,a:b' })).json);
posted.push((await post(feed, PIXEL, { 'content-type': 'image/png', 'x-note-alt': 'A "dot"' })).json);
await ask(`${url}/api/v1/feeds/${NAME}`, {
  method: 'PUT',
  body: JSON.stringify({ title: 'Ann <b>', description: 'What & when', image: posted[2]!.file }),
  headers: { 'content-type': 'application/json' },
});
const { read_url } = (await ask(`${url}/api/v1/feeds/${NAME}`)).json;
const readId = read_url.split('/').at(-2);
const read = `${url}/r/${readId}`;

t.test('the read-only page of a feed', async (t) => {
  await untilDated();
  const { status, headers, text } = await ask(read, HTML);
  t.equal(status, 200);
  t.match(Object.fromEntries(headers), {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'public, max-age=60, stale-while-revalidate=30, stale-if-error=300',
    'cache-tag': `feed-${readId}`,
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'same-origin',
    'content-security-policy':
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src * data: blob:; connect-src 'self'; " +
      "manifest-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    etag: /^".+"$/,
    'last-modified': /GMT$/,
  });
  t.equal(headers.get('set-cookie'), null);
  for (const part of [
    '<h1 lang="" dir="auto">Ann &lt;b&gt;</h1>',
    'What &amp; when',
    `<img class="face" src="${read}/${posted[2]!.file}" alt=""`,
    `<link rel="alternate" type="application/rss+xml" title="RSS" href="${read}/feed.xml">`,
    `<link rel="alternate" type="application/feed+json" title="JSON Feed" href="${read}/feed.json">`,
    `<a class="button pill rss" href="${read}/feed.xml">`,
    `<meta property="og:title" content="Ann &lt;b&gt;">`,
    `<meta property="og:description" content="What &amp; when">`,
    `<meta property="og:image" content="${read}/${posted[2]!.file}">`,
    `<article class="note" id="n-${posted[1]!.id}" data-id="${posted[1]!.id}" data-type="md"`,
    '<a class="tag" href="?tag=a%3Ab">a:b</a>',
    '<a rel="noreferrer noopener nofollow" href="https://a.example/">link</a>',
    `<a class="when" href="${read}/${posted[1]!.id}"><time datetime="20`,
    `href="https://report.example/${readId}/${posted[1]!.id}?file=${posted[1]!.id}.md"`,
    'width="1" height="1" loading="lazy" decoding="async" referrerpolicy="no-referrer" alt="A &quot;dot&quot;"',
    '<h3>First</h3>\n<h4>Deep</h4>',
    '<li class="task">☑ done</li>',
    '<div class="wide" role="group" aria-label="Table" tabindex="0"><table>',
  ])
    t.ok(text.includes(part), part);
  t.notMatch(text, /<script>/);
  t.ok(!text.includes(NAME), 'nothing tells the name');
});

t.test('a page has the day of its zone', async (t) => {
  await writeFile(
    join(service.dir, NAME, '20260101T200000Z-0197e0aa-0000-7000-8000-000000000000.md'),
    'Temple bells',
  );
  const page = async () => (await ask(read)).text;
  let text = await page();
  for (let n = 0; n < 100 && !text.includes('Temple bells'); n += 1) text = await page();
  t.match(text, /<h2 class="day"><time datetime="2026-01-02">Friday,? 2 January 2026<\/time><\/h2>/);
  t.match(text, /<time datetime="2026-01-01T20:00:00.000Z"[^>]*>05:00<\/time>/);
});

t.test(
  'public pages are answered from the cache, compressed, and not at all where they are known',
  async (t) => {
    const { headers } = await ask(read);
    const known = await ask(read, { headers: { 'if-none-match': headers.get('etag')! } });
    t.equal(known.status, 304);
    const zipped = await ask(read, { headers: { 'accept-encoding': 'br' } });
    t.match(zipped.headers.get('etag'), /-br"$/);
    t.match(zipped.headers.get('vary'), /Accept-Encoding/);
    await post(feed, 'One more');
    const changed = await ask(read, { headers: { 'if-none-match': headers.get('etag')! } });
    t.equal(changed.status, 200);
    t.match(changed.text, /One more/);
  },
);

t.test('the page of a note leads to those around it', async (t) => {
  const { status, headers, text } = await ask(`${read}/${posted[1]!.id}`, HTML);
  t.equal(status, 200);
  t.equal(headers.get('cache-tag'), `feed-${readId}`);
  t.ok(text.includes(`rel="next" href="${read}/${posted[0]!.id}"`));
  t.ok(text.includes(`rel="prev" href="${read}/${posted[2]!.id}"`));
  t.match(text, /<meta property="og:type" content="article">/);
  t.match(text, /<meta property="og:description" content="Second link">/);
  t.match(text, /<title>Second link · Ann &lt;b&gt; · Our notes<\/title>/);
  t.ok(!text.includes(NAME));
  const picture = await ask(`${read}/${posted[2]!.id}`, HTML);
  t.ok(picture.text.includes(`<meta property="og:image" content="${read}/${posted[2]!.file}">`));
});

t.test('pages by the name', async (t) => {
  for (const path of ['', '/', `/${posted[1]!.id}`]) {
    const { status, headers, text } = await ask(feed + path, HTML);
    t.equal(status, 200, path);
    t.match(Object.fromEntries(headers), { 'cache-control': 'private, no-store', 'x-robots-tag': 'noindex' });
    t.match(text, /<meta name="robots" content="noindex">/);
    t.notMatch(text, /og:title/);
  }
  const { json } = await post(`${url}/markup`, '</textarea><i>');
  t.match((await ask(json.url, HTML)).text, /<textarea [^>]*>\n&lt;\/textarea&gt;&lt;i&gt;<\/textarea>/);
  const { text } = await ask(feed);
  t.ok(text.includes(`<a class="when" href="${feed}/${posted[1]!.id}">`));
  t.match(text, /<div id="notes" data-version="[^"]+" data-events="\/api\/v1\/feeds\/[^"/]+\/events">/);
});

t.test(
  'every page runs nothing but its own, is in no frame, and tells no other site its address',
  async (t) => {
    const named = ['/', `/${NAME}`, `/${NAME}/${posted[1]!.id}`, `/${NAME}/settings`, '/nobody-has-this-yet'];
    const open = [`/r/${readId}`, `/r/${readId}/${posted[1]!.id}`, '/imprint', '/logout'];
    for (const path of [...named, ...open, `/${NAME}/nothing`, '/r/x', '/UPPER']) {
      const { headers } = await ask(url + path, HTML);
      t.match(Object.fromEntries(headers), {
        'content-security-policy':
          /^default-src 'none'; script-src 'self'; style-src 'self'; img-src \* data: blob:; connect-src 'self'; manifest-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
        'referrer-policy': /^same-origin$/,
        'x-frame-options': /^DENY$/,
        'x-content-type-options': /^nosniff$/,
      });
    }
  },
);

t.test('a tag filters, and a page of older notes goes on with it', async (t) => {
  const many = `${url}/many-notes-of-mine`;
  for (let n = 0; n < 53; n += 1) await post(many, `Note ${n}.`, { 'x-note-tags': 'all' });
  const id = (await ask(`${url}/api/v1/feeds/many-notes-of-mine`)).json.read_url.split('/').at(-2);
  for (const page of [many, `${url}/r/${id}`]) {
    const newest = await ask(`${page}?tag=all`);
    t.equal(newest.text.split('<article').length - 1, 50);
    t.match(newest.text, /Without <\/span><span class="tag">all</);
    const [, next = ''] = /<a rel="next" href="([^"]+)">/.exec(newest.text) ?? [];
    t.match(next, /^\?tag=all&amp;before=/);
    const older = await ask(page + next.replaceAll('&amp;', '&'));
    t.equal(older.text.split('<article').length - 1, 3);
    t.match(older.text, /<a rel="prev" href="\?tag=all">&larr; Newest<\/a>/);
    t.notMatch(older.text, /rel="next"/);
    const none = await ask(`${page}?tag=none`);
    t.match(none.text, /No notes with this tag/);
  }
});

t.test('what is searched for is shown as text', async (t) => {
  const words = encodeURIComponent('x "><i>');
  for (const [query, status] of [
    [`q=${words}`, 200],
    [`q=${words}&from=${words}`, 400],
  ] as const)
    for (const page of [feed, read]) {
      const reply = await unlessBusy(() => ask(`${page}?${query}`, HTML));
      t.match(reply, { status, text: 'value="x &quot;&gt;&lt;i&gt;"' });
      t.notMatch(reply.text, '<i>');
    }
});

t.test('what is not there', async (t) => {
  const unknown = await ask(`${url}/r/${'x'.repeat(22)}`, HTML);
  t.equal(unknown.status, 200, 'a read id that nobody has reads as an empty feed');
  t.match(unknown.text, /No notes yet/);
  for (const path of [
    `/r/${readId}/nothing`,
    '/r/x',
    '/privacy',
    '/no/such/address/here',
    `/${NAME}/nothing`,
  ]) {
    const { status, headers, text } = await ask(url + path, HTML);
    t.equal(status, 404, path);
    t.equal(headers.get('content-type'), 'text/html; charset=utf-8');
    t.match(headers.get('vary'), /Accept/);
    t.match(text, /<h1>.+<\/h1>/);
    t.ok(!text.replace(`href="/${NAME}"`, '').includes(NAME), 'only the link to the feed has its name');
    t.equal((await ask(url + path)).json.code, 'not_found', 'JSON for a program');
  }
  const absent = await ask(`${url}/nobody-has-this-yet`, HTML);
  t.equal(absent.status, 200);
  t.notMatch(absent.text, /\/r\//, 'no read link');
});

t.test('legal texts are read anew when they change', async (t) => {
  const page = await ask(`${url}/imprint`, HTML);
  t.match(page.text, /<h1>Who we are<\/h1>/);
  t.match(page.text, /&lt;script&gt;/);
  await writeFile(imprint, 'Moved.');
  const changed = await ask(`${url}/imprint`, HTML);
  t.match(changed.text, /<h1>Imprint<\/h1>/);
  t.match(changed.text, /Moved\./);
  await writeFile(imprint, 'x'.repeat(256 * 1024 + 1));
  t.equal((await ask(`${url}/imprint`, HTML)).status, 503);
});

t.test('what browsers and crawlers ask for by fixed names', async (t) => {
  t.match((await ask(`${url}/robots.txt`)).text, /^User-agent: \*\nDisallow:\n$/);
  t.equal((await ask(`${url}/favicon.ico`)).headers.get('content-type'), 'image/x-icon');
  const { icons, name } = JSON.parse((await ask(`${url}/manifest.webmanifest`)).text);
  t.equal(name, 'Our notes');
  for (const { src, type } of icons) t.equal((await ask(url + src)).headers.get('content-type'), type);
});

t.test('a preview is what the page would show, and is not stored', async (t) => {
  const preview = (body: unknown, name = 'a-feed-to-come', headers = {}) =>
    ask(`${url}/api/v1/feeds/${name}/preview`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    });
  const { status, json } = await preview({ text: '# A\n\n<b>' });
  t.equal(status, 200);
  t.same(json, { html: '<h2>A</h2>\n<p>&lt;b&gt;</p>\n' });
  t.equal((await ask(`${url}/api/v1/feeds/a-feed-to-come`)).status, 404);
  const own = await preview({ text: `![](${posted[2]!.file})` }, NAME);
  t.ok(own.json.html.includes(`src="${read}/${posted[2]!.file}"`));
  t.equal((await preview({ text: 1 })).json.code, 'invalid_body');
  t.equal((await preview({ text: 'x'.repeat(100 * 1024 + 1) })).json.code, 'too_large');
  t.equal((await preview({ text: '' }, 'login')).json.code, 'reserved_feed');
  t.equal((await preview({ text: '' }, NAME, { 'sec-fetch-site': 'cross-site' })).json.code, 'foreign_form');
});

t.test('the links of feeds and of the read API lead to pages', async (t) => {
  const rss = (await ask(`${read}/feed.xml`)).text;
  const { home_page_url, items } = (await ask(`${read}/feed.json`)).json;
  const { notes } = (await ask(`${url}/api/v1/read/${readId}/notes`)).json;
  const links = [...rss.matchAll(/<link>([^<]+)<\/link>/g)].map(([, link]) => link!);
  for (const link of new Set([...links, home_page_url, items[0].url, notes[0].url])) {
    const { status, headers } = await ask(link, HTML);
    t.match({ status, type: headers.get('content-type') }, { status: 200, type: /html/ }, link);
  }
});

t.test('search engines may list the pages for readers only if the feed says so', async (t) => {
  const client = new FeedClient(url, 'unlisted');
  const { json } = await client.post('text');
  const pages = [json.read_url.replace('/feed.xml', ''), json.read_url.replace('feed.xml', json.id)];
  for (const listed of [undefined, true, false]) {
    await client.set({ listed });
    for (const page of pages)
      t.equal(
        (await ask(page)).text.includes('<meta name="robots" content="noindex">'),
        listed !== true,
        page,
      );
    t.match((await ask(`${url}/unlisted`)).text, /content="noindex"/, 'those for writers never');
  }
});

t.test('no log line holds the name', async (t) => {
  t.ok(service.lines.length > 0);
  t.ok(!JSON.stringify(service.lines).includes(NAME));
});
