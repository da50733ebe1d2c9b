import type { NoteId } from '../feeds/names.ts';
import type { NoteFilter } from '../feeds/urls.ts';
import type { Match } from '../search/match.ts';
import { timeElement } from './article.ts';
import { type Child, type Html, html, WRITTEN } from './html.ts';
import { withQuery } from './search.ts';
import type { Site } from './site.ts';

/** A note that a search has found, as the page of results shows it. */
export interface Hit {
  readonly id: NoteId;
  readonly url: string;
  /** Its title, or its first words. */
  readonly label: string;
  /** Ms since the epoch. */
  readonly createdAt: number;
  readonly tags: readonly string[];
  readonly match: Match;
  /** Of a picture. */
  readonly pictureUrl: string | undefined;
}

/** The notes that a search has found, newest first. */
export function hitList(site: Site, hits: readonly Hit[], query: NoteFilter): Html {
  return html`<ol class="hits">${hits.map((hit) => hitItem(site, hit, query))}</ol>`;
}

function hitItem(
  site: Site,
  { id, url, label, createdAt, tags, match, pictureUrl }: Hit,
  query: NoteFilter,
): Html {
  const { text } = match;
  // If the piece begins with the label, only the rest of it is shown below, so that no words are shown twice.
  const first = label.replace(/\u2026$/, '');
  const split = text.startsWith(first) ? first.length : 0;
  const isTag = tags.includes(text);
  const rest = isTag ? '' : text.slice(split).trim();
  return html`<li class="hit" id="n-${id}">
<div class="content">
<h3 ${WRITTEN}><a href="${url}">${split > 0 ? marked(match, 0, split) : label}</a></h3>
${rest !== '' && html`<p class="piece" ${WRITTEN}>${marked(match, split, text.length)}</p>`}
<footer><span class="when">${timeElement(createdAt, 'full', site.timeZone)}</span>
${tags.map((tag) => html`<a class="tag" href="${withQuery({ ...query, tag })}">${isTag && tag === text ? marked(match, 0, text.length) : tag}</a>\n`)}</footer>
</div>
${pictureUrl !== undefined && html`<a href="${url}" tabindex="-1" aria-hidden="true"><img src="${pictureUrl}" alt="" width="64" height="64" loading="lazy"></a>`}
</li>
`;
}

/** A part of a piece, with its places marked. */
function marked({ text, marks }: Match, start: number, end: number): Child {
  const parts: Child[] = [];
  let at = start;
  for (const [from, to] of marks) {
    const [first, last] = [Math.max(from, at), Math.min(to, end)];
    if (first >= last) continue;
    parts.push(text.slice(at, first), html`<mark>${text.slice(first, last)}</mark>`);
    at = last;
  }
  return [...parts, text.slice(at, end)];
}
