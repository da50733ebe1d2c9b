import type { NoteFile } from '../../feeds/names.ts';
import { MAX_LISTED_TAGS, type TagCount } from '../storage.ts';
import { mostUsed } from '../tag-counts.ts';
import { type Entry, type ExpiryOf, NoteList } from './note-list.ts';
import { TagRanking } from './tag-ranking.ts';

/** The most notes whose tags are asked for in one turn of the event loop, which takes about 20 µs for each. */
const READ_AT_ONCE = 100;

/**
 * The notes of one feed by tag. Tags are in the metadata files. The first question for a tag reads all of these files, later ones
 * read only those of new notes.
 */
export class TagIndex {
  /** A list takes 600 bytes, and a feed may have 100,000 tags of one note each. */
  readonly #byTag = new Map<string, Entry | NoteList>();
  readonly #ranking = new TagRanking();
  readonly #tagsOf = new Map<NoteFile, readonly string[]>();
  readonly #notes: NoteList;
  /** Files that were never read, the next ones last. A list, because making 100,000 entries or a set takes 0.1 to 0.5 s. */
  readonly #unread: NoteFile[];
  /** Files that came, or are to be read again. */
  readonly #changed = new Set<NoteFile>();
  #reading: Promise<unknown> | undefined;
  readonly #readTags: (entry: Entry) => Promise<readonly string[]>;
  readonly #expiryOf: ExpiryOf | undefined;

  /** @param notes all notes of the feed, at any time */
  constructor(notes: NoteList, readTags: (entry: Entry) => Promise<readonly string[]>, expiryOf?: ExpiryOf) {
    this.#notes = notes;
    this.#unread = [...notes.filesWithMeta()].reverse();
    this.#readTags = readTags;
    this.#expiryOf = expiryOf;
  }

  async tagged(tag: string): Promise<NoteList> {
    await this.#readAll();
    const found = this.#byTag.get(tag);
    return found instanceof NoteList ? found : new NoteList(found && [found], this.#expiryOf);
  }

  /**
   * See `Storage.tags`.
   * @param expired tells which notes have expired by now: few, and only their tags are counted
   */
  async mostUsed(prefix: string, expired: () => Iterable<NoteFile>): Promise<TagCount[]> {
    await this.#readAll();
    const fewer = new Map<string, number>();
    for (const file of expired())
      for (const tag of this.#tagsOf.get(file) ?? []) fewer.set(tag, (fewer.get(tag) ?? 0) + 1);
    const found: TagCount[] = [];
    let unchanged = 0;
    for (const piece of this.#ranking.pieces) {
      // The tags of later pieces are used less, or come after these by name.
      if (unchanged >= MAX_LISTED_TAGS) break;
      for (const one of piece) {
        if (!one.tag.startsWith(prefix)) continue;
        const gone = fewer.get(one.tag) ?? 0;
        if (gone === 0) unchanged += 1;
        if (one.count > gone) found.push({ tag: one.tag, count: one.count - gone });
      }
    }
    return mostUsed(found);
  }

  async #readAll(): Promise<void> {
    while (this.#reading || this.#unread.length > 0 || this.#changed.size > 0) {
      this.#reading ??= this.#readSome().finally(() => {
        this.#reading = undefined;
      });
      await this.#reading;
    }
  }

  async #readSome(): Promise<void> {
    const files = this.#unread.splice(-READ_AT_ONCE);
    for (const file of this.#changed) {
      if (files.length === READ_AT_ONCE) break;
      files.push(file);
      this.#changed.delete(file);
    }
    try {
      await Promise.all(files.map((file) => this.#readOne(file)));
    } catch (error) {
      for (const file of files) this.#changed.add(file);
      throw error;
    }
  }

  /** Entries went from the notes, and others came. */
  replace(gone: readonly (Entry | undefined)[], added: readonly Entry[]): void {
    for (const entry of gone) if (entry) this.#remove(entry);
    for (const { file, meta } of added) if (meta) this.#changed.add(file);
  }

  #remove({ file }: Entry): void {
    this.#changed.delete(file);
    for (const tag of this.#tagsOf.get(file) ?? []) {
      const notes = this.#byTag.get(tag);
      const before = countOf(notes);
      if (notes instanceof NoteList) notes.remove(file);
      if (before === 1) this.#byTag.delete(tag);
      this.#ranking.change(tag, before, before - 1);
    }
    this.#tagsOf.delete(file);
  }

  async #readOne(file: NoteFile): Promise<void> {
    const entry = this.#notes.get(file);
    if (!entry || this.#tagsOf.has(file)) return;
    const tags = await this.#readTags(entry);
    // It may have been removed meanwhile, or changed: then it is read again.
    if (this.#notes.get(file) !== entry || this.#tagsOf.has(file) || tags.length === 0) return;
    this.#tagsOf.set(file, tags);
    for (const tag of tags) {
      const notes = this.#byTag.get(tag);
      const before = countOf(notes);
      if (notes instanceof NoteList) notes.put(entry);
      else this.#byTag.set(tag, notes ? new NoteList([notes, entry], this.#expiryOf) : entry);
      this.#ranking.change(tag, before, before + 1);
    }
  }
}

function countOf(notes: Entry | NoteList | undefined): number {
  return notes instanceof NoteList ? notes.size : Number(notes !== undefined);
}
