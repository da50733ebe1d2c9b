import type { Answer } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Refusal } from '../refusals.ts';
import type { SignInError } from '../sign-in/sign-in.ts';
import { loginPath } from './next-path.ts';
import { seeOther } from './see-other.ts';

/** Leads to the login page, which says why nobody was let in. */
export function backToLogin(
  exchange: Exchange,
  next: string,
  { code, headers }: { readonly code: SignInError; readonly headers?: undefined } | Refusal,
  cookies: readonly string[] = [],
): Answer {
  const retry = headers?.['Retry-After'];
  const path = loginPath(next, { error: code, ...(retry && { retry }) });
  return { ...seeOther(exchange, path, cookies), code };
}
