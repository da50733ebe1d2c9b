/** A time as in RFC 3339, or a date. */
const ISO_TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/;
const DATE_LENGTH = '2026-01-31'.length;
const DAY_MS = 24 * 60 * 60_000;

/** The moment that a text names, ms since the epoch: a time as in RFC 3339, or the first moment of a date in UTC. NaN for any other text. */
export function parseIsoTime(text: string): number {
  return ISO_TIME.test(text) && isDate(text.slice(0, DATE_LENGTH)) ? Date.parse(text) : Number.NaN;
}

/** As `parseIsoTime`, but the last moment of a date. */
export function parseIsoEnd(text: string): number {
  return parseIsoTime(text) + (text.length === DATE_LENGTH ? DAY_MS - 1 : 0);
}

/** `Date.parse` takes the 30th of February for a day in March. */
function isDate(date: string): boolean {
  const day = new Date(date);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(date);
}
