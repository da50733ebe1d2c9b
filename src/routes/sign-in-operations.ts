import type { Answer } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { Refusal } from '../refusals.ts';
import type { SignIn, SignInError } from '../sign-in/sign-in.ts';
import { clearPendingCookie } from '../sign-in/sign-in.ts';
import { cookieScopeOf } from './caller.ts';
import { type DescribedOperation, type OperationParts, operation } from './operation.ts';
import { backToLogin, nextPath, redirect, seeOther } from './redirects.ts';

/** Sign-in with a provider; no operations if that is off. */
export function signInOperations({ signIn, access }: OperationParts): DescribedOperation[] {
  if (signIn === undefined || access.sessions === undefined) return [];
  const { sessions } = access;
  const page = { access: 'public', isPage: true } as const;
  return [
    operation('signIn', 'GET /api/oidc/start', page, (exchange) =>
      redirectToProvider(exchange, signIn, exchange.query('next')),
    ),
    operation('signInByForm', 'POST /api/oidc/start', { access: 'form' }, (exchange, { form }) =>
      redirectToProvider(exchange, signIn, form.get('next') ?? exchange.query('next')),
    ),
    operation('signInCallback', 'GET /api/oidc/callback', page, async (exchange) => {
      const place = cookieScopeOf(exchange);
      const flight = signIn.pending.read(exchange.header('cookie', true));
      // Not counted, because any page can send a browser here.
      if (flight === undefined) return redirectToLogin(exchange, '/', 'sign_in_failed');
      const { next } = flight;
      try {
        await access.guesses.check(exchange.client);
        const person = await signIn.finish(exchange.queryText, flight, exchange.requestId);
        if (typeof person !== 'string')
          return seeOther(exchange, next, [sessions.cookie(place, person), clearPendingCookie(place)]);
        await access.guesses.count(exchange.client);
        return redirectToLogin(exchange, next, person);
      } catch (cause) {
        if (!(cause instanceof Refusal)) throw cause;
        return backToLogin(exchange, next, cause, [clearPendingCookie(place)]);
      }
    }),
  ];
}

async function redirectToProvider(
  exchange: Exchange,
  signIn: SignIn,
  asked: string | null | undefined,
): Promise<Answer> {
  const next = nextPath(asked);
  const departure = await signIn.start(next, cookieScopeOf(exchange), exchange.requestId);
  if (typeof departure === 'string') return redirectToLogin(exchange, next, departure);
  return redirect(departure.url, [departure.cookie]);
}

/** Redirects to the login page, which shows the error, and ends the sign-in. */
function redirectToLogin(exchange: Exchange, next: string, code: SignInError): Answer {
  return backToLogin(exchange, next, { code }, [clearPendingCookie(cookieScopeOf(exchange))]);
}
