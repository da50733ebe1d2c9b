import type { Answer } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { headers } from '../http/headers.ts';

/** Longest path of the login page with `next`, bytes: proxies take request lines of 8 KiB, and the parameters of an error are added. */
const MAX_LOGIN_PATH_LENGTH = 7_500;

/** Redirects to a path of this instance and sets cookies. */
export function seeOther(exchange: Exchange, path: string, cookies: readonly string[] = []): Answer {
  return redirect(exchange.root + path, cookies);
}

export function redirect(url: string, cookies: readonly string[] = []): Answer {
  const fields = { Location: url, 'Cache-Control': 'private, no-store' };
  return withCookies({ status: 303, headers: headers(fields) }, cookies);
}

export function withCookies(answer: Answer, cookies: readonly string[]): Answer {
  const all = cookies.reduce(
    (more, cookie) => more.concat(headers({ 'Set-Cookie': cookie })),
    answer.headers,
  );
  return { ...answer, headers: all };
}

/**
 * The page to show after login: `next` if it is a path of this instance (contract §8), else the start page.
 * A second slash or a backslash in front of the query would make it another site's URL, and a line break would add a header.
 */
export function nextPath(next: string | null | undefined): string {
  const isOwn =
    next != null &&
    /^\/[\x21-\x7e]*$/.test(next) &&
    !/^[^?#]*(?:\/\/|\\)/.test(next) &&
    loginPath(next).length <= MAX_LOGIN_PATH_LENGTH;
  return isOwn ? next : '/';
}

/** The login page's path, with `next` and other parameters. */
export function loginPath(next: string, parameters: Readonly<Record<string, string>> = {}): string {
  return `/login?${new URLSearchParams({ ...parameters, next })}`;
}

/** A refusal, or what went wrong with a provider. */
interface LoginFailure {
  readonly code: string;
  /** Seconds. */
  readonly retryAfter?: number | undefined;
  /** Name of the provider; empty for one without a name. */
  readonly provider?: string;
}

/** Redirects to the login page, which shows why the login failed. */
export function backToLogin(
  exchange: Exchange,
  next: string,
  { code, retryAfter, provider }: LoginFailure,
  cookies: readonly string[] = [],
): Answer {
  const retry = retryAfter !== undefined && { retry: String(retryAfter) };
  const path = loginPath(next, { error: code, ...(provider && { provider }), ...retry });
  return { ...seeOther(exchange, path, cookies), code };
}
