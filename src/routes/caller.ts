import type { Caller } from '../access/access.ts';
import { type CookiePlace, readCookie, type Sessions, UNLOCK_COOKIE } from '../access/cookies.ts';
import type { Exchange } from '../http/exchange.ts';
import { Refusal } from '../refusals.ts';

/**
 * The caller of a request, from its headers.
 * @param sessions of a locked instance
 * @param takesCookies whether the request's cookies count (contract §8)
 * @param takesBasic whether HTTP Basic counts: its password as that of the instance, its user name as that of the feed
 * @throws Refusal `invalid_request` for an `Authorization` that is not UTF-8
 */
export function callerOf(
  exchange: Exchange,
  sessions: Sessions | undefined,
  takesCookies: (exchange: Exchange) => boolean,
  takesBasic = false,
): Caller {
  const sent = exchange.header('cookie', true);
  const cookies = sent !== undefined && takesCookies(exchange) ? sent : undefined;
  const { bearer, userName } = credentialsOf(exchange.header('authorization') ?? '', takesBasic);
  const session =
    cookies !== undefined && bearer === undefined
      ? sessions?.read(cookies, cookieScopeOf(exchange).isSecure)
      : undefined;
  return {
    client: exchange.client,
    requestId: exchange.requestId,
    trace: exchange.trace,
    bearer,
    session,
    userName,
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

interface Credentials {
  readonly bearer?: string | undefined;
  readonly userName?: string | undefined;
}

/** RFC 6750 §2.1 and, if it counts, RFC 7617; nothing for any other scheme. */
function credentialsOf(authorization: string, takesBasic: boolean): Credentials {
  // With `s`, so that no line separator makes it try each of many spaces.
  const [, bearer] = /^bearer +(.+)$/is.exec(authorization) ?? [];
  const [, encoded] = (takesBasic && /^basic +([\w+/-]+=*)$/i.exec(authorization)) || [];
  if (encoded === undefined) return { bearer };
  const [userName, password] = Buffer.from(encoded, 'base64').toString().split(/:(.*)/s);
  return { bearer: password || undefined, userName: userName || undefined };
}

/** The path and scheme that cookies for this client are set for. */
export function cookieScopeOf(exchange: Exchange): CookiePlace {
  return { root: exchange.root, isSecure: exchange.base.startsWith('https:') };
}

/**
 * Whether a page of this instance sent the request. `Sec-Fetch-Site` says it, but old browsers and pages without https do not
 * send that. Then `Origin` says it, or for a read `Referer`, because browsers send no `Origin` with reads of the same site.
 */
export function isFromOwnPage(exchange: Exchange): boolean {
  const site = exchange.header('sec-fetch-site', true);
  if (site !== undefined) return site === 'same-origin';
  const origin = exchange.header('origin', true) ?? originOfRead(exchange);
  return origin !== undefined && isOwnOrigin(exchange, origin);
}

/** The origin in the `Referer` of a read. Not of a write: a redirect by another site keeps the `Referer` of the page before it. */
function originOfRead(exchange: Exchange): string | undefined {
  const referer = exchange.method === 'GET' ? exchange.header('referer', true) : undefined;
  return referer === undefined ? undefined : URL.parse(referer)?.origin;
}

/** @throws Refusal `foreign_form` unless a page of this instance sent the request */
export function refuseAllButOwnPages(exchange: Exchange): void {
  if (!isFromOwnPage(exchange))
    throw new Refusal('foreign_form', 'This form is only taken from the pages of this instance.');
}

/**
 * Refuses requests from pages of other sites, which could otherwise write to an instance in the network of their visitor.
 * Programs send neither `Sec-Fetch-Site` nor `Origin`.
 * @throws Refusal `foreign_form`
 */
export function refuseForeignPages(exchange: Exchange): void {
  const site = exchange.header('sec-fetch-site', true);
  if (site === 'same-origin') return;
  const origin = exchange.header('origin', true);
  const isForeign = site === 'cross-site' || site === 'same-site';
  if (isForeign || (origin !== undefined && !isOwnOrigin(exchange, origin))) throw foreignPage(exchange);
}

export function foreignPage({ base }: Exchange): Refusal {
  const { origin } = new URL(base);
  return new Refusal(
    'foreign_form',
    `A page of another site cannot write to this instance, which is ${origin}.`,
  );
}

/**
 * Whether an `Origin` is that of this instance. If only the `Host` header says which that is, it may be behind a proxy that
 * takes https, so both schemes of this host and port are its own.
 */
function isOwnOrigin({ base, hasPublicUrl }: Exchange, origin: string): boolean {
  const own = new URL(base).origin;
  return origin === own || (!hasPublicUrl && origin === own.replace('http:', 'https:'));
}
