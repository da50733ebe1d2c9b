/** Search in lists, feeds and pages (contract §14). */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import { type ExactOptions, exactly } from '../support/exact-request.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { field, file } from '../support/multipart.ts';
import { picture } from '../support/pictures.ts';
import { untilItRenders } from '../support/rendering.ts';
import { q, search, unlessBusy, untilFound } from '../support/searching.ts';
import { ask, start } from '../support/service.ts';

const service = await start(t);
const { url } = service;
await untilItRenders(url);
const PNG = { 'content-type': 'image/png' };
const utf8 = (text: string) => Buffer.from(text).toString('latin1');

const feed = new FeedClient(url, 'library');
const list = `${feed.record}/notes`;
/** Texts by a name for the tables below; their last word is that name. */
const TEXTS = {
  fox: '# The quick brown fox\n\njumps over the *lazy* dog, [here](https://hidden.example/target). fox',
  cafe: 'Der Kellner im **Café** grüßt: STRASSE 12, well-known. cafe',
  chinese: '今天天气很好，我们去公园散步。 chinese',
  thai: 'ฉันชอบกินข้าวผัด thai',
  code: '```\nconst needle = example.com\n```\n\n- one\n- two code',
};
const made: Record<string, string> = {};
for (const [name, text] of Object.entries(TEXTS))
  made[name] = (await feed.post(text, { 'x-note-tags': name === 'fox' ? 'animals,long-tail' : '' })).json.id;
made.cat = (
  await feed.post(picture('png'), {
    ...PNG,
    'x-note-alt': 'A black cat',
    'x-note-name': 'holiday_2026.png',
    'x-note-tags': 'animals',
  })
).json.id;
made.titled = (await feed.post('nothing here', { 'x-note-title': utf8('Überschrift') })).json.id;
const readId = readIdIn((await feed.get()).json.read_url);
const publicList = `${url}/api/v1/read/${readId}/notes`;
await untilFound(list, q('überschrift'), 1);
const nameOf = Object.fromEntries(Object.entries(made).map(([name, id]) => [id, name]));
const namesIn = (notes: readonly { id: string }[]) => notes.map(({ id }) => nameOf[id]);

const FOUND: [query: string, names: string[]][] = [
  ['quick fox', ['fox']],
  ['FOX Quick', ['fox']],
  ['quick cat', []],
  ['"quick brown"', ['fox']],
  ['"brown quick"', []],
  ['"quick brown', ['fox']],
  ['fox jumps', ['fox']],
  ['lazy dog', ['fox']],
  ['hidden.example', []],
  ['target', []],
  ['jum*', ['fox']],
  ['jum', []],
  ['"the qui"*', ['fox']],
  ['dog -cat', ['fox']],
  ['cat -black', []],
  ['animals', ['cat', 'fox']],
  ['animals -dog', ['cat']],
  ['animals -"lazy dog"', ['cat']],
  ['long-tail', ['fox']],
  ['cafe', ['cafe']],
  ['café', ['cafe']],
  ['CAFÉ', ['cafe']],
  ['gruesst', []],
  ['grusst', ['cafe']],
  ['straße', ['cafe']],
  ['12', ['cafe']],
  ['well-known', ['cafe']],
  ['known well', ['cafe']],
  ['天气', ['chinese']],
  ['气很', ['chinese']],
  ['天很', []],
  ['天 很', ['chinese']],
  ['ข้าว', ['thai']],
  ['needle', ['code']],
  ['example.com', ['code']],
  ['one two', ['code']],
  ['black', ['cat']],
  ['holiday 2026', ['cat']],
  ['png', ['cat']],
  ['ubersch*', ['titled']],
  ['nothing', ['titled']],
  ['fox AND dog', []],
  ['fox OR cat', []],
  ['NEAR(fox dog)', []],
  ['text:fox', []],
  ['fo_', []],
];

t.test('words, phrases, beginnings and what must not be there', async (t) => {
  for (const [query, names] of FOUND) {
    for (const path of [list, publicList]) {
      const { status, json } = await search(path, q(query));
      t.equal(status, 200, query);
      t.same(namesIn(json.notes), names, `${query} by ${path === list ? 'name' : 'read id'}`);
      t.equal(json.next, null);
    }
  }
});

