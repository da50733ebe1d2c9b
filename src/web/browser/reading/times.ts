// Shows times in the zone and the language of the reader, where the service shows them in its own.

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** Days that are called by their weekday. */
const WEEK = 7;

const format = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(undefined, options);
const CLOCK = format({ timeStyle: 'short' });
const LONG = format({ dateStyle: 'long', timeStyle: 'short' });
const EXACT = format({ dateStyle: 'full', timeStyle: 'long' });
const WEEKDAY = format({ weekday: 'long' });
const DATE = format({ dateStyle: 'full' });
const AGO = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });
/** Fits into the column of times beside a list. */
const SHORT_AGO = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'short' });
const LANGUAGE = CLOCK.resolvedOptions().locale;

/** On paper, "now" and "Today" say nothing. */
let isForPaper = false;

/** Shows the times below an element, and keeps them true while the page is shown. */
export function keepTimes(root: HTMLElement): void {
  const update = () => {
    if (document.visibilityState === 'hidden' && !isForPaper) return;
    showTimes(root);
    showDays(root);
  };
  update();
  setInterval(update, MINUTE_MS);
  document.addEventListener('visibilitychange', update);
  for (const type of ['beforeprint', 'afterprint'])
    addEventListener(type, () => {
      isForPaper = type === 'beforeprint';
      update();
    });
}

/** Shows the times of the notes below an element. */
export function showTimes(root: ParentNode): void {
  for (const element of root.querySelectorAll<HTMLTimeElement>('.when time, footer time')) {
    const time = Date.parse(element.dateTime);
    element.title = EXACT.format(time);
    if (element.closest('.when'))
      say(
        element,
        element.closest('.alone, .hit') ? whenText(time, AGO, LONG) : whenText(time, SHORT_AGO, CLOCK),
      );
    else if (element.closest('.expires')) say(element, LONG.format(time));
  }
}

/** Puts a heading above the first note of each day. Notes stay where they are. */
export function showDays(list: HTMLElement): void {
  const headings = new Map(
    [...list.querySelectorAll<HTMLElement>(':scope > .day')].map((heading) => [dayIn(heading), heading]),
  );
  let last = '';
  for (const note of list.querySelectorAll<HTMLElement>(':scope > .note:not([hidden], .alone)')) {
    const time = new Date(note.querySelector('time')!.dateTime);
    const day = [time.getFullYear(), time.getMonth() + 1, time.getDate()]
      .map((part) => String(part).padStart(2, '0'))
      .join('-');
    if (day === last) continue;
    last = day;
    const heading = headings.get(day) ?? newHeading(day);
    headings.delete(day);
    if (heading.nextElementSibling !== note) note.before(heading);
    say(heading.querySelector('time')!, dayText(time));
  }
  for (const heading of headings.values()) heading.remove();
}

function dayIn(heading: HTMLElement): string {
  return heading.querySelector('time')!.dateTime;
}

function newHeading(day: string): HTMLElement {
  const heading = document.createElement('h2');
  heading.className = 'day';
  const time = document.createElement('time');
  time.dateTime = day;
  heading.append(time);
  return heading;
}

/** Leaves a text that is right, because a selection may be in it. */
function say(element: HTMLElement, text: string): void {
  if (element.textContent === text) return;
  element.textContent = text;
  element.lang = LANGUAGE;
}

/** How long ago that was, for an hour, and then when. */
function whenText(time: number, ago: Intl.RelativeTimeFormat, otherwise: Intl.DateTimeFormat): string {
  const age = Date.now() - time;
  if (isForPaper || age < 0 || age >= HOUR_MS) return otherwise.format(time);
  return age < MINUTE_MS ? ago.format(0, 'second') : ago.format(-Math.floor(age / MINUTE_MS), 'minute');
}

/** "Today", "Yesterday", a weekday of the last week, or the date. */
function dayText(time: Date): string {
  if (isForPaper) return DATE.format(time);
  // Rounded, because a day may have 23 or 25 hours.
  const days = Math.round((midnight(new Date()) - midnight(time)) / DAY_MS);
  if (days === 0 || days === 1) return capitalised(AGO.format(-days, 'day'));
  return (days > 0 && days < WEEK ? WEEKDAY : DATE).format(time);
}

function midnight(time: Date): number {
  return new Date(time).setHours(0, 0, 0, 0);
}

function capitalised(text: string): string {
  return text.replace(/^./u, (first) => first.toLocaleUpperCase(LANGUAGE));
}
