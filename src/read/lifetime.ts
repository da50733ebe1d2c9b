import type { NoteMeta } from '../feeds/note.ts';

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
 */
export function lifetimeOf(expiries: Iterable<NoteMeta['expires']>, maxAge: number): Lifetime {
  let first = Number.POSITIVE_INFINITY;
  for (const expires of expiries) if (expires !== undefined && expires < first) first = expires;
  if (first === Number.POSITIVE_INFINITY) return { until: undefined, mustRevalidate: false };
  const last = first - maxAge * 1000;
  return Date.now() < last ? { until: last, mustRevalidate: false } : { until: first, mustRevalidate: true };
}