t.test('each hit says where', async (t) => {
  const [fox] = (await search(list, q('lazy brown'))).json.notes;
  t.equal(fox.content, TEXTS.fox);
  const { text, marks } = fox.match;
  t.same(
    marks.map(([begin, end]: [number, number]) => text.slice(begin, end)),
    ['brown', 'lazy'],
  );
  t.match(text, /jumps over the lazy dog, here\./);
  t.ok(text.length <= 200);
  const [cat] = (await search(publicList, q('black'))).json.notes;
  t.same(cat.match, { text: 'A black cat', marks: [[2, 7]] });
  const [titled] = (await search(publicList, q('uberschrift'))).json.notes;
  t.same(titled.match, { text: 'Überschrift', marks: [[0, 11]] });
  t.notOk('match' in (await ask(list)).json.notes[0]);
});

t.test('a query of many words finds a text that has each of them often', async (t) => {
  const often = new FeedClient(url, 'often');
  const notes = `${often.record}/notes`;
  t.equal((await often.post('a '.repeat(51_000))).status, 201);
  await untilFound(notes, q('a'), 1);
  const { json } = await search(notes, q('a '.repeat(100)));
  t.match(json.notes, { length: 1, 0: { match: { marks: { length: 100, 99: [198, 199] } } } });
});

t.test(
  'a very long text that somebody placed by hand is found by what is at its beginning',
  { skip: (process.env.SERVICE_STORAGE ?? 'fs') !== 'fs' },
  async (t) => {
    const placed = new FeedClient(url, 'placed');
    await placed.post();
    await writeFile(join(service.dir, 'placed', 'log.md'), `needle ${'lorem ipsum '.repeat(2_000_000)}`);
    await untilFound(`${placed.record}/notes`, q('needle'), 1);
    t.equal((await placed.delete()).status, 204);
  },
);

t.test('with a tag, a limit, and page by page', async (t) => {
  t.same(namesIn((await search(list, `${q('animals')}&tag=long-tail`)).json.notes), ['fox']);
  t.same(namesIn((await search(list, `${q('lazy')}&tag=none`)).json.notes), []);
  const first = (await search(publicList, `${q('animals')}&limit=1`)).json;
  t.same(namesIn(first.notes), ['cat']);
  const second = (await search(publicList, `${q('animals')}&limit=1&before=${first.next}`)).json;
  t.same(namesIn(second.notes), ['fox']);
  const byId = (await search(list, `${q('animals')}&before=${made.cat}`)).json;
  t.same(namesIn(byId.notes), ['fox']);
});

t.test('between two times, also without a search', async (t) => {
  const { notes } = (await ask(list)).json;
  const times: string[] = notes.map((note: { created_at: string }) => note.created_at);
  const [newest, oldest] = [times[0]!, times.at(-1)!];
  const later = new Date(Date.parse(newest) + 1).toISOString();
  const day = newest.slice(0, 10);
  const all = notes.length;
  const counts: [query: string, count: number][] = [
    [`from=${oldest}`, all],
    [`to=${newest}`, all],
    [`from=${later}`, 0],
    [`from=${newest}&to=${newest}`, times.filter((time) => time === newest).length],
    [`to=${oldest}`, times.filter((time) => time === oldest).length],
    [`from=${oldest.slice(0, 10)}&to=${day}`, all],
    ['to=2020-01-31', 0],
    ['from=2999-12-31', 0],
    ['from=2999-01-01&to=2020-01-01', 0],
    ['from=&to=', all],
    // As `date -Iseconds` writes it: in an address, this plus is a space.
    ['from=2020-01-31T14:00:00+02:00', all],
    ['to=2020-01-31T14:00:00+02:00', 0],
  ];
  for (const [query, count] of counts)
    for (const path of [list, publicList]) {
      const { status, json } = await ask(`${path}?${query}`);
      t.match([status, json.notes.length, json.next], [200, count, null], query);
    }
  for (const page of [
    `/library?to=2020-01-31`,
    `/r/${readId}?to=2020-01-31`,
    `/r/${readId}/feed.xml?to=2020-01-31`,
  ])
    t.notMatch((await ask(url + page)).text, made.titled!, page);
  t.same(namesIn((await search(list, `${q('animals')}&from=${oldest}&to=${newest}`)).json.notes), [
    'cat',
    'fox',
  ]);
  t.same(namesIn((await search(list, `${q('animals')}&from=${later}`)).json.notes), []);
  t.same(namesIn((await search(list, `${q('animals')}&to=2020-01-31`)).json.notes), []);
});

