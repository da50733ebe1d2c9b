import type { ReadId } from '../feeds/names.ts';
import { readPageUrl, rssUrl } from '../feeds/urls.ts';
import { type ArticleNote, formatTime, noteArticle, timeElement } from './article.ts';
import { type Child, type Html, html } from './html.ts';
import { type ComposedFeed, composeBox } from './note-forms.ts';
import { page, publicHead, script } from './page.ts';
import type { Site } from './site.ts';
import { tierNotice } from './tier.ts';

/** The notes of a feed that a page shows, newest first. */
export interface ShownNotes {
  readonly notes: readonly ArticleNote[];
  /** Version of the feed, for scripts that ask whether it has changed. */
  readonly version: string;
  /** The page shows only notes with this tag. */
  readonly tag: string | undefined;
  /** The notes are not the newest. */
  readonly isOlder: boolean;
  /** The cursor of the next page; undefined on the last. */
  readonly next: string | undefined;
}

interface FeedPage extends ShownNotes {
  readonly base: string;
  /** Title of the feed, or a substitute. */
  readonly title: string;
  readonly description: string;
  readonly imageUrl: string | undefined;
}

/** The page at `/r/<read_id>`. It reveals neither the feed's name nor its readers. */
export function publicFeedPage(site: Site, feed: FeedPage & { readonly readId: ReadId }): string {
  const { base, readId, title, description, tag } = feed;
  const url = readPageUrl(base, readId);
  return page(site, {
    title: tag === undefined ? title : `${tag} · ${title}`,
    isListed: true,
    head: publicHead(site, {
      ...feed,
      type: 'website',
      url,
      description: description || `Notes of ${title}`,
    }),
    main: html`${feedHeader(feed, html`<a class="rss" href="${rssUrl(base, readId, tag)}">RSS</a>`)}
${notesHtml(site, feed, `${site.root}/r/${readId}/events`)}
${script(site, 'live')}`,
  });
}

interface NamedFeedPage extends FeedPage, ComposedFeed {
  /** Undefined in a feed without a read link. */
  readonly readId: ReadId | undefined;
}

/** The page at `/<feed>`, for its writers. */
export function namedFeedPage(site: Site, feed: NamedFeedPage): string {
  const { base, name, readId, hasNotes, tag, isOlder } = feed;
  const settings = `${base}/${name}/settings`;
  const events = `${site.root}/api/v1/feeds/${name}/events`;
  const links =
    hasNotes &&
    html`${
      readId !== undefined &&
      html`<a href="${readPageUrl(base, readId)}">Read link</a>
<a class="rss" href="${rssUrl(base, readId)}">RSS</a>`
    }
<a href="${settings}">Settings</a>`;
  const isNewest = tag === undefined && !isOlder;
  return page(site, {
    title: feed.title,
    main: html`${feedHeader(feed, links)}
${isNewest ? composeBox(site, feed) : script(site, 'live')}
${hasNotes ? notesHtml(site, feed, events, tierNotice(site, settings)) : html`<div id="notes" data-version="${feed.version}" data-events="${events}"></div>`}`,
  });
}

function feedHeader({ title, description, imageUrl }: FeedPage, links: Html | false): Html {
  return html`<header class="feed">
${imageUrl !== undefined && html`<img class="title-image" src="${imageUrl}" alt="" width="72" height="72">`}
<div class="about">
<h1><bdi>${title}</bdi></h1>
${description !== '' && html`<p class="description" dir="auto">${description}</p>`}
</div>
${links && html`<nav aria-label="This feed">${links}</nav>`}
</header>`;
}

/** @param events path of the event stream */
function notesHtml(site: Site, shown: ShownNotes, events: string, notice?: Child): Html {
  const { notes, version, tag, next, isOlder } = shown;
  const query = tag === undefined ? '' : `tag=${encodeURIComponent(tag)}&`;
  return html`${tag !== undefined && html`<p class="filter">Notes tagged <span class="tag">${tag}</span> <a href="?">Show all</a></p>`}
<div id="notes" data-version="${version}" data-events="${events}">
${notice}${days(site, notes)}
${notes.length === 0 && html`<p class="nothing">${tag === undefined ? 'No notes yet.' : 'No notes with this tag.'}</p>`}
${
  (next !== undefined || isOlder) &&
  html`<nav class="pages" aria-label="Pages">${isOlder && html`<a href="?${query.slice(0, -1)}">Newest notes</a>`}
${next !== undefined && html`<a rel="next" href="?${query}before=${encodeURIComponent(next)}">Older notes</a>`}</nav>`
}</div>`;
}

function days(site: Site, notes: readonly ArticleNote[]): Child {
  const byDay = Map.groupBy(notes, ({ createdAt }) => formatTime(createdAt, 'date', site.timeZone));
  return [...byDay.values()].map(
    (ofDay) => html`<section class="day">
<h2>${timeElement(ofDay[0]!.createdAt, 'day', site.timeZone)}</h2>
${ofDay.map((note) => noteArticle(site, note))}</section>
`,
  );
}
