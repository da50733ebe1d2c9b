import type { Caller } from '../access/access.ts';
import { clearUnlockCookies } from '../access/cookies.ts';
import { feedPassword } from '../access/passwords.ts';
import type { Feed } from '../feeds/feed.ts';
import { MAX_KEEP_DAYS, MAX_KEEP_NOTES } from '../feeds/keeping.ts';
import type { FeedName } from '../feeds/names.ts';
import type { Answer } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import type { SettingsChanges } from '../ingest/feed-settings.ts';
import type { Licensing } from '../ingest/licensing.ts';
import { existing, notFound, onRefusal, Refusal } from '../refusals.ts';
import { unlockPage } from '../web/access-pages.ts';
import { errorPage } from '../web/error-page.ts';
import { pageAnswer } from '../web/page.ts';
import { noSettingsPage, settingsPage } from '../web/settings-page.ts';
import { type Site, withTier, withVisitor } from '../web/site.ts';
import { explain } from '../web/words.ts';
import { feedEtag, feedIdentity } from '../writing/etags.ts';
import { cookieScopeOf } from './caller.ts';
import {
  type DescribedOperation,
  type FeedForm,
  type NameForm,
  type OperationParts,
  operation,
} from './operation.ts';
import { nextPath, seeOther } from './redirects.ts';

/** The settings page of a feed, and its forms: details, deletion, password and license. */
export function settingsOperations(parts: OperationParts): DescribedOperation[] {
  const { settings, site, licensing } = parts;
  const page = { access: 'feed-page' } as const;
  const byForm = { access: 'feed-form', explain: explainOnSettings(parts, 'read_id') } as const;
  return [
    operation('settingsPage', 'GET /{feed}/settings', page, (exchange, { name, feed, base, caller }) => {
      const seen = withVisitor(site, caller.session);
      if (feed === undefined || feed.noteCount === 0) {
        const refusal = new Refusal('not_found', 'A feed has settings once it has a note.');
        return errorPage(seen, refusal, exchange, noSettingsPage(seen, name));
      }
      const saved = exchange.query('saved') === '1' ? (exchange.query('section') ?? '') : undefined;
      const identity = feedIdentity(feed);
      return pageAnswer(
        settingsPage(withTier(seen, licensing?.tierOf(feed)), { feed, base, identity, saved }),
      );
    }),
    operation('changeSettings', 'POST /{feed}/details', byForm, async (exchange, { feed, form }) => {
      const changes = changesIn(form, feed);
      if (settings.changesReadId(feed, changes) && form.get('sure') !== '1') throw asksForNewLinks();
      await settings.change(feed, changes, [feedEtag(feed)]);
      return seeOther(exchange, savedPage(feed.name, form));
    }),
    operation('deleteFeedByForm', 'POST /{feed}/delete', { ...byForm, absent: deletedBefore }, (...call) =>
      deleteFeed(parts, ...call),
    ),
    // A form that was refused leaves the browser at this address, where a reload is a GET.
    operation('accessPage', 'GET /{feed}/access', page, (exchange, { name }) =>
      seeOther(exchange, `/${name}`),
    ),
    operation('feedAccess', 'POST /{feed}/access', { access: 'name-form' }, (exchange, form) =>
      changeLock(parts, exchange, form),
    ),
    ...(licensing === undefined ? [] : [licenseForm(parts, licensing)]),
  ];
}

/** The settings page after a form of it was carried out; it opens where the form says (`section`, optional). */
function savedPage(name: FeedName, form: URLSearchParams): string {
  const section = form.get('section');
  const at = section !== null && /^[a-z-]{1,20}$/.test(section) ? `&section=${section}` : '';
  return `/${name}/settings?saved=1${at}`;
}

function asksForNewLinks(): Refusal {
  const sentence = 'All links of this feed that were shared would stop working: send sure=1 to agree.';
  return new Refusal('invalid_request', sentence, { field: 'sure' });
}

async function deleteFeed(
  { settings, access }: OperationParts,
  exchange: Exchange,
  { feed, form, caller }: FeedForm,
): Promise<Answer> {
  const sentence = 'Type the name of the feed exactly as it is.';
  if (form.get('name') !== feed.name) throw new Refusal('invalid_request', sentence, { field: 'name' });
  // The feed that the page showed may be gone, and another one may have its name.
  if ((form.get('identity') ?? feedIdentity(feed)) !== feedIdentity(feed)) throw otherFeed();
  await onRefusal(
    () => access.change(caller, feed, () => settings.remove(feed, caller)),
    (refusal) => {
      // The same form was sent twice, and the other request was faster.
      if (refusal.code !== 'not_found') throw refusal;
    },
  );
  return deleted(exchange, feed.name);
}

