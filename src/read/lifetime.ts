import type { NoteMeta } from '../feeds/note.ts';

/** How long a view of an index that is behind is kept, ms. */
const BEHIND_MS = 200;

/** How long a view may be kept. */
export interface Lifetime {
  /** When this process must drop the view, ms since the epoch; undefined if it may keep the view until the feed changes. */
  readonly until: number | undefined;
  /** Others must ask each time before they use it. */
  readonly mustRevalidate: boolean;
}

/**
 * No view outlives the first note in it that expires, wherever it is kept: others may keep it for `maxAge` after they got
 * it, so this long before that moment it gives way to one that they must ask for each time.
 * @param maxAge that its `Cache-Control` says, seconds
 * @param isCurrent false if the same view may soon show other notes, although the feed does not change
 */
export function lifetimeOf(
  expiries: Iterable<NoteMeta['expires']>,
  maxAge: number,
  isCurrent = true,
): Lifetime {
  const first = firstOf(expiries);
  if (!isCurrent) return { until: Math.min(first, Date.now() + BEHIND_MS), mustRevalidate: true };
  if (first === Number.POSITIVE_INFINITY) return { until: undefined, mustRevalidate: false };
  const last = first - maxAge * 1000;
  return Date.now() < last ? { until: last, mustRevalidate: false } : { until: first, mustRevalidate: true };
}

/** The first moment at which a note expires, ms since the epoch; infinite if none does. */
export function firstOf(expiries: Iterable<NoteMeta['expires']>): number {
  let first = Number.POSITIVE_INFINITY;
  for (const expires of expiries) if (expires !== undefined && expires < first) first = expires;
  return first;
}

/** Says to a service worker until when it may keep the answer (`browser/keeping/shelf.ts`). */
export function expiryField(expires = Number.POSITIVE_INFINITY): Readonly<Record<string, string>> {
  return expires === Number.POSITIVE_INFINITY ? {} : { 'X-Note-Expires': new Date(expires).toISOString() };
}
