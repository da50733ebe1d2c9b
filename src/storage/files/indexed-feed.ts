import type { Feed } from '../../feeds/feed.ts';
import { type FeedName, type NoteFile, type NoteId, noteFile, type ReadId } from '../../feeds/names.ts';
import { NOTE_TYPES } from '../../feeds/note-types.ts';
import { type ChangedNotes, MAX_LAG_MS, withoutEmpty } from '../arrivals.ts';
import type { ArrivalLog } from './arrival-log.ts';
import { type Mark, Marks } from './marks.ts';
import { type Entry, NoteList, type UnaskedNote } from './note-list.ts';
import type { FeedFiles } from './read-metadata.ts';
import type { TagIndex } from './tag-index.ts';

/** The changes of a step: new or replaced entries, files of removed notes, marks, dot files. */
export interface IndexChange {
  readonly put?: readonly Entry[];
  readonly gone?: readonly NoteFile[];
  /** The marks of new and replaced entries that have one. */
  readonly marks?: readonly Mark[] | undefined;
  readonly files?: FeedFiles | undefined;
}

/** Part of every version of this process. */
const STARTED_AT = Date.now().toString(36);
/** Counts versions of all feeds, because a feed whose folder comes back is another one. */
let versions = 0;

/** What the folder of a feed tells of it. */
interface FolderState {
  /** See `folderIdentity`. */
  readonly identity: string;
  /** Ms since the epoch, like the next. */
  readonly createdAt: number;
  readonly changedAt: number;
}

/** A feed as the index holds it: what its folder says, without the bytes of its notes. `FeedIndex` makes and reports each change of `record`. */
export class IndexedFeed {
  readonly name: FeedName;
  /** See `Feed.key`. Not the identity of the folder, because file systems reuse inode numbers. */
  readonly key = nextVersion();
  /** See `folderIdentity`. */
  readonly identity: string;
  /** When its folder was made, whole ms since the epoch. */
  readonly createdAt: number;
  readonly notes: NoteList;
  /** Undefined until somebody asks for a tag. */
  tags: TagIndex | undefined;
  /** The keys and expiries of notes; undefined if none is known. */
  marks: Marks | undefined;
  /** Whether `marks` has those of all notes. */
  isMarked: boolean;
  /** The files of notes that may have another mark than `.marks` says, or than a look at the folder that runs finds. */
  changedMarks: Set<NoteFile> | undefined;
  /** How many metadata files have changed since `.marks` was written. */
  unsaved = 0;
  /** Notes that were changed by hand and cannot be read yet. While there is one, `.marks` may not claim to be complete. */
  unreadable: Set<NoteFile> | undefined;
  /** How many writes failed: a look at the folder that ran meanwhile may have seen what was then undone. */
  failedWrites = 0;
  /** How many new notes, and how many more bytes, are being stored. */
  readonly posting = { noteCount: 0, imageCount: 0, byteCount: 0 };
  /** Made when somebody first asks for what came. */
  arrivals: ArrivalLog | undefined;
  files: FeedFiles;
  /** The read id in use, which the index decides. */
  readId!: ReadId;
  #isBlocked = false;
  #changedAt: number;
  #version = nextVersion();
  #record: Feed | undefined;

  constructor(
    name: FeedName,
    { identity, createdAt, changedAt }: FolderState,
    files: FeedFiles,
    notes: readonly (Entry | UnaskedNote)[] = [],
  ) {
    this.name = name;
    this.identity = identity;
    this.createdAt = Math.floor(createdAt);
    this.files = files;
    this.notes = new NoteList(notes, this.expiryOf);
    this.isMarked = !this.notes.hasMeta();
    this.#changedAt = Math.floor(changedAt);
  }

  get changedAt(): number {
    return this.#changedAt;
  }

  /** See `Feed.isBlocked`; the index decides it. */
  get isBlocked(): boolean {
    return this.#isBlocked;
  }

  set isBlocked(isBlocked: boolean) {
    this.#isBlocked = isBlocked;
    this.#renew();
  }

  /** When a note expires, as far as is known, ms since the epoch; infinite if it does not. */
  readonly expiryOf = (file: NoteFile): number => this.marks?.expiryOf(file) ?? Number.POSITIVE_INFINITY;

