import { type CookiePlace, type Person, readCookie, setCookie } from '../access/cookies.ts';
import type { Config } from '../config.ts';
import { cutAt, shownOneLine } from '../feeds/text.ts';
import { keyFor, sign, verify } from '../signed.ts';
import { type Identified, requestFields } from '../telemetry/events.ts';
import type { Log } from '../telemetry/log.ts';
import { type Claims, type PendingSignIn, Provider, ProviderUnavailable } from './provider.ts';

const SENDER_LENGTH = 100;
/** Longest e-mail address (RFC 5321 §4.5.3.1). */
const EMAIL_LENGTH = 320;

/** How long a person may take at the provider. */
const LIFETIME_SECONDS = 600;
const PENDING_COOKIE = 'flight';

interface SignInParts {
  /** At least one. */
  readonly providers: Config['providers'];
  /** Base of the address that providers lead back to, without a trailing slash. */
  readonly publicUrl: string;
  readonly secret: Uint8Array;
  readonly log: Pick<Log, 'warn' | 'info'>;
}

type ProviderSettings = Config['providers'][number];

interface ListedProvider extends ProviderSettings {
  /** Tells it from others, and from itself with other credentials; reveals none of them. */
  readonly id: string;
  readonly client: Provider;
}

/** Why a sign-in failed, as the login page is told (contract §10). */
export type SignInError = 'sign_in_failed' | 'not_allowed' | 'sign_in_unavailable';

/** People sign in with OpenID Connect providers (contract §10). */
export class SignIn {
  readonly pending: PendingSignIns;
  readonly #log: SignInParts['log'];
  readonly #providers: readonly ListedProvider[];

  constructor({ providers, publicUrl, secret, log }: SignInParts) {
    this.#log = log;
    this.#providers = providers.map((settings) => ({
      ...settings,
      id: providerId(settings, secret),
      client: new Provider({ ...settings, redirectUri: `${publicUrl}/api/oidc/callback` }),
    }));
    this.pending = new PendingSignIns(
      secret,
      this.#providers.map(({ id }) => id),
    );
  }

  /** Logs which providers cannot be used, and why. */
  async check(): Promise<void> {
    await Promise.all(this.#providers.map((provider) => this.#check(provider)));
  }

  /** Whether a person may still use the instance, by the list of the provider that they came from, if it is as it was. */
  admits({ provider: id, email }: Pick<Person, 'provider' | 'email'>): boolean {
    const provider = this.#providers.find((one) => one.id === id);
    return provider !== undefined && isAllowed(provider.allow, email);
  }

  /** Whether there is a provider with this name. An empty one stands for the first. */
  has(name: string): boolean {
    return this.#named(name) !== undefined;
  }

  /**
   * The provider's URL for the browser, and the cookie of the pending sign-in.
   * @param name of a provider that there is
   */
  async start(
    name: string,
    next: string,
    place: CookiePlace,
    request: Identified,
  ): Promise<{ readonly url: string; readonly cookie: string } | SignInError> {
    const provider = this.#named(name)!;
    try {
      const { url, pending } = await provider.client.start(next);
      return { url, cookie: this.pending.cookie({ ...pending, provider: provider.name }, place) };
    } catch (error) {
      return this.#failure(error, provider, request);
    }
  }

  /** The person who comes back from the provider with this query. */
  async finish(query: string, pending: SignInCookie, request: Identified): Promise<Person | SignInError> {
    // It is listed, because another list ends all pending sign-ins.
    const provider = this.#named(pending.provider)!;
    const { id, allow, senderClaims, client } = provider;
    const hasNeededClaims = (claims: Claims) =>
      (allow.includes('*') || 'email_verified' in claims) &&
      senderOf([claims], senderClaims.slice(0, 1)) !== undefined;
    try {
      const sources = await client.finish(query, pending, hasNeededClaims);
      const person = { provider: id, email: verifiedEmail(sources), sender: senderOf(sources, senderClaims) };
      if (this.admits(person)) return person;
      const fields = { ...requestFields(request), ...logged(provider), verified: person.email !== '' };
      this.#log.info('sign-in not allowed', fields);
      return 'not_allowed';
    } catch (error) {
      return this.#failure(error, provider, request);
    }
  }

  #named(name: string): ListedProvider | undefined {
    return name === '' ? this.#providers[0] : this.#providers.find((provider) => provider.name === name);
  }

  async #check(provider: ListedProvider): Promise<void> {
    try {
      await provider.client.load();
    } catch (error) {
      this.#log.warn('the sign-in provider cannot be used', { ...logged(provider), reason: reasonOf(error) });
    }
  }

  #failure(error: unknown, provider: ListedProvider, request: Identified): SignInError {
    const fields = { ...requestFields(request), ...logged(provider), reason: reasonOf(error) };
    this.#log.warn('sign-in failed', fields);
    return error instanceof ProviderUnavailable ? 'sign_in_unavailable' : 'sign_in_failed';
  }
}

