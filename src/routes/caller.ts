import type { Caller } from '../access/access.ts';
import { type CookiePlace, readCookie } from '../access/cookies.ts';
import type { Sessions } from '../access/sessions.ts';
import { UNLOCK_COOKIE } from '../access/unlocks.ts';
import type { Exchange } from '../http/exchange.ts';

export interface CallerOptions {
  /** The sessions of a locked instance. */
  readonly sessions: Sessions | undefined;
  /** Whether the cookies of the request count (contract §8). */
  readonly takesCookies: (exchange: Exchange) => boolean;
}

/** Who sends a request. A header is read when it is asked for: one that is not UTF-8 must not be refused before that. */
export function callerOf(exchange: Exchange, { sessions, takesCookies }: CallerOptions): Caller {
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
      return header === undefined ? undefined : sessions.read(header, placeOf(exchange).isSecure);
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

/** Where cookies for who sends this request belong. */
export function placeOf(exchange: Exchange): CookiePlace {
  return { root: exchange.root, isSecure: exchange.base.startsWith('https:') };
}
