import type { NoteId, ReadId } from '../feeds/names.ts';
import { feedUrl, jsonFeedUrl, noteUrl, noteUrlByName, readPageUrl, rssUrl } from '../feeds/urls.ts';
import { type Child, html } from './html.ts';
import { type ArticleNote, noteArticle } from './note-article.ts';
import { type EditedNote, noteEditor } from './note-editor.ts';
import { pageText } from './page.ts';
import { sharedHead } from './page-head.ts';
import type { Site } from './site.ts';

/** The notes before and after one. */
interface Neighbours {
  readonly older: NoteId | undefined;
  readonly newer: NoteId | undefined;
}

/** A note as everybody with the read link sees it. */
export interface ReadNotePage {
  readonly base: string;
  readonly readId: ReadId;
  readonly feedTitle: string;
  readonly note: ArticleNote;
  /** Of the note, or what stands for it. */
  readonly title: string;
  readonly excerpt: string;
  readonly imageUrl: string | undefined;
  readonly neighbours: Neighbours;
}

/** A note as whoever knows the feed's name sees it. */
export interface NamedNotePage {
  readonly base: string;
  readonly name: Parameters<typeof feedUrl>[1];
  readonly feedTitle: string;
  readonly note: ArticleNote;
  readonly title: string;
  readonly edited: Omit<EditedNote, 'feed'>;
  readonly neighbours: Neighbours;
}

/** The page at `/r/<read_id>/<id>`. */
export function readNotePage(site: Site, shown: ReadNotePage): string {
  const { base, readId, feedTitle, note, title, excerpt, imageUrl, neighbours } = shown;
  const feed = readPageUrl(base, readId);
  const shared = { type: 'article', title, description: excerpt || title, url: note.url, imageUrl } as const;
  return pageText(site, {
    title: `${title} · ${feedTitle}`,
    isListed: true,
    head: html`${sharedHead(site, shared)}
<meta property="article:published_time" content="${new Date(note.createdAt).toISOString()}">
<link rel="alternate" type="application/rss+xml" title="RSS" href="${rssUrl(base, readId)}">
<link rel="alternate" type="application/feed+json" title="JSON Feed" href="${jsonFeedUrl(base, readId)}">`,
    main: html`${hiddenHeading(note, title)}
<p class="back"><a href="${feed}"><bdi>${feedTitle}</bdi></a></p>
${noteArticle(site, note, { feedUrl: feed, isAlone: true })}
${between(neighbours, (id) => noteUrl(base, readId, id))}`,
  });
}

/** The page at `/<feed>/<id>`. */
export function namedNotePage(site: Site, shown: NamedNotePage): string {
  const { base, name, feedTitle, note, title, edited, neighbours } = shown;
  const feed = feedUrl(base, name);
  return pageText(site, {
    title: `${title} · ${feedTitle}`,
    main: html`${hiddenHeading(note, title)}
<p class="back"><a href="${feed}"><bdi>${feedTitle}</bdi></a></p>
${noteArticle(site, note, { feedUrl: feed, isAlone: true })}
${noteEditor(site, { feed: name, ...edited })}
${between(neighbours, (id) => noteUrlByName(base, name, id))}`,
  });
}

/** A note without a title of its own has its headings in its text, which may have none. */
function hiddenHeading(note: ArticleNote, title: string): Child {
  return note.title === undefined && html`<h1 class="unseen"><bdi>${title}</bdi></h1>`;
}

function between({ older, newer }: Neighbours, url: (id: NoteId) => string): Child {
  if (older === undefined && newer === undefined) return undefined;
  return html`<nav class="pages" aria-label="Notes around this one">
${older !== undefined && html`<a rel="prev" href="${url(older)}">Previous note</a>`}
${newer !== undefined && html`<a rel="next" href="${url(newer)}">Next note</a>`}</nav>`;
}
