import type { Answer } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { Refusal } from '../refusals.ts';
import { withoutFlight } from '../sign-in/flights.ts';
import type { SignIn, SignInError } from '../sign-in/sign-in.ts';
import { placeOf } from './caller.ts';
import type { OperationDefinition } from './operation.ts';
import type { OperationParts } from './operations.ts';
import { backToLogin, nextPath, redirect, seeOther } from './redirects.ts';

/** How people sign in with a provider; nothing is there where that is off. */
export function signInOperations(parts: OperationParts): OperationDefinition[] {
  const { signIn, access } = parts;
  if (signIn === undefined || access.sessions === undefined) return [];
  const { sessions } = access;
  return [
    {
      id: 'signIn',
      route: 'GET /api/oidc/start',
      access: 'public',
      isPage: true,
      handle: (exchange) => depart(exchange, signIn, exchange.query('next')),
    },
    {
      id: 'signInByForm',
      route: 'POST /api/oidc/start',
      access: 'form',
      handle: (exchange, { form }) => depart(exchange, signIn, form.get('next') ?? exchange.query('next')),
    },
    {
      id: 'signInCallback',
      route: 'GET /api/oidc/callback',
      access: 'public',
      isPage: true,
      async handle(exchange) {
        const place = placeOf(exchange);
        const flight = signIn.flights.flightIn(exchange.header('cookie', true));
        // Not counted: any page can lead a browser here.
        if (flight === undefined) return back(exchange, '/', 'sign_in_failed');
        const { next } = flight;
        try {
          await access.refuseGuesser(exchange);
          const person = await signIn.arrive(exchange.queryText, flight, exchange.requestId);
          if (typeof person !== 'string')
            return seeOther(exchange, next, [sessions.cookie(place, person), withoutFlight(place)]);
          await access.countGuess(exchange);
          return back(exchange, next, person);
        } catch (cause) {
          if (!(cause instanceof Refusal)) throw cause;
          return backToLogin(exchange, next, cause, [withoutFlight(place)]);
        }
      },
    },
  ];
}

async function depart(exchange: Exchange, signIn: SignIn, asked: string | null | undefined): Promise<Answer> {
  const next = nextPath(asked);
  const departure = await signIn.depart(next, placeOf(exchange), exchange.requestId);
  if (typeof departure === 'string') return back(exchange, next, departure);
  return redirect(departure.url, [departure.cookie]);
}

/** The login page, which says what went wrong. Whatever was under way is over. */
function back(exchange: Exchange, next: string, code: SignInError): Answer {
  return backToLogin(exchange, next, { code }, [withoutFlight(placeOf(exchange))]);
}
