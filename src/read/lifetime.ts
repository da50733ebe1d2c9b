import type { NoteMeta } from '../feeds/note.ts';

/** How long a view of an index that is behind is kept, ms. */
const BEHIND_MS = 200;

/** How long caches between the service and its readers may show an answer. */
interface Terms {
  readonly cacheControl: string;
  /** The longest that they may show it after they got it, seconds. */
  readonly seconds: number;
}

/** `Cache-Control` of what others must ask for before each use. */
export const ASK_EACH_TIME = 'public, max-age=0, must-revalidate';

/** Terms of views, the longest first. A cache that is not told of a takedown shows the view for six minutes at most. */
export const VIEW_TERMS: readonly Terms[] = [
  { cacheControl: 'public, max-age=60, stale-while-revalidate=30, stale-if-error=300', seconds: 60 + 300 },
  // Without `must-revalidate`, caches may show a stale answer if they cannot reach the service.
  { cacheControl: 'public, max-age=60, must-revalidate', seconds: 60 },
];
/** The same of files (contract §6). */
export const FILE_TERMS: readonly Terms[] = [
  { cacheControl: 'public, max-age=300, must-revalidate', seconds: 300 },
];

/** How long a view may be kept. */
interface Lifetime {
  /** When this process must drop the view, ms since the epoch; undefined if it may keep the view until the feed changes. */
  readonly until: number | undefined;
  /** `Cache-Control` of a public view. */
  readonly cacheControl: string;
}

/**
 * How long a view may be kept so that no cache shows it after its first note has expired. Its terms are the longest that still
 * end before that. `until` is when they would end too late: then the view must be made again, with shorter ones.
 * @param terms from the longest to the shortest
 * @param isCurrent false if the same view may soon show other notes, although the feed does not change
 */
export function lifetimeOf(
  expiries: Iterable<NoteMeta['expires']>,
  terms: readonly Terms[],
  isCurrent = true,
): Lifetime {
  const first = firstExpiry(expiries);
  const now = Date.now();
  if (!isCurrent) return { until: Math.min(first, now + BEHIND_MS), cacheControl: ASK_EACH_TIME };
  for (const { cacheControl, seconds } of terms) {
    const until = first - seconds * 1000;
    if (now < until) return { until: Number.isFinite(until) ? until : undefined, cacheControl };
  }
  return { until: first, cacheControl: ASK_EACH_TIME };
}

/** The first moment at which a note expires, ms since the epoch; infinite if none does. */
export function firstExpiry(expiries: Iterable<NoteMeta['expires']>): number {
  let first = Number.POSITIVE_INFINITY;
  for (const expires of expiries) if (expires !== undefined && expires < first) first = expires;
  return first;
}

/** Says to a service worker until when it may keep the answer (`browser/keeping/offline-cache.ts`). */
export function expiryField(expires = Number.POSITIVE_INFINITY): Readonly<Record<string, string>> {
  return expires === Number.POSITIVE_INFINITY ? {} : { 'X-Note-Expires': new Date(expires).toISOString() };
}