t.test('feeds have the items of the hits, and say what was searched for', async (t) => {
  const query = `${q('"lazy dog" <&>')}&tag=animals`;
  const rss = (await search(`${url}/r/${readId}/feed.xml`, query)).text;
  const whole = (await ask(`${url}/r/${readId}/feed.xml`)).text;
  const itemsOf = (text: string) => text.match(/<item>[\s\S]*?<\/item>/g) ?? [];
  t.same(
    itemsOf(rss),
    itemsOf(whole).filter((item) => item.includes(made.fox!)),
  );
  t.match(
    rss,
    /<title>“&quot;lazy dog&quot; &lt;&amp;&gt;” · [^<]+<\/title>|<title>“"lazy dog" &lt;&amp;&gt;” · [^<]+<\/title>/,
  );
  t.match(
    rss,
    `href="${url}/r/${readId}/feed.xml?q=%22lazy%20dog%22%20%3C%26%3E&amp;tag=animals" rel="self"`,
  );
  const { json } = await search(`${url}/r/${readId}/feed.json`, query);
  t.equal(json.items.length, 1);
  t.match(json.title, /^“"lazy dog" <&>” · /);
  t.equal(json.feed_url, `${url}/r/${readId}/feed.json?q=%22lazy%20dog%22%20%3C%26%3E&tag=animals`);
  for (const page of [`/library`, `/r/${readId}`]) {
    const { status, text } = await search(url + page, query);
    t.equal(status, 200);
    t.ok(text.includes(made.fox!) && !text.includes(made.cat!), page);
  }
});

t.test('pages leave out unlisted pictures, and those of a text that is a hit', async (t) => {
  const client = new FeedClient(url, 'gallery');
  const png = (name: string) => file('file', name, 'image/png', picture('png'));
  const parts = (text: string, alt: string) => [field('text', text), png('a.png'), field('alt.a.png', alt)];
  const older = (await client.postForm(parts('A heron ![A heron](a.png)', 'A heron'))).json;
  const newer = (await client.postForm(parts('A walk ![A heron](a.png)', 'heron again'))).json;
  await client.post(picture('png'), { ...PNG, 'x-note-alt': 'heron', 'x-note-unlisted': '1' });
  const id = readIdIn(older.read_url);
  // Lists have all.
  await untilFound(`${client.record}/notes`, q('heron'), 5);
  // Both texts show a picture whose alternative text has the word.
  const { items } = (await search(`${url}/r/${id}/feed.json`, q('heron'))).json;
  t.same(
    items.map((item: { url: string }) => item.url.split('/').at(-1)),
    [newer.id, older.id],
  );
  for (const page of ['/gallery', `/r/${id}`]) {
    const { text } = await search(url + page, q('heron'));
    t.same(
      [...text.matchAll(/id="n-([^"]+)"/g)].map(([, id]) => id),
      [newer.id, older.id],
      page,
    );
  }
  const again = await search(`${url}/r/${id}/feed.json`, q('again'));
  t.same(
    again.json.items.map((item: { url: string }) => item.url.split('/').at(-1)),
    [newer.attachments[0].id],
    'a picture that is a hit without its text is shown',
  );
});

t.test('tags with their counts', async (t) => {
  const client = new FeedClient(url, 'tagged');
  for (const tags of ['b,a', 'b', 'ärger,b', 'arg']) await client.post('x', { 'x-note-tags': utf8(tags) });
  const id = readIdIn((await client.get()).json.read_url);
  const all = [
    { tag: 'b', count: 3 },
    { tag: 'a', count: 1 },
    { tag: 'arg', count: 1 },
    { tag: 'ärger', count: 1 },
  ];
  const rows: [query: string, tags: unknown][] = [
    ['', all],
    ['?q=', all],
    ['?q=a', [all[1], all[2]]],
    [`?q=${encodeURIComponent('A\u0308R')}`, [all[3]]],
    ['?q=%25', []],
    ['?q=_', []],
    ['?q=a%20b', []],
    [`?q=${'b'.repeat(5000)}`, []],
  ];
  for (const path of ['/api/v1/feeds/tagged/tags', `/api/v1/read/${id}/tags`]) {
    for (const [query, tags] of rows) {
      const reply = await ask(url + path + query);
      t.same([reply.status, reply.json], [200, { tags }], path + query.slice(0, 20));
    }
  }
  const paths = ['/api/v1/feeds/tagged/tags', `/api/v1/read/${id}/tags`];
  const etags = await Promise.all(paths.map(async (path) => (await ask(url + path)).headers.get('etag')!));
  const statuses = () =>
    Promise.all(
      paths.map(
        async (path, n) => (await ask(url + path, { headers: { 'if-none-match': etags[n]! } })).status,
      ),
    );
  t.same(await statuses(), [304, 304]);
  await client.post('x', { 'x-note-tags': 'b' });
  t.same(await statuses(), [200, 200], 'they change with the feed');
  for (const path of ['/api/v1/feeds/nobody/tags', '/api/v1/read/nobody/tags'])
    t.same((await ask(url + path)).json, { tags: [] });
});

