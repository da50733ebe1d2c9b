import { type NoteFilter, queryOf } from '../feeds/urls.ts';
import { type Child, type Html, html } from './html.ts';
import { icon } from './icons.ts';

const NAMES = ['q', 'tag', 'from', 'to'] as const;

/** The address of the page that asks for this; `?` for all notes. */
export function withQuery(asked: NoteFilter, before?: string): string {
  const query = queryOf(asked) || '?';
  return before === undefined
    ? query
    : `${query}${query === '?' ? '' : '&'}before=${encodeURIComponent(before)}`;
}

/** The filter in a query; undefined for all notes. */
export function filterIn(source: { query(name: string): string | undefined }): NoteFilter | undefined {
  const entries = NAMES.map((name) => [name, source.query(name)] as const);
  return entries.some(([, value]) => value !== undefined) ? Object.fromEntries(entries) : undefined;
}

/** What can be written into the field. */
const HINT = html`All words must be there. <code>"a phrase"</code> finds words in a row, <code>begin*</code> the beginning of a word, and <code>-word</code> leaves notes out.`;

/**
 * Where notes of a feed are found; driven by `browser/reading/search.ts`.
 * @param query of this page
 * @param tagsUrl of the feed's tags with their counts
 * @param found notes whose tags are listed until a script has those of the feed
 */
export function searchForm(
  query: NoteFilter,
  tagsUrl: string,
  found: readonly { readonly tags: readonly string[] }[] = [],
): Html {
  const { q = '', tag = '', from = '', to = '' } = query;
  return html`<form class="find" role="search" aria-label="Notes of this feed">
<div class="seek"><input type="search" name="q" aria-label="Search" placeholder="Search" aria-keyshortcuts="/" autocomplete="off" autocapitalize="none" spellcheck="false" dir="auto" enterkeyhint="search" value="${q}">
<kbd class="by-hand scripted" aria-hidden="true">/</kbd><button class="tool" aria-label="Search" title="Search">${icon('search')}</button></div>
<details><summary class="button pill">${icon('settings')}Filters</summary>
<div class="filters"><div><label for="find-tag">Tag</label><input name="tag" id="find-tag" autocomplete="off" autocapitalize="none" value="${tag}"></div>
${day('from', 'From', from)}
${day('to', 'Until', to)}
<button>Show</button></div>
<p class="hint">${HINT}</p>
<ul class="tags" data-tags="${tagsUrl}" aria-label="Tags">${tagCounts(found).map((one) => tagItem(query, one))}</ul>
</details>
</form>`;
}

/** A day in UTC; a text field for a time, which a date field would drop. */
function day(name: 'from' | 'to', label: string, value: string): Html {
  const type = value === '' || /^\d{4}-\d\d-\d\d$/.test(value) ? 'date' : 'text';
  return html`<div><label for="find-${name}">${label} <span class="optional">UTC</span></label><input type="${type}" name="${name}" id="find-${name}" value="${value}"></div>`;
}

/** The tags of some notes, the most frequent first. */
function tagCounts(notes: readonly { readonly tags: readonly string[] }[]): [tag: string, count: number][] {
  const counts = new Map<string, number>();
  for (const { tags } of notes) for (const tag of tags) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a);
}

function tagItem(query: NoteFilter, [tag, count]: [tag: string, count: number]): Html {
  return html`<li><a href="${withQuery({ ...query, tag })}"><span class="tag">${tag}</span> <span class="count">${count}</span></a></li>`;
}

interface Shown {
  readonly query: NoteFilter;
  readonly count: number;
  readonly isOlder: boolean;
  readonly next: string | undefined;
  /** The RSS feed of the same notes, where it is public. */
  readonly rssUrl?: string | undefined;
}

/** What the page shows and how to show more: how many notes were found, and what it is narrowed to. */
export function filterSummary({ query, count, isOlder, next, rssUrl }: Shown): Html {
  const { q, tag, from, to } = query;
  const pill = (name: keyof NoteFilter, says: Child) =>
    html`<a class="button pill" href="${withQuery({ ...query, [name]: undefined })}"><span class="unseen">Without </span>${says}${icon('close')}</a>
`;
  return html`<div class="narrowed">
${q !== undefined && html`<h2>${foundText(count, isOlder, next)} for &ldquo;<bdi>${q}</bdi>&rdquo;</h2>`}
${tag !== undefined && pill('tag', html`<span class="tag">${tag}</span>`)}${
  from !== undefined && pill('from', `from ${from}`)
}${to !== undefined && pill('to', `until ${to}`)}
<a href="?">${q === undefined ? 'Show all' : 'Clear'}</a>
${q !== undefined && rssUrl !== undefined && html`<a class="button pill rss" href="${rssUrl}">${icon('rss')}Follow this search</a>`}
</div>`;
}

/** How many there are is not counted beyond the page. */
function foundText(count: number, isOlder: boolean, next: string | undefined): string {
  if (isOlder) return 'Older notes';
  const notes = count === 1 ? '1 note' : `${count === 0 ? 'No' : count} notes`;
  if (next === undefined) return notes;
  return count === 0 ? 'No newer notes' : `More than ${notes}`;
}

/** What to try if nothing was found. */
export function nothingFound(query: NoteFilter): Html {
  const { q, tag, from, to } = query;
  const isFiltered = [tag, from, to].some((filter) => filter !== undefined);
  if (q === undefined)
    return html`<p class="nothing">${from === undefined && to === undefined ? 'No notes with this tag.' : 'No notes of these days.'}</p>`;
  return html`<p class="nothing">No note has all of these words${isFiltered && ' and what the filters ask for'}.</p>
<p class="hint">Try fewer words${isFiltered && html`, or <a href="${withQuery({ q })}">search all notes</a>`}. ${HINT}</p>`;
}
