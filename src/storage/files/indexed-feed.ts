import { type FeedName, type NoteFile, type NoteId, noteFile, type ReadId } from '../../feeds/names.ts';
import { NOTE_TYPES } from '../../feeds/note-types.ts';
import type { StoredSettings } from '../metadata.ts';
import type { Feed } from '../storage.ts';
import { type Entry, SortedEntries } from './entry.ts';
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

let count = 0;
/** Part of every version of this process. */
const STARTED_AT = Date.now().toString(36);
/** All changes of all feeds: a feed whose folder comes back is not what it was. */
let changes = 0;

/** A feed as the index holds it: what its folder says, without the bytes of its notes. */
export class IndexedFeed {
  readonly name: FeedName;
  /** See `Feed.key`. Not the folder's identity: file systems use inodes again. */
  readonly key: string;
  /** Made when somebody first asks for a tag. */
  tags: TagIndex | undefined;
  /** Notes being written: what is in the folder of them may not be durable yet, and may be taken back. */
  readonly pending = new Map<NoteFile, Promise<unknown>>();
  /** How many new notes are being stored. */
  readonly posting = { notes: 0, images: 0 };
  /** Which folder it is; see `folderIdentity`. */
  readonly identity: string;

  readonly #byFile: Map<NoteFile, Entry>;
  readonly #sorted: SortedEntries;
  #images = 0;
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
    entries: readonly Entry[],
    changedAt: number,
  ) {
    this.name = name;
    count += 1;
    this.key = String(count);
    this.identity = identity;
    this.#files = files;
    this.#byFile = new Map(entries.map((entry) => [entry.file, entry]));
    this.#sorted = new SortedEntries(entries);
    this.#images = entries.filter((entry) => entry.type !== 'md').length;
    this.#changedAt = Math.floor(changedAt);
  }

  /** All notes, in order. */
  get sorted(): SortedEntries {
    return this.#sorted;
  }

  get entries(): IterableIterator<Entry> {
    return this.#byFile.values();
  }

  /** How many notes there are: markdown ones, and pictures. */
  get stored(): { readonly notes: number; readonly images: number } {
    return { notes: this.#byFile.size - this.#images, images: this.#images };
  }

  get files(): FeedFiles {
    return this.#files;
  }

  set files(files: FeedFiles) {
    this.#files = files;
    this.#record = undefined;
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

  entry(file: NoteFile): Entry | undefined {
    return this.#byFile.get(file);
  }

  /** The note of an id: of several files with one base name the first type of `NOTE_TYPES`. */
  entryOfId(id: NoteId): Entry | undefined {
    for (const type of NOTE_TYPES) {
      const found = this.#byFile.get(noteFile(id, type));
      if (found) return found;
    }
    return undefined;
  }

  /** Adds an entry in place of one with the same file. */
  put(entry: Entry): void {
    this.remove(entry.file);
    this.#byFile.set(entry.file, entry);
    this.#sorted.insert(entry);
    this.#images += entry.type === 'md' ? 0 : 1;
    this.tags?.changed(entry);
    this.#record = undefined;
  }

  /** What is being read for the entry removed is out of date with it. */
  remove(file: NoteFile): Entry | undefined {
    const entry = this.#byFile.get(file);
    if (!entry) return undefined;
    entry.version += 1;
    this.#byFile.delete(file);
    this.#sorted.remove(entry);
    this.#images -= entry.type === 'md' ? 0 : 1;
    this.tags?.remove(entry);
    this.#record = undefined;
    return entry;
  }

  /** Sets the time of the last change to now; it never goes back with the clock. */
  markChanged(): void {
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
      noteCount: this.#byFile.size,
      imageCount: this.#images,
    };
    return this.#record;
  }

  #titleImage(): NoteFile | undefined {
    const { image } = this.#files.settings;
    const entry = image === undefined ? undefined : this.#byFile.get(image);
    return entry && entry.type !== 'md' ? entry.file : undefined;
  }
}

function nextChange(): number {
  changes += 1;
  return changes;
}
