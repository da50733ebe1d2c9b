import { type Caller, existing } from '../access/access.ts';
import { feedPassword } from '../access/passwords.ts';
import { clearSessionCookie } from '../access/sessions.ts';
import { clearUnlockCookies } from '../access/unlocks.ts';
import { type FeedName, ROUTE_NAMES } from '../feeds/names.ts';
import type { Answer } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { Refusal } from '../refusals.ts';
import { loginPage, logOutPage, unlockPage } from '../web/access-pages.ts';
import { errorPage } from '../web/error-page.ts';
import { pageAnswer } from '../web/page.ts';
import { settingsPage } from '../web/settings-page.ts';
import { withTier } from '../web/tier.ts';
import { backToLogin } from './back-to-login.ts';
import { callerOf, placeOf } from './caller.ts';
import { nextPath } from './next-path.ts';
import type { AdmittedForm, DescribedOperation } from './operation.ts';
import type { OperationParts } from './operations.ts';
import { isFromOwnPage } from './own-page.ts';
import { seeOther } from './see-other.ts';

/** A form by a feed's name whose password is not checked yet. */
type NameForm = AdmittedForm & { readonly name: FeedName };

/** How browsers get in, and out again. */
export function accessOperations(parts: OperationParts): DescribedOperation[] {
  const { access, events, site } = parts;
  return [
    {
      id: 'loginPage',
      method: 'GET',
      path: '/login',
      access: 'public',
      handle(exchange) {
        if (!access.isLocked) return seeOther(exchange, '/');
        const error = exchange.query('error');
        const retry = exchange.query('retry');
        const next = nextPath(exchange.query('next'));
        return pageAnswer(loginPage(site, { base: exchange.base, next, error, retry }));
      },
    },
    {
      id: 'logIn',
      method: 'POST',
      path: '/api/login',
      access: 'form',
      async handle(exchange, { form, caller }) {
        const next = nextPath(form.get('next'));
        const { sessions } = access;
        if (sessions === undefined) return seeOther(exchange, next);
        // An empty password is none, which is not counted.
        const bearer = form.get('password') || undefined;
        try {
          await access.requireInstance({ ...caller, session: undefined, bearer });
        } catch (cause) {
          if (!(cause instanceof Refusal)) throw cause;
          return backToLogin(exchange, next, cause);
        }
        return seeOther(exchange, next, [sessions.cookie(placeOf(exchange))]);
      },
    },
    {
      id: 'logOutPage',
      method: 'GET',
      path: '/logout',
      access: 'public',
      handle: () => pageAnswer(logOutPage(site)),
    },
    {
      // Nothing is stored under this name, though all others are addresses to post to.
      id: 'logOut',
      method: 'POST',
      path: '/logout',
      access: 'public',
      handle(exchange) {
        if (!isFromOwnPage(exchange)) return seeOther(exchange, '/');
        const { session } = callerOf(exchange, { sessions: access.sessions, takesCookies: isFromOwnPage });
        if (session !== undefined) events.endSession(session);
        return seeOther(exchange, '/', [clearSessionCookie(placeOf(exchange))]);
      },
    },
    {
      id: 'feedAccess',
      method: 'POST',
      path: '/{feed}/access',
      accepts: ([feed = '']) => !ROUTE_NAMES.has(feed),
      access: 'name-form',
      handle: (exchange, form) => accessAnswer(parts, exchange, form),
    },
  ];
}

/** `POST /<feed>/access`: what is done to a feed's lock. */
function accessAnswer(parts: OperationParts, exchange: Exchange, form: NameForm): Answer | Promise<Answer> {
  switch (form.form.get('action')) {
    case 'unlock':
      return unlock(parts, exchange, form);
    case 'lock':
      return seeOther(exchange, `/${form.name}`, clearUnlockCookies(form.name, placeOf(exchange)));
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
  try {
    const feed = await access.namedFeed(withPassword(caller, form.get('password'), 'The password'), name);
    const cookies = feed === undefined ? [] : access.unlocks.cookies(feed, placeOf(exchange));
    return seeOther(exchange, back, cookies);
  } catch (cause) {
    if (!(cause instanceof Refusal)) throw cause;
    const problem = cause.message;
    return errorPage(site, cause, exchange, unlockPage(site, { name, back, problem }));
  }
}

/** Needs the current password also where the feed is unlocked, because somebody may have left the browser open. */
async function changePassword(
  parts: OperationParts,
  exchange: Exchange,
  admitted: NameForm,
): Promise<Answer> {
  const { access, settings } = parts;
  const { name, form, caller } = admitted;
  let field = 'current';
  try {
    const owner = withPassword(caller, form.get('current'), 'The current password');
    const feed = existing(await access.namedFeed(owner, name));
    await access.writes.count(caller.client);
    const saved = `/${name}/settings?saved=1`;
    const place = placeOf(exchange);
    if (form.get('action') === 'remove') {
      await settings.removePassword(feed);
      return seeOther(exchange, saved, clearUnlockCookies(name, place));
    }
    field = 'next';
    const next = feedPassword(form.get('next') ?? '', 'The new password');
    const changed = await settings.changePassword(feed, next);
    return seeOther(exchange, saved, access.unlocks.cookies(changed, place));
  } catch (cause) {
    if (!(cause instanceof Refusal)) throw cause;
    return changeRefused(parts, exchange, admitted, { refusal: cause, field });
  }
}

/** The settings page again where the feed is unlocked, else its unlock form. */
async function changeRefused(
  { access, site, licensing }: OperationParts,
  exchange: Exchange,
  { name, form, caller }: NameForm,
  { refusal, field }: { readonly refusal: Refusal; readonly field: string },
): Promise<Answer> {
  const { message } = refusal;
  const unlocked = await access.namedFeed(caller, name).catch((cause) => {
    if (cause instanceof Refusal) return undefined;
    throw cause;
  });
  const body =
    unlocked === undefined
      ? unlockPage(site, { name, back: `/${name}`, problem: message })
      : settingsPage(withTier(site, licensing?.tierOf(unlocked)), {
          feed: unlocked,
          base: exchange.base,
          refused: { form, problem: { message, field } },
        });
  return errorPage(site, refusal, exchange, body);
}

/** The caller, as if the password had been sent with the request. An absent one is refused like an empty one. */
function withPassword(caller: Caller, password: string | null, field: string): Caller {
  return { ...caller, feedPassword: feedPassword(password ?? '', field) };
}

/** A path of the feed's pages; anything else is the feed page. */
function pathOfFeed(name: FeedName, path: string | null): string {
  const next = nextPath(path);
  return next.startsWith(`/${name}/`) ? next : `/${name}`;
}
