import { randomBytes } from 'node:crypto';
import { keyFor, sign, verify } from '../signed.ts';
import { type CookiePlace, readCookie, setCookie } from './cookies.ts';

const LIFETIME_SECONDS = 7 * 24 * 60 * 60;

/** Someone who has signed in. */
export interface Person {
  readonly sender: string | undefined;
  /** Verified address; empty without one. */
  readonly email: string;
}

/** Admits a browser to a locked instance. `sender` and `email` are those of a person, undefined if the password was given. */
export interface Session extends Partial<Person> {
  readonly id: string;
  /** When it ends, ms since the epoch. */
  readonly until: number;
}

interface SessionParts {
  readonly secret: Uint8Array;
  /** Secrets that lock the instance, at least one; a change ends all sessions. */
  readonly locks: readonly string[];
  /** Whether a person with this address may still use the instance. */
  readonly admits?: (email: string) => boolean;
  /** Ms since the epoch. */
  readonly now?: () => number;
}

/** The sessions of a locked instance. A session is stored only in its cookie, so it is valid in every container. */
export class Sessions {
  readonly #key: Uint8Array;
  readonly #admits: (email: string) => boolean;
  readonly #now: () => number;

  constructor({ secret, locks, admits = () => false, now = Date.now }: SessionParts) {
    this.#key = keyFor('session', secret, locks);
    this.#admits = admits;
    this.#now = now;
  }

  /** `Set-Cookie` for a new session; without a person, of someone who gave the password. */
  cookie(place: CookiePlace, person?: Person): string {
    const until = this.#now() + LIFETIME_SECONDS * 1000;
    const session: Session = { id: randomBytes(12).toString('base64url'), until, ...person };
    return sessionCookie(place, sign(this.#key, JSON.stringify(session)), LIFETIME_SECONDS);
  }

  /** The session in a `Cookie` header; undefined if there is none, or it has ended. */
  read(header: string | undefined, isSecure: boolean): Session | undefined {
    const text = verify(this.#key, readCookie(header, nameOf(isSecure)));
    if (text === undefined) return undefined;
    const session = JSON.parse(text) as Session;
    const { until, email } = session;
    return until > this.#now() && (email === undefined || this.#admits(email)) ? session : undefined;
  }
}

/** `Set-Cookie` that deletes the session. */
export function clearSessionCookie(place: CookiePlace): string {
  return sessionCookie(place, '', 0);
}

function sessionCookie({ isSecure }: CookiePlace, value: string, maxAge: number): string {
  return setCookie(nameOf(isSecure), value, { path: '/', maxAge, isSecure });
}

/** With `__Host-` no other host of the domain can set it (RFC 6265bis §4.1.3.2); needs https. */
function nameOf(isSecure: boolean): string {
  return isSecure ? '__Host-session' : 'session';
}
