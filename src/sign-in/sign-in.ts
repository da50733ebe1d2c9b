import type { CookiePlace } from '../access/cookies.ts';
import type { Person } from '../access/sessions.ts';
import type { Config } from '../config.ts';
import type { Log } from '../telemetry/log.ts';
import { type Flight, Flights } from './flights.ts';
import { type Claims, isAllowed, senderOf, verifiedEmail } from './people.ts';
import { Provider, ProviderUnavailable } from './provider.ts';

/** The settings of sign-in. */
export interface SignInSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Who may: addresses, `@domain` and `*`, in small letters. */
  readonly allow: readonly string[];
  /** Which claims may be the sender, in order of preference. */
  readonly senderClaims: readonly string[];
  /** Absolute base of links. */
  readonly publicUrl: string;
}

/** The settings of sign-in; undefined where it is off. */
export function signInSettings(config: Config): SignInSettings | undefined {
  const {
    oidcIssuer: issuer,
    oidcClientId: clientId,
    oidcClientSecret: clientSecret,
    oidcAllow: allow,
  } = config;
  const { publicUrl, oidcSenderClaims: senderClaims } = config;
  // The settings come together or not at all.
  if (!issuer || !clientId || !clientSecret || !allow || !publicUrl) return undefined;
  return { issuer, clientId, clientSecret, allow, senderClaims, publicUrl };
}

export interface SignInParts extends SignInSettings {
  readonly secret: Uint8Array;
  readonly log: Pick<Log, 'warn' | 'info'>;
}

/** Why nobody was signed in, as the login page is told (contract §10). */
export type SignInError = 'sign_in_failed' | 'not_allowed' | 'sign_in_unavailable';

/** People sign in with an OpenID Connect provider (contract §10). */
export class SignIn {
  readonly flights: Flights;
  readonly #parts: SignInParts;
  readonly #provider: Provider;

  constructor(parts: SignInParts) {
    this.#parts = parts;
    this.flights = new Flights(parts.secret, signInLocks(parts));
    this.#provider = new Provider({ ...parts, redirectUri: `${parts.publicUrl}/api/oidc/callback` });
  }

  /** Where to lead a browser, and the cookie that it takes along. */
  async depart(
    next: string,
    place: CookiePlace,
    requestId: string,
  ): Promise<{ readonly url: string; readonly cookie: string } | SignInError> {
    try {
      const { url, flight } = await this.#provider.depart(next);
      return { url, cookie: this.flights.cookie(flight, place) };
    } catch (error) {
      return this.#failure(error, requestId);
    }
  }

  /** Who comes back from the provider with this query. */
  async arrive(query: string, flight: Flight, requestId: string): Promise<Person | SignInError> {
    const { allow, senderClaims, log } = this.#parts;
    const isEnough = (claims: Claims) =>
      (allow.includes('*') || 'email_verified' in claims) &&
      senderOf([claims], senderClaims.slice(0, 1)) !== undefined;
    try {
      const sources = await this.#provider.arrive(query, flight, isEnough);
      const person = { email: verifiedEmail(sources), sender: senderOf(sources, senderClaims) };
      if (isAllowed(allow, person.email)) return person;
      log.info('sign-in not allowed', { request: requestId, verified: person.email !== '' });
      return 'not_allowed';
    } catch (error) {
      return this.#failure(error, requestId);
    }
  }

  #failure(error: unknown, request: string): SignInError {
    const isOutage = error instanceof ProviderUnavailable;
    this.#parts.log.warn('sign-in failed', { request, reason: reasonOf(isOutage ? error.cause : error) });
    return isOutage ? 'sign_in_unavailable' : 'sign_in_failed';
  }
}

/** What a session of a person depends on: a change of any of it ends all. */
export function signInLocks({ issuer, clientId, clientSecret }: SignInSettings): string[] {
  return [issuer, clientId, clientSecret];
}

/** What went wrong, without what the provider said of a person, which errors of the library carry as their causes. */
function reasonOf(error: unknown): string {
  const { message, code, error: answered, cause } = error as { [member: string]: unknown };
  const beneath = cause instanceof Error ? (cause as NodeJS.ErrnoException).code : undefined;
  return [message, code, answered, beneath]
    .filter((part) => typeof part === 'string')
    .join(', ')
    .slice(0, 300);
}
