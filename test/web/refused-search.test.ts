/** A search that is refused for now keeps what was filled in, and leads to itself. */
import t from 'tap';
import type { Exchange } from '../../src/http/exchange.ts';
import { Refusal } from '../../src/refusals.ts';
import { errorPage } from '../../src/web/error-page.ts';
import { siteWith } from '../support/site.ts';

function askedFor(path: string, queryText: string): Exchange {
  const query = new URLSearchParams(queryText);
  const asked = { method: 'GET', path, queryText, header: () => 'text/html' };
  return { ...asked, query: (name: string) => query.get(name) ?? undefined } as unknown as Exchange;
}

const busy = new Refusal('busy', 'The index is being made.');

t.test('a busy search can be tried again', async (t) => {
  for (const [path, tags] of [
    ['/puffin', '/api/v1/feeds/puffin/tags'],
    [`/r/${'x'.repeat(22)}`, `/api/v1/read/${'x'.repeat(22)}/tags`],
  ] as const) {
    const { status, body } = errorPage(siteWith(), busy, askedFor(path, 'q=low+river&tag=dam'));
    const page = String(body);
    t.equal(status, 503);
    t.match(page, /role="alert">The service has a lot to do right now\. Nothing is lost\. Try again in/);
    t.match(page, 'value="low river"');
    t.match(page, 'value="dam"');
    t.match(page, `data-tags="${tags}"`);
    t.match(page, `href="${path}?q=low+river&amp;tag=dam">Try again`);
  }
});

t.test('a page that asks for no search has no field', async (t) => {
  t.notMatch(String(errorPage(siteWith(), busy, askedFor('/puffin', '')).body), 'role="search"');
});
