import { clearSessionCookie } from '../access/cookies.ts';
import type { Answer } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { onRefusal, Refusal } from '../refusals.ts';
import { PendingSignIns, type SignIn, type SignInError } from '../sign-in/sign-in.ts';
import { loginPage, logOutPage } from '../web/access-pages.ts';
import { pageAnswer } from '../web/page.ts';
import { callerOf, cookieScopeOf, isFromOwnPage } from './caller.ts';
import { type AdmittedForm, type DescribedOperation, type OperationParts, operation } from './operation.ts';
import { backToLogin, nextPath, redirect, seeOther } from './redirects.ts';
import { siteForVisitor } from './visitor.ts';

/** Longest `next` of a sign-in with a provider, bytes: it is kept in a cookie. */
const MAX_SIGN_IN_NEXT_LENGTH = 2048;

/** Login, logout, and sign-in with a provider. */
export function loginOperations(parts: OperationParts): DescribedOperation[] {
  const { access, site } = parts;
  const seen = (exchange: Exchange) => siteForVisitor(site, access, exchange);
  return [
    operation('loginPage', 'GET /login', { access: 'public' }, (exchange) => {
      if (!access.isLocked) return seeOther(exchange, '/');
      const error = exchange.query('error');
      const retry = exchange.query('retry');
      const provider = exchange.query('provider');
      const next = nextPath(exchange.query('next'));
      return pageAnswer(loginPage(seen(exchange), { base: exchange.base, next, error, retry, provider }));
    }),
    operation('logIn', 'POST /api/login', { access: 'form' }, (exchange, form) =>
      logIn(parts, exchange, form),
    ),
    operation('logOutPage', 'GET /logout', { access: 'public' }, (exchange) =>
      pageAnswer(logOutPage(seen(exchange))),
    ),
    // Every other POST to one segment posts a note to the feed of that name.
    operation('logOut', 'POST /logout', { access: 'public' }, (exchange) => logOut(parts, exchange)),
    ...signInOperations(parts),
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

/** No operations if sign-in is off. */
function signInOperations({ signIn, access }: OperationParts): DescribedOperation[] {
  if (signIn === undefined || access.sessions === undefined) return [];
  const { sessions } = access;
  const page = { access: 'public', isPage: true } as const;
  return [
    operation('signIn', 'GET /api/oidc/start', page, (exchange) =>
      redirectToProvider(exchange, signIn, (name) => exchange.query(name)),
    ),
    operation('signInByForm', 'POST /api/oidc/start', { access: 'form' }, (exchange, { form }) =>
      redirectToProvider(exchange, signIn, (name) => form.get(name) ?? exchange.query(name)),
    ),
    operation('signInCallback', 'GET /api/oidc/callback', page, async (exchange) => {
      const place = cookieScopeOf(exchange);
      const pending = signIn.pending.read(exchange.header('cookie', true));
      // Not counted, because any page can send a browser here.
      if (pending === undefined) return redirectToLogin(exchange, '/', { code: 'sign_in_failed' });
      const { next, provider } = pending;
      try {
        await access.guesses.check(exchange.client);
        const person = await signIn.finish(exchange.queryText, pending, exchange);
        if (typeof person !== 'string')
          return seeOther(exchange, next, [
            sessions.cookie(place, person),
            PendingSignIns.clearCookie(place),
          ]);
        await access.guesses.count(exchange.client);
        return redirectToLogin(exchange, next, { code: person, provider });
      } catch (cause) {
        if (!(cause instanceof Refusal)) throw cause;
        return backToLogin(exchange, next, cause, [PendingSignIns.clearCookie(place)]);
      }
    }),
  ];
}

async function redirectToProvider(
  exchange: Exchange,
  signIn: SignIn,
  asked: (name: string) => string | undefined,
): Promise<Answer> {
  const next = nextPath(asked('next'));
  const kept = next.length <= MAX_SIGN_IN_NEXT_LENGTH ? next : '/';
  const provider = asked('provider') ?? '';
  if (!signIn.has(provider)) return redirectToLogin(exchange, next, { code: 'sign_in_failed' });
  const started = await signIn.start(provider, kept, cookieScopeOf(exchange), exchange);
  if (typeof started === 'string') return redirectToLogin(exchange, next, { code: started, provider });
  return redirect(started.url, [started.cookie]);
}

/** Redirects to the login page, which shows the error, and ends the sign-in. */
function redirectToLogin(
  exchange: Exchange,
  next: string,
  failure: { readonly code: SignInError; readonly provider?: string },
): Answer {
  return backToLogin(exchange, next, failure, [PendingSignIns.clearCookie(cookieScopeOf(exchange))]);
}
