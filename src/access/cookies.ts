/** Where the cookies of an instance are valid. */
export interface CookiePlace {
  /** Path of the instance without a trailing slash; usually empty. */
  readonly root: string;
  /** Its pages are reached by https. */
  readonly isSecure: boolean;
}

interface NewCookie {
  readonly name: string;
  readonly value: string;
  readonly path: string;
  /** Seconds; 0 deletes the cookie. */
  readonly maxAge: number;
  readonly isSecure: boolean;
}

/** A value from a `Cookie` header. Of several the first, because browsers send the longest path first. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  for (const pair of header?.split(';') ?? []) {
    const equals = pair.indexOf('=');
    if (equals !== -1 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim();
  }
  return undefined;
}

/** A `Set-Cookie` header value. No script can read the cookie, and no form of another site sends it. */
export function setCookie({ name, value, path, maxAge, isSecure }: NewCookie): string {
  const secure = isSecure ? '; Secure' : '';
  return `${name}=${value}; Path=${path}; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${secure}`;
}
