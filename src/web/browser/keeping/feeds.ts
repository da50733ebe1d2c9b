import { ROOT } from '../page/elements.ts';

/** The feeds whose pages were opened in this browser. Their names are secrets: they stay in its localStorage. */

export interface KeptFeed {
  readonly name: string;
  readonly title: string;
  /** When the newest note that was shown here was posted, ISO 8601. */
  readonly seen: string;
  /** This browser made it, and still asks to keep its address. */
  readonly isNew?: boolean;
}

const KEY = 'feeds';
/** More are forgotten, the one that was not opened for the longest time first. */
const MAX_FEEDS = 100;

/** The name of the feed that this page is about. */
export function feedOfPage(): string {
  return location.pathname.slice(ROOT.length + 1).split('/')[0]!;
}

/** The feeds, the one that was opened last first. A browser that blocks storage has none. */
export function keptFeeds(): KeptFeed[] {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? '[]');
  } catch {
    return [];
  }
}

/** Puts a feed at the head of the list, with what is known of it already; what was seen stays seen. */
export function keepFeed(feed: KeptFeed): KeptFeed {
  const known = keptFeeds().find(({ name }) => name === feed.name);
  const seen = known !== undefined && known.seen > feed.seen ? known.seen : feed.seen;
  const kept = { ...known, ...feed, seen };
  writeFeeds([kept, ...withoutFeed(feed.name)]);
  return kept;
}

export function forgetFeed(name: string): void {
  writeFeeds(withoutFeed(name));
}

export function writeFeeds(feeds: readonly KeptFeed[]): void {
  try {
    if (feeds.length === 0) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, JSON.stringify(feeds.slice(0, MAX_FEEDS)));
  } catch {
    // Then the list is not kept.
  }
}

function withoutFeed(name: string): KeptFeed[] {
  return keptFeeds().filter((feed) => feed.name !== name);
}
