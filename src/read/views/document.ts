import type { Feed } from '../../feeds/feed.ts';
import type { ReadId } from '../../feeds/names.ts';
import type { Note } from '../../feeds/note.ts';
import type { NoteFilter } from '../../feeds/urls.ts';
import type { Match } from '../../search/match.ts';
import type { Rendered } from '../note-text.ts';

/** What the public views show of a feed. */
export type ViewFeed = Pick<Feed, 'title' | 'description' | 'image' | 'showSender' | 'listed' | 'changedAt'>;

export interface ReadPlace {
  /** The service's address, without a trailing slash. */
  readonly base: string;
  readonly readId: ReadId;
}

export interface FoundNote extends Note {
  /** Where a search found it; undefined if nothing was searched for. */
  readonly match?: Match | undefined;
}

/** A note for views that show no more than the title of its text. */
export interface TitledNote extends FoundNote {
  /** Undefined for a picture, and not needed for a text with a title of its own. */
  readonly rendered?: Pick<Rendered, 'title'> | undefined;
}

export interface ViewNote extends FoundNote {
  /** Undefined for a picture. */
  readonly rendered?: Rendered | undefined;
  /** Pictures that came with a text and that it shows, in its order; only for RSS and JSON Feed. */
  readonly attachments?: readonly Note[] | undefined;
}

/** The input of RSS and JSON Feed; plain data, because it is sent to a worker. */
export interface FeedDocument extends ReadPlace {
  /** The title if the feed has none. */
  readonly serviceTitle: string;
  readonly feed: ViewFeed;
  /** Only notes with this tag are shown; all if undefined. */
  readonly tag?: string | undefined;
  /** What the notes were searched for, with the tag if there is one; undefined if for no more than a tag. */
  readonly search?: NoteFilter | undefined;
  /** Hubs that distribute the feed; none for a part of its notes, because hubs are told of whole feeds only. */
  readonly hubs?: readonly string[] | undefined;
  /** Newest first. */
  readonly notes: readonly ViewNote[];
}

/** The feed of a read id that nobody has; looks like a feed without notes (contract §3). */
export const UNKNOWN_FEED: ViewFeed = {
  title: '',
  description: '',
  image: undefined,
  showSender: true,
  listed: false,
  changedAt: 0,
};

/** The version of a feed: opaque, the same in every container, different after every change. */
export function feedVersion(feed: Pick<Feed, 'version'> | undefined): string {
  return feed?.version ?? '0';
}

/** The version for readers: a feed without notes looks like a read id that nobody has. */
export function publicFeedVersion(feed: Pick<Feed, 'version' | 'noteCount'> | undefined): string {
  return feedVersion(feed?.noteCount ? feed : undefined);
}
