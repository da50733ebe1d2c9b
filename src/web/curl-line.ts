/** What a command for posting needs to know of a feed. */
export interface PostedFeed {
  /** Absolute base of links. */
  readonly base: string;
  readonly name: string;
  /** The feed has a password. */
  readonly isProtected: boolean;
}