/** A change of any of these ends what people have by this provider. */
function providerId({ name, issuer, clientId, clientSecret }: ProviderSettings, secret: Uint8Array): string {
  const key = keyFor('provider', secret, [name, issuer, clientId, clientSecret]);
  return Buffer.from(key).toString('base64url');
}

/** What log lines say of a provider: its name, if it has one. */
function logged({ name }: ProviderSettings): { readonly provider?: string } {
  return name === '' ? {} : { provider: name };
}

/** A sign-in that has begun, and the name of its provider. */
interface SignInCookie extends PendingSignIn {
  readonly provider: string;
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
  cookie({ provider, state, nonce, verifier, next }: SignInCookie, place: CookiePlace): string {
    const until = this.#now() + LIFETIME_SECONDS * 1000;
    // Not JSON, because escaping could make a long path too long for a cookie.
    const text = [until, provider, state, nonce, verifier, next].join(' ');
    return pendingCookie(place, sign(this.#key, text), LIFETIME_SECONDS);
  }

  /** `Set-Cookie` that deletes the pending sign-in, because it may be used once. */
  static clearCookie(place: CookiePlace): string {
    return pendingCookie(place, '', 0);
  }

  /** The sign-in in a `Cookie` header; undefined if there is none, or it took too long. */
  read(header: string | undefined): SignInCookie | undefined {
    const text = verify(this.#key, readCookie(header, PENDING_COOKIE)) ?? '';
    const [until, provider = '', state = '', nonce = '', verifier = '', next = ''] = text.split(' ');
    return Number(until) > this.#now() ? { provider, state, nonce, verifier, next } : undefined;
  }
}

function pendingCookie({ root, isSecure }: CookiePlace, value: string, maxAge: number): string {
  return setCookie(PENDING_COOKIE, value, { path: `${root}/api/oidc`, maxAge, isSecure });
}

/** The failure for the log. Leaves out the `cause` of the library's error, which holds what the provider said about a person. */
function reasonOf(failure: unknown): string {
  const error = failure instanceof ProviderUnavailable ? failure.cause : failure;
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

/** The first address in the sources, if one of those that name it says that it is verified, and none denies that; else empty. */
export function verifiedEmail(sources: readonly Claims[]): string {
  const { email } = sources.find((claims) => typeof claims.email === 'string') ?? {};
  const words = sources.filter((claims) => claims.email === email).map((claims) => claims.email_verified);
  // Some providers answer one of the requests with texts.
  const isNoDenial = (word: unknown) => word === undefined || word === true || word === 'true';
  const isVerified = words.includes(true) && words.every(isNoDenial);
  const isUsable = isVerified && typeof email === 'string' && email.length <= EMAIL_LENGTH;
  return isUsable && /^[^\s@]+@[^\s@]+$/.test(email) ? email : '';
}

/** The sender name of a person: the first of these claims that holds a text, on one line, at most 100 characters. */
export function senderOf(sources: readonly Claims[], names: readonly string[]): string | undefined {
  for (const name of names)
    for (const { [name]: value } of sources) {
      const line = typeof value === 'string' ? senderLine(value) : '';
      if (line !== '') return line;
    }
  return undefined;
}

function senderLine(text: string): string {
  const line = shownOneLine(text.toWellFormed()).replace(/\s+/g, ' ').trim();
  return cutAt(line, SENDER_LENGTH).trimEnd();
}
