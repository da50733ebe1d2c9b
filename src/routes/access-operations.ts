import type { Caller } from '../access/access.ts';
import { feedPassword } from '../access/passwords.ts';
import { clearSessionCookie } from '../access/sessions.ts';
import { clearUnlockCookies } from '../access/unlocks.ts';
import type { FeedName } from '../feeds/names.ts';
import type { Answer } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { existing, onRefusal, Refusal } from '../refusals.ts';
import { loginPage, logOutPage, unlockPage } from '../web/access-pages.ts';
import { errorPage, pageAnswer } from '../web/page.ts';
import { callerOf, cookieScopeOf, isFromOwnPage } from './caller.ts';
import {
  type AdmittedForm,
  type DescribedOperation,
  isFeedPath,
  type NameForm,
  type OperationParts,
  operation,
} from './operation.ts';
import { backToLogin, nextPath, seeOther } from './redirects.ts';
import { settingsAgain } from './settings-operations.ts';

/** Login, logout, and the locks of feeds. */
export function accessOperations(parts: OperationParts): DescribedOperation[] {
  const { access, site } = parts;
  const nameForm = { access: 'name-form', accepts: isFeedPath } as const;
  return [
    operation('loginPage', 'GET /login', { access: 'public' }, (exchange) => {
      if (!access.isLocked) return seeOther(exchange, '/');
      const error = exchange.query('error');
      const retry = exchange.query('retry');
      const next = nextPath(exchange.query('next'));
      return pageAnswer(loginPage(site, { base: exchange.base, next, error, retry }));
    }),
    operation('logIn', 'POST /api/login', { access: 'form' }, (exchange, form) =>
      logIn(parts, exchange, form),
    ),
    operation('logOutPage', 'GET /logout', { access: 'public' }, () => pageAnswer(logOutPage(site))),
    // Every other POST to one segment posts a note to the feed of that name.
    operation('logOut', 'POST /logout', { access: 'public' }, (exchange) => logOut(parts, exchange)),
    operation('feedAccess', 'POST /{feed}/access', nameForm, (exchange, form) =>
      changeLock(parts, exchange, form),
    ),
  ];
}

async function logIn(
  { access }: OperationParts,
  exchange: Exchange,
  { form, caller }: AdmittedForm,
): Promise<Answer> {
  const next = nextPath(form.get('next'));
  const { sessions } = access;
  if (sessions === undefined) return seeOther(exchange, next);
  // An empty password is none, which is not counted.
  const bearer = form.get('password') || undefined;
  return onRefusal(
    async () => {
      await access.requireInstance({ ...caller, session: undefined, bearer });
      return seeOther(exchange, next, [sessions.cookie(cookieScopeOf(exchange))]);
    },
    (refusal) => backToLogin(exchange, next, refusal),
  );
}

function logOut({ access, events }: OperationParts, exchange: Exchange): Answer {
  if (!isFromOwnPage(exchange)) return seeOther(exchange, '/');
  const { session } = callerOf(exchange, access.sessions, isFromOwnPage);
  if (session !== undefined) events.endSession(session);
  return seeOther(exchange, '/', [clearSessionCookie(cookieScopeOf(exchange))]);
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
    (refusal) =>
      errorPage(site, refusal, exchange, unlockPage(site, { name, back, problem: refusal.message })),
  );
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
    const saved = `/${name}/settings?saved=1`;
    const place = cookieScopeOf(exchange);
    if (form.get('action') === 'remove') {
      await settings.removePassword(feed);
      return seeOther(exchange, saved, clearUnlockCookies(name, place));
    }
    field = 'next';
    const next = feedPassword(form.get('next') ?? '', 'The new password');
    const changed = await settings.changePassword(feed, next);
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
    const problem = refusal.message;
    return errorPage(site, refusal, exchange, unlockPage(site, { name, back: `/${name}`, problem }));
  });
}

/** The caller with the password of a form field; a missing one is refused like an empty one. */
function withPassword(caller: Caller, password: string | null, field: string): Caller {
  return { ...caller, feedPassword: feedPassword(password ?? '', field) };
}

/** A path below the feed's page; the feed page for any other. */
function pathOfFeed(name: FeedName, path: string | null): string {
  const next = nextPath(path);
  return next.startsWith(`/${name}/`) ? next : `/${name}`;
}
