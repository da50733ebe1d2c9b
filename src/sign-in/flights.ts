import { type CookiePlace, cookieIn, setCookie } from '../access/cookies.ts';
import { keyFor, signed, verified } from '../access/signed.ts';

/** How long somebody may take at the provider, in seconds. */
const LIFETIME = 600;
const COOKIE = 'flight';

/** What a sign-in that has begun must come back with, and where it goes on to. */
export interface Flight {
  readonly state: string;
  readonly nonce: string;
  /** The code verifier (RFC 7636 §4.1). */
  readonly verifier: string;
  /** A path of this instance, of printable ASCII. */
  readonly next: string;
}

/** Sign-ins that have begun. Each is in a cookie of the browser in which it began, so every container can end it. */
export class Flights {
  readonly #key: Uint8Array;
  readonly #now: () => number;

  /**
   * @param voidedBy a change of any of it ends all flights
   * @param now ms since the epoch
   */
  constructor(secret: Uint8Array, voidedBy: readonly string[], now: () => number = Date.now) {
    this.#key = keyFor('flight', secret, voidedBy);
    this.#now = now;
  }

  /** `Set-Cookie` for the browser that leaves. */
  cookie({ state, nonce, verifier, next }: Flight, place: CookiePlace): string {
    const until = this.#now() + LIFETIME * 1000;
    // Not JSON, which would make a long path longer than a cookie can be.
    return flightCookie(place, signed(this.#key, [until, state, nonce, verifier, next].join(' ')), LIFETIME);
  }

  /** The flight that a `Cookie` header brings back; undefined where it took too long, and for what is none. */
  flightIn(header: string | undefined): Flight | undefined {
    const value = cookieIn(header, COOKIE);
    const text = value === undefined ? undefined : verified(this.#key, value);
    if (text === undefined) return undefined;
    const [until, state = '', nonce = '', verifier = '', next = ''] = text.split(' ');
    return Number(until) > this.#now() ? { state, nonce, verifier, next } : undefined;
  }
}

/** `Set-Cookie` that takes the flight from a browser: it counts once. */
export function withoutFlight(place: CookiePlace): string {
  return flightCookie(place, '', 0);
}

function flightCookie({ root, isSecure }: CookiePlace, value: string, maxAge: number): string {
  return setCookie({ name: COOKIE, value, path: `${root}/api/oidc`, maxAge, isSecure });
}
