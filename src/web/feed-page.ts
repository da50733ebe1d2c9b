import type { ReadId } from '../feeds/names.ts';
import { jsonFeedUrl, readPageUrl, rssUrl } from '../feeds/urls.ts';
import { composeBox } from './compose-box.ts';
import { type Child, type Html, html } from './html.ts';
import { type ArticleNote, noteArticle } from './note-article.ts';
import { pageText } from './page.ts';
import { type Shared, sharedHead } from './page-head.ts';
import { script } from './script.ts';
import type { Site } from './site.ts';
import { tierNotice } from './tier.ts';
import { dayElement, dayOf } from './times.ts';

/** The notes of a feed that a page shows, newest first. */
export interface ShownNotes {
  readonly notes: readonly ArticleNote[];
  /** Of the feed, for scripts that ask whether it has changed. */
  readonly version: string;
  /** The notes are those with this tag. */
  readonly tag: string | undefined;
  /** They are not the newest. */
  readonly isOlder: boolean;
  /** The cursor of the next page; undefined on the last. */
  readonly next: string | undefined;
}

/** A feed as everybody with the read link sees it. */
export interface ReadFeedPage extends ShownNotes {
  readonly base: string;
  readonly readId: ReadId;
  /** Its title, or what stands for it. */
  readonly title: string;
  readonly description: string;
  readonly imageUrl: string | undefined;
}

/** A feed as whoever knows its name sees it. */
export interface NamedFeedPage extends ShownNotes {
  readonly base: string;
  readonly name: string;
  /** Undefined while there is nothing to read. */
  readonly readId: ReadId | undefined;
  readonly title: string;
  readonly description: string;
  readonly imageUrl: string | undefined;
  readonly isProtected: boolean;
  readonly exists: boolean;
}

/** The page at `/r/<read_id>`: nothing on it tells the name of the feed, or who reads. */
export function readFeedPage(site: Site, feed: ReadFeedPage): string {
  const { base, readId, title, description, tag, imageUrl } = feed;
  const rss = rssUrl(base, readId, tag);
  const shared: Shared = {
    type: 'website',
    title,
    description: description || `Notes of ${title}`,
    url: readPageUrl(base, readId),
    imageUrl,
  };
  return pageText(site, {
    title: tag === undefined ? title : `${tag} · ${title}`,
    isListed: true,
    head: html`${sharedHead(site, shared)}
<link rel="alternate" type="application/rss+xml" title="RSS" href="${rss}">
<link rel="alternate" type="application/feed+json" title="JSON Feed" href="${jsonFeedUrl(base, readId, tag)}">`,
    main: html`${feedHeader(feed, html`<a class="rss" href="${rss}">RSS</a>`)}
${shownNotes(site, feed)}
${script(site, 'live')}`,
  });
}

/** The page at `/<feed>`. */
export function namedFeedPage(site: Site, feed: NamedFeedPage): string {
  const { base, name, readId, exists, isProtected, tag, isOlder } = feed;
  const hasNotes = readId !== undefined;
  const isFirst = tag === undefined && !isOlder;
  const links = hasNotes
    ? html`<a href="${readPageUrl(base, readId)}">Read link</a>
<a class="rss" href="${rssUrl(base, readId)}">RSS</a>
<a href="${base}/${name}/settings">Settings</a>`
    : undefined;
  return pageText(site, {
    title: feed.title,
    main: html`${feedHeader(feed, links)}
${isFirst ? composeBox(site, { base, name, isProtected, exists, hasNotes }) : script(site, 'live')}
${hasNotes ? shownNotes(site, feed, tierNotice(site, `${base}/${name}/settings`)) : html`<div id="notes" data-version="${feed.version}"></div>`}`,
  });
}

function feedHeader(
  { title, description, imageUrl }: Pick<ReadFeedPage, 'title' | 'description' | 'imageUrl'>,
  links: Html | undefined,
): Html {
  return html`<header class="feed">
${imageUrl !== undefined && html`<img class="title-image" src="${imageUrl}" alt="" width="72" height="72">`}
<div class="about">
<h1><bdi>${title}</bdi></h1>
${description !== '' && html`<p class="description" dir="auto">${description}</p>`}
</div>
${links && html`<nav aria-label="This feed">${links}</nav>`}
</header>`;
}

function shownNotes(site: Site, shown: ShownNotes, notice?: Child): Html {
  const { notes, version, tag, next, isOlder } = shown;
  const query = tag === undefined ? '' : `tag=${encodeURIComponent(tag)}&`;
  return html`${tag !== undefined && html`<p class="filter">Notes tagged <span class="tag">${tag}</span> <a href="?">Show all</a></p>`}
<div id="notes" data-version="${version}">
${notice}${days(site, notes)}</div>
${notes.length === 0 && html`<p class="nothing">${tag === undefined ? 'No notes yet.' : 'No notes with this tag.'}</p>`}
${
  (next !== undefined || isOlder) &&
  html`<nav class="pages" aria-label="Pages">${isOlder && html`<a href="?${query.slice(0, -1)}">Newest notes</a>`}
${next !== undefined && html`<a rel="next" href="?${query}before=${encodeURIComponent(next)}">Older notes</a>`}</nav>`
}`;
}

function days(site: Site, notes: readonly ArticleNote[]): Child {
  const groups: { readonly day: string; readonly notes: ArticleNote[] }[] = [];
  for (const note of notes) {
    const day = dayOf(note.createdAt, site.timeZone);
    const last = groups.at(-1);
    if (last?.day === day) last.notes.push(note);
    else groups.push({ day, notes: [note] });
  }
  return groups.map(
    (group) => html`<section class="day">
<h2>${dayElement(group.notes[0]!.createdAt, site.timeZone)}</h2>
${group.notes.map((note) => noteArticle(site, note, { feedUrl: '', isAlone: false }))}</section>
`,
  );
}
