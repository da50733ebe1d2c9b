import type { FeedName, ReadId } from '../feeds/names.ts';
import { filesUrl, jsonFeedUrl, type NoteFilter, readPageUrl, rssUrl } from '../feeds/urls.ts';
import { type ArticleNote, formatTime, menuTemplate, noteArticle, timeZoneNote } from './article.ts';
import { keepAddress, secretName } from './feed-name.ts';
import { type Hit, hitList } from './hits.ts';
import { type Child, type Html, html, WRITTEN } from './html.ts';
import { icon } from './icons.ts';
import { type ComposedFeed, composeBox } from './note-forms.ts';
import { page, pagesLinks, publicHead, script } from './page.ts';
import { filterSummary, nothingFound, searchForm, withQuery } from './search.ts';
import { sharePanels, sharePills } from './share.ts';
import type { Site } from './site.ts';
import { tierNotice } from './tier.ts';

/** The notes of a feed that a page shows, newest first. */
export interface ShownNotes {
  readonly notes: readonly ArticleNote[];
  /** Version of the feed, for scripts that ask whether it has changed. */
  readonly version: string;
  /** In place of `notes` on a page of what a search has found. */
  readonly hits: readonly Hit[] | undefined;
  /** What the page is narrowed to; undefined if it shows all notes. */
  readonly query: NoteFilter | undefined;
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

interface PublicFeedPage extends FeedPage {
  readonly readId: ReadId;
  readonly listed: boolean;
  /** The first picture that the page shows, if it shows one. */
  readonly firstPictureUrl: string | undefined;
}

/** The page at `/r/<read_id>`. It reveals neither the feed's name nor its readers. */
export function publicFeedPage(site: Site, feed: PublicFeedPage): string {
  const { base, readId, title, description } = feed;
  const shared = {
    title,
    url: readPageUrl(base, readId),
    rssUrl: rssUrl(base, readId, feed.query),
    jsonUrl: jsonFeedUrl(base, readId, feed.query),
  };
  return page(site, {
    title: titleOf(feed),
    isListed: feed.listed && feed.query === undefined,
    head: publicHead(site, {
      ...feed,
      ...shared,
      type: 'website',
      imageUrl: feed.imageUrl ?? feed.firstPictureUrl,
      description: description || `Notes of ${title}`,
    }),
    main: html`${feedHeader(feed, sharePills(shared))}
${notesHtml(site, feed, {
  events: `${site.root}/r/${readId}/events`,
  tagsUrl: `${site.root}/api/v1/read/${readId}/tags`,
  rssUrl: shared.rssUrl,
})}
${sharePanels(shared)}
${script(site, 'read')}`,
  });
}

interface NamedFeedPage extends FeedPage, ComposedFeed {
  readonly name: FeedName;
  readonly isUntitled: boolean;
  /** Undefined in a feed without a read link. */
  readonly readId: ReadId | undefined;
}

/** The page at `/<feed>`, for its writers. */
export function namedFeedPage(site: Site, feed: NamedFeedPage): string {
  const { base, name, readId, hasNotes, query, isOlder } = feed;
  const settings = `${base}/${name}/settings`;
  const api = `${site.root}/api/v1/feeds/${name}`;
  const links =
    hasNotes &&
    html`${
      readId !== undefined &&
      html`<a class="button pill" href="${readPageUrl(base, readId)}">${icon('eye')}Public page</a>
<button type="button" class="pill" data-copy="read-link">${icon('link')}Copy link</button><span hidden id="read-link">${readPageUrl(base, readId)}</span>
<a class="button pill rss" href="${rssUrl(base, readId)}">${icon('rss')}RSS</a>`
    }
<a class="button pill" href="${settings}">${icon('settings')}Settings</a>`;
  const isNewest = query === undefined && !isOlder;
  const notesUrl = readId === undefined ? null : filesUrl(base, readId);
  const above = html`${hasNotes && tierNotice(site, settings)}${menuTemplate(notesUrl)}`;
  return page(site, {
    title: titleOf(feed),
    main: html`${feedHeader(feed, links, feed.isUntitled && secretName(name))}
${isNewest && keepAddress(base, name)}
${isNewest && composeBox(site, feed)}
${notesHtml(site, feed, { events: `${api}/events`, tagsUrl: `${api}/tags`, above, hasNotes })}
${script(site, 'feed')}`,
  });
}

function feedHeader({ title, description, imageUrl }: FeedPage, links: Html | false, more?: Child): Html {
  return html`<header class="feed">
${imageUrl !== undefined && html`<img class="face" src="${imageUrl}" alt="" width="64" height="64">`}
<div class="about">
<h1 ${WRITTEN}>${title}</h1>
${description !== '' && html`<p class="description" ${WRITTEN}>${description}</p>`}
${more}
</div>
${links && html`<nav class="pills" aria-label="This feed">${links}</nav>`}
</header>`;
}

/** The tab tells a narrowed page, and one of older notes, from that of the newest. */
function titleOf({ title, query: { q, tag, from, to } = {}, isOlder }: FeedPage): string {
  const days = [from && `from ${from}`, to && `until ${to}`].filter(Boolean).join(' ');
  return [isOlder && 'Older notes', q, tag, days, title].filter(Boolean).join(' · ');
}

interface NotesPlace {
  /** Path of the event stream. */
  readonly events: string;
  /** Path of the tags with their counts. */
  readonly tagsUrl: string;
  /** The RSS feed of these notes, where it is public. */
  readonly rssUrl?: string;
  readonly above?: Child;
  /** The feed has notes; by default if the page shows any. */
  readonly hasNotes?: boolean;
}

/** The notes with what narrows them. `browser/reading/live.ts` keeps them up to date, but for what a search has found. */
function notesHtml(
  site: Site,
  shown: ShownNotes,
  { events, tagsUrl, rssUrl, above, hasNotes }: NotesPlace,
): Html {
  const { notes, hits, version, query, next, isOlder } = shown;
  const count = hits?.length ?? notes.length;
  const isNarrowed = query !== undefined;
  return html`${site.search && (isNarrowed || (hasNotes ?? count > 0)) && searchForm(query ?? {}, tagsUrl, hits)}
${isNarrowed && filterSummary({ query, count, isOlder, next, rssUrl })}
<div id="notes"${hits === undefined && html` data-version="${version}" data-events="${events}"`}>
<div class="above">${above}</div>
<div class="news" role="status" aria-atomic="false"></div>
${hits === undefined ? days(site, notes) : count > 0 && hitList(site, hits, query ?? {})}
<div class="below">${count === 0 && (isNarrowed ? next === undefined && nothingFound(query) : hasNotes !== false && html`<p class="nothing">No notes yet.</p>`)}
${pagesLinks('Pages', {
  newer: isOlder && { text: 'Newest', url: withQuery(query ?? {}) },
  older: next !== undefined && { text: 'Older', url: withQuery(query ?? {}, next) },
})}</div>
</div>
${count > 0 && timeZoneNote(site)}`;
}

/** Notes with a heading above the first of each day. All are siblings, so that a script can move the headings for a reader in another zone. */
function days(site: Site, notes: readonly ArticleNote[]): Child {
  const { timeZone } = site;
  let day = '';
  return notes.map((note) => {
    const ofNote = formatTime(note.createdAt, 'date', timeZone);
    if (ofNote === day) return noteArticle(site, note);
    day = ofNote;
    return html`<h2 class="day"><time datetime="${day}">${formatTime(note.createdAt, 'day', timeZone)}</time></h2>
${noteArticle(site, note)}`;
  });
}
