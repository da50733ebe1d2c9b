import { type FeedName, type NoteFile, type NoteId, noteFile, type ReadId } from '../../feeds/names.ts';
import { NOTE_TYPES } from '../../feeds/note-types.ts';
import type { StoredSettings } from '../metadata.ts';
import type { Counts } from '../refused-writes.ts';
import type { Feed } from '../storage.ts';
import { type Entry, NoteList, type Unasked } from './entry.ts';
import type { TagIndex } from './tag-index.ts';

/** What the dot files of a feed say. */
export interface FeedFiles {
  /** The valid text of `.readid`. */
  readonly storedReadId: ReadId | undefined;
  readonly settings: StoredSettings;
  /** The line of `.password`; undefined for a feed without that file. */
  readonly passwordHash: string | undefined;
  /** The line of `.license` and the id it counts by; undefined for a feed without that file. */
  readonly license?: AttachedLicense | undefined;
}

export interface AttachedLicense {
  readonly text: string;
  readonly id: string | undefined;
}

/** What a step changes of a feed: entries that are new or replace those of the same file, files of notes that are gone. */
export interface Changes {
  readonly put?: readonly Entry[];
  readonly gone?: readonly NoteFile[];
  readonly files?: FeedFiles | undefined;
}

let count = 0;
/** Part of every version of this process. */
const STARTED_AT = Date.now().toString(36);
/** All changes of all feeds: a feed whose folder comes back is not what it was. */
let changes = 0;

/** A feed as the index holds it: what its folder says, without the bytes of its notes. Only `FeedIndex` changes it. */
export class IndexedFeed {
  readonly name: FeedName;
  /** See `Feed.key`. Not the folder's identity: file systems use inodes again. */
  readonly key: string;
  /** Which folder it is; see `folderIdentity`. */
  readonly identity: string;
  readonly notes: NoteList;
  /** Made when somebody first asks for a tag. */
  tags: TagIndex | undefined;
  /** How many new notes are being stored. */
  readonly posting = { notes: 0, images: 0 };

  #files: FeedFiles;
  #readId: ReadId | undefined;
  #changedAt: number;
  #change = nextChange();
  #record: Feed | undefined;

  /** `changedAt` in ms since the epoch. */
  constructor(
    name: FeedName,
    identity: string,
    files: FeedFiles,
    notes: readonly (Entry | Unasked)[],
    changedAt: number,
  ) {
    this.name = name;
    count += 1;
    this.key = String(count);
    this.identity = identity;
    this.#files = files;
    this.notes = new NoteList(notes);
    this.#changedAt = Math.floor(changedAt);
  }

  /** How many notes there are: markdown ones, and pictures. */
  get stored(): Readonly<Counts> {
    return { notes: this.notes.size - this.notes.images, images: this.notes.images };
  }

  get files(): FeedFiles {
    return this.#files;
  }

  /** The read id the feed goes by, which the index decides. */
  get readId(): ReadId {
    if (this.#readId === undefined) throw new TypeError('The feed is in no index');
    return this.#readId;
  }

  set readId(readId: ReadId) {
    this.#readId = readId;
    this.#record = undefined;
  }

  /** The note of an id: of several files with one base name the first type of `NOTE_TYPES`. */
  entryOfId(id: NoteId): Entry | undefined {
    for (const type of NOTE_TYPES) {
      const found = this.notes.get(noteFile(id, type));
      if (found) return found;
    }
    return undefined;
  }

  /** Makes changes at once. The time of the last change never goes back with the clock. */
  apply({ put = [], gone = [], files = this.#files }: Changes): void {
    const replaced = [
      ...gone.map((file) => this.notes.remove(file)),
      ...put.map((one) => this.notes.put(one)),
    ];
    this.tags?.replace(replaced, put);
    this.#files = files;
    this.#changedAt = Math.max(this.#changedAt, Date.now());
    this.#change = nextChange();
    this.#record = undefined;
  }

  /** The feed for the world above; the same value until something changes. */
  record(): Feed {
    this.#record ??= {
      key: this.key,
      name: this.name,
      readId: this.readId,
      title: this.#files.settings.title,
      description: this.#files.settings.description,
      showSender: this.#files.settings.showSender,
      image: this.#titleImage(),
      passwordHash: this.#files.passwordHash,
      license: this.#files.license?.text,
      changedAt: this.#changedAt,
      version: `${STARTED_AT}.${this.#change.toString(36)}`,
      noteCount: this.notes.size,
      imageCount: this.notes.images,
    };
    return this.#record;
  }

  #titleImage(): NoteFile | undefined {
    const { image } = this.#files.settings;
    const entry = image === undefined ? undefined : this.notes.get(image);
    return entry && entry.type !== 'md' ? entry.file : undefined;
  }
}

function nextChange(): number {
  changes += 1;
  return changes;
}
