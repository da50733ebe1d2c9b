import type { Exchange } from '../http/exchange.ts';

/** Longest `next`: an address that a browser can send, with room for the rest of it. */
const MAX_LENGTH = 2048;

/**
 * Where somebody goes on to after logging in: `next` if it is a path of this instance (contract §8), else the start page.
 * A second slash or a backslash would make another site's address of it, and a line break another header.
 */
export function nextPath(next: string | null | undefined): string {
  const isOwn =
    next != null && next.length <= MAX_LENGTH && /^\/[\x21-\x7e]*$/.test(next) && !/\/\/|\\/.test(next);
  return isOwn ? next : '/';
}

/** The login page that leads on to a path, with other parameters. */
export function loginPath(next: string, parameters: Readonly<Record<string, string>> = {}): string {
  return `/login?${new URLSearchParams({ ...parameters, next })}`;
}

/** The path and query of a request, as `next` takes them. */
export function addressOf({ path, queryText }: Exchange): string {
  return queryText === '' ? path : `${path}?${queryText}`;
}
