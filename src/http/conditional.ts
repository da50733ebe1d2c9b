/** Conditional requests and ranges, RFC 9110 §13 and §14. */

/**
 * Whether an `If-None-Match` value has the given tag, quotes included. Compares weakly (§13.1.2); `*` matches everything.
 */
export function matchesETag(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === etag || ifNoneMatch.trim() === '*') return true;
  for (const [tag] of ifNoneMatch.matchAll(/"[^"]*"/g)) if (tag === etag) return true;
  return false;
}

/** A list of entity tags (§8.8.3). */
const TAGS = /^\s*(?:W\/)?"[^"]*"(?:\s*,\s*(?:W\/)?"[^"]*")*\s*$/;

/**
 * The tags of an `If-Match` value without quotes, or `*`; undefined for any other text. Weak ones are left out, because they
 * never match (§13.1.1). A tag of a compressed form also stands for the bytes as they are (see `Representation`); proxies that
 * compress make such tags, too.
 */
export function strongTags(ifMatch: string): readonly string[] | '*' | undefined {
  if (ifMatch.trim() === '*') return '*';
  if (!TAGS.test(ifMatch)) return undefined;
  const tags = [...ifMatch.matchAll(/(W\/)?"([^"]*)"/g)].flatMap(([, weak, tag = '']) => (weak ? [] : [tag]));
  return tags.flatMap((tag) => [tag, tag.replace(/-(?:br|gzip|zstd)$/, '')]);
}

/** The three forms of an HTTP date, all in UTC (§5.6.7). */
const DATE = /^\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
const RFC850_DATE = /^\w{6,9}, \d{2}-\w{3}-\d{2} \d{2}:\d{2}:\d{2} GMT$/;
const ASCTIME_DATE = /^\w{3} \w{3} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;

/** `Date.parse` alone accepts almost anything, and takes a date without a zone as local time. */
function parseHttpDate(text: string): number {
  if (DATE.test(text) || RFC850_DATE.test(text)) return Date.parse(text);
  return ASCTIME_DATE.test(text) ? Date.parse(`${text} GMT`) : Number.NaN;
}

/**
 * Whether something is unchanged since an `If-Modified-Since` value, by its `Last-Modified` (ms). A value that is not an
 * HTTP date is ignored (RFC 9110 §13.1.3).
 * @param isExact only the same date means unchanged, because a later version may have an earlier one
 */
export function unchangedSince(ifModifiedSince: string, lastModified: number, isExact = false): boolean {
  const since = parseHttpDate(ifModifiedSince);
  return isExact ? lastModified === since : lastModified <= since;
}

/**
 * The `Last-Modified` of a change, ms: the start of the second full second after `changedAt` (ms). It is sent only from that
 * moment on. So no two changes get the same date: not if they are of one second, and not if one shows up to a second late,
 * because its commit took long or its container has another clock. The second of the change itself would not do: a client without a
 * date may send the `Date` of an answer, which can lie between two changes of one second (RFC 9110 §13.1.3).
 */
export function settledAt(changedAt: number): number {
  return (Math.floor(changedAt / 1000) + 2) * 1000;
}

/** A time in ms as an HTTP date, rounded down to seconds. */
export function httpDate(time: number): string {
  return new Date(time).toUTCString();
}

/**
 * The part of `size` bytes that a `Range` value asks for, `end` exclusive. Undefined if the whole is sent instead: the
 * value is malformed, has another unit or several parts, which no client of pictures needs, or the file is empty, which
 * `Content-Range` cannot express.
 */
export function parseRange(
  header: string,
  size: number,
): { start: number; end: number } | 'unsatisfiable' | undefined {
  const match = /^bytes=(\d*)-(\d*)$/i.exec(header.trim());
  if (match === null || size === 0) return undefined;
  const [, first = '', last = ''] = match;
  if (first === '' && last === '') return undefined;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return undefined;
  if (start >= size) return 'unsatisfiable';
  return { start, end: last === '' ? size : Math.min(Number(last) + 1, size) };
}
