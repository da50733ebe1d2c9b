import { dateOfId } from '../../feeds/ids.ts';
import { type NoteFile, parseNoteFile } from '../../feeds/names.ts';
import type { Position } from '../../feeds/order.ts';
import { type Ordered, oldestFirst, sortKeyOf } from '../../feeds/order.ts';
import { metaFile, noteOfMetaFile } from './names.ts';
import { type Stamp, UNSEEN } from './stamp.ts';

/**
 * One state of a note. A note that changes gets a new entry, so what is kept of an entry is never out of date. Only the
 * stamps of an `UNSEEN` file are set later: by the first read or edit.
 */
export interface Entry extends Ordered {
  readonly file: NoteFile;
  /** State of the note's file. */
  stamp: Stamp;
  /** State of its metadata file; undefined without one. */
  meta: Stamp | undefined;
  /** SHA-256 of the bytes in base64url, if the post told it. */
  readonly sha256?: string | undefined;
  /** An edit of the note began, so what is read of the entry from then on may be taken back. */
  isEdited?: boolean;
}

declare const brand: unique symbol;
/**
 * A note that nobody has asked for, if its name says its date: the name of its file or, if it has metadata, of its
 * metadata file. It takes a third of the memory of an entry.
 */
export type Unasked = string & { readonly [brand]: 'Unasked' };

/** The note of a file, with or without a metadata file, whose name must say its date. */
export function unasked(file: NoteFile, hasMeta: boolean): Unasked {
  return (hasMeta ? metaFile(file) : file) as string as Unasked;
}

/** The notes of a feed, oldest first inside, so that a new note goes to the end at no cost. */
export class NoteList {
  readonly #list: (Entry | Unasked)[];
  /** All entries of the list. */
  readonly #entries = new Map<NoteFile, Entry>();
  /** How many of the notes are pictures. */
  imageCount = 0;

  constructor(notes: readonly (Entry | Unasked)[] = []) {
    const placed = notes.map((note) => ({ note, place: placeIn(note) }));
    this.#list = placed.sort((a, b) => oldestFirst(a.place, b.place)).map(({ note }) => note);
    for (const { note, place } of placed) {
      if (typeof note !== 'string') this.#entries.set(note.file, note);
      this.#count(place, 1);
    }
  }

  get size(): number {
    return this.#list.length;
  }

  /** The files of all notes. */
  *files(): Generator<NoteFile> {
    for (const note of this.#list) yield fileOf(note);
  }

  /** All notes that have metadata. */
  withMeta(): Entry[] {
    return this.#list.flatMap((note, at) => (hasMeta(note) ? [this.#entryAt(at)] : []));
  }

  get(file: NoteFile): Entry | undefined {
    const known = this.#entries.get(file);
    if (known) return known;
    const parsed = parseNoteFile(file);
    const createdAt = parsed && dateOfId(parsed.id);
    return createdAt === undefined ? undefined : this.#find(file, { ...parsed!, createdAt });
  }

  /** The entry of a file, if somebody has asked for the note. */
  getAsked(file: NoteFile): Entry | undefined {
    return this.#entries.get(file);
  }

  /** Adds an entry in place of the one of the same file; returns that. */
  put(entry: Entry): Entry | undefined {
    const replaced = this.#entries.get(entry.file) ?? this.#find(entry.file, entry);
    if (replaced) this.remove(entry.file);
    this.#list.splice(this.#countBefore(entry), 0, entry);
    this.#entries.set(entry.file, entry);
    this.#count(entry, 1);
    return replaced;
  }

  remove(file: NoteFile): Entry | undefined {
    const entry = this.get(file);
    if (!entry) return undefined;
    this.#list.splice(this.#countBefore(entry), 1);
    this.#entries.delete(file);
    this.#count(entry, -1);
    return entry;
  }

  /** At most `limit` notes, newest first, all older than `before`. */
  older(before: Position | undefined, limit: number): Entry[] {
    const end = before ? this.#countBefore(sortKeyOf(before)) : this.#list.length;
    return Array.from({ length: Math.min(limit, end) }, (_, n) => this.#entryAt(end - 1 - n));
  }

  /** The first note that is newer than `after`. */
  newer(after: Position): Entry | undefined {
    const place = sortKeyOf(after);
    const at = this.#countBefore(place);
    const isThere = this.#list[at] !== undefined && oldestFirst(placeIn(this.#list[at]), place) === 0;
    const next = isThere ? at + 1 : at;
    return next < this.#list.length ? this.#entryAt(next) : undefined;
  }

  #count({ type }: Ordered, each: 1 | -1): void {
    if (type !== 'md') this.imageCount += each;
  }

  /** The entry of a file, which is at its place if it is in the list. */
  #find(file: NoteFile, place: Ordered): Entry | undefined {
    const at = this.#countBefore(place);
    const note = this.#list[at];
    return note !== undefined && fileOf(note) === file ? this.#entryAt(at) : undefined;
  }

