import type { Feed } from '../feeds/feed.ts';
import type { NoteFile } from '../feeds/names.ts';

const DAY_MS = 24 * 60 * 60_000;

/** The most notes removed in one write. */
export const SWEPT_NOTES = 100;

/** Which notes of a feed are to be removed: those that have expired by `now`, and those that the feed keeps no longer. */
export interface Due {
  /** Ms since the epoch. */
  readonly now: number;
  /** Notes with an earlier date are due, ms since the epoch; undefined if no note is due by its date. */
  readonly before: number | undefined;
  /** All but this number of the newest notes are due; undefined if the number does not matter. */
  readonly beyond: number | undefined;
  /** The title image, which is removed only if it has expired. */
  readonly except: NoteFile | undefined;
}

/** @param maxDays the days that any feed of the instance keeps its notes; 0 is no limit */
export function dueOf(
  { keepDays, keepNotes, image }: Pick<Feed, 'keepDays' | 'keepNotes' | 'image'>,
  now: number,
  maxDays: number,
): Due {
  const days = Math.min(keepDays ?? Number.POSITIVE_INFINITY, maxDays || Number.POSITIVE_INFINITY);
  const before = Number.isFinite(days) ? now - days * DAY_MS : undefined;
  return { now, before, beyond: keepNotes, except: image };
}
