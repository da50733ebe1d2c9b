import { type NoteId, noteFile, type ReadId } from '../feeds/names.ts';
import type { NoteType } from '../feeds/note-types.ts';
import { type Html, html, trustedHtml } from './html.ts';
import type { Site } from './site.ts';

/** A note as pages show it. */
export interface ArticleNote {
  readonly id: NoteId;
  readonly type: NoteType;
  readonly readId: ReadId;
  /** The title that was set. */
  readonly title: string | undefined;
  /** From the renderer. */
  readonly body: string;
  /** Ms since the epoch. */
  readonly createdAt: number;
  readonly tags: readonly string[];
  /** Ms since the epoch. */
  readonly expires: number | undefined;
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
  const { id, type, title, createdAt, url, readUrl, sender, tags, expires } = note;
  const heading = title !== undefined && html`<bdi>${title}</bdi>`;
  const edit = !isAlone && html`<a class="edit" href="${url}">Edit</a>`;
  return html`<article class="note" id="n-${id}" data-id="${id}" data-type="${type}">
${heading && (isAlone ? html`<h1>${heading}</h1>` : html`<h3>${heading}</h3>`)}
<div class="text" dir="auto">${trustedHtml(note.body)}</div>
<footer><a class="time" href="${url}">${timeElement(createdAt, isAlone ? 'full' : 'clock', site.timeZone)}</a>
${expires !== undefined && html`<span>expires ${timeElement(expires, 'full', site.timeZone)}</span>`}
${sender !== undefined && html`<span class="sender">by <bdi>${sender}</bdi></span>`}
${tags.map((tag) => html`<a class="tag" href="${ofFeed ?? ''}?tag=${encodeURIComponent(tag)}">${tag}</a>\n`)}
${readUrl !== undefined && html`${edit} ${readUrl !== null && html`<a class="read-link" href="${readUrl}">Read link</a>`}`}
${site.reportUrl !== undefined && html`<a class="report" rel="nofollow noreferrer" href="${reportUrl(site.reportUrl, note)}">Report</a>`}
</footer>
</article>
`;
}

function reportUrl(template: string, { readId, id, type }: ArticleNote): string {
  const values: Readonly<Record<string, string>> = { read_id: readId, note_id: id, file: noteFile(id, type) };
  return template.replaceAll(/\{(read_id|note_id|file)\}/g, (_, name: string) =>
    encodeURIComponent(values[name]!.toWellFormed()),
  );
}

/** Formats of times, and of the dates that group notes. */
const FORMATS = {
  date: ['en-CA', { year: 'numeric', month: '2-digit', day: '2-digit' }],
  day: ['en-GB', { weekday: 'long', year: 'numeric', month: 'long', day: 'numeric' }],
  clock: ['en-GB', { hour: '2-digit', minute: '2-digit' }],
  full: ['en-GB', { dateStyle: 'long', timeStyle: 'short' }],
} as const satisfies Record<string, readonly [locale: string, Intl.DateTimeFormatOptions]>;

type TimeFormat = keyof typeof FORMATS;

/** Texts to cache: formatting costs more than the rest of a note. */
const MAX_CACHED = 20_000;

/** Kept, because creating an `Intl.DateTimeFormat` takes longer than a page. */
const formatters = new Map<string, Intl.DateTimeFormat>();
/** By format, zone and time. */
const texts = new Map<string, string>();

/** A time in ms as text in a zone; `date` is `2026-01-31`. */
export function formatTime(time: number, format: TimeFormat, timeZone: string): string {
  const kind = `${format} ${timeZone}`;
  const known = texts.get(`${kind} ${time}`);
  if (known !== undefined) return known;
  const [locale, options] = FORMATS[format];
  const formatter = formatters.get(kind) ?? new Intl.DateTimeFormat(locale, { timeZone, ...options });
  formatters.set(kind, formatter);
  if (texts.size >= MAX_CACHED) texts.clear();
  const text = formatter.format(time);
  texts.set(`${kind} ${time}`, text);
  return text;
}

/** A time in ms for people; a day has no time of day. */
export function timeElement(time: number, format: TimeFormat, timeZone: string): Html {
  const exact = format === 'day' ? formatTime(time, 'date', timeZone) : new Date(time).toISOString();
  return html`<time datetime="${exact}">${formatTime(time, format, timeZone)}</time>`;
}