  #entryAt(at: number): Entry {
    const note = this.#list[at]!;
    if (typeof note !== 'string') return note;
    const meta = hasMeta(note) ? UNSEEN : undefined;
    const entry: Entry = { file: fileOf(note), ...placeIn(note), stamp: UNSEEN, meta };
    this.#entries.set(entry.file, entry);
    this.#list[at] = entry;
    return entry;
  }

  /** How many are older than `place`. The search begins at the end: most look for one of the newest. */
  #countBefore(place: Ordered): number {
    let high = this.#list.length;
    let low = high - 1;
    for (let step = 1; low >= 0 && oldestFirst(placeIn(this.#list[low]!), place) >= 0; step *= 2) {
      high = low;
      low -= step;
    }
    low = Math.max(low + 1, 0);
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (oldestFirst(placeIn(this.#list[middle]!), place) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function placeIn(note: Entry | Unasked): Ordered {
  if (typeof note !== 'string') return note;
  const { id, type } = parseNoteFile(fileOf(note))!;
  return { id, type, createdAt: dateOfId(id)! };
}

function fileOf(note: Entry | Unasked): NoteFile {
  return typeof note === 'string' ? (noteOfMetaFile(note) ?? (note as string as NoteFile)) : note.file;
}

function hasMeta(note: Entry | Unasked): boolean {
  return typeof note === 'string' ? note.startsWith('.') : note.meta !== undefined;
}

/**
 * The notes of one feed by tag. Tags are in the metadata files, so they are read when a tag is asked for, and
 * after that only those of new entries.
 */
export class TagIndex {
  readonly #byTag = new Map<string, NoteList>();
  readonly #tagsOf = new Map<Entry, readonly string[]>();
  readonly #unread: Set<Entry>;
  #reading: Promise<unknown> | undefined;
  readonly #readTags: (entry: Entry) => Promise<readonly string[]>;

  constructor(entries: Iterable<Entry>, readTags: (entry: Entry) => Promise<readonly string[]>) {
    this.#unread = new Set(entries);
    this.#readTags = readTags;
  }

  /** The notes that have the tag. */
  async tagged(tag: string): Promise<NoteList> {
    while (this.#unread.size > 0) {
      this.#reading ??= Promise.all([...this.#unread].map((entry) => this.#readOne(entry))).finally(() => {
        this.#reading = undefined;
      });
      await this.#reading;
    }
    return this.#byTag.get(tag) ?? new NoteList();
  }

  /** Entries went, and others came. */
  replace(gone: readonly (Entry | undefined)[], added: readonly Entry[]): void {
    for (const entry of gone) if (entry) this.#remove(entry);
    for (const entry of added) if (entry.meta) this.#unread.add(entry);
  }

  #remove(entry: Entry): void {
    this.#unread.delete(entry);
    for (const tag of this.#tagsOf.get(entry) ?? []) {
      const list = this.#byTag.get(tag);
      list?.remove(entry.file);
      if (list?.size === 0) this.#byTag.delete(tag);
    }
    this.#tagsOf.delete(entry);
  }

  async #readOne(entry: Entry): Promise<void> {
    const tags = await this.#readTags(entry);
    // It may have been removed meanwhile.
    if (!this.#unread.delete(entry) || tags.length === 0) return;
    this.#tagsOf.set(entry, tags);
    for (const tag of tags) {
      const list = this.#byTag.get(tag);
      if (list) list.put(entry);
      else this.#byTag.set(tag, new NoteList([entry]));
    }
  }
}
