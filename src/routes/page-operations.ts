import type { Answer } from '../http/answer.ts';
import { headers } from '../http/headers.ts';
import { Refusal } from '../refusals.ts';
import { PAGE_FIELDS } from '../web/page.ts';
import { loginPage, startPage } from '../web/start-page.ts';
import type { DescribedOperation } from './operation.ts';
import type { OperationParts } from './operations.ts';

/** Pages that show no notes, and what pages load. */
export function pageOperations({ site, assets }: OperationParts): DescribedOperation[] {
  return [
    {
      id: 'startPage',
      method: 'GET',
      path: '/',
      access: 'page',
      handle: ({ base }) => shown(startPage(site, base)),
    },
    {
      id: 'loginPage',
      method: 'GET',
      path: '/login',
      access: 'public',
      handle: ({ base }) => (site.isLocked ? shown(loginPage(site, base)) : TO_START),
    },
    { id: 'logOut', method: 'POST', path: '/logout', access: 'public', handle: () => LOGGED_OUT },
    {
      id: 'asset',
      method: 'GET',
      path: '/static/{file}',
      access: 'public',
      handle: (exchange) => {
        const asset = assets.get(exchange.parameters[0]!);
        if (asset === undefined) throw new Refusal('not_found', 'There is nothing at this address.');
        return asset.answer(exchange);
      },
    },
  ];
}

/** A page for one person only; no cache keeps it. */
function shown(body: Buffer, status = 200): Answer {
  return { status, headers: PRIVATE_PAGE, body };
}

const PRIVATE_PAGE = headers({ ...PAGE_FIELDS, 'Cache-Control': 'private, no-store' });

/** Nothing is stored under this name: it is where the pages log out. */
const LOGGED_OUT = toStart({ 'Set-Cookie': 'session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax' });
const TO_START = toStart({});

function toStart(fields: Readonly<Record<string, string>>): Answer {
  return {
    status: 303,
    headers: headers({ Location: '/', 'Cache-Control': 'private, no-store', ...fields }),
  };
}
