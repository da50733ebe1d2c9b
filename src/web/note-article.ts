import type { NoteFile, NoteId, ReadId } from '../feeds/names.ts';
import type { NoteType } from '../feeds/note-types.ts';
import type { Rendered } from '../read/note-text.ts';
import { type Html, html, trustedHtml } from './html.ts';
import type { Site } from './site.ts';
import { timeElement } from './times.ts';

/** A note as pages show it. */
export interface ArticleNote {
  readonly id: NoteId;
  readonly type: NoteType;
  readonly file: NoteFile;
  readonly readId: ReadId;
  /** The title that was set. */
  readonly title: string | undefined;
  readonly body: Pick<Rendered, 'html'>;
  /** Ms since the epoch. */
  readonly createdAt: number;
  readonly tags: readonly string[];
  /** Undefined if it is unknown or not shown. */
  readonly sender: string | undefined;
  readonly url: string;
  /** The public page of the note, on pages for writers. */
  readonly readUrl?: string | undefined;
}

/**
 * A note, the same on all pages.
 * @param feedUrl the page to which tags link, without a query; empty for the page that the article is on
 * @param isAlone the page shows this article only
 */
export function noteArticle(
  site: Site,
  note: ArticleNote,
  { feedUrl, isAlone }: { readonly feedUrl: string; readonly isAlone: boolean },
): Html {
  const { id, type, title, createdAt, url, readUrl, sender, tags } = note;
  const heading = title !== undefined && html`<bdi>${title}</bdi>`;
  const edit = !isAlone && html`<a class="edit" href="${url}">Edit</a>`;
  return html`<article class="note" id="n-${id}" data-id="${id}" data-type="${type}">
${heading && (isAlone ? html`<h1>${heading}</h1>` : html`<h3>${heading}</h3>`)}
<div class="text" dir="auto">${trustedHtml(note.body)}</div>
<footer><a class="time" href="${url}">${timeElement(createdAt, isAlone ? 'full' : 'clock', site.timeZone)}</a>
${sender !== undefined && html`<span class="sender">by <bdi>${sender}</bdi></span>`}
${tags.map((tag) => html`<a class="tag" href="${feedUrl}?tag=${encodeURIComponent(tag)}">${tag}</a>\n`)}
${readUrl !== undefined && html`${edit} <a class="read-link" href="${readUrl}">Read link</a>`}
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
