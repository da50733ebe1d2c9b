import { isFeedName, ROUTE_NAMES } from '../feeds/names.ts';
import { type Answer, NOSNIFF } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { headers } from '../http/headers.ts';
import { existing, Refusal } from '../refusals.ts';
import { errorPage } from '../web/error-page.ts';
import { legalPage, pageAnswer } from '../web/page.ts';
import { LEGAL_PAGES, type LegalPage, manifest } from '../web/site.ts';
import { type StartPage, startPage, suggestedName } from '../web/start-page.ts';
import { type DescribedOperation, type OperationParts, operation } from './operation.ts';
import { loginPath, seeOther } from './redirects.ts';
import { siteForVisitor } from './visitor.ts';

export function startOperations({ site, access, legalTexts }: OperationParts): DescribedOperation[] {
  const start = async (exchange: Exchange, shown: Omit<StartPage, 'notice'>) =>
    startPage(siteForVisitor(site, access, exchange), {
      ...shown,
      notice: await legalTexts.html('notice', 1, shown.base),
    });
  return [
    operation('startPage', 'GET /', { access: 'page' }, async (exchange) => {
      const isDeleted = exchange.query('deleted') === '1';
      const isShared = exchange.query('shared') === '1';
      const name = suggestedName();
      return pageAnswer(await start(exchange, { base: exchange.base, name, isDeleted, isShared }));
    }),
    operation('openFeed', 'POST /', { access: 'form' }, async (exchange, { form, caller, base }) => {
      if (access.mustLogIn(caller)) return seeOther(exchange, loginPath('/'));
      await access.requireInstance(caller);
      const name = (form.get('feed') ?? '').trim().toLowerCase().replace(/\s/g, '-');
      const refusal = nameRefusal(name);
      const isShared = form.get('shared') === '1';
      if (refusal === undefined) return seeOther(exchange, isShared ? `/${name}?shared=1` : `/${name}`);
      const problem = refusal.message;
      return errorPage(site, refusal, exchange, await start(exchange, { base, name, problem, isShared }));
    }),
  ];
}

/** Why a name cannot be a feed's. */
function nameRefusal(name: string): Refusal | undefined {
  if (name === '') return new Refusal('invalid_feed', 'Type the name of a feed.');
  if (name.length > 64) return new Refusal('invalid_feed', 'The name must have at most 64 characters.');
  if (!isFeedName(name))
    return new Refusal('invalid_feed', 'The name must be of a-z, 0-9, "-" and "_" only.');
  if (ROUTE_NAMES.has(name))
    return new Refusal('reserved_feed', 'This name belongs to the service itself: choose another one.');
  return undefined;
}

/** Allows everything: a crawler reads a page's noindex only if it may fetch the page. */
const ROBOTS = 'User-agent: *\nDisallow:\n';

/** Legal pages, assets, and the fixed names that browsers and crawlers ask for. */
export function siteOperations({ site, assets, legalTexts }: OperationParts): DescribedOperation[] {
  const open = { access: 'public' } as const;
  const legal = (name: LegalPage) =>
    operation(name, `GET /${name}`, { ...open, isPage: true }, async ({ base }) => {
      const text = await legalTexts.html(name, 0, base);
      if (text === undefined) throw new Refusal('not_found', 'This instance has no such page.');
      return pageAnswer(legalPage(site, name, text), { 'Cache-Control': 'public, max-age=60' });
    });
  const asset = (exchange: Exchange, name: string) => existing(assets.get(name), 'address').answer(exchange);
  return [
    ...LEGAL_PAGES.map(legal),
    operation('asset', 'GET /static/{file}', open, (exchange) => asset(exchange, exchange.parameters[0]!)),
    operation('favicon', 'GET /favicon.ico', open, (exchange) =>
      asset(exchange, site.assets['favicon.ico'].split('/').at(-1)!),
    ),
    operation('robots', 'GET /robots.txt', open, () => publicFile('text/plain; charset=utf-8', ROBOTS)),
    operation('serviceWorker', 'GET /service-worker.js', open, (exchange) => assets.worker.answer(exchange)),
    // The service worker takes what is shared; without one there is nowhere to keep it.
    operation('share', 'POST /api/share', open, (exchange) => seeOther(exchange, '/')),
    operation('manifest', 'GET /manifest.webmanifest', open, () =>
      publicFile('application/manifest+json', manifest(site)),
    ),
  ];
}

function publicFile(type: string, text: string): Answer {
  const fields = { 'Content-Type': type, 'Cache-Control': 'public, max-age=300', ...NOSNIFF };
  return { status: 200, headers: headers(fields), body: Buffer.from(text) };
}
