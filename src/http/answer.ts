import type { Refusal } from '../refusals.ts';

declare const checked: unique symbol;
/**
 * Response header fields as a flat list: name, value, name, value. Only `headers()` makes one, so whatever
 * reaches the socket has been checked for CR and LF, which the binding does not filter.
 */
export type Headers = readonly string[] & { readonly [checked]: true };

/** A body that is produced while it is sent. */
export interface BodyStream {
  /** Total length in bytes where it is known; else the answer is sent in chunks. */
  readonly size?: number;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** What a handler returns; the front end alone writes it to the socket. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body?: Uint8Array | BodyStream | undefined;
  /** The refusal's code, for the log. */
  readonly code?: string;
}

/**
 * Checked header fields. Undefined values are left out.
 * @throws TypeError for a name or value that would break out of its line.
 */
export function headers(fields: Readonly<Record<string, string | undefined>>): Headers {
  const list: string[] = [];
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    if (!/^[A-Za-z0-9-]+$/.test(name) || !/^[\t\x20-\x7e]*$/.test(value))
      throw new TypeError(`not a header field: ${JSON.stringify(name)}`);
    list.push(name, value);
  }
  return list as string[] & { readonly [checked]: true };
}

/** Sent with every answer: what we say a body is, is what it is. */
export const NOSNIFF = { 'X-Content-Type-Options': 'nosniff' };
const encoder = new TextEncoder();

/** A JSON answer for one client only; never kept by a cache. */
export function json(status: number, value: unknown, extra: Readonly<Record<string, string>> = {}): Answer {
  return {
    status,
    headers: headers({
      'Content-Type': 'application/json',
      'Cache-Control': 'private, no-store',
      ...NOSNIFF,
      ...extra,
    }),
    body: encoder.encode(JSON.stringify(value)),
  };
}

/** The answer to a refused request (contract §5). */
export function refusalAnswer(refusal: Refusal): Answer {
  const { status, code, message } = refusal;
  const challenge = status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {};
  const answer = json(status, { error: message, code }, { ...challenge, ...refusal.headers });
  return { ...answer, code };
}
