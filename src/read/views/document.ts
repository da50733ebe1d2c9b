import type { ReadId } from '../../feeds/names.ts';
import type { Feed, Note } from '../../storage/storage.ts';
import type { Rendered } from '../unrendered.ts';

/** What the public views show of a feed. */
export type ViewFeed = Pick<Feed, 'title' | 'description' | 'image' | 'showSender' | 'changedAt'>;

/** Where a public address starts. */
export interface ReadPlace {
  /** The service's address without a slash at its end. */
  readonly base: string;
  readonly readId: ReadId;
}

/** A note to be shown. */
export interface ViewNote extends Note {
  /** Undefined for a picture. */
  readonly rendered?: Rendered | undefined;
}

/** What RSS and JSON Feed are made of: plain data, so that it can go to a worker. */
export interface FeedDocument extends ReadPlace {
  /** Stands in for the title of a feed that has none. */
  readonly serviceTitle: string;
  readonly feed: ViewFeed;
  /** The notes shown are those with this tag; undefined for all. */
  readonly tag?: string | undefined;
  /** Newest first. */
  readonly notes: readonly ViewNote[];
}

/** The feed behind a read id that nobody has: nothing tells it from a feed without notes (contract §3). */
export const UNKNOWN_FEED: ViewFeed = {
  title: '',
  description: '',
  image: undefined,
  showSender: true,
  changedAt: 0,
};
