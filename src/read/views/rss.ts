import type { Note } from '../../feeds/note.ts';
import { fileUrl, noteUrl, readPageUrl, rssUrl } from '../../feeds/urls.ts';
import { element, emptyElement, escapeHtml, group } from '../markup.ts';
import type { FeedDocument, ViewNote } from './document.ts';
import { attachmentsOf, feedTitle, guidOf, noteExcerpt, noteHtml, noteTitle, picture } from './shown-note.ts';

/** Minutes after which a reader asks again (`ttl`). */
const TIME_TO_LIVE = 5;

const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>';
const NAMESPACES = {
  'xmlns:atom': 'http://www.w3.org/2005/Atom',
  'xmlns:content': 'http://purl.org/rss/1.0/modules/content/',
  'xmlns:dc': 'http://purl.org/dc/elements/1.1/',
};

/** The RSS 2.0 document of a feed (contract §6); depends on nothing but its input. */
export function rss(document: FeedDocument): string {
  const channel = group('channel', [
    ...head(document),
    ...document.notes.map((note) => item(note, document)),
  ]);
  return `${DECLARATION}\n${group('rss', [channel], { version: '2.0', ...NAMESPACES })}\n`;
}

function head(document: FeedDocument): (string | undefined)[] {
  const { base, readId, feed, tag, search, hubs = [], notes } = document;
  const title = feedTitle(document);
  const page = readPageUrl(base, readId);
  return [
    element('title', title),
    element('link', page),
    element('description', feed.description || title),
    emptyElement('atom:link', {
      href: rssUrl(base, readId, search ?? { tag }),
      rel: 'self',
      type: 'application/rss+xml',
    }),
    ...hubs.map((href) => emptyElement('atom:link', { href, rel: 'hub' })),
    feed.image &&
      group('image', [
        element('url', fileUrl(base, readId, feed.image)),
        element('title', title),
        element('link', page),
      ]),
    // A date would reveal that a feed without notes exists.
    notes.length > 0 ? element('lastBuildDate', rfc822(feed.changedAt)) : undefined,
    element('ttl', String(TIME_TO_LIVE)),
  ];
}

function item(note: ViewNote, document: FeedDocument): string {
  const { base, readId, feed } = document;
  const { sender, tags } = note.meta;
  const title = noteTitle(note);
  return group('item', [
    title ? element('title', title) : undefined,
    element('link', noteUrl(base, readId, note.id)),
    element('guid', guidOf(note, document), { isPermaLink: 'false' }),
    element('pubDate', rfc822(note.createdAt)),
    ...tags.map((tag) => element('category', tag)),
    sender && feed.showSender ? element('dc:creator', sender) : undefined,
    // Readers take it for HTML, so it is escaped twice.
    element('description', escapeHtml(noteExcerpt(note))),
    element('content:encoded', noteHtml(note, document)),
    ...attachmentsOf(note)
      .slice(0, 1)
      .map((first) => enclosure(first, document)),
  ]);
}

function enclosure(note: Note, document: FeedDocument): string {
  const { url, type, size } = picture(note, document);
  return emptyElement('enclosure', { url, length: String(size), type });
}

/** RFC 822 date with a year of four digits, in GMT. */
function rfc822(time: number): string {
  return new Date(time).toUTCString();
}
