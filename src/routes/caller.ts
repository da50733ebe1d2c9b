import type { Caller } from '../access/access.ts';
import { type CookiePlace, readCookie } from '../access/cookies.ts';
import type { Sessions } from '../access/sessions.ts';
import { UNLOCK_COOKIE } from '../access/unlocks.ts';
import type { Exchange } from '../http/exchange.ts';
import { Refusal } from '../refusals.ts';

/**
 * The caller of a request, from its headers.
 * @param sessions of a locked instance
 * @param takesCookies whether the request's cookies count (contract §8)
 * @throws Refusal `invalid_request` for an `Authorization` that is not UTF-8
 */
export function callerOf(
  exchange: Exchange,
  sessions: Sessions | undefined,
  takesCookies: (exchange: Exchange) => boolean,
): Caller {
  const sent = exchange.header('cookie', true);
  const cookies = sent !== undefined && takesCookies(exchange) ? sent : undefined;
  // RFC 6750 §2.1; undefined for any other scheme.
  const bearer = /^bearer +(.+)$/i.exec(exchange.header('authorization') ?? '')?.[1];
  const session =
    cookies !== undefined && bearer === undefined
      ? sessions?.read(cookies, cookieScopeOf(exchange).isSecure)
      : undefined;
  return {
    client: exchange.client,
    requestId: exchange.requestId,
    bearer,
    session,
    // Read late, because one that is not UTF-8 is refused in the order of checks (contract §5).
    get feedPassword() {
      return exchange.header('x-feed-password');
    },
    unlock: readCookie(cookies, UNLOCK_COOKIE),
    sender: session?.sender,
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
