import { type Html, html } from './html.ts';

interface Formats {
  readonly day: Intl.DateTimeFormat;
  readonly dayName: Intl.DateTimeFormat;
  readonly time: Intl.DateTimeFormat;
  readonly full: Intl.DateTimeFormat;
}

/** To make one takes longer than a page. */
let known: { readonly timeZone: string; readonly formats: Formats } | undefined;

/** The day of a time in ms, as `2026-01-31`, in a zone. */
export function dayOf(time: number, timeZone: string): string {
  return formatsOf(timeZone).day.format(time);
}

/** The day of a time, for people. */
export function dayElement(time: number, timeZone: string): Html {
  const { day, dayName } = formatsOf(timeZone);
  return html`<time datetime="${day.format(time)}">${dayName.format(time)}</time>`;
}

/** The time of day, for people. */
export function timeElement(time: number, timeZone: string): Html {
  return element(time, formatsOf(timeZone).time);
}

/** Day and time, for people. */
export function fullTimeElement(time: number, timeZone: string): Html {
  return element(time, formatsOf(timeZone).full);
}

function element(time: number, format: Intl.DateTimeFormat): Html {
  return html`<time datetime="${new Date(time).toISOString()}">${format.format(time)}</time>`;
}

function formatsOf(timeZone: string): Formats {
  if (known?.timeZone !== timeZone) {
    const of = (locale: string, options: Intl.DateTimeFormatOptions) =>
      new Intl.DateTimeFormat(locale, { timeZone, ...options });
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
