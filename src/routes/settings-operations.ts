import { clearUnlockCookies } from '../access/unlocks.ts';
import { ROUTE_NAMES } from '../feeds/names.ts';
import type { Answer } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import type { SettingsChanges } from '../ingest/feed-settings.ts';
import { Refusal } from '../refusals.ts';
import { errorPage } from '../web/error-page.ts';
import { pageAnswer } from '../web/page.ts';
import { noSettingsPage, settingsPage } from '../web/settings-page.ts';
import { withTier } from '../web/tier.ts';
import { placeOf } from './caller.ts';
import type { DescribedOperation, FeedForm } from './operation.ts';
import type { OperationParts } from './operations.ts';
import { seeOther } from './see-other.ts';

/** The settings page of a feed, and the forms that are on it. */
export function settingsOperations(parts: OperationParts): DescribedOperation[] {
  const { settings, site, licensing } = parts;
  const accepts = ([feed = '']: readonly string[]) => !ROUTE_NAMES.has(feed);
  return [
    {
      id: 'settingsPage',
      method: 'GET',
      path: '/{feed}/settings',
      accepts,
      access: 'feed-page',
      handle(exchange, { name, feed, base }) {
        if (feed === undefined || feed.noteCount === 0) {
          const refusal = new Refusal('not_found', 'A feed has settings once it has a note.');
          return errorPage(site, refusal, exchange, noSettingsPage(site, { name }));
        }
        const isSaved = exchange.query('saved') === '1';
        return pageAnswer(settingsPage(withTier(site, licensing?.tierOf(feed)), { feed, base, isSaved }));
      },
    },
    {
      id: 'changeSettings',
      method: 'POST',
      path: '/{feed}/details',
      accepts,
      access: 'feed-form',
      async handle(exchange, { feed, form }) {
        await settings.change(feed, changesIn(form));
        return seeOther(exchange, `/${feed.name}/settings?saved=1`);
      },
      explain: (...refused) => explainOnSettings(parts, ...refused, 'read_id'),
    },
    {
      id: 'deleteFeedByForm',
      method: 'POST',
      path: '/{feed}/delete',
      accepts,
      access: 'feed-form',
      async handle(exchange, { feed, form, caller }) {
        if (form.get('name') !== feed.name)
          throw new Refusal('invalid_request', 'Type the name of the feed exactly as it is.', {
            field: 'name',
          });
        await settings.remove(feed, caller);
        return seeOther(exchange, '/?deleted=1', clearUnlockCookies(feed.name, placeOf(exchange)));
      },
      explain: (...refused) => explainOnSettings(parts, ...refused, 'read_id'),
    },
  ];
}

/** What is absent stays as it is. */
function changesIn(form: URLSearchParams): SettingsChanges {
  const field = (name: string) => form.get(name) ?? undefined;
  // Of a box and the hidden value before it, which stands for a box that is not ticked.
  const showSender = form.getAll('show_sender').at(-1);
  if (showSender !== undefined && !/^[01]$/.test(showSender))
    throw new Refusal('invalid_request', 'show_sender must be 0 or 1.', { field: 'show_sender' });
  return {
    title: field('title'),
    description: field('description'),
    show_sender: showSender === undefined ? undefined : showSender === '1',
    read_id: field('read_id'),
  };
}

/**
 * The settings page again, with why and with what was typed.
 * @param takenField the field to blame for what is taken
 */
export function explainOnSettings(
  { site, licensing }: OperationParts,
  exchange: Exchange,
  { feed, form, base }: FeedForm,
  refusal: Refusal,
  takenField: string,
): Answer {
  const { message, code } = refusal;
  const field = refusal.field ?? (code === 'taken' ? takenField : undefined);
  const refused = { form, problem: { message, field } };
  const shown = settingsPage(withTier(site, licensing?.tierOf(feed)), { feed, base, refused });
  return errorPage(site, refusal, exchange, shown);
}
