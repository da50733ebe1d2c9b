import { isFeedName, ROUTE_NAMES } from '../feeds/names.ts';
import { type Answer, NOSNIFF } from '../http/answer.ts';
import { headers } from '../http/headers.ts';
import { nothingHere, Refusal } from '../refusals.ts';
import { errorPage } from '../web/error-page.ts';
import { legalPage } from '../web/legal-page.ts';
import { manifest } from '../web/manifest.ts';
import { PAGE_FIELDS, pageAnswer } from '../web/page.ts';
import { LEGAL_PAGES, type LegalPage } from '../web/site.ts';
import { type StartPage, startPage } from '../web/start-page.ts';
import { suggestedName } from '../web/suggested-name.ts';
import type { OperationDefinition } from './operation.ts';
import type { OperationParts } from './operations.ts';
import { loginPath, seeOther } from './redirects.ts';

/** The start page. */
export function startOperations({ site, access, legalTexts }: OperationParts): OperationDefinition[] {
  const start = async (shown: Omit<StartPage, 'notice'>) =>
    startPage(site, { ...shown, notice: await legalTexts.html('notice', 1, shown.base) });
  return [
    {
      id: 'startPage',
      route: 'GET /',
      access: 'page',
      async handle(exchange) {
        const isDeleted = exchange.query('deleted') === '1';
        return pageAnswer(await start({ base: exchange.base, name: suggestedName(), isDeleted }));
      },
    },
    {
      id: 'openFeed',
      route: 'POST /',
      access: 'form',
      async handle(exchange, { form, caller, base }) {
        if (access.mustLogIn(caller)) return seeOther(exchange, loginPath('/'));
        await access.instance(caller);
        const name = (form.get('feed') ?? '').trim().toLowerCase().replace(/\s/g, '-');
        const refusal = nameRefusal(name);
        if (refusal === undefined) return seeOther(exchange, `/${name}`);
        const problem = refusal.message;
        return errorPage(site, refusal, exchange, await start({ base, name, problem }));
      },
    },
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
const LEGAL = headers({ ...PAGE_FIELDS, 'Cache-Control': 'public, max-age=60' });

/** Legal pages, assets, and the fixed names that browsers and crawlers ask for. */
export function siteOperations({ site, assets, legalTexts }: OperationParts): OperationDefinition[] {
  const legal = (name: LegalPage): OperationDefinition => ({
    id: name,
    route: `GET /${name}`,
    access: 'public',
    isPage: true,
    async handle({ base }) {
      const text = await legalTexts.html(name, 0, base);
      if (text === undefined) throw new Refusal('not_found', 'This instance has no such page.');
      return { status: 200, headers: LEGAL, body: legalPage(site, name, text) };
    },
  });
  const fixed = (id: string, path: `/${string}`, handle: () => Answer): OperationDefinition => {
    return { id, route: `GET ${path}`, access: 'public', handle };
  };
  return [
    ...LEGAL_PAGES.map(legal),
    {
      id: 'asset',
      route: 'GET /static/{file}',
      access: 'public',
      handle(exchange) {
        const asset = assets.get(exchange.parameters[0]!);
        if (asset === undefined) throw nothingHere();
        return asset.answer(exchange);
      },
    },
    {
      id: 'favicon',
      route: 'GET /favicon.ico',
      access: 'public',
      handle: (exchange) => assets.get(site.assets.favicon.split('/').at(-1)!)!.answer(exchange),
    },
    fixed('robots', '/robots.txt', () => publicFile('text/plain; charset=utf-8', ROBOTS)),
    fixed('manifest', '/manifest.webmanifest', () => publicFile('application/manifest+json', manifest(site))),
  ];
}

function publicFile(type: string, text: string): Answer {
  const fields = { 'Content-Type': type, 'Cache-Control': 'public, max-age=300', ...NOSNIFF };
  return { status: 200, headers: headers(fields), body: Buffer.from(text) };
}