function otherFeed(): Refusal {
  const sentence =
    'The feed of this name is another one now, or has other links. Look at it before you delete it.';
  return new Refusal('changed', sentence, { field: 'name' });
}

/** A form that is sent again shows the same page. */
function deletedBefore(exchange: Exchange, { name, form }: NameForm): Answer {
  if (form.get('name') !== name) throw notFound('feed');
  return deleted(exchange, name);
}

function deleted(exchange: Exchange, name: FeedName): Answer {
  return seeOther(exchange, '/?deleted=1', clearUnlockCookies(name, cookieScopeOf(exchange)));
}

/**
 * What a form of the settings page changes. Absent fields stay as they are, and so do those that are as the page showed them
 * (`was_<field>`, optional), because another window may have changed them meanwhile.
 * @throws Refusal `invalid_request`; `changed` for a field that this page and another one changed
 */
function changesIn(form: URLSearchParams, feed: Feed): SettingsChanges {
  const changed = (name: string, stored: string) => changedField(form, name, stored);
  // An unticked box sends nothing, so the hidden field before it supplies 0.
  const ticked = (name: string, isTicked: boolean): boolean | undefined => {
    const value = changed(name, isTicked ? '1' : '0');
    if (value === undefined) return undefined;
    if (!/^[01]$/.test(value))
      throw new Refusal('invalid_request', `${name} must be 0 or 1.`, { field: name });
    return value === '1';
  };
  return {
    title: changed('title', feed.title),
    description: changed('description', feed.description),
    show_sender: ticked('show_sender', feed.showSender),
    listed: ticked('listed', feed.listed),
    read_id: changed('read_id', feed.readId),
    keep: keepIn(form, feed),
  };
}

/** @param stored the value as it is now */
function changedField(form: URLSearchParams, name: string, stored: string): string | undefined {
  const value = form.getAll(name).at(-1);
  const shown = form.get(`was_${name}`);
  if (value === undefined || value === shown) return undefined;
  if (shown === null || stored === shown || stored === value) return value;
  const theirs = stored === '' ? 'It was emptied meanwhile.' : `Meanwhile it was changed to "${stored}".`;
  throw new Refusal('changed', `${theirs} Save again to put yours in its place.`, { field: name });
}

/**
 * How long notes are kept, by the form. It asks before the first time that a note may go for it.
 * @throws Refusal `invalid_request`, `changed`
 */
function keepIn(form: URLSearchParams, feed: Feed): SettingsChanges['keep'] {
  const { keepDays, keepNotes, noteCount } = feed;
  const changed = (name: string, stored: number | undefined, most: number) => {
    const value = changedField(form, name, String(stored ?? ''))?.trim();
    if (value === undefined) return stored;
    if (value === '') return undefined;
    const number = Number(value);
    if (/^\d{1,7}$/.test(value) && number >= 1 && number <= most) return number;
    throw new Refusal('invalid_request', `It must be a number from 1 to ${most}, or empty.`, { field: name });
  };
  const days = changed('keep_days', keepDays, MAX_KEEP_DAYS);
  const notes = changed('keep_notes', keepNotes, MAX_KEEP_NOTES);
  if (days === keepDays && notes === keepNotes) return undefined;
  const isLess = (now = Number.POSITIVE_INFINITY, before = Number.POSITIVE_INFINITY) => now < before;
  const removes = isLess(days, keepDays) || (isLess(notes, keepNotes) && isLess(notes, noteCount));
  if (removes && form.get('removes') !== '1')
    throw new Refusal('invalid_request', 'Notes may be removed for good: tick the box to agree.', {
      field: 'removes',
    });
  return days === undefined && notes === undefined ? null : { days, notes };
}

/**
 * Explains a refused form on the settings page.
 * @param takenField the field to blame for `taken`
 */
function explainOnSettings(parts: OperationParts, takenField: string) {
  return (exchange: Exchange, form: FeedForm, refusal: Refusal): Answer => {
    const field = refusal.field ?? (refusal.code === 'taken' ? takenField : undefined);
    return settingsAgain(parts, exchange, form, refusal, field);
  };
}

/** The settings page with the entered values and the reason for the refusal. */
function settingsAgain(
  { site, licensing }: OperationParts,
  exchange: Exchange,
  { feed, form, base, caller }: FeedForm,
  refusal: Refusal,
  field: string | undefined,
): Answer {
  const refused = { form, message: explain(refusal), field };
  const shown = { feed, base, identity: feedIdentity(feed), refused };
  const seen = withVisitor(site, caller.session);
  const body = settingsPage(withTier(seen, licensing?.tierOf(feed)), shown);
  return errorPage(seen, refusal, exchange, body);
}

