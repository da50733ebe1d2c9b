import { type Html, html } from './html.ts';

/** Times whose texts are remembered: to format one takes longer than all else of its note. */
const REMEMBERED = 5_000;

/** A way to write times. */
type Format = (time: number) => string;

interface Formats {
  readonly day: Format;
  readonly dayName: Format;
  readonly time: Format;
  readonly full: Format;
}

/** To make one takes longer than a page. */
let known: { readonly timeZone: string; readonly formats: Formats } | undefined;

/** The day of a time in ms, as `2026-01-31`, in a zone. */
export function dayOf(time: number, timeZone: string): string {
  return formatsOf(timeZone).day(time);
}

/** The day of a time, for people. */
export function dayElement(time: number, timeZone: string): Html {
  const { day, dayName } = formatsOf(timeZone);
  return html`<time datetime="${day(time)}">${dayName(time)}</time>`;
}

/** The time of day, for people. */
export function timeElement(time: number, timeZone: string): Html {
  return element(time, formatsOf(timeZone).time);
}

/** Day and time, for people. */
export function fullTimeElement(time: number, timeZone: string): Html {
  return element(time, formatsOf(timeZone).full);
}

function element(time: number, format: Format): Html {
  return html`<time datetime="${new Date(time).toISOString()}">${format(time)}</time>`;
}

function formatsOf(timeZone: string): Formats {
  if (known?.timeZone !== timeZone) {
    const of = (locale: string, options: Intl.DateTimeFormatOptions) =>
      remembering(new Intl.DateTimeFormat(locale, { timeZone, ...options }));
    const formats = {
      day: of('en-CA', { year: 'numeric', month: '2-digit', day: '2-digit' }),
      dayName: of('en-GB', { weekday: 'long', year: 'numeric', month: 'long', day: 'numeric' }),
      time: of('en-GB', { hour: '2-digit', minute: '2-digit' }),
      full: of('en-GB', { dateStyle: 'long', timeStyle: 'short' }),
    };
    known = { timeZone, formats };
  }
  return known.formats;
}

function remembering(format: Intl.DateTimeFormat): Format {
  const texts = new Map<number, string>();
  return (time) => {
    let text = texts.get(time);
    if (text === undefined) {
      text = format.format(time);
      if (texts.size >= REMEMBERED) texts.clear();
      texts.set(time, text);
    }
    return text;
  };
}
