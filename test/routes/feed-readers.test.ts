/** Real feed readers on the running service, with notes that break careless ones. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseFeed } from 'feedsmith';
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { exactly } from '../support/exact-request.ts';
import {
  lintWithXmllint,
  readWithFeedparser,
  readWithNewsboat,
  readWithSfeed,
} from '../support/feed-readers.ts';
import { HOSTILE_NOTES } from '../support/hostile-notes.ts';
import { missing } from '../support/installed.ts';
import { PIXEL, picture } from '../support/pictures.ts';
import { ask, post, start, tempDir } from '../support/service.ts';
import { violations } from '../support/strict-html.ts';

const { url, dir } = await start(t);

/** UTF-8 as a careless program writes it: halves of surrogate pairs, each as three bytes (CESU-8), and broken ends. */
const NOT_UTF8 = Buffer.concat([
  Buffer.from('halves '),
  Buffer.from([0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80, 0x20, 0xed, 0xa0, 0x80, 0x20]),
  Buffer.from('cut '),
  Buffer.from([0xf0, 0x9f, 0x98, 0x20, 0xc0, 0xaf, 0x20, 0xff, 0xfe]),
]);

/** The title each reader must show for each note. */
const titles: string[] = [];
/** Hostile texts that the service does not take: blank ones. */
const refused: string[] = [];

let readUrl = '';
for (const [name, text] of Object.entries(HOSTILE_NOTES)) {
  const reply = await post(`${url}/hostile`, text.toWellFormed(), {
    'x-note-title': name,
    'x-note-tags': 'hostile',
  });
  if (reply.status === 201) {
    titles.push(name);
    readUrl = reply.json.read_url;
  } else refused.push(name);
}
for (const [type, bytes] of [
  ['png', PIXEL],
  ['gif', picture('gif', 1234)],
] as const) {
  await post(`${url}/hostile`, bytes, {
    'content-type': `image/${type}`,
    'x-note-alt': `A <${type}> & "more"`,
  });
  titles.push(`A <${type}> & "more"`);
}
const folder = join(dir, 'hostile');
await writeFile(
  join(folder, '.by hand ]]>&.md.json'),
  JSON.stringify({ title: 'a\ud800b\u0007c', tags: ['<&>'] }),
);
await writeFile(join(folder, 'by hand ]]>&.md'), NOT_UTF8);
await writeFile(
  join(folder, '.feed.json'),
  JSON.stringify({ title: 'Feed \ufffe]]> <&>\u0000', description: '\udfff' }),
);
const isShown = async () => {
  const { text } = await exactly(readUrl);
  return text.includes('&lt;&amp;&gt;</title>') && text.includes('halves');
};
t.ok(await eventually(isShown), 'changes by hand are seen');
/** The control character is a space in titles, and XML has no lone surrogate. */
titles.push('a\ufffdb c');

t.test('the service takes all hostile notes but the blank one', async (t) => {
  t.strictSame(refused, ['empty']);
});

t.test('the notes by hand keep their bytes', async (t) => {
  const { bytes } = await exactly(
    `${readUrl.replace('feed.xml', '')}${encodeURIComponent('by hand ]]>&.md')}`,
  );
  t.ok(bytes.equals(NOT_UTF8));
  t.ok((await readFile(join(folder, 'by hand ]]>&.md'))).equals(NOT_UTF8));
});

t.test('every text is in the lists and in JSON Feed as it was posted', async (t) => {
  const { notes } = (
    await ask(`${readUrl.replace(/\/r\/(.*)\/feed.xml/, '/api/v1/read/$1/notes')}?limit=100`)
  ).json;
  const contents = new Map(
    notes.map((note: { title: string; content: string }) => [note.title, note.content]),
  );
  for (const [name, text] of Object.entries(HOSTILE_NOTES))
    if (name !== 'empty') t.equal(contents.get(name), text.toWellFormed(), name);
  const { items } = (await ask(readUrl.replace('feed.xml', 'feed.json'))).json;
  t.strictSame(items.map(({ title }: { title: string }) => title).sort(), [...titles].sort());
});

t.test('a description shows its text to whoever reads it as HTML', async (t) => {
  const shown = '&amp;lt;script&amp;gt;alert(1)&amp;lt;/script&amp;gt; &amp;lt;SCRIPT';
  t.match((await exactly(readUrl)).text, `<description>${shown}`);
});

