import { type CookiePlace, type Person, readCookie, setCookie } from '../access/cookies.ts';
import type { Config } from '../config.ts';
import { cutAt, shownOneLine } from '../feeds/text.ts';
import { keyFor, sign, verify } from '../signed.ts';
import type { Log } from '../telemetry/log.ts';
import { type Claims, type PendingSignIn, Provider, ProviderUnavailable } from './provider.ts';

const SENDER_LENGTH = 100;
/** Longest e-mail address (RFC 5321 §4.5.3.1). */
const EMAIL_LENGTH = 320;

/** How long a person may take at the provider. */
const LIFETIME_SECONDS = 600;
const PENDING_COOKIE = 'flight';

type SettingName =
  | 'oidcIssuer'
  | 'oidcClientId'
  | 'oidcClientSecret'
  | 'oidcAllow'
  | 'oidcSenderClaims'
  | 'publicUrl';
type SignInSettings = { readonly [Name in SettingName]: NonNullable<Config[Name]> };

/** The settings of sign-in; undefined if it is off. They are set all together or not at all. */
export function signInSettings(config: Config): SignInSettings | undefined {
  const { oidcIssuer, oidcClientId, oidcClientSecret, oidcAllow, oidcSenderClaims, publicUrl } = config;
  if (oidcIssuer === undefined) return undefined;
  const settings = { oidcIssuer, oidcClientId, oidcClientSecret, oidcAllow, oidcSenderClaims, publicUrl };
  return settings as SignInSettings;
}

interface SignInParts extends SignInSettings {
  readonly secret: Uint8Array;
  readonly log: Pick<Log, 'warn' | 'info'>;
}

/** Why a sign-in failed, as the login page is told (contract §10). */
export type SignInError = 'sign_in_failed' | 'not_allowed' | 'sign_in_unavailable';

/** People sign in with an OpenID Connect provider (contract §10). */
export class SignIn {
  readonly pending: PendingSignIns;
  readonly #parts: SignInParts;
  readonly #provider: Provider;

  constructor(parts: SignInParts) {
    this.#parts = parts;
    this.pending = new PendingSignIns(parts.secret, signInCredentials(parts));
    this.#provider = new Provider({
      issuer: parts.oidcIssuer,
      clientId: parts.oidcClientId,
      clientSecret: parts.oidcClientSecret,
      redirectUri: `${parts.publicUrl}/api/oidc/callback`,
    });
  }

  /** Logs why the provider cannot be used, if it cannot. */
  async check(): Promise<void> {
    try {
      await this.#provider.load();
    } catch (error) {
      const reason = reasonOf((error as ProviderUnavailable).cause);
      this.#parts.log.warn('the sign-in provider cannot be used', { reason });
    }
  }

  /** The provider's URL for the browser, and the cookie of the pending sign-in. */
  async start(
    next: string,
    place: CookiePlace,
    requestId: string,
  ): Promise<{ readonly url: string; readonly cookie: string } | SignInError> {
    try {
      const { url, pending } = await this.#provider.start(next);
      return { url, cookie: this.pending.cookie(pending, place) };
    } catch (error) {
      return this.#failure(error, requestId);
    }
  }

  /** The person who comes back from the provider with this query. */
  async finish(query: string, pending: PendingSignIn, requestId: string): Promise<Person | SignInError> {
    const { oidcAllow: allow, oidcSenderClaims: senderClaims, log } = this.#parts;
    const hasNeededClaims = (claims: Claims) =>
      (allow.includes('*') || 'email_verified' in claims) &&
      senderOf([claims], senderClaims.slice(0, 1)) !== undefined;
    try {
      const sources = await this.#provider.finish(query, pending, hasNeededClaims);
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

/** A change of any of these ends the sessions of all people. */
export function signInCredentials(settings: SignInSettings): string[] {
  return [settings.oidcIssuer, settings.oidcClientId, settings.oidcClientSecret];
}

/** Sign-ins that have begun. Each is stored only in a cookie of its browser, so every container can finish it. */
export class PendingSignIns {
  readonly #key: Uint8Array;
  readonly #now: () => number;

  /**
   * @param voidedBy a change of any of it ends all
   * @param now ms since the epoch
   */
  constructor(secret: Uint8Array, voidedBy: readonly string[], now: () => number = Date.now) {
    this.#key = keyFor('flight', secret, voidedBy);
    this.#now = now;
  }

  /** `Set-Cookie` for the browser that goes to the provider. */
  cookie({ state, nonce, verifier, next }: PendingSignIn, place: CookiePlace): string {
    const until = this.#now() + LIFETIME_SECONDS * 1000;
    // Not JSON, because escaping could make a long path too long for a cookie.
    const text = [until, state, nonce, verifier, next].join(' ');
    return pendingCookie(place, sign(this.#key, text), LIFETIME_SECONDS);
  }

  /** `Set-Cookie` that deletes the pending sign-in, because it may be used once. */
  static clearCookie(place: CookiePlace): string {
    return pendingCookie(place, '', 0);
  }

  /** The sign-in in a `Cookie` header; undefined if there is none, or it took too long. */
  read(header: string | undefined): PendingSignIn | undefined {
    const text = verify(this.#key, readCookie(header, PENDING_COOKIE)) ?? '';
    const [until, state = '', nonce = '', verifier = '', next = ''] = text.split(' ');
    return Number(until) > this.#now() ? { state, nonce, verifier, next } : undefined;
  }
}

function pendingCookie({ root, isSecure }: CookiePlace, value: string, maxAge: number): string {
  return setCookie(PENDING_COOKIE, value, { path: `${root}/api/oidc`, maxAge, isSecure });
}

/** The error for the log. Leaves out `cause`, in which the library puts what the provider said about a person. */
function reasonOf(error: unknown): string {
  const { message, code, error: answered, cause } = error as { [member: string]: unknown };
  const beneath = cause instanceof Error ? (cause as NodeJS.ErrnoException).code : undefined;
  return [message, code, answered, beneath]
    .filter((part) => typeof part === 'string')
    .join(', ')
    .slice(0, 300);
}

/**
 * Whether a person with this verified address may use the instance. Only `*` allows an empty one.
 * @param allow addresses, `@domain` and `*`, in lower case
 */
export function isAllowed(allow: readonly string[], email: string): boolean {
  if (allow.includes('*')) return true;
  // Only ASCII, because other letters (such as the Kelvin sign) become letters of another person's address.
  const own = email.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  return own !== '' && (allow.includes(own) || allow.includes(own.slice(own.lastIndexOf('@'))));
}

/** The address in the first source that has one, if the provider verified it; else empty. */
export function verifiedEmail(sources: readonly Claims[]): string {
  const { email, email_verified } = sources.find((claims) => typeof claims.email === 'string') ?? {};
  const isUsable = email_verified === true && typeof email === 'string' && email.length <= EMAIL_LENGTH;
  return isUsable && /^[^\s@]+@[^\s@]+$/.test(email) ? email : '';
}

/** The sender name of a person: the first of these claims that holds a text, on one line, at most 100 characters. */
export function senderOf(sources: readonly Claims[], names: readonly string[]): string | undefined {
  for (const name of names)
    for (const { [name]: value } of sources) {
      const line = typeof value === 'string' ? oneLine(value) : '';
      if (line !== '') return line;
    }
  return undefined;
}

function oneLine(text: string): string {
  const line = shownOneLine(text.toWellFormed()).replace(/\s+/g, ' ').trim();
  return cutAt(line, SENDER_LENGTH).trimEnd();
}
