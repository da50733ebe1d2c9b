import { type Answer, refusalAnswer } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { headers } from '../http/headers.ts';
import type { Refusal } from '../refusals.ts';
import { html } from './html.ts';
import { PAGE_FIELDS, page } from './page.ts';
import type { Site } from './site.ts';

const VARY = headers({ Vary: 'Accept' });

/**
 * The answer to a refused request for a page: a page for a client that asks for HTML, else JSON (contract §8).
 * @param body a page for this refusal, if there is a better one than the plain message
 */
export function errorPage(site: Site, refusal: Refusal, exchange: Exchange, body?: Uint8Array): Answer {
  const { status, code } = refusal;
  if (!/\btext\/html\b/i.test(exchange.header('accept', true) ?? '')) {
    const answer = refusalAnswer(refusal);
    return { ...answer, headers: answer.headers.concat(VARY) };
  }
  const challenge = status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {};
  const fields = { ...PAGE_FIELDS, 'Cache-Control': 'private, no-store', ...challenge, ...refusal.headers };
  return { status, code, headers: headers(fields).concat(VARY), body: body ?? plainPage(site, refusal) };
}

function plainPage(site: Site, { status, message }: Refusal): Uint8Array {
  const title = status === 404 ? 'Not here' : 'This did not work';
  return page(site, {
    title,
    main: html`<h1>${title}</h1>
<p>${message}</p>
<p><a href="${site.root}/">To the start page</a></p>`,
  });
}