t.test('a picture is absolute in the markdown wherever it is in the HTML', async (t) => {
  const { json } = await post(`${url}/pictures`, '- item\n\n    ![x](cat.png)\n\n`![x](cat.png)`\n');
  const [item] = (await ask(json.read_url.replace('feed.xml', 'feed.json'))).json.items;
  const folder = json.read_url.replace('feed.xml', '');
  t.equal(item.content_text, `- item\n\n    ![x](${folder}cat.png)\n\n\`![x](cat.png)\`\n`);
  t.match(item.content_html, `<img src="${folder}cat.png" alt="x" />`);
  t.equal(item.title, 'item');
});

t.test('xmllint finds it well-formed', { skip: missing('xmllint') }, async (t) => {
  // xmllint itself speaks HTTP/1.0 only, which the front end does not.
  const file = join(await tempDir(t), 'feed.xml');
  for (const address of [readUrl, `${readUrl}?tag=hostile`, `${url}/r/nobody-has-this/feed.xml`]) {
    await writeFile(file, (await exactly(address)).bytes);
    await t.resolves(lintWithXmllint(file), address);
  }
  await writeFile(file, '<rss>\0</rss>');
  await t.rejects(lintWithXmllint(file), 'and would say so if it were not');
});

t.test('feedsmith reads every item', async (t) => {
  const { format, feed } = parseFeed((await exactly(readUrl)).text);
  t.equal(format, 'rss');
  const items = 'items' in feed ? (feed.items ?? []) : [];
  t.strictSame(items.map((item) => ('title' in item ? item.title : '')).sort(), [...titles].sort());
  const enclosures = items.flatMap((item) => ('enclosures' in item ? (item.enclosures ?? []) : []));
  t.match(enclosures, [
    { type: 'image/gif', length: 1234 },
    { type: 'image/png', length: PIXEL.length },
  ]);
});

t.test('feedparser reads every item, and is answered 304', { skip: missing('feedparser') }, async (t) => {
  const feed = await readWithFeedparser(readUrl);
  t.equal(feed.problem, null);
  t.strictSame([feed.status, feed.statusOfSecond], [200, 304]);
  t.strictSame(feed.items.map(({ title }) => title).sort(), [...titles].sort());
  for (const { content, title } of feed.items) t.strictSame(violations(content.trim()), [], title);
  for (const { link, id } of feed.items) t.ok(link.startsWith(`${url}/r/`) && id.startsWith('urn:uuid:'));
  const pixel = feed.items.find(({ title }) => title.startsWith('A <png>'));
  t.match(pixel, { enclosure: /\.png$/, length: String(PIXEL.length) });
  t.ok((await exactly(pixel!.enclosure)).bytes.equals(PIXEL), 'the picture is there');
  await post(`${url}/hostile`, 'one more', { 'x-note-title': 'late' });
  titles.push('late');
  t.equal((await readWithFeedparser(readUrl)).items.length, titles.length);
});

t.test('newsboat reads every item', { skip: missing('newsboat') }, async (t) => {
  const items = await readWithNewsboat(readUrl, 3);
  t.strictSame(items.map(({ title }) => title).sort(), [...titles].sort());
});

t.test('sfeed reads every item', { skip: missing('sfeed') }, async (t) => {
  const items = await readWithSfeed(readUrl);
  t.strictSame(items.map(({ title }) => title).sort(), [...titles].sort());
  const enclosures = items.map(({ enclosure }) => enclosure).filter((enclosure) => enclosure !== '');
  t.match(enclosures.sort(), [/\.png$|\.gif$/, /\.png$|\.gif$/]);
});

t.test('two files of one base name are two items', async (t) => {
  const rss = (await post(`${url}/twins`, 'posted')).json.read_url;
  const guids = async () => {
    const { items } = (await ask(rss.replace('feed.xml', 'feed.json'))).json;
    return items.map(({ id }: { id: string }) => id);
  };
  await writeFile(join(dir, 'twins', 'trip.md'), '# Trip');
  t.ok(await eventually(async () => (await guids()).length === 2));
  const before = await guids();
  await writeFile(join(dir, 'twins', '.trip.png.json'), '{"alt": "Seen there"}');
  await writeFile(join(dir, 'twins', 'trip.png'), PIXEL);
  t.ok(await eventually(async () => (await guids()).length === 3));
  const after = await guids();
  t.equal(new Set(after).size, 3);
  for (const guid of before) t.ok(after.includes(guid), 'no other item is new');
  const inRss = [...(await exactly(rss)).text.matchAll(/<guid [^>]*>([^<]*)/g)].map(([, guid]) => guid);
  t.strictSame(inRss, after);
  if (missing('newsboat') === false)
    t.strictSame((await readWithNewsboat(rss)).map(({ title }) => title).sort(), [
      'Seen there',
      'Trip',
      'posted',
    ]);
});