t.test('answers are conditional, and HEAD is GET without its body', async (t) => {
  const query = q('fox');
  for (const path of [
    `${url}/api/v1/read/${readId}/notes`,
    list,
    `${url}/r/${readId}/feed.xml`,
    `${url}/r/${readId}`,
  ]) {
    const look = (options?: ExactOptions) => unlessBusy(() => exactly(path + query, options));
    const reply = await look();
    t.equal(reply.status, 200, path);
    const known = { headers: { 'if-none-match': reply.headers.etag as string } };
    t.equal((await look(known)).status, 304);
    const head = await look({ method: 'HEAD' });
    t.same([head.status, head.bytes.length], [200, 0]);
    t.equal(head.headers['content-length'], reply.headers['content-length']);
    t.equal(head.headers.etag, reply.headers.etag);
  }
});

t.test('search engines are asked to leave out what was searched for', async (t) => {
  await feed.set({ listed: true });
  const paths = ['/library', '/api/v1/feeds/library/notes', `/api/v1/read/${readId}/notes`, `/r/${readId}`];
  paths.push(
    `/r/${readId}/feed.xml`,
    `/r/${readId}/feed.json`,
    '/nobody',
    '/api/v1/feeds/nobody/notes',
    '/r/nobody',
  );
  for (const query of [q('fox'), '?tag=animals', '?from=2020-01-01', '?to=2999-01-01'])
    for (const path of paths) {
      const { status, headers, text } = await search(url + path, query);
      t.equal(status, 200, path);
      t.equal(headers.get('x-robots-tag'), 'noindex', path + query);
      if (headers.get('content-type')?.startsWith('text/html'))
        t.match(text, '<meta name="robots" content="noindex">', path);
    }
  for (const [query, field] of [
    ['?q=a', 'noindex'],
    ['', null],
  ] as const)
    t.equal((await ask(`${url}/api/v1/read/${readId}/tags${query}`)).headers.get('x-robots-tag'), field);
  const page = await ask(`${url}/r/${readId}`);
  t.equal(page.headers.get('x-robots-tag'), null);
  t.notMatch(page.text, '<meta name="robots"');
});

t.test('what is no query is refused everywhere by its name', async (t) => {
  const wrong: [query: string, name: string][] = [
    ['?q=%20', 'q'],
    ['?q=-fox', 'q'],
    ['?q=%22%22', 'q'],
    [`?q=${'a'.repeat(201)}`, 'q'],
    ['?from=yesterday', 'from'],
    ['?to=2026-02-30', 'to'],
    ['?q=fox&to=x', 'to'],
  ];
  const paths = [
    '/library',
    '/nobody',
    `/r/${readId}`,
    '/r/nobody',
    `/r/${readId}/feed.xml`,
    '/r/nobody/feed.json',
  ];
  paths.push('/api/v1/feeds/library/notes', '/api/v1/feeds/nobody/notes', `/api/v1/read/${readId}/notes`);
  for (const [query, name] of wrong)
    for (const path of paths) {
      const reply = await ask(url + path + query, { headers: { accept: 'application/json' } });
      t.match(
        reply,
        { status: 400, json: { code: 'invalid_request', error: new RegExp(`^${name} `) } },
        path + query,
      );
    }
});

t.test('a feed that does not exist is an empty one', async (t) => {
  await new FeedClient(url, 'gone').post('a fox');
  await new FeedClient(url, 'gone').delete();
  for (const name of ['nobody', 'gone']) {
    t.same((await search(`${url}/api/v1/feeds/${name}/notes`, q('fox'))).json, { notes: [], next: null });
    t.same((await search(`${url}/api/v1/read/${name}/notes`, q('fox'))).json, { notes: [], next: null });
    t.notMatch((await search(`${url}/r/${name}/feed.xml`, q('fox'))).text, '<item>');
    t.equal((await search(`${url}/r/${name}`, q('fox'))).status, 200);
    t.equal((await search(`${url}/${name}`, q('fox'))).status, 200);
  }
});

