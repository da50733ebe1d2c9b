import { isFeedSegment, isReadId } from '../feeds/names.ts';
import type { NoteFilter } from '../feeds/urls.ts';
import { type Answer, refusalAnswer } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { headers } from '../http/headers.ts';
import type { Refusal, RefusalCode } from '../refusals.ts';
import { html } from './html.ts';
import { PRIVATE_FIELDS, page, script, soleCard } from './page.ts';
import { filterIn, searchForm } from './search.ts';
import type { Site } from './site.ts';
import { explain, wordsFor } from './words.ts';

const VARY = headers({ Vary: 'Accept' });

/**
 * The answer to a refused request for a page: a page for a client that asks for HTML, else JSON (contract §8).
 * @param document shown instead of the plain message
 */
export function errorPage(site: Site, refusal: Refusal, exchange: Exchange, document?: string): Answer {
  const { status, code } = refusal;
  if (!/\btext\/html\b/i.test(exchange.header('accept', true) ?? '')) {
    const answer = refusalAnswer(refusal);
    return { ...answer, headers: answer.headers.concat(VARY) };
  }
  const challenge = status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {};
  const fields = { ...PRIVATE_FIELDS, ...challenge, ...refusal.headers };
  const body = Buffer.from(document ?? plainPage(site, refusal, exchange));
  return { status, code, headers: headers(fields).concat(VARY), body };
}

/** By status. */
const TITLES: Readonly<Record<number, string>> = {
  404: 'Not here',
  410: 'Removed',
  429: 'One moment, please',
  500: 'Something went wrong',
  503: 'Not right now',
  507: 'No room left',
};

/** What happened and where to go, in words for people; the code and the API's message for whoever looks into it. */
function plainPage(site: Site, refusal: Refusal, exchange: Exchange): string {
  const { method, path, queryText } = exchange;
  const { status, code, message, retryAfter } = refusal;
  const title = TITLES[status] ?? 'This did not work';
  const feed = feedPathOf(path);
  const again = status === 503 && method === 'GET' && path + (queryText && `?${queryText}`);
  const query = feed === path && SEARCH_REFUSALS.has(code) ? filterIn(exchange) : undefined;
  if (query !== undefined) return refusedSearch(site, refusal, { title, feed: path, query, again });
  return page(site, {
    title,
    main: soleCard(
      title,
      html`<p>${wordsFor(code, retryAfter)}</p>
<p class="actions">${again !== false && html`<a class="button primary" href="${site.root}${again}">Try again</a>`}
${feed !== undefined && feed !== path && html`<a class="button" href="${site.root}${feed}">To the feed</a>`}
<a class="button" href="${site.root}/">To the start page</a></p>
<details class="code"><summary>Error <code>${code}</code></summary>
<p>${message}</p></details>`,
    ),
  });
}

/** What a search is refused with, beside what any page is. */
const SEARCH_REFUSALS: ReadonlySet<string> = new Set<RefusalCode>(['invalid_request', 'busy']);

interface RefusedSearch {
  readonly title: string;
  /** Path of the feed's page. */
  readonly feed: string;
  readonly query: NoteFilter;
  /** Path of the same search, if it may work later. */
  readonly again: string | false;
}

/** The search as it was filled in, and what is wrong with it in place of what it would have found. */
function refusedSearch(site: Site, refusal: Refusal, { title, feed, query, again }: RefusedSearch): string {
  const { root } = site;
  const api = feed.startsWith('/r/') ? feed.replace('/r/', '/read/') : `/feeds${feed}`;
  return page(site, {
    title,
    main: html`<p class="back"><a href="${root}${feed}">To the feed</a></p>
<h1>${title}</h1>
${site.search && searchForm(query, `${root}/api/v1${api}/tags`)}
<p class="alert" role="alert">${explain(refusal)}</p>
${again !== false && html`<p class="actions"><a class="button primary" href="${root}${again}">Try again</a></p>`}
${script(site, 'read')}`,
  });
}

/** The page of the feed that a path is about, named or public; it need not exist. */
function feedPathOf(path: string): string | undefined {
  const [first = '', second = ''] = path.split('/').slice(1);
  if (first === 'r') return isReadId(second) ? `/r/${second}` : undefined;
  return isFeedSegment(first) ? `/${first}` : undefined;
}
