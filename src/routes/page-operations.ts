import { isFeedName, ROUTE_NAMES } from '../feeds/names.ts';
import { Refusal } from '../refusals.ts';
import { errorPage } from '../web/error-page.ts';
import { pageAnswer } from '../web/page.ts';
import { type StartPage, startPage, suggestedName } from '../web/start-page.ts';
import { loginPath } from './next-path.ts';
import type { DescribedOperation } from './operation.ts';
import type { OperationParts } from './operations.ts';
import { seeOther } from './see-other.ts';

/** Pages that show no notes, and what pages load. */
export function pageOperations({ site, assets, access, legalTexts }: OperationParts): DescribedOperation[] {
  const start = async (shown: Omit<StartPage, 'notice'>) =>
    startPage(site, { ...shown, notice: await legalTexts.html('notice', 1, shown.base) });
  return [
    {
      id: 'startPage',
      method: 'GET',
      path: '/',
      access: 'page',
      async handle(exchange) {
        const isDeleted = exchange.query('deleted') === '1';
        return pageAnswer(await start({ base: exchange.base, name: suggestedName(), isDeleted }));
      },
    },
    {
      id: 'openFeed',
      method: 'POST',
      path: '/',
      access: 'form',
      async handle(exchange, { form, caller, base }) {
        if (access.mustLogIn(caller)) return seeOther(exchange, loginPath('/'));
        await access.requireInstance(caller);
        const name = (form.get('feed') ?? '').trim().toLowerCase().replace(/\s/g, '-');
        const refusal = nameRefusal(name);
        if (refusal === undefined) return seeOther(exchange, `/${name}`);
        const problem = refusal.message;
        return errorPage(site, refusal, exchange, await start({ base, name, problem }));
      },
    },
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

/** Why a name cannot be that of a feed. */
function nameRefusal(name: string): Refusal | undefined {
  if (name === '') return new Refusal('invalid_feed', 'Type the name of a feed.');
  if (name.length > 64) return new Refusal('invalid_feed', 'The name must have at most 64 characters.');
  if (!isFeedName(name))
    return new Refusal('invalid_feed', 'The name must be of a-z, 0-9, "-" and "_" only.');
  if (ROUTE_NAMES.has(name))
    return new Refusal('reserved_feed', 'This name belongs to the service itself: choose another one.');
  return undefined;
}
