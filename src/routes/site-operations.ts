import type { Answer } from '../http/answer.ts';
import { NOSNIFF } from '../http/answer.ts';
import { headers } from '../http/headers.ts';
import { Refusal } from '../refusals.ts';
import { legalPage } from '../web/legal-page.ts';
import { manifest } from '../web/manifest.ts';
import { PAGE_FIELDS } from '../web/page.ts';
import { LEGAL_PAGES, type LegalPage } from '../web/site.ts';
import type { DescribedOperation } from './operation.ts';
import type { OperationParts } from './operations.ts';

const PUBLIC = { 'Cache-Control': 'public, max-age=300', ...NOSNIFF };

/**
 * Everything may be fetched: pages by a feed's name say themselves that they are not to be listed, and a crawler that is
 * kept from fetching one does not find that out.
 */
const ROBOTS = 'User-agent: *\nDisallow:\n';

/** What an instance shows of itself: its legal pages, and what browsers and crawlers ask for by fixed names. */
export function siteOperations({ site, assets, legalTexts }: OperationParts): DescribedOperation[] {
  const legal = (name: LegalPage): DescribedOperation => ({
    id: name,
    method: 'GET',
    path: `/${name}`,
    access: 'public',
    isPage: true,
    async handle({ base }) {
      const text = await legalTexts.html(name, 0, base);
      if (text === undefined) throw new Refusal('not_found', 'This instance has no such page.');
      return { status: 200, headers: LEGAL, body: legalPage(site, name, text) };
    },
  });
  return [
    ...LEGAL_PAGES.map(legal),
    {
      id: 'robots',
      method: 'GET',
      path: '/robots.txt',
      access: 'public',
      handle: () => fixed('text/plain; charset=utf-8', ROBOTS),
    },
    {
      id: 'manifest',
      method: 'GET',
      path: '/manifest.webmanifest',
      access: 'public',
      handle: () => fixed('application/manifest+json', manifest(site)),
    },
    {
      id: 'favicon',
      method: 'GET',
      path: '/favicon.ico',
      access: 'public',
      handle: (exchange) => assets.get(site.assets.favicon.split('/').at(-1)!)!.answer(exchange),
    },
  ];
}

const LEGAL = headers({ ...PAGE_FIELDS, 'Cache-Control': 'public, max-age=60' });

function fixed(type: string, text: string): Answer {
  return { status: 200, headers: headers({ 'Content-Type': type, ...PUBLIC }), body: Buffer.from(text) };
}
