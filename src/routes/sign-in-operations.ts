import type { Answer } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { Refusal } from '../refusals.ts';
import { clearPendingCookie } from '../sign-in/pending-sign-ins.ts';
import type { SignIn, SignInError } from '../sign-in/sign-in.ts';
import { backToLogin } from './back-to-login.ts';
import { placeOf } from './caller.ts';
import { nextPath } from './next-path.ts';
import type { DescribedOperation } from './operation.ts';
import type { OperationParts } from './operations.ts';
import { redirect, seeOther } from './see-other.ts';

/** How people sign in with a provider; nothing is there where that is off. */
export function signInOperations(parts: OperationParts): DescribedOperation[] {
  const { signIn, access } = parts;
  if (signIn === undefined || access.sessions === undefined) return [];
  const { sessions } = access;
  return [
    {
      id: 'signIn',
      method: 'GET',
      path: '/api/oidc/start',
      access: 'public',
      isPage: true,
      handle: (exchange) => depart(exchange, signIn, exchange.query('next')),
    },
    {
      id: 'signInByForm',
      method: 'POST',
      path: '/api/oidc/start',
      access: 'form',
      handle: (exchange, { form }) => depart(exchange, signIn, form.get('next') ?? exchange.query('next')),
    },
    {
      id: 'signInCallback',
      method: 'GET',
      path: '/api/oidc/callback',
      access: 'public',
      isPage: true,
      async handle(exchange) {
        const place = placeOf(exchange);
        const flight = signIn.pending.read(exchange.header('cookie', true));
        // Not counted: any page can lead a browser here.
        if (flight === undefined) return back(exchange, '/', 'sign_in_failed');
        const { next } = flight;
        try {
          await access.guesses.check(exchange.client);
          const person = await signIn.finish(exchange.queryText, flight, exchange.requestId);
          if (typeof person !== 'string')
            return seeOther(exchange, next, [sessions.cookie(place, person), clearPendingCookie(place)]);
          await access.guesses.count(exchange.client);
          return back(exchange, next, person);
        } catch (cause) {
          if (!(cause instanceof Refusal)) throw cause;
          return backToLogin(exchange, next, cause, [clearPendingCookie(place)]);
        }
      },
    },
  ];
}

async function depart(exchange: Exchange, signIn: SignIn, asked: string | null | undefined): Promise<Answer> {
  const next = nextPath(asked);
  const departure = await signIn.start(next, placeOf(exchange), exchange.requestId);
  if (typeof departure === 'string') return back(exchange, next, departure);
  return redirect(departure.url, [departure.cookie]);
}

/** The login page, which says what went wrong. Whatever was under way is over. */
function back(exchange: Exchange, next: string, code: SignInError): Answer {
  return backToLogin(exchange, next, { code }, [clearPendingCookie(placeOf(exchange))]);
}
