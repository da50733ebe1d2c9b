import type { FeedName, NoteId, ReadId } from '../feeds/names.ts';
import { feedUrl, jsonFeedUrl, noteUrl, noteUrlByName, readPageUrl, rssUrl } from '../feeds/urls.ts';
import { type ArticleNote, noteArticle, timeZoneNote } from './article.ts';
import { type Child, type Html, html } from './html.ts';
import { type EditedNote, editBox } from './note-forms.ts';
import { type PublicHead, page, pagesLinks, publicHead, script } from './page.ts';
import { sharePanels, sharePills } from './share.ts';
import type { Site } from './site.ts';

interface NotePage {
  readonly base: string;
  readonly feedTitle: string;
  readonly note: ArticleNote;
  /** Title of the note, or a substitute. */
  readonly title: string;
  readonly neighbours: { readonly older: NoteId | undefined; readonly newer: NoteId | undefined };
}

type PublicNotePage = NotePage &
  Pick<PublicHead, 'imageUrl'> & {
    readonly readId: ReadId;
    readonly excerpt: string;
    readonly listed: boolean;
  };
type NamedNotePage = NotePage & { readonly name: FeedName; readonly edited: EditedNote };

/** The page at `/r/<read_id>/<id>`. */
export function publicNotePage(site: Site, shown: PublicNotePage): string {
  const { base, readId, feedTitle, note, title, excerpt } = shown;
  const shared = { title, url: note.url, rssUrl: rssUrl(base, readId), jsonUrl: jsonFeedUrl(base, readId) };
  return page(site, {
    title: `${title} · ${feedTitle}`,
    isListed: shown.listed,
    head: html`${publicHead(site, { ...shown, ...shared, type: 'article', description: excerpt || title })}
<meta property="article:published_time" content="${new Date(note.createdAt).toISOString()}">`,
    main: html`${article(site, shown, readPageUrl(base, readId))}
<nav class="pills" aria-label="This note">${sharePills(shared)}</nav>
${sharePanels(shared)}
${between(shown, (id) => noteUrl(base, readId, id))}
${script(site, 'read')}`,
  });
}

/** The page at `/<feed>/<id>`, for writers. */
export function namedNotePage(site: Site, shown: NamedNotePage): string {
  const { base, name, feedTitle, title, note, edited } = shown;
  return page(site, {
    title: `${title} · ${feedTitle}`,
    main: html`${article(site, shown, feedUrl(base, name))}
${editBox(site, name, note, edited)}
${between(shown, (id) => noteUrlByName(base, name, id))}
${script(site, 'note')}`,
  });
}

/** A note without a title gets a hidden heading, because a page needs one and the text may have none. */
function article(site: Site, { note, title, feedTitle }: NotePage, feed: string): Html {
  return html`${note.title === undefined && html`<h1 class="unseen"><bdi>${title}</bdi></h1>`}
<p class="back"><a href="${feed}"><bdi>${feedTitle}</bdi></a></p>
${noteArticle(site, note, feed)}
${timeZoneNote(site)}`;
}

function between({ neighbours: { older, newer } }: NotePage, url: (id: NoteId) => string): Child {
  return pagesLinks('Notes around this one', {
    newer: newer !== undefined && { text: 'Newer', url: url(newer) },
    older: older !== undefined && { text: 'Older', url: url(older) },
  });
}