t.test('every text is a query or refused', async () => {
  const sign = fc.constantFrom(
    '"',
    '*',
    '-',
    ' ',
    'fox',
    '天气',
    '\0',
    '\ud800',
    '\u202e',
    "'",
    '\\',
    '(',
    ')',
    ':',
    '^',
    '%',
    '\u0301',
    'ﷺ',
    '#',
    '+',
  );
  const texts = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 210 }),
    fc.array(sign, { maxLength: 60 }).map((parts) => parts.join('')),
  );
  const path = fc.constantFrom(
    `/api/v1/read/${readId}/notes`,
    '/api/v1/feeds/library/notes',
    `/r/${readId}/feed.xml`,
    `/r/${readId}`,
    '/library',
    `/api/v1/read/${readId}/tags`,
  );
  const name = fc.constantFrom('q', 'q', 'q', 'from', 'to', 'tag');
  await fc.assert(
    fc.asyncProperty(path, name, texts, async (path, name, text) => {
      const query = `?${name}=${encodeURIComponent(text.toWellFormed())}`;
      const { status, text: answer } = await search(url + path, query);
      if (status !== 200 && status !== 400) throw new Error(`${status}: ${answer}`);
    }),
    { numRuns: 300 },
  );
  for (const raw of ['?q=%', '?q=%FF', '?q=%00', '?q=%ED%A0%80', '?q=a&q=b', '?q[]=a', '?q']) {
    const { status } = await search(list, raw);
    if (status !== 200 && status !== 400) throw new Error(`${status}: ${raw}`);
  }
});

t.test('the log does not say what people search for', async (t) => {
  for (const path of [list, `${url}/r/${readId}/feed.xml`, `${url}/library`, `${url}/r/nobody`])
    for (const query of [q('unmentionable'), '?q=unmentionable&from=x', '?tag=unmentionable'])
      await ask(path + query);
  t.notMatch(JSON.stringify(service.lines), /unmentionable/);
});

t.test('an instance without search says so, and does all else', async (t) => {
  const { url } = await start(t, { SERVICE_SEARCH: '0' });
  const client = new FeedClient(url, 'plain');
  const id = readIdIn((await client.post('a fox', { 'x-note-tags': 'a' })).json.read_url);
  const paths = ['/plain', '/nobody', `/r/${id}`, `/r/${id}/feed.xml`, `/r/${id}/feed.json`];
  paths.push('/api/v1/feeds/plain/notes', '/api/v1/feeds/nobody/notes', `/api/v1/read/${id}/notes`);
  for (const path of paths) {
    const reply = await ask(`${url}${path}?q=fox`, { headers: { accept: 'application/json' } });
    t.match(reply, { status: 400, json: { code: 'invalid_request', error: /^q: / } }, path);
    t.equal((await ask(`${url}${path}?q=&tag=a&from=2020-01-01`)).status, 200);
  }
  t.same((await client.get('/tags')).json, { tags: [{ tag: 'a', count: 1 }] });
});

t.test('who may not list may not search', async (t) => {
  const { url } = await start(t, { SERVICE_PASSWORD: 'instance password' });
  const bearer = { authorization: 'Bearer instance password' };
  const open = new FeedClient(url, 'open', bearer);
  const safe = open.with({ 'x-feed-password': 'secret' });
  const closed = new FeedClient(url, 'safe', { ...bearer, 'x-feed-password': 'secret' });
  await safe.post('a fox');
  await closed.post('a fox', { 'x-note-tags': 'a' });
  const id = readIdIn((await closed.get()).json.read_url);
  await untilFound(`${url}/api/v1/read/${id}/notes`, q('fox'), 1);
  for (const path of ['/notes?q=fox', '/tags', '/tags?q=a']) {
    t.equal((await unlessBusy(() => closed.get(path))).status, 200);
    t.equal((await new FeedClient(url, 'safe', bearer).get(path)).status, 401, path);
    t.equal((await new FeedClient(url, 'safe', { 'x-feed-password': 'secret' }).get(path)).status, 401, path);
    t.equal((await new FeedClient(url, 'nobody').get(path)).status, 401, path);
  }
  t.match(await ask(`${url}/safe?q=fox`), { status: 303 });
  t.notMatch((await ask(`${url}/safe?q=fox`)).text, /a fox/);
});
