/** Lists and single notes, by the feed's name and by its read id. */
import { mkdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { settled } from '../support/eventually.ts';
import { picture } from '../support/pictures.ts';
import { ask, post, start } from '../support/service.ts';

const service = await start(t);
const { url, dir } = service;
const NAME = 'the-secret-key';

const text = await post(`${url}/${NAME}`, '# Größe\n\ntext', { 'x-note-tags': 'b,a' });
const png = picture('png', 100);
const cat = await post(`${url}/${NAME}`, png, {
  'content-type': 'image/png',
  'x-note-alt': 'A cat',
  'x-note-name': 'cat.png',
});
const readId = text.json.read_url.split('/').at(-2);
const named = `${url}/api/v1/feeds/${NAME}/notes`;
const published = `${url}/api/v1/read/${readId}/notes`;

/** What both lists say of the two notes; the addresses differ. */
function expected(address: (id: string) => string) {
  const note = (created: typeof text) => ({
    id: created.json.id,
    file: created.json.file,
    file_url: created.json.file_url,
    url: address(created.json.id),
  });
  return [
    {
      ...note(cat),
      type: 'image/png',
      size: 100,
      title: 'A cat',
      alt: 'A cat',
      name: 'cat.png',
      tags: [],
    },
    {
      ...note(text),
      type: 'text/markdown',
      size: Buffer.byteLength('# Größe\n\ntext'),
      title: 'Größe',
      content: '# Größe\n\ntext',
      tags: ['b', 'a'],
    },
  ];
}

const ADDRESSES: [string, string, (id: string) => string][] = [
  ['by name', named, (id) => `${url}/${NAME}/${id}`],
  ['by read id', published, (id) => `${url}/r/${readId}/${id}`],
];

for (const [what, list, address] of ADDRESSES) {
  t.test(`the list ${what}`, async (t) => {
    const { status, json, headers } = await ask(list);
    t.equal(status, 200);
    t.equal(headers.get('content-type'), 'application/json');
    t.strictSame(Object.keys(json).sort(), ['next', 'notes']);
    t.equal(json.next, null);
    const dates = json.notes.map(({ created_at }: { created_at: string }) => created_at);
    for (const date of dates) t.equal(new Date(date).toISOString(), date);
    const undated = json.notes.map(({ created_at: _, ...note }: { created_at: string }) => note);
    t.strictSame(undated, expected(address));
  });

  t.test(`single notes ${what}`, async (t) => {
    const { json } = await ask(list);
    for (const note of json.notes) {
      const one = await ask(`${list}/${note.id}`);
      t.equal(one.status, 200);
      t.equal(one.headers.get('content-type'), 'application/json');
      t.strictSame(one.json, note);
    }
    for (const id of [
      'none',
      '20200101T000000Z-00000000-0000-4000-8000-000000000000',
      `${text.json.id}.md`,
      '%00',
    ])
      t.match(await ask(`${list}/${id}`), { status: 404, json: { code: 'not_found' } }, id);
    t.match(await ask(`${list}/a%zz`), { status: 400, json: { code: 'invalid_request' } });
  });

  t.test(`an empty value is none ${what}`, async (t) => {
    const { status, json } = await ask(`${list}?limit=&before=&tag=`);
    t.equal(status, 200);
    t.same(json, (await ask(list)).json);
  });

  t.test(`values out of range ${what}`, async (t) => {
    const queries = [
      ...['limit=0', 'limit=101', 'limit=-1', 'limit=1.5', 'limit=1e1', 'limit=x', 'limit=%2B5'],
      ...['limit=0x10', 'limit=%201', 'limit=1000000000000000000000', 'limit=٣'],
      ...['before=no-such-note', 'before=a.b', 'before=a%2Fb', 'before=%00', 'before=zz.a.txt'],
      ...['before=1..md', `before=${'z'.repeat(12)}.a.md`, 'before=%FF', 'before=-.a.md', 'before=1.5.a.md'],
      ...['tag=a%20b', 'tag=a,b', `tag=${'a'.repeat(33)}`, 'tag=%E2%82%AC', 'tag=%E2%80%8C', 'tag=%00'],
    ];
    for (const query of queries) {
      const reply = await ask(`${list}?${query}`);
      t.match(reply, { status: 400, json: { code: 'invalid_request', error: /^\S.*\.$/ } }, query);
      t.notMatch(reply.text, new RegExp(`${NAME}|${readId}`), query);
    }
    for (const query of ['limit=1', 'limit=100', 'limit=007', 'tag=a', 'unknown=1', '', 'limit=5&tag=b'])
      t.equal((await ask(`${list}?${query}`)).status, 200, query);
  });
}

t.test('the feed for its readers', async (t) => {
  const { status, json, headers } = await ask(`${url}/api/v1/read/${readId}`);
  t.equal(status, 200);
  t.equal(headers.get('content-type'), 'application/json');
  t.strictSame(json, { title: '', description: '', image_url: null });
});

t.test("nothing under the read id holds the feed's name", async (t) => {
  const read = `${url}/r/${readId}`;
  const api = `${url}/api/v1/read/${readId}`;
  const paths = [
    ...[`${read}/feed.xml`, `${read}/feed.json`, `${read}/feed.xml?tag=a`, api, `${api}/notes`],
    ...[`${api}/notes?limit=1`, `${api}/notes/${text.json.id}`, `${api}/notes/${cat.json.id}`],
    ...[
      text.json.file_url,
      cat.json.file_url,
      `${read}/none.md`,
      `${api}/notes/none`,
      `${api}/notes?limit=x`,
    ],
    ...[read, `${read}/${text.json.id}`, `${read}/feed.xml/x`, `${read}/.feed.json`, `${read}/.readid`],
  ];
  for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS'])
    for (const path of paths) {
      const { bytes, headers } = await ask(path, { method, ...(method === 'POST' && { body: 'x' }) });
      const all = JSON.stringify([...headers]) + bytes.toString('latin1');
      t.notOk(all.includes(NAME), `${method} ${path.slice(url.length)}`);
    }
});

t.test('names that are none', async (t) => {
  for (const [path, status, code] of [
    ['/api/v1/feeds/none', 404, 'not_found'],
    ['/api/v1/feeds/login/notes', 400, 'reserved_feed'],
    ['/api/v1/feeds/none/notes/x', 404, 'not_found'],
    ['/api/v1/feeds/Capital/notes', 400, 'invalid_feed'],
    [`/api/v1/feeds/${'a'.repeat(65)}/notes`, 400, 'invalid_feed'],
    ['/api/v1/feeds/a.b/notes/x', 400, 'invalid_feed'],
    [`/api/v1/feeds/${readId.toLowerCase()}`, 404, 'not_found'],
  ] as const)
    t.match(await ask(url + path), { status, json: { code } }, path);
});

t.test('the list of a feed that does not exist is empty', async (t) => {
  const { status, json } = await ask(`${url}/api/v1/feeds/none/notes`);
  t.equal(status, 200);
  t.strictSame(json, { notes: [], next: null });
});

/** Follows `next` to the end and gives the ids of each page. */
async function pages(list: string, query: string): Promise<string[][]> {
  const found: string[][] = [];
  let before = '';
  do {
    const { json } = await ask(`${list}?${query}${before}`);
    found.push(json.notes.map(({ id }: { id: string }) => id));
    before = json.next === null ? '' : `&before=${encodeURIComponent(json.next)}`;
  } while (before !== '');
  return found;
}

t.test('paging through 120 notes, and by tag', async (t) => {
  const ids: string[] = [];
  let readUrl = '';
  for (let i = 0; i < 120; i += 1) {
    const { json } = await post(`${url}/many`, `note ${i}`, {
      'x-note-tags': i % 3 === 0 ? 'third,all' : 'all',
    });
    ids.unshift(json.id);
    readUrl = json.read_url;
  }
  const lists = [`${url}/api/v1/feeds/many/notes`, `${url}/api/v1/read/${readUrl.split('/').at(-2)}/notes`];
  for (const list of lists) {
    t.strictSame(
      (await pages(list, '')).map((page) => page.length),
      [50, 50, 20],
    );
    for (const limit of [1, 7, 60, 100]) {
      const found = await pages(list, `limit=${limit}`);
      t.strictSame(found.flat(), ids, `limit ${limit}`);
      t.equal(found.length, Math.ceil(120 / limit), `limit ${limit}: no empty page at the end`);
    }
    const thirds = ids.filter((_, i) => (119 - i) % 3 === 0);
    t.strictSame((await pages(list, 'limit=9&tag=third')).flat(), thirds);
    t.strictSame((await pages(list, 'limit=50&tag=THIRD')).flat(), thirds, 'capitals are lowered');
    t.strictSame((await pages(list, 'tag=none')).flat(), []);
    for (const at of [0, 59, 118, 119]) {
      const { json } = await ask(`${list}?limit=100&before=${ids[at]}`);
      t.strictSame(
        json.notes.map(({ id }: { id: string }) => id),
        ids.slice(at + 1, at + 101),
        `before note ${at}`,
      );
    }
  }
  const rss = (await ask(readUrl)).text;
  t.equal(rss.match(/<item>/g)?.length, 50, 'a feed holds the newest 50');
  t.ok(rss.includes(ids[0]!) && rss.includes(ids[49]!) && !rss.includes(ids[50]!));
  t.equal((await ask(`${readUrl}?tag=third`)).text.match(/<item>/g)?.length, 40);
});

t.test('a page ends before its texts exceed 1 MiB, and the next goes on', async (t) => {
  const ids: string[] = [];
  let readUrl = '';
  // Some of its characters take more room in HTML, which does not count.
  const line = `&<${'x '.repeat(39)}`;
  for (let i = 0; i < 25; i += 1) {
    const { json } = await post(`${url}/long`, `${i} `.padEnd(100 * 1024, line), { 'x-note-tags': 'long' });
    ids.unshift(json.id);
    readUrl = json.read_url;
  }
  const lists = [`${url}/api/v1/feeds/long/notes`, `${url}/api/v1/read/${readUrl.split('/').at(-2)}/notes`];
  for (const list of lists)
    for (const query of ['', 'limit=20', 'limit=100&tag=long']) {
      const found = await pages(list, query);
      t.strictSame(found.flat(), ids, 'every note once');
      t.strictSame(
        found.map((page) => page.length),
        [10, 10, 5],
        query,
      );
    }
  for (const feed of [readUrl, readUrl.replace('.xml', '.json')]) {
    const look = async () => {
      const { text, headers } = await ask(feed);
      return { text, etag: headers.get('etag'), length: headers.get('content-length') };
    };
    const { text } = await settled(look);
    t.strictSame(
      ids.filter((id) => text.includes(id)),
      ids.slice(0, 10),
      'a feed holds the newest',
    );
  }
});

t.test('hand-placed ids: spaces, percent signs and other scripts, in addresses and as before', async (t) => {
  const data = join(dir, 'by-hand');
  const names = ['a b', '100%', 'заметка', '😀', '?query#hash&x=1', '+plus', '%41'];
  await mkdir(data);
  for (const [index, id] of names.entries()) {
    await writeFile(join(data, `${id}.md`), `text of ${id}`);
    const seconds = 1_700_000_000 - index;
    await utimes(join(data, `${id}.md`), seconds, seconds);
  }
  const again = await service.restart();
  const here = `${again.url}/api/v1/feeds/by-hand/notes`;
  t.strictSame((await pages(here, 'limit=2')).flat(), names);
  for (const [index, id] of names.entries()) {
    const segment = encodeURIComponent(id);
    const one = await ask(`${here}/${segment}`);
    t.match(one, {
      status: 200,
      json: { id, content: `text of ${id}`, url: `${again.url}/by-hand/${segment}` },
    });
    const file = await ask(one.json.file_url);
    t.match(file, { status: 200, text: `text of ${id}` }, one.json.file_url);
    const { json } = await ask(`${here}?before=${segment}`);
    t.strictSame(
      json.notes.map((note: { id: string }) => note.id),
      names.slice(index + 1),
      `before ${id}`,
    );
  }
});
