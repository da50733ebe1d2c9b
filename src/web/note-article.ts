import type { NoteFile, NoteId, ReadId } from '../feeds/names.ts';
import type { NoteType } from '../feeds/note-types.ts';
import type { Rendered } from '../read/unrendered.ts';
import { type Child, type Html, html, rendered } from './html.ts';
import type { Site } from './site.ts';
import { fullTimeElement, timeElement } from './times.ts';

/** A note as pages show it. */
export interface ArticleNote {
  readonly id: NoteId;
  readonly type: NoteType;
  readonly file: NoteFile;
  readonly readId: ReadId;
  /** The title that was set; undefined where the text has to do. */
  readonly title: string | undefined;
  readonly body: Pick<Rendered, 'html'>;
  /** Ms since the epoch. */
  readonly createdAt: number;
  readonly tags: readonly string[];
  /** Undefined where it is not known or not shown. */
  readonly sender: string | undefined;
  /** The page of the note. */
  readonly url: string;
  /** The page of the note for readers, where this one is for whoever may write. */
  readonly readUrl?: string | undefined;
}

/** What differs between the pages that show notes. */
export interface ArticleOptions {
  /** The page of the feed, without a query: where the tags lead. Empty for the page that the article is on. */
  readonly feedUrl: string;
  /** The article is all that its page shows. */
  readonly isAlone: boolean;
}

/** A note, the same on all pages. */
export function noteArticle(site: Site, note: ArticleNote, { feedUrl, isAlone }: ArticleOptions): Html {
  const { id, type, title, createdAt, url, sender, tags } = note;
  const time = isAlone ? fullTimeElement(createdAt, site.timeZone) : timeElement(createdAt, site.timeZone);
  return html`<article class="note" id="n-${id}" data-id="${id}" data-type="${type}">
${title !== undefined && (isAlone ? html`<h1><bdi>${title}</bdi></h1>` : html`<h3><bdi>${title}</bdi></h3>`)}
<div class="text" dir="auto">${rendered(note.body)}</div>
<footer><a class="time" href="${url}">${time}</a>
${sender !== undefined && html`<span class="sender">by <bdi>${sender}</bdi></span>`}
${tags.map((tag) => html`<a class="tag" href="${feedUrl}?tag=${encodeURIComponent(tag)}">${tag}</a>\n`)}
${note.readUrl !== undefined && actions(note, isAlone)}
${site.reportUrl !== undefined && html`<a class="report" rel="nofollow noreferrer" href="${reportUrl(site.reportUrl, note)}">Report</a>`}
</footer>
</article>
`;
}

function actions({ url, readUrl }: ArticleNote, isAlone: boolean): Child {
  return html`${!isAlone && html`<a class="edit" href="${url}">Edit</a>`} <a class="read-link" href="${readUrl}">Read link</a>`;
}

function reportUrl(template: string, { readId, id, file }: ArticleNote): string {
  const values: Readonly<Record<string, string>> = { read_id: readId, note_id: id, file };
  return template.replaceAll(/\{(read_id|note_id|file)\}/g, (_, name: string) =>
    encodeURIComponent(values[name]!.toWellFormed()),
  );
}
