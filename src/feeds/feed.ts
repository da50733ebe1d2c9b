import type { FeedName, NoteFile, ReadId } from './names.ts';

/** A feed. Values are immutable: a change makes a new one. */
export interface Feed {
  /** Tells this feed from earlier and later ones of its name. On files it changes at each start. */
  readonly key: string;
  readonly name: FeedName;
  readonly readId: ReadId;
  /** Empty when unset. */
  readonly title: string;
  /** Empty when unset. */
  readonly description: string;
  readonly showSender: boolean;
  /** Search engines may list the read-only pages. */
  readonly listed: boolean;
  /** File of the image note chosen as title image; undefined when none is set or its file is gone. */
  readonly image: NoteFile | undefined;
  /** The stored form of the feed's password (argon2, or scrypt until it is used); undefined for a feed without one. */
  readonly passwordHash: string | undefined;
  /** The license attached to it, which may be over; undefined for a feed without one. */
  readonly license: FeedLicense | undefined;
  /** Notes older than so many days are removed; undefined for no limit. */
  readonly keepDays: number | undefined;
  /** Only so many of the newest notes are kept; undefined for no limit. */
  readonly keepNotes: number | undefined;
  /** Time of the last change (post, edit, delete, settings, change by hand), ms since the epoch. */
  readonly changedAt: number;
  /**
   * Opaque. It changes with every change of the feed and is the same in all processes that use the storage. On files it also
   * changes at each start, because nobody knows what was done by hand before it.
   */
  readonly version: string;
  /** All notes, pictures included. */
  readonly noteCount: number;
  /** Picture notes. */
  readonly imageCount: number;
  /** Bytes of all notes, without what is kept beside them. */
  readonly byteCount: number;
  /** The operator has closed it: it takes nothing more, and its read link shows no feed. */
  readonly isBlocked: boolean;
}

/** The feed that a read was admitted to. If another feed has its name by the time of the read, there is no such feed. */
export type AdmittedFeed = Pick<Feed, 'name' | 'key'>;

/** A license as a feed has it. */
export interface FeedLicense {
  /** A secret. */
  readonly text: string;
  /** The id by which feeds are counted; undefined if the text, placed by hand, is no license. */
  readonly id: string | undefined;
}

/** The settings that a feed's owner may change together. */
export interface FeedSettings {
  readonly title: string;
  readonly description: string;
  readonly showSender: boolean;
  readonly listed: boolean;
  readonly image: NoteFile | undefined;
  readonly readId: ReadId;
  readonly keepDays: number | undefined;
  readonly keepNotes: number | undefined;
}
