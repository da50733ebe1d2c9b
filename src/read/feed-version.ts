import type { Feed } from '../storage/storage.ts';

/** The version of whatever has no notes, for those who must not find out whether it exists. */
const NONE = '0';

/** Version of a feed for its owner: opaque, the same in every container, different after every change. */
export function feedVersion(feed: Pick<Feed, 'version'> | undefined): string {
  return feed?.version ?? NONE;
}

/** As `feedVersion` for everybody: a feed without notes is not told from a read id that nobody has. */
export function publicFeedVersion(feed: Pick<Feed, 'version' | 'noteCount'> | undefined): string {
  return feed === undefined || feed.noteCount === 0 ? NONE : feed.version;
}
