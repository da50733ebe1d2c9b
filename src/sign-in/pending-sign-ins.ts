import { type CookiePlace, readCookie, setCookie } from '../access/cookies.ts';
import { keyFor, sign, verify } from '../signed.ts';

/** How long a person may take at the provider. */
const LIFETIME_SECONDS = 600;
const COOKIE = 'flight';

/** A sign-in that has begun: what the provider must send back, and where the browser goes then. */
export interface PendingSignIn {
  readonly state: string;
  readonly nonce: string;
  /** The code verifier (RFC 7636 §4.1). */
  readonly verifier: string;
  /** A path of this instance, of printable ASCII. */
  readonly next: string;
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
  cookie({ state, nonce, verifier, next }: PendingSignIn, place: CookiePlace): string {
    const until = this.#now() + LIFETIME_SECONDS * 1000;
    // Not JSON, because escaping could make a long path too long for a cookie.
    const text = [until, state, nonce, verifier, next].join(' ');
    return pendingCookie(place, sign(this.#key, text), LIFETIME_SECONDS);
  }

  /** The sign-in in a `Cookie` header; undefined if there is none, or it took too long. */
  read(header: string | undefined): PendingSignIn | undefined {
    const text = verify(this.#key, readCookie(header, COOKIE)) ?? '';
    const [until, state = '', nonce = '', verifier = '', next = ''] = text.split(' ');
    return Number(until) > this.#now() ? { state, nonce, verifier, next } : undefined;
  }
}

/** `Set-Cookie` that deletes the pending sign-in, because it may be used once. */
export function clearPendingCookie(place: CookiePlace): string {
  return pendingCookie(place, '', 0);
}

function pendingCookie({ root, isSecure }: CookiePlace, value: string, maxAge: number): string {
  return setCookie(COOKIE, value, { path: `${root}/api/oidc`, maxAge, isSecure });
}
