import type { Feed, FeedSettings } from '../feeds/feed.ts';
import type { FeedName, NoteFile, NoteId, ReadId } from '../feeds/names.ts';
import type { NewNote, NoteContent, NoteMeta } from '../feeds/note.ts';
import type { NoteType } from '../feeds/note-types.ts';
import type { FeedLimits } from './limits.ts';

/**
 * The feed that a write was allowed for. The write finds no feed if meanwhile another feed got its name, or the feed another
 * password, or another read id than one that is given.
 */
export interface ExistingFeed {
  readonly kind: 'existing';
  /** Any feed of the name and password unless given. */
  readonly key?: string | undefined;
  /** Any read id unless given. */
  readonly readId?: ReadId | undefined;
  readonly passwordHash: string | undefined;
}

/** A feed that the write makes. If another write has made a feed of that name meanwhile, this write is decided as if its feed were gone. */
export interface NewFeed {
  readonly kind: 'new';
  readonly readId: ReadId;
  readonly passwordHash: string | undefined;
}

interface OfFeed {
  readonly name: FeedName;
  readonly target: ExistingFeed;
  /** The note, or the feed's record for a command without a note, must have one of these ETags; any is right unless given. */
  readonly ifMatch?: readonly string[] | undefined;
}

/** A note of a feed; of several with one id the first of md, png, jpg, gif, webp. */
export interface OfNote extends OfFeed {
  readonly id: NoteId;
}

/** Stores notes, none to make a feed without notes: all of them or none. */
export interface Post {
  readonly kind: 'post';
  readonly name: FeedName;
  readonly target: ExistingFeed | NewFeed;
  /** In the order in which they are written: pictures, then the text that shows them. */
  readonly notes: readonly NewNote[];
  readonly limits: FeedLimits;
  /**
   * With true, a note that has the key of the post gets its bytes and metadata. Otherwise the post must equal the one that stored
   * that note.
   */
  readonly replaces?: boolean | undefined;
}

/** Stores notes that come from elsewhere. Each is decided by itself: one that is there is skipped, one that does not fit is refused. A new feed is made only if it takes one. */
export interface Import extends Omit<OfFeed, 'target'> {
  readonly kind: 'import';
  readonly target: ExistingFeed | NewFeed;
  readonly notes: readonly NewNote[];
  readonly limits: FeedLimits;
}

/** Gives a note other bytes of the same type; everything else of it stays unless the command says otherwise. */
export interface Replace extends OfNote {
  readonly kind: 'replace';
  readonly content: NoteContent;
  /** Of the new picture, if its header has them. Those of the old one go: they would seem right if both have as many bytes. */
  readonly pixels?: NoteMeta['pixels'];
  /** What changes beside the bytes at the same time. */
  readonly describe?: Describe['meta'] | undefined;
  /** New notes that come with it: the change is made with all of them or not at all. */
  readonly notes: readonly NewNote[];
  readonly limits: FeedLimits;
}

/** Changes what is kept beside a note's bytes. An empty text removes; undefined members stay. */
export interface Describe extends OfNote {
  readonly kind: 'describe';
  readonly meta: Pick<NoteMeta, 'title' | 'alt'> & {
    readonly tags?: readonly string[] | undefined;
    /** 0 removes. */
    readonly expires?: number | undefined;
  };
}

/** Removes a note with its metadata; it is the title image no more. */
interface Remove extends OfNote {
  readonly kind: 'remove';
  /** Of several files with one base name the one of this type; the first unless given. */
  readonly type?: NoteType | undefined;
}

/** Changes settings. Members that are not there stay; `image: undefined` is no title image. */
export interface Configure extends OfFeed {
  readonly kind: 'configure';
  readonly settings: Partial<FeedSettings>;
  /** Refused as `changed` if the feed has more notes. */
  readonly maxNotes?: number | undefined;
}

/** Replaces or, undefined, removes the password. */
export interface SetPassword extends OfFeed {
  readonly kind: 'set password';
  readonly passwordHash: string | undefined;
}

