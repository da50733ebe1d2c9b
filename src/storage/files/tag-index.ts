import { MAX_LISTED_TAGS, type TagCount } from '../storage.ts';
import { mostUsed } from '../tag-counts.ts';
import { type Entry, type ExpiryOf, NoteList } from './note-list.ts';
import { TagRanking } from './tag-ranking.ts';

/** The most notes whose tags are asked for in one turn of the event loop, which takes about 10 µs for each. */
const READ_AT_ONCE = 100;

/**
 * The notes of one feed by tag. Tags are in the metadata files. The first question for a tag reads all of these files, later ones
 * read only those of new notes.
 */
export class TagIndex {
  /** A list takes 600 bytes, and a feed may have 100,000 tags of one note each. */
  readonly #byTag = new Map<string, Entry | NoteList>();
  readonly #ranking = new TagRanking();
  readonly #tagsOf = new Map<Entry, readonly string[]>();
  readonly #unread: Set<Entry>;
  #reading: Promise<unknown> | undefined;
  readonly #readTags: (entry: Entry) => Promise<readonly string[]>;
  readonly #expiryOf: ExpiryOf | undefined;

  constructor(
    entries: Iterable<Entry>,
    readTags: (entry: Entry) => Promise<readonly string[]>,
    expiryOf?: ExpiryOf,
  ) {
    this.#unread = new Set(entries);
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
  async mostUsed(prefix: string, expired: () => readonly Entry[]): Promise<TagCount[]> {
    await this.#readAll();
    const fewer = new Map<string, number>();
    for (const tag of expired().flatMap((entry) => this.#tagsOf.get(entry) ?? []))
      fewer.set(tag, (fewer.get(tag) ?? 0) + 1);
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
    while (this.#unread.size > 0) {
      this.#reading ??= this.#readSome().finally(() => {
        this.#reading = undefined;
      });
      await this.#reading;
    }
  }

  async #readSome(): Promise<void> {
    const reads: Promise<void>[] = [];
    for (const entry of this.#unread) if (reads.push(this.#readOne(entry)) === READ_AT_ONCE) break;
    await Promise.all(reads);
  }

  /** Entries went, and others came. */
  replace(gone: readonly (Entry | undefined)[], added: readonly Entry[]): void {
    for (const entry of gone) if (entry) this.#remove(entry);
    for (const entry of added) if (entry.meta) this.#unread.add(entry);
  }

  #remove(entry: Entry): void {
    this.#unread.delete(entry);
    for (const tag of this.#tagsOf.get(entry) ?? []) {
      const notes = this.#byTag.get(tag);
      const before = countOf(notes);
      if (notes instanceof NoteList) notes.remove(entry.file);
      if (before === 1) this.#byTag.delete(tag);
      this.#ranking.change(tag, before, before - 1);
    }
    this.#tagsOf.delete(entry);
  }

  async #readOne(entry: Entry): Promise<void> {
    const tags = await this.#readTags(entry);
    // It may have been removed meanwhile.
    if (!this.#unread.delete(entry) || tags.length === 0) return;
    this.#tagsOf.set(entry, tags);
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
