import { type Html, html } from './html.ts';

/** Formats of times, and of the dates that group notes. */
const FORMATS = {
  date: ['en-CA', { year: 'numeric', month: '2-digit', day: '2-digit' }],
  day: ['en-GB', { weekday: 'long', year: 'numeric', month: 'long', day: 'numeric' }],
  clock: ['en-GB', { hour: '2-digit', minute: '2-digit' }],
  full: ['en-GB', { dateStyle: 'long', timeStyle: 'short' }],
} as const satisfies Record<string, readonly [locale: string, Intl.DateTimeFormatOptions]>;

type TimeFormat = keyof typeof FORMATS;

/** Texts to cache: formatting costs more than the rest of a note. */
const MAX_CACHED = 20_000;

/** Kept, because creating an `Intl.DateTimeFormat` takes longer than a page. */
const formatters = new Map<string, Intl.DateTimeFormat>();
/** By format, zone and time. */
const texts = new Map<string, string>();

/** A time in ms as text in a zone; `date` is `2026-01-31`. */
export function formatTime(time: number, format: TimeFormat, timeZone: string): string {
  const kind = `${format} ${timeZone}`;
  const known = texts.get(`${kind} ${time}`);
  if (known !== undefined) return known;
  const [locale, options] = FORMATS[format];
  const formatter = formatters.get(kind) ?? new Intl.DateTimeFormat(locale, { timeZone, ...options });
  formatters.set(kind, formatter);
  if (texts.size >= MAX_CACHED) texts.clear();
  const text = formatter.format(time);
  texts.set(`${kind} ${time}`, text);
  return text;
}

/** A time in ms for people; a day has no time of day. */
export function timeElement(time: number, format: TimeFormat, timeZone: string): Html {
  const exact = format === 'day' ? formatTime(time, 'date', timeZone) : new Date(time).toISOString();
  return html`<time datetime="${exact}">${formatTime(time, format, timeZone)}</time>`;
}
