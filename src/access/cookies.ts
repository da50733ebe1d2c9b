import { randomBytes } from 'node:crypto';
import { parse, serialize } from 'hono/utils/cookie';
import type { Feed } from '../feeds/feed.ts';
import type { FeedName } from '../feeds/names.ts';
import { keyFor, sign, verify } from '../signed.ts';

const SESSION_SECONDS = 7 * 24 * 60 * 60;
const UNLOCK_SECONDS = 365 * 24 * 60 * 60;

/** Where the cookies of an instance are valid. */
export interface CookiePlace {
  /** Path of the instance without a trailing slash; usually empty. */
  readonly root: string;
  /** Its pages are reached by https. */
  readonly isSecure: boolean;
}

interface NewCookie {
  readonly path: string;
  /** Seconds; 0 deletes the cookie. */
  readonly maxAge: number;
  readonly isSecure: boolean;
}

/** A value from a `Cookie` header. Of several the first, because browsers send the longest path first. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  return header === undefined ? undefined : parse(header, name)[name];
}

/** A `Set-Cookie` header value. No script can read the cookie, and no form of another site sends it. */
export function setCookie(name: string, value: string, { path, maxAge, isSecure }: NewCookie): string {
  return serialize(name, value, { path, maxAge, secure: isSecure, httpOnly: true, sameSite: 'Lax' });
}

/** Someone who has signed in. */
export interface Person {
  readonly sender: string | undefined;
  /** Verified address; empty without one. */
  readonly email: string;
  /** Id of the provider that they have signed in with. */
  readonly provider: string;
}

/** Admits a browser to a locked instance. The members of `Person` are undefined if the instance password was given. */
export interface Session extends Partial<Person> {
  readonly id: string;
  /** When it ends, ms since the epoch. */
  readonly until: number;
}

interface SessionParts {
  readonly secret: Uint8Array;
  /** A change of any of these secrets ends all sessions. */
  readonly voidedBy: readonly string[];
  /** Whether a person may still use the instance. */
  readonly admits?: (person: Person) => boolean;
  /** Ms since the epoch. */
  readonly now?: () => number;
}

/** The sessions of a locked instance. A session is stored only in its cookie, so it is valid in every container. */
export class Sessions {
  readonly #key: Uint8Array;
  readonly #admits: (person: Person) => boolean;
  readonly #now: () => number;

  constructor({ secret, voidedBy, admits = () => false, now = Date.now }: SessionParts) {
    this.#key = keyFor('session', secret, voidedBy);
    this.#admits = admits;
    this.#now = now;
  }

  /** `Set-Cookie` for a new session; without a person, of someone who gave the password. */
  cookie(place: CookiePlace, person?: Person): string {
    const until = this.#now() + SESSION_SECONDS * 1000;
    const session: Session = { id: randomBytes(12).toString('base64url'), until, ...person };
    return sessionCookie(place, sign(this.#key, JSON.stringify(session)), SESSION_SECONDS);
  }

  /** The session in a `Cookie` header; undefined if there is none, or it has ended. */
  read(header: string | undefined, isSecure: boolean): Session | undefined {
    const text = verify(this.#key, readCookie(header, nameOf(isSecure)));
    if (text === undefined) return undefined;
    const session = JSON.parse(text) as Session;
    const isAdmitted = session.email === undefined || this.#admits(session as Session & Person);
    return session.until > this.#now() && isAdmitted ? session : undefined;
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

/** Name of the unlock cookie. Each feed has its own, because the path of the cookie is that of the feed. */
export const UNLOCK_COOKIE = 'unlock';

/** A feed as far as its cookies depend on it. */
export type Lockable = Pick<Feed, 'name' | 'passwordHash'>;

/**
 * The cookies that open protected feeds to a browser. They are signed with the feed's name and the hash of its password.
 * The hash has a salt, so a new password and a new feed of that name end them, even if the password is the same; a restart
 * and a new read id do not.
 */
export class Unlocks {
  readonly #key: Uint8Array;
  readonly #now: () => number;

  /** @param now ms since the epoch */
  constructor(secret: Uint8Array, now: () => number = Date.now) {
    this.#key = keyFor('unlock', secret);
    this.#now = now;
  }

  /** `Set-Cookie` for a feed's pages and for its API; none for a feed without a password. */
  cookies(feed: Lockable, place: CookiePlace): string[] {
    if (feed.passwordHash === undefined) return [];
    const until = this.#now() + UNLOCK_SECONDS * 1000;
    return unlockCookies(feed.name, place, sign(this.#key, String(until), contextOf(feed)), UNLOCK_SECONDS);
  }

  opens(value: string | undefined, feed: Lockable): boolean {
    return Number(verify(this.#key, value, contextOf(feed)) ?? 0) > this.#now();
  }
}

/** `Set-Cookie` that deletes the cookies of a feed. */
export function clearUnlockCookies(name: FeedName, place: CookiePlace): string[] {
  return unlockCookies(name, place, '', 0);
}

function unlockCookies(name: FeedName, { root, isSecure }: CookiePlace, value: string, maxAge: number) {
  return [`${root}/${name}`, `${root}/api/v1/feeds/${name}`].map((path) =>
    setCookie(UNLOCK_COOKIE, value, { path, maxAge, isSecure }),
  );
}

function contextOf({ name, passwordHash }: Lockable): string {
  return JSON.stringify([name, passwordHash]);
}
