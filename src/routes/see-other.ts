import type { Answer } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { headers } from '../http/headers.ts';

/** Leads to another page of this instance, by its path, and sets cookies on the way. */
export function seeOther(exchange: Exchange, path: string, cookies: readonly string[] = []): Answer {
  return redirect(exchange.root + path, cookies);
}

/** Leads to any address, and sets cookies on the way. */
export function redirect(url: string, cookies: readonly string[] = []): Answer {
  const fields = { Location: url, 'Cache-Control': 'private, no-store' };
  return withCookies({ status: 303, headers: headers(fields) }, cookies);
}

/** The answer with these `Set-Cookie` headers. */
export function withCookies(answer: Answer, cookies: readonly string[]): Answer {
  const all = cookies.reduce((more, cookie) => more.and(headers({ 'Set-Cookie': cookie })), answer.headers);
  return { ...answer, headers: all };
}
