import type { FeedName } from '../feeds/names.ts';
import type { Feed } from '../storage/storage.ts';
import { type CookiePlace, cookieIn, setCookie } from './cookies.ts';
import { keyFor, signed, verified } from './signed.ts';

/** How long a feed stays unlocked in a browser, in seconds. */
const LIFETIME = 365 * 24 * 60 * 60;
const COOKIE = 'unlock';

/** A feed as far as its cookies depend on it. */
export type Lockable = Pick<Feed, 'name' | 'passwordHash'>;

/**
 * The cookies that open protected feeds to a browser. They are signed over the feed's name and the stored form of its
 * password. That has a salt of its own, so another password and a new feed of that name end them, even where the password
 * is the same; a restart and a new read id do not.
 */
export class Unlocks {
  readonly #key: Uint8Array;
  readonly #now: () => number;

  /** @param now ms since the epoch */
  constructor(secret: Uint8Array, now: () => number = Date.now) {
    this.#key = keyFor('unlock', secret);
    this.#now = now;
  }

  /** The cookies for a feed's pages and for its API, as `Set-Cookie`; none for a feed without a password. */
  cookies(feed: Lockable, place: CookiePlace): string[] {
    if (feed.passwordHash === undefined) return [];
    const until = this.#now() + LIFETIME * 1000;
    return unlockCookies(feed.name, place, signed(this.#key, String(until), aboutOf(feed)), LIFETIME);
  }

  /** Whether the value of an unlock cookie opens this feed. */
  opens(value: string | undefined, feed: Lockable): boolean {
    const until = value === undefined ? undefined : verified(this.#key, value, aboutOf(feed));
    return until !== undefined && Number(until) > this.#now();
  }
}

/** The value of the unlock cookie in a `Cookie` header, which a browser sends for one feed alone. */
export function unlockIn(header: string | undefined): string | undefined {
  return cookieIn(header, COOKIE);
}

/** `Set-Cookie` that takes the cookies of a feed from a browser. */
export function withoutUnlock(name: FeedName, place: CookiePlace): string[] {
  return unlockCookies(name, place, '', 0);
}

function unlockCookies(name: FeedName, { root, isSecure }: CookiePlace, value: string, maxAge: number) {
  return [`${root}/${name}`, `${root}/api/v1/feeds/${name}`].map((path) =>
    setCookie({ name: COOKIE, value, path, maxAge, isSecure }),
  );
}

function aboutOf({ name, passwordHash }: Lockable): string {
  return JSON.stringify([name, passwordHash]);
}
