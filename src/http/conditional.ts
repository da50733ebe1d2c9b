/**
 * Conditional requests, RFC 9110 §13.
 */

/**
 * Whether an `If-None-Match` value names the given strong entity tag. The comparison is weak
 * (RFC 9110 §13.1.2), and `*` matches everything.
 * @param etag the quoted tag
 */
export function matchesETag(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === etag) return true;
  if (ifNoneMatch.trim() === '*') return true;
  for (const [tag] of ifNoneMatch.matchAll(/"[^"]*"/g)) if (tag === etag) return true;
  return false;
}

/** The three forms of an HTTP date that are to be understood, all of them in UTC (RFC 9110 §5.6.7). */
const DATE = /^\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
const RFC850_DATE = /^\w{6,9}, \d{2}-\w{3}-\d{2} \d{2}:\d{2}:\d{2} GMT$/;
const ASCTIME_DATE = /^\w{3} \w{3} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;

/** `Date.parse` alone takes almost anything for a date, and a date without a zone for local time. */
function parseHttpDate(text: string): number {
  if (DATE.test(text) || RFC850_DATE.test(text)) return Date.parse(text);
  return ASCTIME_DATE.test(text) ? Date.parse(`${text} GMT`) : Number.NaN;
}

/**
 * Whether something last modified at `modifiedAt` (ms) is unchanged since an `If-Modified-Since` value. Never before the
 * second of its date is over, because until then another change may get the same date. A value that is not an HTTP date is
 * ignored (RFC 9110 §13.1.3).
 */
export function unchangedSince(ifModifiedSince: string, modifiedAt: number, now = Date.now()): boolean {
  const second = Math.floor(modifiedAt / 1000) * 1000;
  return now >= second + 1000 && second <= parseHttpDate(ifModifiedSince);
}

/** A time in ms as an HTTP date (RFC 9110 §5.6.7), in whole seconds rounded down. */
export function httpDate(time: number): string {
  return new Date(time).toUTCString();
}