function changeLock(parts: OperationParts, exchange: Exchange, form: NameForm): Answer | Promise<Answer> {
  switch (form.form.get('action')) {
    case 'unlock':
      return unlock(parts, exchange, form);
    case 'lock':
      return seeOther(exchange, `/${form.name}`, clearUnlockCookies(form.name, cookieScopeOf(exchange)));
    case 'change':
    case 'remove':
      return changePassword(parts, exchange, form);
    default:
      throw new Refusal('invalid_request', 'action must be unlock, lock, change or remove.');
  }
}

async function unlock(
  { access, site }: OperationParts,
  exchange: Exchange,
  { name, form, caller }: NameForm,
): Promise<Answer> {
  const back = pathOfFeed(name, form.get('back'));
  return onRefusal(
    async () => {
      const feed = await access.namedFeed(withPassword(caller, form.get('password'), 'The password'), name);
      const cookies = feed === undefined ? [] : access.unlocks.cookies(feed, cookieScopeOf(exchange));
      return seeOther(exchange, back, cookies);
    },
    (refusal) => unlockAgain(site, exchange, { name, caller }, { refusal, back }),
  );
}

/** The unlock form with the reason for the refusal. */
function unlockAgain(
  site: Site,
  exchange: Exchange,
  { name, caller }: Pick<NameForm, 'name' | 'caller'>,
  { refusal, back }: { readonly refusal: Refusal; readonly back: string },
): Answer {
  const seen = withVisitor(site, caller.session);
  return errorPage(seen, refusal, exchange, unlockPage(seen, name, back, explain(refusal)));
}

/** Asks for the current password even if the feed is unlocked, because the browser may be left open. */
async function changePassword(
  parts: OperationParts,
  exchange: Exchange,
  { name, form, caller, base }: NameForm,
): Promise<Answer> {
  const { access, settings, site } = parts;
  let field = 'current';
  const change = async () => {
    const owner = withPassword(caller, form.get('current'), 'The current password');
    const feed = existing(await access.namedFeed(owner, name), 'feed');
    await access.writes.count(caller.client);
    const saved = savedPage(name, form);
    const place = cookieScopeOf(exchange);
    if (form.get('action') === 'remove') {
      await access.change(owner, feed, () => settings.removePassword(feed));
      return seeOther(exchange, saved, clearUnlockCookies(name, place));
    }
    field = 'next';
    const next = feedPassword(form.get('next') ?? '', 'The new password');
    const changed = await access.change(owner, feed, () => settings.changePassword(feed, next));
    return seeOther(exchange, saved, access.unlocks.cookies(changed, place));
  };
  return onRefusal(change, async (refusal) => {
    // The settings page again if the feed is unlocked, else its unlock form.
    const feed = await onRefusal(
      () => access.namedFeed(caller, name),
      () => undefined,
    );
    if (feed !== undefined)
      return settingsAgain(parts, exchange, { feed, form, caller, base }, refusal, field);
    return unlockAgain(site, exchange, { name, caller }, { refusal, back: `/${name}` });
  });
}

/** The caller with the password of a form field; a missing one is refused like an empty one. */
function withPassword(caller: Caller, password: string | null, field: string): Caller {
  return { ...caller, feedPassword: feedPassword(password ?? '', field) };
}

/** A path below the feed's page; the feed page for any other. */
function pathOfFeed(name: FeedName, path: string | null): string {
  const next = nextPath(path);
  return next.startsWith(`/${name}/`) || next.startsWith(`/${name}?`) ? next : `/${name}`;
}

function licenseForm(parts: OperationParts, licensing: Licensing): DescribedOperation {
  const explain = explainOnSettings(parts, 'license');
  const traits = { access: 'feed-form', explain } as const;
  return operation('changeLicense', 'POST /{feed}/license', traits, async (exchange, admitted) => {
    const { feed, form, caller } = admitted;
    const action = form.get('action') ?? 'attach';
    if (action !== 'attach' && action !== 'detach')
      throw new Refusal('invalid_request', 'action must be attach or detach.');
    // Mail programs break long lines.
    const text = (form.get('license') ?? '').replaceAll(/\s/g, '');
    await (action === 'attach' ? licensing.attach(feed, text, caller) : licensing.detach(feed, caller));
    return seeOther(exchange, savedPage(feed.name, form));
  });
}
