import assert from 'node:assert/strict';
import fc from 'fast-check';
import { parseRssFeed } from 'feedsmith';
import t from 'tap';
import type { NoteFile, NoteId } from '../../../src/feeds/names.ts';
import { escapeHtml, withoutForbidden } from '../../../src/read/markup.ts';
import { unrendered } from '../../../src/read/note-html.ts';
import { UNKNOWN_FEED } from '../../../src/read/views/document.ts';
import { rss } from '../../../src/read/views/rss.ts';
import { HOSTILE_NOTES, hostileText } from '../../support/hostile-notes.ts';
import { plainText } from '../../support/strict-html.ts';
import {
  BASE,
  feedDocument,
  fullDocument,
  ID,
  markdownNote,
  pictureNote,
  READ_ID,
  UUID,
} from '../../support/view-notes.ts';

const page = `${BASE}/r/${READ_ID}`;

/** The text of every element of a name, with its references resolved. */
function texts(xml: string, name: string): string[] {
  const found = xml.matchAll(new RegExp(`<${name}(?: [^>]*)?>([^<]*)</${name}>`, 'g'));
  return [...found].map(([, text = '']) =>
    text.replace(/&#13;/g, '\r').replace(/&lt;/g, '<').replace(/&gt;/g, '>').replace(/&amp;/g, '&'),
  );
}

t.test('the whole document', async (t) => {
  const id = ID.replace(/ab$/, '01');
  const picture = ID.replace(/ab$/, '02');
  const expected = `<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom" xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:dc="http://purl.org/dc/elements/1.1/">
<channel>
<title>My feed</title>
<link>${page}</link>
<description>What I note</description>
<atom:link href="${page}/feed.xml" rel="self" type="application/rss+xml"/>
<image>
<url>${page}/${picture}.png</url>
<title>My feed</title>
<link>${page}</link>
</image>
<lastBuildDate>Fri, 02 Jan 2026 04:04:05 GMT</lastBuildDate>
<ttl>5</ttl>
<item>
<title>Title</title>
<link>${page}/${id}</link>
<guid isPermaLink="false">urn:uuid:${UUID.slice(0, -2)}01</guid>
<pubDate>Fri, 02 Jan 2026 03:04:05 GMT</pubDate>
<category>news</category>
<category>a:b</category>
<dc:creator>Ada</dc:creator>
<description>Title Text with alt</description>
<content:encoded>&lt;h1&gt;Title&lt;/h1&gt;
&lt;p&gt;Text with &lt;img src="${page}/x.png" alt="alt" /&gt;&lt;/p&gt;
</content:encoded>
</item>
<item>
<title>A "cat" &amp; &lt;dog&gt;</title>
<link>${page}/${picture}</link>
<guid isPermaLink="false">urn:uuid:${UUID.slice(0, -2)}02</guid>
<pubDate>Fri, 02 Jan 2026 03:04:05 GMT</pubDate>
<dc:creator>Ada</dc:creator>
<description>A &amp;quot;cat&amp;quot; &amp;amp; &amp;lt;dog&amp;gt;</description>
<content:encoded>&lt;p&gt;&lt;img src="${page}/${picture}.png" alt="A &amp;quot;cat&amp;quot; &amp;amp; &amp;lt;dog&amp;gt;" /&gt;&lt;/p&gt;</content:encoded>
<enclosure url="${page}/${picture}.png" length="1234" type="image/png"/>
</item>
`;
  t.equal(rss(fullDocument()).slice(0, expected.length), expected);
});

t.test('notes without a title, a picture placed by hand', async (t) => {
  const [, , titled, placed] = parseRssFeed(rss(fullDocument())).items!;
  t.equal(titled!.title, 'Set title');
  t.equal(placed!.title, undefined);
  t.equal(placed!.link, `${page}/my%20photo%20100%25`);
  t.match(
    placed!.guid!.value,
    /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  );
  t.match(placed!.enclosures, [{ url: `${page}/my%20photo%20100%25.jpg`, type: 'image/jpeg', length: 1234 }]);
});

t.test('a feed without a title has the title of the service, which also describes it', async (t) => {
  const xml = rss(feedDocument([markdownNote('a')], { title: '', description: '' }));
  t.match(xml, '<title>Note Feed</title>');
  t.match(xml, '<description>Note Feed</description>\n<atom:link');
  t.match(rss(feedDocument([], { title: 'Mine', description: '' })), '<description>Mine</description>');
  t.notMatch(xml, '<image>');
});

t.test('who posted is shown only where the feed shows it', async (t) => {
  const notes = [markdownNote('a', { sender: 'Ada' })];
  t.match(rss(feedDocument(notes)), '<dc:creator>Ada</dc:creator>');
  t.notMatch(rss(feedDocument(notes, { showSender: false })), 'Ada');
});

t.test('a feed of one tag names itself so', async (t) => {
  const xml = rss({ ...feedDocument([markdownNote('a')]), tag: 'a:b' });
  t.match(xml, `<atom:link href="${page}/feed.xml?tag=a%3Ab" rel="self"`);
});

t.test('a read id that nobody has looks like a feed without notes', async (t) => {
  const unknown = { ...feedDocument([]), feed: UNKNOWN_FEED };
  const empty = feedDocument([], { title: '', description: '' });
  t.equal(rss(unknown), rss(empty));
  t.notMatch(rss(unknown), 'lastBuildDate');
});

t.test('the description shows the beginning of the note, to whoever reads it as HTML', async (t) => {
  const described = (note: string) =>
    /<item>.*<description>(.*?)<\/description>/s.exec(rss(feedDocument([markdownNote(note)])))?.[1];
  t.equal(described('<script>alert(1)</script>'), '&amp;lt;script&amp;gt;alert(1)&amp;lt;/script&amp;gt;');
  t.equal(described('# A & *B*\n\n- c'), 'A &amp;amp; B c');
  t.equal(described('word '.repeat(200)), `${'word '.repeat(99)}word…`);
});

t.test('hostile texts', async (t) => {
  for (const [name, note] of Object.entries(HOSTILE_NOTES)) {
    const xml = rss(feedDocument([markdownNote(note)]));
    const [, description = ''] = texts(xml, 'description');
    t.ok([...plainText(description)].length <= 500, name);
    t.notMatch(description, /[<>]|&(?!(?:amp|lt|gt|quot|#39);)/, `${name} is escaped as HTML`);
    t.notMatch(xml, ']]>', `${name} has no ]]>`);
    t.equal(withoutForbidden(xml), xml, `${name} has no forbidden character`);
  }
});

t.test('a text that could not be rendered is shown as it is', async (t) => {
  const note = { ...markdownNote('*a* <b>'), rendered: unrendered(Buffer.from('*a* <b>')) };
  t.equal(texts(rss(feedDocument([note])), 'content:encoded')[0], '<pre>*a* &lt;b&gt;</pre>');
});

t.test('any text anywhere comes back', async () => {
  fc.assert(
    fc.property(hostileText(), (text) => {
      const meta = { title: text, alt: text, sender: text, name: text, tags: [text] };
      const id = text as NoteId;
      const image = `${text}.png` as NoteFile;
      const notes = [markdownNote('a', meta, id), pictureNote(meta, id)];
      const xml = rss(feedDocument(notes, { title: text || 'x', description: text, image }));
      const back = withoutForbidden(text);
      assert.equal(texts(xml, 'title')[0], withoutForbidden(text || 'x'));
      const described = text ? back : 'x';
      assert.deepEqual(texts(xml, 'description'), [described, 'a', escapeHtml(text)]);
      assert.deepEqual(texts(xml, 'category'), [back, back]);
    }),
    { numRuns: 300 },
  );
});

t.test('feedsmith reads it', async (t) => {
  const notes = Object.values(HOSTILE_NOTES).map((note) => markdownNote(note));
  t.equal(parseRssFeed(rss(feedDocument(notes))).items?.length, notes.length);
});
