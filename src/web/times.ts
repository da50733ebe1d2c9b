import { type Html, html } from './html.ts';

/** Formats of times, and of the dates that group notes. */
const FORMATS = {
  date: ['en-CA', { year: 'numeric', month: '2-digit', day: '2-digit' }],
  day: ['en-GB', { weekday: 'long', year: 'numeric', month: 'long', day: 'numeric' }],
  clock: ['en-GB', { hour: '2-digit', minute: '2-digit' }],
  full: ['en-GB', { dateStyle: 'long', timeStyle: 'short' }],
} as const satisfies Record<string, readonly [locale: string, Intl.DateTimeFormatOptions]>;

type TimeFormat = keyof typeof FORMATS;

/** Cached texts per format: formatting costs more than the rest of a note. */
const MAX_CACHED = 5_000;

/** Kept, because creating an `Intl.DateTimeFormat` takes longer than a page. All pages of a process use one zone. */
const formatters = new Map<string, (time: number) => string>();

/** A time in ms as text in a zone; `date` is `2026-01-31`. */
export function formatTime(time: number, format: TimeFormat, timeZone: string): string {
  const key = `${format} ${timeZone}`;
  let formatter = formatters.get(key);
  if (formatter === undefined) {
    const [locale, options] = FORMATS[format];
    formatter = memoize(new Intl.DateTimeFormat(locale, { timeZone, ...options }));
    formatters.set(key, formatter);
  }
  return formatter(time);
}

/** A time in ms for people; a day has no time of day. */
export function timeElement(time: number, format: TimeFormat, timeZone: string): Html {
  const exact = format === 'day' ? formatTime(time, 'date', timeZone) : new Date(time).toISOString();
  return html`<time datetime="${exact}">${formatTime(time, format, timeZone)}</time>`;
}

function memoize(format: Intl.DateTimeFormat): (time: number) => string {
  const texts = new Map<number, string>();
  return (time) => {
    let text = texts.get(time);
    if (text === undefined) {
      text = format.format(time);
      if (texts.size >= MAX_CACHED) texts.clear();
      texts.set(time, text);
    }
    return text;
  };
}