/** Gives a feed a license in place of the one it has, or takes that away. */
interface SetLicense extends OfFeed {
  readonly kind: 'set license';
  readonly license: NewLicense | undefined;
}

/** Deletes a feed for good: its name is free at once, its read id is never given again. */
interface Delete extends OfFeed {
  readonly kind: 'delete';
}

/** Removes some of the notes that have expired or that the feed keeps no longer. */
interface Sweep extends OfFeed {
  readonly kind: 'sweep';
}

/** A license to be attached to a feed. */
export interface NewLicense {
  readonly text: string;
  /** Its id, by which feeds are counted. */
  readonly id: string;
  /** How many feeds may have a license of this id at once. */
  readonly feeds: number;
}

/** One write, as plain data. */
export type Command =
  | Post
  | Import
  | Replace
  | Describe
  | Remove
  | Configure
  | SetPassword
  | SetLicense
  | Delete
  | Sweep;

/** The name and target of commands for a feed as it was found. */
export function toFeed({ name, key, passwordHash }: Pick<Feed, 'name' | 'key' | 'passwordHash'>): OfFeed {
  return { name, target: { kind: 'existing', key, passwordHash } };
}

/**
 * The note of a post that answers it, and that has its key if it has one: the text, else the first picture. Undefined for a
 * post without notes.
 */
export function mainNote(notes: readonly NewNote[]): NewNote | undefined {
  const last = notes.at(-1);
  return last?.type === 'md' ? last : notes[0];
}

/** A note by its id, and by its type if several files have the id; or by its key. */
export type NoteRef =
  | { readonly id: NoteId; readonly type: NoteType | undefined; readonly key?: undefined }
  | { readonly key: string };

/** What a command names besides its feed; it has to be looked up for the decision (`State`). */
export interface Lookups {
  readonly note?: NoteRef | undefined;
  readonly readId?: ReadId | undefined;
  readonly licenseId?: string | undefined;
  readonly image?: NoteFile | undefined;
  /** Notes to import: which of them are there, and which of their keys other notes have. */
  readonly imported?: readonly NewNote[] | undefined;
  /** SHA-256 of the pictures that it brings, in base64url. */
  readonly pictures?: readonly string[];
}

export function lookupsOf(command: Command): Lookups {
  switch (command.kind) {
    case 'post': {
      const key = mainNote(command.notes)?.meta.key;
      const note = key === undefined ? undefined : { key };
      return { readId: newReadId(command), note, pictures: picturesOf(command) };
    }
    case 'import':
      return { readId: newReadId(command), imported: command.notes, pictures: picturesOf(command) };
    case 'replace':
      return { note: { id: command.id, type: undefined }, pictures: picturesOf(command) };
    case 'describe':
      return { note: { id: command.id, type: undefined } };
    case 'remove':
      return { note: { id: command.id, type: command.type } };
    case 'configure':
      return { readId: command.settings.readId, image: command.settings.image };
    case 'set license':
      return { licenseId: command.license?.id };
    default:
      return {};
  }
}

function newReadId({ target }: Post | Import): ReadId | undefined {
  return target.kind === 'new' ? target.readId : undefined;
}

function picturesOf(command: Command): readonly string[] {
  return contentsOf(command).flatMap(({ type, sha256 }) => (type === 'md' || !sha256 ? [] : [sha256]));
}

/** The bytes that a command brings. */
export function contentsOf(command: Command): readonly NoteContent[] {
  if (command.kind === 'post' || command.kind === 'import') return command.notes;
  return command.kind === 'replace' ? [command.content, ...command.notes] : [];
}

/** The command with what `change` makes of its bytes. */
export function withContents(command: Command, change: <C extends NoteContent>(content: C) => C): Command {
  if (command.kind === 'post' || command.kind === 'import')
    return { ...command, notes: command.notes.map(change) };
  if (command.kind !== 'replace') return command;
  return { ...command, content: change(command.content), notes: command.notes.map(change) };
}
