import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AdmittedFeed, Feed } from '../../feeds/feed.ts';
import { type Derivation, derivedReadId, noReadId } from '../../feeds/ids.ts';
import { type FeedName, type NoteFile, type NoteId, noteFile, type ReadId } from '../../feeds/names.ts';
import { NOTE_TYPES } from '../../feeds/note-types.ts';
import { type ChangedNotes, MAX_LAG_MS, withoutEmpty } from '../arrivals.ts';
import type { FeedChange, FeedRef, Totals } from '../storage.ts';
import type { ArrivalLog } from './arrival-log.ts';
import { type Mark, Marks } from './marks.ts';
import { type Entry, NoteList, type UnaskedNote } from './note-list.ts';
import { type FeedFiles, UNREADABLE_READ_ID } from './read-metadata.ts';
import type { TagIndex } from './tag-index.ts';

/** The changes of a step: new or replaced entries, files of removed notes, marks, dot files. */
export interface IndexChange {
  readonly put?: readonly Entry[];
  readonly gone?: readonly NoteFile[];
  /** The marks of new and replaced entries that have one. */
  readonly marks?: readonly Mark[] | undefined;
  readonly files?: FeedFiles | undefined;
}

/** Feeds that are looked at in one turn of the event loop. */
const FEEDS_AT_ONCE = 1_000;
/** The most notes of a feed that came whose files are named one by one. */
const MAX_NAMED = 100;
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

/** A feed as the index holds it: what its folder says, without the bytes of its notes. Only `FeedIndex` changes it. */
export class IndexedFeed {
  readonly name: FeedName;
  /** See `Feed.key`. Not the folder's identity: file systems use inodes again. */
  readonly key = nextVersion();
  /** See `folderIdentity`. */
  readonly identity: string;
  /** When its folder was made, whole ms since the epoch. */
  readonly createdAt: number;
  readonly notes: NoteList;
  /** Made when somebody first asks for a tag. */
  tags: TagIndex | undefined;
  /** The keys and expiries of notes; undefined if none is known. */
  marks: Marks | undefined;
  /** Whether `marks` has those of all notes. */
  isMarked: boolean;
  /** The files of notes that may have another mark than `.marks` says, or than a look at the folder that runs finds. */
  changedMarks: Set<NoteFile> | undefined;
  /** How many metadata files have changed since `.marks` was written. */
  unsaved = 0;
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

  /** Takes over marks that were found in the folder, unless all are known. Those of notes that changed meanwhile are ignored. */
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

function byName(a: IndexedFeed, b: IndexedFeed): number {
  return a.name < b.name ? -1 : 1;
}

function nextVersion(): string {
  versions += 1;
  return `${STARTED_AT}.${versions.toString(36)}`;
}

/**
 * All feeds, by name and by read id. Reports every change to the listeners.
 *
 * Two feeds never share a read id: if the id in a feed's `.readid` is in use, the feed uses the one derived from its name
 * until the stored one becomes free.
 */
export class FeedIndex {
  /** Feeds being made, which count towards the limit. */
  making = 0;
  /** Bytes being stored, which count towards the limit. */
  storing = 0;
  readonly #sums = { notes: 0, pictures: 0, bytes: 0 };
  readonly #secret: Uint8Array;
  readonly #derivation: Derivation;
  readonly #feeds = new Map<FeedName, IndexedFeed>();
  readonly #holders = new Map<ReadId, FeedName>();
  /** Names that take no posts, whether there is such a feed or not. */
  readonly #closed = new Set<FeedName>();
  /** Feeds whose `.readid` names an id that another one has. */
  readonly #waiting = new Set<IndexedFeed>();
  readonly #listeners: ((change: FeedChange) => void)[] = [];
  /** Called with a feed that is new, or has changed. */
  onApplied: (feed: IndexedFeed) => void = () => {};
  /** Called with the files of notes that came, changed or went; without them if any of the feed may have. */
  onNotes: (feed: FeedName, files?: readonly NoteFile[]) => void = () => {};

  constructor(secret: Uint8Array, derivation: Derivation = 'own') {
    this.#secret = secret;
    this.#derivation = derivation;
  }

