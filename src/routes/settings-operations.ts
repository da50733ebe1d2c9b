import { clearUnlockCookies } from '../access/unlocks.ts';
import type { FeedName } from '../feeds/names.ts';
import type { Answer } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import type { FeedSettingsWriter, SettingsChanges } from '../ingest/feed-settings.ts';
import { notFound, onRefusal, Refusal } from '../refusals.ts';
import { errorPage, pageAnswer } from '../web/page.ts';
import { noSettingsPage, settingsPage } from '../web/settings-page.ts';
import { withTier } from '../web/site.ts';
import { cookieScopeOf } from './caller.ts';
import {
  type DescribedOperation,
  type FeedForm,
  isFeedPath,
  type NameForm,
  type OperationParts,
  operation,
} from './operation.ts';
import { seeOther } from './redirects.ts';

/** The settings page of a feed, and its forms. */
export function settingsOperations(parts: OperationParts): DescribedOperation[] {
  const { settings, site, licensing } = parts;
  const accepts = isFeedPath;
  const page = { access: 'feed-page', accepts } as const;
  const byForm = { access: 'feed-form', accepts, explain: explainOnSettings(parts, 'read_id') } as const;
  return [
    operation('settingsPage', 'GET /{feed}/settings', page, (exchange, { name, feed, base }) => {
      if (feed === undefined || feed.noteCount === 0) {
        const refusal = new Refusal('not_found', 'A feed has settings once it has a note.');
        return errorPage(site, refusal, exchange, noSettingsPage(site, name));
      }
      const isSaved = exchange.query('saved') === '1';
      return pageAnswer(settingsPage(withTier(site, licensing?.tierOf(feed)), { feed, base, isSaved }));
    }),
    operation('changeSettings', 'POST /{feed}/details', byForm, async (exchange, { feed, form }) => {
      await settings.change(feed, changesIn(form));
      return seeOther(exchange, `/${feed.name}/settings?saved=1`);
    }),
    operation('deleteFeedByForm', 'POST /{feed}/delete', { ...byForm, absent: deletedBefore }, (...call) =>
      deleteFeed(settings, ...call),
    ),
  ];
}

async function deleteFeed(
  settings: FeedSettingsWriter,
  exchange: Exchange,
  { feed, form, caller }: FeedForm,
): Promise<Answer> {
  const sentence = 'Type the name of the feed exactly as it is.';
  if (form.get('name') !== feed.name) throw new Refusal('invalid_request', sentence, { field: 'name' });
  await onRefusal(
    () => settings.remove(feed, caller),
    (refusal) => {
      // The same form was sent twice, and the other request was faster.
      if (refusal.code !== 'not_found') throw refusal;
    },
  );
  return deleted(exchange, feed.name);
}

/** A form that is sent again shows the same page. */
function deletedBefore(exchange: Exchange, { name, form }: NameForm): Answer {
  if (form.get('name') !== name) throw notFound('feed');
  return deleted(exchange, name);
}

function deleted(exchange: Exchange, name: FeedName): Answer {
  return seeOther(exchange, '/?deleted=1', clearUnlockCookies(name, cookieScopeOf(exchange)));
}

/** Absent fields stay as they are. */
function changesIn(form: URLSearchParams): SettingsChanges {
  const field = (name: string) => form.get(name) ?? undefined;
  // An unticked box sends nothing, so the hidden field before it supplies 0.
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
 * Explains a refused form on the settings page.
 * @param takenField the field to blame for `taken`
 */
export function explainOnSettings(parts: OperationParts, takenField: string) {
  return (exchange: Exchange, form: FeedForm, refusal: Refusal): Answer => {
    const field = refusal.field ?? (refusal.code === 'taken' ? takenField : undefined);
    return settingsAgain(parts, exchange, form, refusal, field);
  };
}

/** The settings page with the entered values and the reason for the refusal. */
export function settingsAgain(
  { site, licensing }: OperationParts,
  exchange: Exchange,
  { feed, form, base }: FeedForm,
  refusal: Refusal,
  field: string | undefined,
): Answer {
  const refused = { form, message: refusal.message, field };
  const body = settingsPage(withTier(site, licensing?.tierOf(feed)), { feed, base, refused });
  return errorPage(site, refusal, exchange, body);
}
