import type { Caller } from '../access/access.ts';
import { type CookiePlace, readCookie } from '../access/cookies.ts';
import type { Sessions } from '../access/sessions.ts';
import { UNLOCK_COOKIE } from '../access/unlocks.ts';
import type { Exchange } from '../http/exchange.ts';
import { Refusal } from '../refusals.ts';

/**
 * The caller of a request. Headers are read lazily, because one that is not UTF-8 is refused only if it is needed.
 * @param sessions of a locked instance
 * @param takesCookies whether the request's cookies count (contract §8)
 */
export function callerOf(
  exchange: Exchange,
  sessions: Sessions | undefined,
  takesCookies: (exchange: Exchange) => boolean,
): Caller {
  const cookies = () => {
    const header = exchange.header('cookie', true);
    return header !== undefined && takesCookies(exchange) ? header : undefined;
  };
  return {
    client: exchange.client,
    get requestId() {
      return exchange.requestId;
    },
    // RFC 6750 §2.1; undefined for any other scheme.
    get bearer() {
      return /^bearer +(.+)$/i.exec(exchange.header('authorization') ?? '')?.[1];
    },
    get session() {
      if (sessions === undefined || this.bearer !== undefined) return undefined;
      const header = cookies();
      return header === undefined ? undefined : sessions.read(header, cookieScopeOf(exchange).isSecure);
    },
    get feedPassword() {
      return exchange.header('x-feed-password');
    },
    get unlock() {
      return readCookie(cookies(), UNLOCK_COOKIE);
    },
    get sender() {
      return this.session?.sender;
    },
    get isAborted() {
      return exchange.isAborted;
    },
  };
}

/** The path and scheme that cookies for this client are set for. */
export function cookieScopeOf(exchange: Exchange): CookiePlace {
  return { root: exchange.root, isSecure: exchange.base.startsWith('https:') };
}

/**
 * Whether a page of this instance sent the request: by `Sec-Fetch-Site`, else by `Origin`, because old browsers, and pages
 * without https, do not send the first.
 */
export function isFromOwnPage(exchange: Exchange): boolean {
  const site = exchange.header('sec-fetch-site', true);
  if (site !== undefined) return site === 'same-origin';
  const origin = exchange.header('origin', true);
  return origin !== undefined && origin === new URL(exchange.base).origin;
}

/** @throws Refusal `foreign_form` unless a page of this instance sent the request */
export function refuseAllButOwnPages(exchange: Exchange): void {
  if (!isFromOwnPage(exchange))
    throw new Refusal('foreign_form', 'This form is only taken from the pages of this instance.');
}

/**
 * Refuses requests from pages of other sites, which could otherwise write to an instance in the network of their visitor.
 * @throws Refusal `foreign_form`
 */
export function refuseForeignPages(exchange: Exchange): void {
  if (exchange.header('sec-fetch-site') === 'cross-site') throw foreignPage();
}

export function foreignPage(): Refusal {
  return new Refusal('foreign_form', 'A page of another site cannot write to this instance.');
}