  onChange(listener: (change: FeedChange) => void): void {
    this.#listeners.push(listener);
  }

  names(): FeedName[] {
    return [...this.#feeds.keys()];
  }

  /** The names of feeds whose `.readid` names an id that another one has, each with the name of that. */
  waiting(): (readonly [waiting: FeedName, holder: FeedName])[] {
    return [...this.#waiting].map(({ name, files }) => [name, this.#holders.get(files.storedReadId!)!]);
  }

  /** The number of feeds, including those being made. */
  get size(): number {
    return this.#feeds.size + this.making;
  }

  /** All feeds, some in each turn of the event loop: without some of those that come or go meanwhile, or with both of one name. */
  async *inTurns(): AsyncGenerator<readonly IndexedFeed[]> {
    let some: IndexedFeed[] = [];
    for (const feed of this.#feeds.values()) {
      some.push(feed);
      if (some.length < FEEDS_AT_ONCE) continue;
      yield some;
      some = [];
      await nextTurn();
    }
    yield some;
  }

  totals(): Totals {
    return { feeds: this.#feeds.size, ...this.#sums };
  }

  /** Bytes of the notes of all feeds, including those being stored. */
  get bytes(): number {
    return this.#sums.bytes + this.storing;
  }

  get(name: FeedName): IndexedFeed | undefined {
    return this.#feeds.get(name);
  }

  /** The feed that a read was admitted to, if it is still there. */
  admitted({ name, key }: AdmittedFeed): IndexedFeed | undefined {
    const feed = this.#feeds.get(name);
    return feed?.key === key ? feed : undefined;
  }

  referred(ref: FeedRef): IndexedFeed | undefined {
    return 'key' in ref ? this.admitted(ref) : this.byReadId(ref.readId);
  }

  isClosed(name: FeedName): boolean {
    return this.#closed.has(name);
  }

  /** Closes the feed of a name, be there one now or later, or opens it again. */
  setClosed(name: FeedName, isClosed: boolean): void {
    if (isClosed) this.#closed.add(name);
    else this.#closed.delete(name);
    const feed = this.#feeds.get(name);
    if (!feed || feed.isBlocked === isClosed) return;
    feed.isBlocked = isClosed;
    this.#tell([feed.readId]);
  }

  /** How many other feeds have a license of that id. */
  countLicensed(id: string, except: FeedName): number {
    let count = 0;
    for (const { name, files } of this.#feeds.values())
      if (name !== except && files.license?.id === id) count += 1;
    return count;
  }

  /** The feed that readers find under a read id: none that is blocked. */
  byReadId(readId: ReadId): IndexedFeed | undefined {
    const feed = this.anyByReadId(readId);
    return feed?.isBlocked ? undefined : feed;
  }

  anyByReadId(readId: ReadId): IndexedFeed | undefined {
    const feed = this.#feeds.get(this.#holders.get(readId)!);
    return feed?.readId === readId ? feed : undefined;
  }

  /** The feed that has a read id, or that it is kept for. */
  holderOf(readId: ReadId): FeedName | undefined {
    return this.#holders.get(readId);
  }

  /** Keeps a read id for a feed; false when another feed has it. */
  reserve(name: FeedName, readId: ReadId): boolean {
    const holder = this.#holders.get(readId);
    if (holder === undefined) this.#holders.set(readId, name);
    return holder === undefined || holder === name;
  }

  /** Releases a read id that is reserved for the feed, unless the feed uses it now. */
  unreserve(name: FeedName, readId: ReadId): void {
    if (this.#holders.get(readId) !== name || this.#feeds.get(name)?.readId === readId) return;
    this.#holders.delete(readId);
    this.#claimFreed(this.#waitingFor(readId));
  }

  /** Adds the feeds found at start: derived read ids first, then stored ones in the order of the names. */
  addAll(feeds: readonly IndexedFeed[]): void {
    const sorted = feeds.toSorted(byName);
    for (const feed of sorted) if (feed.files.storedReadId === undefined) this.add(feed);
    for (const feed of sorted) if (feed.files.storedReadId !== undefined) this.add(feed);
  }

  add(feed: IndexedFeed): void {
    this.#claim(feed);
    feed.isBlocked = this.#closed.has(feed.name);
    this.#feeds.set(feed.name, feed);
    this.#count(feed, 1);
    this.onApplied(feed);
    this.onNotes(feed.name, feed.notes.size > MAX_NAMED ? undefined : [...feed.notes.files()]);
    this.#tell([feed.readId]);
  }

  /** Forgets a feed whose folder is gone. */
  drop(feed: IndexedFeed): void {
    if (this.#feeds.get(feed.name) !== feed) return;
    this.#feeds.delete(feed.name);
    this.#count(feed, -1);
    const waiting = this.#release(feed);
    this.onNotes(feed.name);
    this.#tell([feed.readId]);
    this.#claimFreed(waiting);
  }

  /** Ends a step: applies its change to a feed and reports it. Returns the changed feed. */
  apply(feed: IndexedFeed, change: IndexChange): Feed {
    const storedBefore = feed.files.storedReadId;
    // A step may end after its feed is gone.
    const isCounted = this.#feeds.get(feed.name) === feed;
    if (isCounted) this.#count(feed, -1);
    const notes = feed.apply(change);
    if (isCounted) this.#count(feed, 1);
    this.onApplied(feed);
    const { put = [], gone = [] } = change;
    if (put.length + gone.length > 0) this.onNotes(feed.name, [...put.map(({ file }) => file), ...gone]);
    if (feed.files.storedReadId === storedBefore) this.#tell([feed.readId], notes);
    else this.#claimAgain(feed, notes);
    return feed.record();
  }

  #count({ notes }: IndexedFeed, each: 1 | -1): void {
    this.#sums.notes += each * notes.size;
    this.#sums.pictures += each * notes.imageCount;
    this.#sums.bytes += each * notes.byteCount;
  }

  /** Assigns a read id to a feed without one: the stored one if it is free. */
  #claim(feed: IndexedFeed): void {
    feed.readId = this.#claimed(feed);
    this.#holders.set(feed.readId, feed.name);
  }

  #claimed(feed: IndexedFeed): ReadId {
    const { storedReadId } = feed.files;
    if (storedReadId === UNREADABLE_READ_ID) return noReadId();
    if (storedReadId !== undefined && this.reserve(feed.name, storedReadId)) return storedReadId;
    if (storedReadId !== undefined) this.#waiting.add(feed);
    return this.#derived(feed.name);
  }

  /** Releases a read id. Returns the first feed by name that waits for it and must claim again. */
  #release(feed: IndexedFeed): IndexedFeed | undefined {
    this.#waiting.delete(feed);
    this.#holders.delete(feed.readId);
    return this.#waitingFor(feed.readId);
  }

  /** Of the feeds that wait for a read id, the first by name. */
  #waitingFor(readId: ReadId): IndexedFeed | undefined {
    const waiting = [...this.#waiting].filter(({ files }) => files.storedReadId === readId);
    return waiting.sort(byName)[0];
  }

  /** Assigns a feed's read id again, because its `.readid` changed. */
  #claimAgain(feed: IndexedFeed, notes?: ChangedNotes): void {
    const before = feed.readId;
    const waiting = this.#release(feed);
    this.#claim(feed);
    this.#tell([before, feed.readId], notes);
    this.#claimFreed(waiting);
  }

  #claimFreed(waiting: IndexedFeed | undefined): void {
    // If two feeds store each other's derived ids, claiming again would never end.
    if (!waiting || this.#holders.has(waiting.files.storedReadId!)) return;
    waiting.apply({});
    this.#claimAgain(waiting);
  }

  #derived(name: FeedName): ReadId {
    let readId = derivedReadId(this.#secret, name, this.#derivation);
    // Only somebody who wrote a derived id into another feed's .readid gets here; "/" is in no feed's name.
    for (let n = 2; this.#holders.has(readId); n += 1) {
      readId = derivedReadId(this.#secret, `${name}/${n}` as FeedName, this.#derivation);
    }
    return readId;
  }

  #tell(readIds: readonly ReadId[], notes?: ChangedNotes): void {
    for (const listener of this.#listeners) listener({ readIds, ...notes });
  }
}
