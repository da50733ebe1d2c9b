import type { Note } from '../../feeds/note.ts';
import { fileUrl, jsonFeedUrl, noteUrl, readPageUrl } from '../../feeds/urls.ts';
import type { Json } from '../../schemas.ts';
import type { FeedDocument, ViewNote } from './document.ts';
import { attachmentsOf, feedTitle, guidOf, noteHtml, noteText, noteTitle, picture } from './shown-note.ts';

/** The JSON Feed 1.1 document of a feed (https://www.jsonfeed.org/version/1.1/), of the same notes as its RSS. */
export function jsonFeed(document: FeedDocument): Json<'JsonFeed'> {
  const { base, readId, feed, tag, search, hubs = [] } = document;
  return {
    version: 'https://jsonfeed.org/version/1.1',
    title: feedTitle(document),
    home_page_url: readPageUrl(base, readId),
    feed_url: jsonFeedUrl(base, readId, search ?? { tag }),
    description: feed.description || undefined,
    icon: feed.image && fileUrl(base, readId, feed.image),
    hubs: hubs.length > 0 ? hubs.map((url) => ({ type: 'WebSub', url })) : undefined,
    items: document.notes.map((note) => item(note, document)),
  };
}

function item(note: ViewNote, document: FeedDocument): Json<'JsonFeed'>['items'][number] {
  const { base, readId, feed } = document;
  const { sender, tags } = note.meta;
  const attachments = attachmentsOf(note).map((one) => attachment(one, document));
  return {
    id: guidOf(note, document),
    url: noteUrl(base, readId, note.id),
    title: noteTitle(note) || undefined,
    content_html: noteHtml(note, document),
    content_text: noteText(note, document) || undefined,
    image: attachments[0]?.url,
    date_published: new Date(note.createdAt).toISOString(),
    authors: sender && feed.showSender ? [{ name: sender }] : undefined,
    tags: tags.length > 0 ? tags : undefined,
    attachments: attachments.length > 0 ? attachments : undefined,
  };
}

function attachment(note: Note, document: FeedDocument) {
  const { url, type, size } = picture(note, document);
  return { url, mime_type: type, title: note.meta.name || undefined, size_in_bytes: size };
}
