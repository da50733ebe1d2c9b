import { Refusal } from '../refusals.ts';
import type { FeedSettings } from './feed.ts';
import { parseIsoTime } from './iso-time.ts';

/** The most days and notes that a feed may say it keeps. */
export const MAX_KEEP_DAYS = 3_650;
export const MAX_KEEP_NOTES = 1_000_000;

const DAY_MS = 24 * 60 * 60_000;
const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 60 * 60_000, d: DAY_MS };
/** How far from now a note may expire, ms: 10 years. */
const FURTHEST_MS = 3_653 * DAY_MS;

/** Whether a value may name a note within its feed: 1 to 200 printable ASCII characters, no space at either end. */
export function isNoteKey(value: unknown): value is string {
  return typeof value === 'string' && /^[!-~](?:[ -~]{0,198}[!-~])?$/.test(value);
}

/** @throws Refusal `invalid_request` */
export function noteKey(text: string): string {
  if (isNoteKey(text)) return text;
  throw new Refusal(
    'invalid_request',
    'A key is 1 to 200 printable ASCII characters, without a space at either end.',
  );
}

/**
 * The moment that a sender names for a note to expire, ms since the epoch: an ISO time, or a duration from now, as `30m`, `12h`
 * or `7d`.
 * @throws Refusal `invalid_request` for any other text, a moment that has passed, and one further than 10 years away
 */
export function expiryOf(text: string, now = Date.now()): number {
  const [, count, unit = ''] = /^(\d{1,9})([mhd])$/.exec(text) ?? [];
  const time = count === undefined ? parseIsoTime(text) : now + Number(count) * UNITS[unit]!;
  if (Number.isNaN(time))
    throw new Refusal(
      'invalid_request',
      'A note expires at an ISO time such as 2030-01-31T12:00:00Z, or after a duration such as 30m, 12h or 7d.',
    );
  if (time <= now) throw new Refusal('invalid_request', 'A note can only expire in the future.');
  if (time > now + FURTHEST_MS)
    throw new Refusal('invalid_request', 'A note can expire at most 10 years from now.');
  return time;
}

/** As `expiryOf`; undefined for an empty text, which is none. */
export function optionalExpiry(text: string | undefined): number | undefined {
  return text ? expiryOf(text) : undefined;
}

/** What a feed keeps, as its owner says it; null for everything. */
interface Keep {
  readonly days?: number | undefined;
  readonly notes?: number | undefined;
}

/** Checks what a feed is to keep. Throws a Refusal `invalid_request` that names the wrong member. */
export function keepSettings(keep: Keep | null): Pick<FeedSettings, 'keepDays' | 'keepNotes'> {
  const { days, notes } = keep ?? {};
  const refuseBeyond = (member: string, value: number | undefined, most: number) => {
    if (value !== undefined && !(Number.isInteger(value) && value >= 1 && value <= most))
      throw new Refusal('invalid_request', `keep.${member} must be a whole number from 1 to ${most}.`);
  };
  refuseBeyond('days', days, MAX_KEEP_DAYS);
  refuseBeyond('notes', notes, MAX_KEEP_NOTES);
  return { keepDays: days, keepNotes: notes };
}
