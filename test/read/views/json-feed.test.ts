import { parseJsonFeed } from 'feedsmith';
import t from 'tap';
import { UNKNOWN_FEED } from '../../../src/read/views/document.ts';
import { jsonFeed } from '../../../src/read/views/json-feed.ts';
import { HOSTILE_NOTES } from '../../support/hostile-notes.ts';
import {
  BASE,
  feedDocument,
  fullDocument,
  ID,
  markdownNote,
  READ_ID,
  UUID,
} from '../../support/view-notes.ts';

const page = `${BASE}/r/${READ_ID}`;
const written = (document: Parameters<typeof jsonFeed>[0]) => JSON.parse(JSON.stringify(jsonFeed(document)));

t.test('the whole document', async (t) => {
  const feed = written(fullDocument());
  const id = ID.replace(/ab$/, '01');
  const picture = ID.replace(/ab$/, '02');
  t.equal(feed.items.length, 4);
  t.strictSame(
    { ...feed, items: feed.items.slice(0, 2) },
    {
      version: 'https://jsonfeed.org/version/1.1',
      title: 'My feed',
      home_page_url: page,
      feed_url: `${page}/feed.json`,
      description: 'What I note',
      icon: `${page}/${picture}.png`,
      items: [
        {
          id: `urn:uuid:${UUID.slice(0, -2)}01`,
          url: `${page}/${id}`,
          title: 'Title',
          content_html: `<h1>Title</h1>\n<p>Text with <img src="${page}/x.png" alt="alt" /></p>\n`,
          content_text: `# Title\n\nText with ![alt](${page}/x.png)`,
          date_published: '2026-01-02T03:04:05.678Z',
          authors: [{ name: 'Ada' }],
          tags: ['news', 'a:b'],
        },
        {
          id: `urn:uuid:${UUID.slice(0, -2)}02`,
          url: `${page}/${picture}`,
          title: 'A "cat" & <dog>',
          content_html: `<p><img src="${page}/${picture}.png" alt="A &quot;cat&quot; &amp; &lt;dog&gt;" /></p>`,
          content_text: 'A "cat" & <dog>',
          image: `${page}/${picture}.png`,
          date_published: '2026-01-02T03:04:05.678Z',
          authors: [{ name: 'Ada' }],
          attachments: [
            {
              url: `${page}/${picture}.png`,
              mime_type: 'image/png',
              title: 'cat.png',
              size_in_bytes: 1234,
            },
          ],
        },
      ],
    },
  );
});

t.test('what a feed does not have is left out', async (t) => {
  const feed = written(feedDocument([markdownNote('')], { title: '', description: '' }));
  t.strictSame(Object.keys(feed), ['version', 'title', 'home_page_url', 'feed_url', 'items']);
  t.equal(feed.title, 'Note Feed');
  t.strictSame(Object.keys(feed.items[0]), ['id', 'url', 'content_html', 'date_published']);
});

t.test('who posted is shown only where the feed shows it', async (t) => {
  const notes = [markdownNote('a', { sender: 'Ada' })];
  t.notMatch(JSON.stringify(written(feedDocument(notes, { showSender: false }))), 'Ada');
});

t.test('a feed of one tag names itself so', async (t) => {
  t.equal(jsonFeed({ ...feedDocument([]), tag: 'a' }).feed_url, `${page}/feed.json?tag=a`);
});

t.test('a read id that nobody has looks like a feed without notes', async (t) => {
  const empty = feedDocument([], { title: '', description: '' });
  t.strictSame(written({ ...empty, feed: UNKNOWN_FEED }), written(empty));
});

t.test('hostile texts come back as posted, and feedsmith reads them', async (t) => {
  const notes = Object.values(HOSTILE_NOTES);
  const text = JSON.stringify(jsonFeed(feedDocument(notes.map((note) => markdownNote(note)))));
  const items: { content_text?: string }[] = JSON.parse(text).items;
  t.ok(
    items.every(
      (item, index) => (item.content_text ?? '').replaceAll(`${page}/`, '') === notes[index]!.toWellFormed(),
    ),
  );
  t.equal(parseJsonFeed(text).items?.length, notes.length);
});
