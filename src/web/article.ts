import { type NoteId, noteFile, type ReadId } from '../feeds/names.ts';
import type { NoteType } from '../feeds/note-types.ts';
import { noteUrl } from '../feeds/urls.ts';
import { type Html, html, trustedHtml, WRITTEN } from './html.ts';
import { icon } from './icons.ts';
import type { Site } from './site.ts';

/** A note as pages show it. */
export interface ArticleNote {
  readonly id: NoteId;
  readonly type: NoteType;
  readonly readId: ReadId;
  /** The title that was set. */
  readonly title: string | undefined;
  /** What screen readers call it: its title, or one taken from it. */
  readonly label: string;
  /** From the renderer. */
  readonly body: string;
  /** Ms since the epoch. */
  readonly createdAt: number;
  readonly tags: readonly string[];
  /** Ms since the epoch. */
  readonly expires: number | undefined;
  /** Ms since the epoch; undefined if it is as it was posted. */
  readonly edited: number | undefined;
  /** Undefined if it is unknown or not shown. */
  readonly sender: string | undefined;
  readonly url: string;
  /** Of the note's JSON, with its quotes; on pages for writers. */
  readonly etag?: string | undefined;
  /** The public page of the note, on pages for writers; null in a feed without a read link. */
  readonly readUrl?: string | null;
}

/**
 * A note, the same on all pages.
 * @param ofFeed the page of the feed, to which tags link, if the page shows this article only
 */
export function noteArticle(site: Site, note: ArticleNote, ofFeed?: string): Html {
  const isAlone = ofFeed !== undefined;
  const { id, type, title, label, createdAt, url, sender, tags, edited, expires, etag } = note;
  const { timeZone } = site;
  return html`<article class="note${isAlone && ' alone'}" id="n-${id}" data-id="${id}" data-type="${type}"${etag !== undefined && html` data-etag="${etag}"`} aria-label="${label}" tabindex="-1">
<a class="when" href="${url}">${timeElement(createdAt, isAlone ? 'full' : 'clock', timeZone)}</a>
<div class="content">
${title !== undefined && (isAlone ? html`<h1 ${WRITTEN}>${title}</h1>` : html`<h3 ${WRITTEN}>${title}</h3>`)}
<div class="text" ${WRITTEN}>${trustedHtml(note.body)}</div>
<footer>${tags.map((tag) => html`<a class="tag" href="${ofFeed ?? ''}?tag=${encodeURIComponent(tag)}">${tag}</a>\n`)}
${sender !== undefined && html`<span class="sender">by <bdi>${sender}</bdi></span>`}
${edited !== undefined && timeElement(edited, 'edited', timeZone)}
${expires !== undefined && html`<span class="expires">expires ${timeElement(expires, 'full', timeZone)}</span>`}
${site.reportUrl !== undefined && html`<a class="report" rel="nofollow noreferrer" href="${reportUrl(site, site.reportUrl, note)}">Report</a>`}
${note.readUrl !== undefined && menu(note, isAlone ? choices(url, note.readUrl) : undefined)}
</footer>
</div>
</article>
`;
}

/** Opens what a writer can do with a note. In a list, `browser/reading/menus.ts` puts the choices in when they are asked for: fifty menus are half a page. */
function menu({ label }: ArticleNote, choices?: Html): Html {
  return html`<details class="menu"><summary aria-label="Actions for ${label}"></summary>${choices}</details>`;
}

/**
 * The choices of the menus in a list.
 * @param notesUrl what the addresses of public notes begin with; null in a feed without a read link
 */
export function menuTemplate(notesUrl: string | null): Html {
  return html`<template id="note-menu">${choices('', notesUrl)}</template>`;
}

function choices(url: string, readUrl: string | null): Html {
  return html`<ul>
<li><a class="button edit" data-action="edit" href="${url}">${icon('edit')}Edit</a></li>
${
  readUrl !== null &&
  html`<li><button type="button" data-action="copy-link">${icon('link')}Copy link</button></li>
<li><a class="button read-link" href="${readUrl}">${icon('eye')}Public page</a></li>`
}
<li><button type="button" class="danger" data-action="delete">${icon('trash')}Delete</button></li>
</ul>`;
}

function reportUrl(site: Site, template: string, { readId, id, type }: ArticleNote): string {
  if (site.takesReports)
    return `${site.root}/report?target=${encodeURIComponent(noteUrl(site.root, readId, id))}`;
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
  exact: [
    'en-GB',
    {
      ...{ year: 'numeric', month: 'long', day: 'numeric' },
      ...{ hour: '2-digit', minute: '2-digit', timeZoneName: 'short' },
    },
  ],
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

/** A time of a note for people: what it says, or that it was edited, and in full with its zone when it is pointed at. */
export function timeElement(time: number, says: 'clock' | 'full' | 'edited', timeZone: string): Html {
  const text = says === 'edited' ? says : formatTime(time, says, timeZone);
  return html`<time datetime="${new Date(time).toISOString()}" title="${formatTime(time, 'exact', timeZone)}">${text}</time>`;
}

/** Says which zone the times of a page are in, if no script shows them in the reader's. */
export function timeZoneNote({ timeZone }: Site): Html {
  return html`<noscript><p class="zone">Times are those of ${timeZone.replaceAll('_', ' ')}.</p></noscript>`;
}
