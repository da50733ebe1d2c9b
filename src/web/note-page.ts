import type { NoteFile, NoteId, ReadId } from '../feeds/names.ts';
import type { NoteType } from '../feeds/note-types.ts';
import { feedUrl, noteUrl, noteUrlByName, readPageUrl } from '../feeds/urls.ts';
import { type Child, type Html, html, trustedHtml } from './html.ts';
import { type EditedNote, noteEditor } from './note-forms.ts';
import { page, publicHead } from './page.ts';
import type { Site } from './site.ts';
import { timeElement } from './times.ts';

interface NotePage {
  readonly base: string;
  readonly feedTitle: string;
  readonly note: ArticleNote;
  /** Title of the note, or a substitute. */
  readonly title: string;
  readonly neighbours: { readonly older: NoteId | undefined; readonly newer: NoteId | undefined };
}

interface PublicNotePage extends NotePage {
  readonly readId: ReadId;
  readonly excerpt: string;
  readonly imageUrl: string | undefined;
}

interface NamedNotePage extends NotePage {
  readonly name: Parameters<typeof feedUrl>[1];
  readonly edited: Omit<EditedNote, 'feed'>;
}

/** The page at `/r/<read_id>/<id>`. */
export function publicNotePage(site: Site, shown: PublicNotePage): string {
  const { base, readId, feedTitle, note, title, excerpt } = shown;
  return page(site, {
    title: `${title} · ${feedTitle}`,
    isListed: true,
    head: html`${publicHead(site, { ...shown, type: 'article', description: excerpt || title, url: note.url })}
<meta property="article:published_time" content="${new Date(note.createdAt).toISOString()}">`,
    main: html`${article(site, shown, readPageUrl(base, readId))}
${between(shown, (id) => noteUrl(base, readId, id))}`,
  });
}

/** The page at `/<feed>/<id>`, for writers. */
export function namedNotePage(site: Site, shown: NamedNotePage): string {
  const { base, name, feedTitle, title, edited } = shown;
  return page(site, {
    title: `${title} · ${feedTitle}`,
    main: html`${article(site, shown, feedUrl(base, name))}
${noteEditor(site, { feed: name, ...edited })}
${between(shown, (id) => noteUrlByName(base, name, id))}`,
  });
}

/** A note without a title gets a hidden heading, because a page needs one and the text may have none. */
function article(site: Site, { note, title, feedTitle }: NotePage, feed: string): Html {
  return html`${note.title === undefined && html`<h1 class="unseen"><bdi>${title}</bdi></h1>`}
<p class="back"><a href="${feed}"><bdi>${feedTitle}</bdi></a></p>
${noteArticle(site, note, feed)}`;
}

function between({ neighbours: { older, newer } }: NotePage, url: (id: NoteId) => string): Child {
  if (older === undefined && newer === undefined) return undefined;
  return html`<nav class="pages" aria-label="Notes around this one">
${older !== undefined && html`<a rel="prev" href="${url(older)}">Previous note</a>`}
${newer !== undefined && html`<a rel="next" href="${url(newer)}">Next note</a>`}</nav>`;
}

/** A note as pages show it. */
export interface ArticleNote {
  readonly id: NoteId;
  readonly type: NoteType;
  readonly file: NoteFile;
  readonly readId: ReadId;
  /** The title that was set. */
  readonly title: string | undefined;
  /** From the renderer. */
  readonly body: string;
  /** Ms since the epoch. */
  readonly createdAt: number;
  readonly tags: readonly string[];
  /** Undefined if it is unknown or not shown. */
  readonly sender: string | undefined;
  readonly url: string;
  /** The public page of the note, on pages for writers; null in a feed without a read link. */
  readonly readUrl?: string | null;
}

/**
 * A note, the same on all pages.
 * @param ofFeed the page of the feed, to which tags link, if the page shows this article only
 */
export function noteArticle(site: Site, note: ArticleNote, ofFeed?: string): Html {
  const isAlone = ofFeed !== undefined;
  const { id, type, title, createdAt, url, readUrl, sender, tags } = note;
  const heading = title !== undefined && html`<bdi>${title}</bdi>`;
  const edit = !isAlone && html`<a class="edit" href="${url}">Edit</a>`;
  return html`<article class="note" id="n-${id}" data-id="${id}" data-type="${type}">
${heading && (isAlone ? html`<h1>${heading}</h1>` : html`<h3>${heading}</h3>`)}
<div class="text" dir="auto">${trustedHtml(note.body)}</div>
<footer><a class="time" href="${url}">${timeElement(createdAt, isAlone ? 'full' : 'clock', site.timeZone)}</a>
${sender !== undefined && html`<span class="sender">by <bdi>${sender}</bdi></span>`}
${tags.map((tag) => html`<a class="tag" href="${ofFeed ?? ''}?tag=${encodeURIComponent(tag)}">${tag}</a>\n`)}
${readUrl !== undefined && html`${edit} ${readUrl !== null && html`<a class="read-link" href="${readUrl}">Read link</a>`}`}
${site.reportUrl !== undefined && html`<a class="report" rel="nofollow noreferrer" href="${reportUrl(site.reportUrl, note)}">Report</a>`}
</footer>
</article>
`;
}

function reportUrl(template: string, { readId, id, file }: ArticleNote): string {
  const values: Readonly<Record<string, string>> = { read_id: readId, note_id: id, file };
  return template.replaceAll(/\{(read_id|note_id|file)\}/g, (_, name: string) =>
    encodeURIComponent(values[name]!.toWellFormed()),
  );
}
