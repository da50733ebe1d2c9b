import { randomBytes } from 'node:crypto';
import { type CookiePlace, cookieIn, setCookie } from './cookies.ts';
import { keyFor, signed, verified } from './signed.ts';

/** How long a session lasts, in seconds. */
const LIFETIME = 7 * 24 * 60 * 60;

/** What opens a locked instance to a browser. */
export interface Session {
  /** Tells it from every other, for what ends with it. */
  readonly id: string;
  /** When it ends, in ms since the epoch. */
  readonly until: number;
  /** The name of a person who has signed in. */
  readonly sender?: string | undefined;
  /** The verified address of a person who has signed in, empty where there is none; undefined where the password was given. */
  readonly email?: string | undefined;
}

/** Who has signed in. */
export interface Person {
  readonly sender: string | undefined;
  /** Verified; empty where there is none. */
  readonly email: string;
}

export interface SessionParts {
  readonly secret: Uint8Array;
  /** What locks the instance, such as its password: a change of any of it ends all sessions. At least one. */
  readonly locks: readonly string[];
  /** Whether who has signed in with this address still may. */
  readonly admits?: (email: string) => boolean;
  /** Ms since the epoch. */
  readonly now?: () => number;
}

/** The sessions of a locked instance. Each is in its cookie alone, so every container knows it. */
export class Sessions {
  readonly #key: Uint8Array;
  readonly #admits: (email: string) => boolean;
  readonly #now: () => number;

  constructor({ secret, locks, admits = () => false, now = Date.now }: SessionParts) {
    this.#key = keyFor('session', secret, locks);
    this.#admits = admits;
    this.#now = now;
  }

  /** The cookie of a new session, as `Set-Cookie`: of a person, or of somebody who has given the password. */
  cookie(place: CookiePlace, person?: Person): string {
    const until = this.#now() + LIFETIME * 1000;
    const session: Session = { id: randomBytes(12).toString('base64url'), until, ...person };
    return sessionCookie(place, signed(this.#key, JSON.stringify(session)), LIFETIME);
  }

  /** The session that a `Cookie` header brings; undefined where it has ended, and for what is none. */
  sessionIn(header: string | undefined, isSecure: boolean): Session | undefined {
    const value = cookieIn(header, nameOf(isSecure));
    const text = value === undefined ? undefined : verified(this.#key, value);
    if (text === undefined) return undefined;
    const session = JSON.parse(text) as Session;
    const { until, email } = session;
    return until > this.#now() && (email === undefined || this.#admits(email)) ? session : undefined;
  }
}

/** `Set-Cookie` that takes the session from a browser. */
export function withoutSession(place: CookiePlace): string {
  return sessionCookie(place, '', 0);
}

function sessionCookie({ isSecure }: CookiePlace, value: string, maxAge: number): string {
  return setCookie({ name: nameOf(isSecure), value, path: '/', maxAge, isSecure });
}

/** Behind https no other host of the domain can set it (RFC 6265bis §4.1.3.2). */
function nameOf(isSecure: boolean): string {
  return isSecure ? '__Host-session' : 'session';
}
