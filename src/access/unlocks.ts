import type { Feed } from '../feeds/feed.ts';
import type { FeedName } from '../feeds/names.ts';
import { keyFor, sign, verify } from '../signed.ts';
import { type CookiePlace, setCookie } from './cookies.ts';

const LIFETIME_SECONDS = 365 * 24 * 60 * 60;

/** A browser sends it for the paths of one feed. */
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
    const until = this.#now() + LIFETIME_SECONDS * 1000;
    return unlockCookies(feed.name, place, sign(this.#key, String(until), contextOf(feed)), LIFETIME_SECONDS);
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
