/** What a command for posting needs to know of a feed. */
export interface PostedFeed {
  /** Absolute base of links. */
  readonly base: string;
  readonly name: string;
  /** The feed has a password. */
  readonly isProtected: boolean;
}

/** The command that posts a note to a feed, with placeholders in capitals for the passwords that it needs. */
export function curlLine({ isLocked }: { readonly isLocked: boolean }, feed: PostedFeed): string {
  return [
    "curl --data-binary 'Hello' -H 'Content-Type: text/markdown'",
    ...(isLocked ? ["-H 'Authorization: Bearer INSTANCE-PASSWORD'"] : []),
    ...(feed.isProtected ? ["-H 'X-Feed-Password: FEED-PASSWORD'"] : []),
    `${feed.base}/${feed.name}`,
  ].join(' ');
}
