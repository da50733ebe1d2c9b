import { type Answer, refusalAnswer } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { headers } from '../http/headers.ts';
import type { Refusal } from '../refusals.ts';
import { html } from './html.ts';
import { PAGE_FIELDS, page } from './page.ts';
import type { Site } from './site.ts';

const VARY = headers({ Vary: 'Accept' });

/** The answer to a refused request for a page: a page for a client that asks for HTML, else JSON (contract §8). */
export function errorPage(site: Site, refusal: Refusal, exchange: Exchange): Answer {
  const { status, code, message } = refusal;
  if (!/\btext\/html\b/i.test(exchange.header('accept') ?? '')) {
    const answer = refusalAnswer(refusal);
    return { ...answer, headers: answer.headers.and(VARY) };
  }
  const title = status === 404 ? 'Not here' : 'This did not work';
  const main = html`<h1>${title}</h1>
<p>${message}</p>
<p><a href="/">To the start page</a></p>`;
  const fields = { ...PAGE_FIELDS, 'Cache-Control': 'private, no-store', ...refusal.headers };
  return { status, code, headers: headers(fields).and(VARY), body: page(site, { title, main }) };
}
