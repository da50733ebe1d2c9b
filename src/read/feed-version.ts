import type { Feed } from '../storage/storage.ts';

const NONE = '0';

/** The version of a feed: opaque, the same in every container, different after every change. */
export function feedVersion(feed: Pick<Feed, 'version'> | undefined): string {
  return feed?.version ?? NONE;
}

/** The version for readers: a feed without notes looks like a read id that nobody has. */
export function publicFeedVersion(feed: Pick<Feed, 'version' | 'noteCount'> | undefined): string {
  return feed === undefined || feed.noteCount === 0 ? NONE : feed.version;
}
