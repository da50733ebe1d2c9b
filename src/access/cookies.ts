/** Where the pages of an instance are, as far as its cookies need to know. */
export interface CookiePlace {
  /** The path below which they are, without a trailing slash: empty but where PUBLIC_URL has a path. */
  readonly root: string;
  /** They are reached by https. */
  readonly isSecure: boolean;
}

/** A cookie that is to be set. */
export interface NewCookie {
  readonly name: string;
  readonly value: string;
  readonly path: string;
  /** Seconds. */
  readonly maxAge: number;
  readonly isSecure: boolean;
}

/** The value of a cookie in a `Cookie` header; the first of several, which a browser has put first for its longer path. */
export function cookieIn(header: string | undefined, name: string): string | undefined {
  for (const pair of header?.split(';') ?? []) {
    const equals = pair.indexOf('=');
    if (equals !== -1 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim();
  }
  return undefined;
}

/** The value of a `Set-Cookie` header: no script reads the cookie, and no form of another site sends it. */
export function setCookie({ name, value, path, maxAge, isSecure }: NewCookie): string {
  const secure = isSecure ? '; Secure' : '';
  return `${name}=${value}; Path=${path}; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${secure}`;
}
