import type { Feed } from '../feeds/feed.ts';
import { dateOfId } from '../feeds/ids.ts';
import { noteFile } from '../feeds/names.ts';
import { NOTE_TYPES } from '../feeds/note-types.ts';
import { changesSettings, type Effects } from '../writing/decide.ts';
import { type Due, dueOf, SWEPT_NOTES } from '../writing/due.ts';
import type { InsertedNote } from './rows.ts';

/** About how many bytes of notes a sweep removes from the database: other writes wait for it. */
const SWEPT_BYTES = 4 * 1024 * 1024;

/** How many of the oldest notes a sweep looks at: one that is not removed among them says when the feed is due next. */
export const OLDEST_NOTES = SWEPT_NOTES + 2;

/** What a sweep finds in a feed. */
interface Found<R> {
  /** Notes that have expired, the first ones first, at most `SWEPT_NOTES`. */
  readonly expired: readonly R[];
  /** The oldest of the other notes, at most `OLDEST_NOTES`; none unless `needsOldest`. */
  readonly oldest: readonly R[];
  /** When the first of the other notes expires, ms since the epoch; null for never. */
  readonly nextExpiry: number | null;
}

interface Swept<R> {
  /** The rows to remove. */
  readonly rows: readonly R[];
  /** When the feed has to be swept again, ms since the epoch; null for never. */
  readonly dueAt: number | null;
}

/** Whether a sweep has to look at the oldest notes, which is of use only if all that have expired are found. */
export function needsOldest({ before, beyond }: Due, expired: readonly unknown[]): boolean {
  return (before !== undefined || beyond !== undefined) && expired.length < SWEPT_NOTES;
}

/** What a sweep removes, by what is due and what was found. */
export function sweptRows<R extends Pick<InsertedNote, 'id' | 'type' | 'size' | 'created_at' | 'image_key'>>(
  { noteCount }: Pick<Feed, 'noteCount'>,
  { now, before, beyond, except }: Due,
  { expired, oldest, nextExpiry }: Found<R>,
): Swept<R> {
  const excess = beyond === undefined ? 0 : noteCount - expired.length - beyond;
  const isOld = ({ created_at }: R, n: number) => n < excess || (before !== undefined && created_at < before);
  const others = oldest.filter(({ id, type }) => noteFile(id, NOTE_TYPES[type]!) !== except);
  // The title image has its place among the oldest, so it may be one of those in excess.
  const isDue = new Set(oldest.filter(isOld));
  const due = [...expired, ...others.filter((row) => isDue.has(row))];
  let bytes = 0;
  const rows = due.slice(0, SWEPT_NOTES).filter(({ size, image_key }, n) => {
    bytes += image_key === null ? size : 0;
    return n === 0 || bytes <= SWEPT_BYTES;
  });
  if (rows.length < due.length || expired.length === SWEPT_NOTES) return { rows, dueAt: now };
  const kept = before === undefined ? undefined : others.find((row) => !isDue.has(row));
  return { rows, dueAt: earlier(nextExpiry, kept && kept.created_at + (now - before!)) };
}

/**
 * The earliest moment at which a note of the feed can be due, after any write but a sweep; ms since the epoch, null for never.
 * @param known the same before the write; null for a new feed
 */
export function dueAfter(
  { feed, added, edit }: Effects,
  before: Feed,
  known: number | null,
  { now, keepDays }: { readonly now: number; readonly keepDays: number },
): number | null {
  const { before: oldest, beyond } = dueOf(feed, now, keepDays);
  let at = earlier(known, edit?.after?.meta.expires);
  for (const { id, createdAt, meta } of added) {
    at = earlier(at, meta.expires);
    if (oldest !== undefined) at = earlier(at, (createdAt ?? dateOfId(id) ?? now) + (now - oldest));
  }
  const isBeyond = beyond !== undefined && feed.noteCount > beyond;
  const isLimited = oldest !== undefined || beyond !== undefined;
  return isBeyond || (isLimited && changesSettings(before, feed)) ? earlier(at, now) : at;
}

/** The earlier of two times, if there is one. */
function earlier(one: number | null, other: number | null | undefined): number | null {
  return one === null || (other != null && other < one) ? (other ?? null) : one;
}
