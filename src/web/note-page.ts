import type { FeedName, NoteId } from '../feeds/names.ts';
import { feedUrl, noteUrl, noteUrlByName, readPageUrl } from '../feeds/urls.ts';
import { type ArticleNote, noteArticle } from './article.ts';
import { type Child, type Html, html } from './html.ts';
import { type EditedNote, noteEditor } from './note-forms.ts';
import { type PublicHead, page, publicHead } from './page.ts';
import type { Site } from './site.ts';

interface NotePage {
  readonly base: string;
  readonly feedTitle: string;
  readonly note: ArticleNote;
  /** Title of the note, or a substitute. */
  readonly title: string;
  readonly neighbours: { readonly older: NoteId | undefined; readonly newer: NoteId | undefined };
}

type PublicNotePage = NotePage & Pick<PublicHead, 'readId' | 'imageUrl'> & { readonly excerpt: string };
type NamedNotePage = NotePage & { readonly name: FeedName; readonly edited: EditedNote };

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
  const { base, name, feedTitle, title, note, edited } = shown;
  return page(site, {
    title: `${title} · ${feedTitle}`,
    main: html`${article(site, shown, feedUrl(base, name))}
${noteEditor(site, name, note, edited)}
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
