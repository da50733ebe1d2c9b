import { parse, serialize } from 'hono/utils/cookie';

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
