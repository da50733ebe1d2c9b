import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import type { NoteId } from '../../../src/feeds/names.ts';
import { rss } from '../../../src/read/views/rss.ts';
import { noteHtml } from '../../../src/read/views/shown-note.ts';
import {
  lintWithXmllint,
  readWithFeedparser,
  readWithNewsboat,
  readWithSfeed,
} from '../../support/feed-readers.ts';
import { HOSTILE_NOTES } from '../../support/hostile-notes.ts';
import { missing } from '../../support/installed.ts';
import { CREATED_AT, feedDocument, fullDocument, ID, markdownNote } from '../../support/view-notes.ts';

/** Every hostile text as a note with a title of its own, and as a title. */
function hostileNotes() {
  return Object.entries(HOSTILE_NOTES).map(([name, note], index) => {
    const id = `${ID.slice(0, -2)}${String(index).padStart(2, '0')}` as NoteId;
    return markdownNote(note, { title: name, tags: ['hostile'], sender: note.slice(0, 50) }, id);
  });
}

/** Serves a text as a feed with ETag and 304; gives its address and the requests so far. */
async function serve(
  t: { teardown(close: () => unknown): unknown },
  text: string,
): Promise<{ url: string; requests: IncomingMessage[] }> {
  const etag = `"${createHash('sha256').update(text).digest('base64url')}"`;
  const headers = { etag, 'last-modified': new Date(CREATED_AT).toUTCString() };
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    if (request.headers['if-none-match'] === etag) response.writeHead(304, headers).end();
    else {
      response.writeHead(200, { ...headers, 'content-type': 'application/rss+xml; charset=utf-8' }).end(text);
    }
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/feed.xml`, requests };
}

const hostile = hostileNotes();
const names = Object.keys(HOSTILE_NOTES).sort();
const hostileFeed = rss(feedDocument(hostile));

t.test('xmllint finds it well-formed', { skip: missing('xmllint') }, async (t) => {
  for (const text of [hostileFeed, rss(fullDocument()), rss(feedDocument([]))]) {
    const { url } = await serve(t, text);
    await t.resolves(lintWithXmllint(url));
  }
  const { url } = await serve(t, '<rss>\0</rss>');
  await t.rejects(lintWithXmllint(url), 'and would say so if it were not');
});

t.test(
  'feedparser reads everything, and sends back the validators',
  { skip: missing('feedparser') },
  async (t) => {
    const { url, requests } = await serve(t, rss(fullDocument()));
    const feed = await readWithFeedparser(url);
    t.equal(feed.problem, null);
    t.same([feed.status, feed.statusOfSecond, requests.length], [200, 304, 2]);
    const page = 'https://notes.example/r/abcdefghijklmnopqrstuv';
    const file = `${ID.slice(0, -2)}02.png`;
    t.same(feed.channel, {
      title: 'My feed',
      link: page,
      description: 'What I note',
      ttl: '5',
      image: `${page}/${file}`,
    });
    t.match(feed.items[0], {
      title: 'Title',
      author: 'Ada',
      tags: ['news', 'a:b'],
      published: 'Fri, 02 Jan 2026 03:04:05 GMT',
      summary: 'Title Text with alt',
      content: `<h1>Title</h1>\n<p>Text with <img src="${page}/x.png" alt="alt" /></p>`,
    });
    t.match(feed.items[1], { enclosure: `${page}/${file}`, length: '1234' });
  },
);

t.test('feedparser reads hostile notes', { skip: missing('feedparser') }, async (t) => {
  const { url } = await serve(t, hostileFeed);
  const feed = await readWithFeedparser(url);
  t.equal(feed.problem, null);
  t.same(feed.items.map(({ title }) => title).sort(), names);
  t.ok(
    feed.items.every(
      ({ content }, index) => content === asFeedparserReads(noteHtml(hostile[index]!, feedDocument([]))),
    ),
  );
});

t.test('newsboat reads hostile notes, and sends validators', { skip: missing('newsboat') }, async (t) => {
  const { url, requests } = await serve(t, hostileFeed);
  const items = await readWithNewsboat(url, 3);
  t.same(items.map(({ title }) => title).sort(), names);
  t.match(
    items.find(({ title }) => title === 'script'),
    { content: '<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>' },
  );
  t.ok(requests.at(-1)?.headers['if-none-match'], 'a conditional request');
});

t.test('newsboat reads pictures', { skip: missing('newsboat') }, async (t) => {
  const { url } = await serve(t, rss(fullDocument()));
  const items = await readWithNewsboat(url);
  // newsboat keeps only what can be played as an enclosure, so the picture must be in the content.
  t.match(
    items.find(({ title }) => title.startsWith('A "cat"')),
    { content: /<img src="https:[^"]*02\.png" alt=/ },
  );
});

t.test('sfeed reads hostile notes', { skip: missing('sfeed') }, async (t) => {
  const { url } = await serve(t, hostileFeed);
  const items = await readWithSfeed(url);
  t.same(items.map(({ title }) => title).sort(), names);
  t.match(
    items.find(({ title }) => title === 'script'),
    { content: /<p>&lt;script&gt;alert\(1\)&lt;\/script&gt;<\/p>/ },
  );
});

t.test('sfeed reads pictures', { skip: missing('sfeed') }, async (t) => {
  const { url } = await serve(t, rss(fullDocument()));
  const items = await readWithSfeed(url);
  const enclosures = items.map(({ enclosure }) => enclosure).filter((enclosure) => enclosure !== '');
  t.match(enclosures.sort(), [/02\.png$/, /my%20photo%20100%25\.jpg$/]);
});

// feedparser strips white space around every value and takes C1 controls for Windows-1252.
function asFeedparserReads(text: string): string {
  return text.trim().replaceAll('\x85', '…');
}
