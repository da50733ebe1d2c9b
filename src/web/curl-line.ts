import type { Site } from './site.ts';

/** The feed that a curl command posts to. */
export interface PostedFeed {
  /** Absolute base of links. */
  readonly base: string;
  readonly name: string;
  /** The feed has a password. */
  readonly isProtected: boolean;
}

/**
 * The command that posts a note to a feed, with placeholders in capitals for the passwords that it needs; undefined where only
 * people who sign in can post.
 */
export function curlLine(
  { isLocked, hasPassword }: Pick<Site, 'isLocked' | 'hasPassword'>,
  feed: PostedFeed,
): string | undefined {
  if (isLocked && !hasPassword) return undefined;
  return [
    "curl --data-binary 'Hello' -H 'Content-Type: text/markdown'",
    ...(isLocked ? ["-H 'Authorization: Bearer INSTANCE-PASSWORD'"] : []),
    ...(feed.isProtected ? ["-H 'X-Feed-Password: FEED-PASSWORD'"] : []),
    `${feed.base}/${feed.name}`,
  ].join(' ');
}