  /** Adds marks that were found in the folder, unless all marks are known. It ignores those of notes that have changed since. */
  addFound(marks: readonly Mark[]): void {
    if (this.isMarked) return;
    for (const mark of marks)
      if (!this.changedMarks?.has(mark.file) && this.notes.has(mark.file)) this.#mark(mark);
    this.#forgetExpiries();
  }

  /** Replaces the mark of a note, because the one that is known is wrong. */
  correct(file: NoteFile, mark: Mark | undefined): void {
    this.marks?.remove(file);
    if (mark) this.#mark(mark);
    this.recordMarkChange(file);
    this.#forgetExpiries();
  }

  recordMarkChange(file: NoteFile): void {
    this.changedMarks ??= new Set();
    this.changedMarks.add(file);
  }

  #mark(mark: Mark): void {
    this.marks ??= new Marks();
    this.marks.set(mark);
  }

  #forgetExpiries(): void {
    this.notes.forgetExpiries();
    this.tags = undefined;
  }

  /** The note of an id: of several files with one base name the first type of `NOTE_TYPES`. */
  entryOfId(id: NoteId): Entry | undefined {
    for (const type of NOTE_TYPES) {
      const found = this.notes.get(noteFile(id, type));
      if (found) return found;
    }
    return undefined;
  }

  /** Makes a change at once. The time of the last change never goes back with the clock. Returns what it does to notes. */
  apply({ put = [], gone = [], files = this.files, marks = [] }: IndexChange): ChangedNotes {
    const removed = gone.map((file) => this.notes.remove(file));
    const edited = put.map((one) => this.notes.put(one));
    this.tags?.replace([...removed, ...edited], put);
    const added = put.filter((_, n) => !edited[n]);
    if (this.unreadable)
      for (const file of [...gone, ...put.map((one) => one.file)]) this.unreadable.delete(file);
    for (const file of gone) this.arrivals?.remove(file);
    this.arrivals?.add(added);
    for (const [n, before] of edited.entries()) {
      if (!before) continue;
      put[n]!.arrivedAt = before.arrivedAt;
      this.arrivals?.replace(put[n]!);
    }
    for (const { file, meta } of put) {
      if (meta) this.unsaved += 1;
      // Also if it has no mark: `.marks` may still have the mark of a removed note with the same file.
      if (this.marks?.remove(file) || meta || !this.isMarked) this.recordMarkChange(file);
    }
    for (const file of gone) {
      this.marks?.remove(file);
      if (!this.isMarked) this.recordMarkChange(file);
    }
    for (const mark of marks) {
      this.#mark(mark);
      this.recordMarkChange(mark.file);
    }
    this.files = files;
    this.#changedAt = Math.max(this.#changedAt, Date.now());
    this.#renew();
    const isOld = ({ createdAt }: Entry) => createdAt < Date.now() - MAX_LAG_MS;
    return withoutEmpty({ edited: idsOf(edited), removed: idsOf(removed), isUnnamed: added.some(isOld) });
  }

  #renew(): void {
    this.#version = nextVersion();
    this.#record = undefined;
  }

  /** Ends an edit that changed nothing: a copy of the entry from before the edit takes the place of the marked one. */
  takeBack(copy: Entry): void {
    this.tags?.replace([this.notes.put(copy)], [copy]);
  }

  /** The feed for the world above; the same value until something changes. */
  record(): Feed {
    const { settings, passwordHash, license } = this.files;
    this.#record ??= {
      key: this.key,
      name: this.name,
      readId: this.readId,
      ...settings,
      image: this.#titleImage(),
      passwordHash,
      license,
      changedAt: this.#changedAt,
      version: this.#version,
      noteCount: this.notes.size,
      imageCount: this.notes.imageCount,
      byteCount: this.notes.byteCount,
      isBlocked: this.#isBlocked,
    };
    return this.#record;
  }

  #titleImage(): NoteFile | undefined {
    const { image } = this.files.settings;
    const entry = image === undefined ? undefined : this.notes.get(image);
    return entry && entry.type !== 'md' ? entry.file : undefined;
  }
}

function idsOf(entries: readonly (Entry | undefined)[]): NoteId[] {
  return entries.flatMap((entry) => (entry ? [entry.id] : []));
}

function nextVersion(): string {
  versions += 1;
  return `${STARTED_AT}.${versions.toString(36)}`;
}
