import type { FeedOrder } from '../../feeds/order.ts';
import type { FeedListPage, FeedListQuery, FeedPlace } from '../storage.ts';
import type { FeedIndex } from './feed-index.ts';
import type { IndexedFeed } from './indexed-feed.ts';

const VALUES: Readonly<Record<FeedOrder, (feed: IndexedFeed) => number>> = {
  bytes: ({ notes }) => notes.byteCount,
  notes: ({ notes }) => notes.size,
  changed: ({ changedAt }) => changedAt,
  created: ({ createdAt }) => createdAt,
  name: () => 0,
};

/** See `Storage.listFeeds`. Looks at all feeds, some in each turn of the event loop. */
export async function listFeeds(
  index: FeedIndex,
  { order, start, limit, after }: FeedListQuery,
): Promise<FeedListPage> {
  let first: FeedPlace[] = [];
  for await (const feeds of index.inTurns()) {
    const last = first[limit];
    const found = feeds
      .filter(({ name }) => name.startsWith(start))
      .map((feed) => ({ value: VALUES[order](feed), name: feed.name }))
      .filter((place) => !(after && inOrder(place, after) <= 0) && !(last && inOrder(place, last) > 0));
    if (found.length > 0) first = [...first, ...found].sort(inOrder).slice(0, limit + 1);
  }
  const places = first.slice(0, limit);
  // One that went meanwhile, or that came again and is there twice.
  const names = new Set(places.map(({ name }) => name));
  const feeds = [...names].flatMap((name) => index.get(name)?.record() ?? []);
  return { feeds, next: first.length > limit ? places.at(-1) : undefined };
}

function inOrder(a: FeedPlace, b: FeedPlace): number {
  if (a.value !== b.value) return b.value - a.value;
  if (a.name === b.name) return 0;
  return a.name < b.name ? -1 : 1;
}
