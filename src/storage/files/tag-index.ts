import { type Entry, NoteList } from './entry.ts';

const NONE = new NoteList();

/**
 * The notes of one feed by tag. Tags are in the metadata files, so they are read when a tag is asked for, and
 * after that only those of new entries.
 */
export class TagIndex {
  readonly #byTag = new Map<string, NoteList>();
  readonly #tagsOf = new Map<Entry, readonly string[]>();
  readonly #unread: Set<Entry>;
  #reading: Promise<void> | undefined;
  readonly #readTags: (entry: Entry) => Promise<readonly string[]>;

  constructor(entries: Iterable<Entry>, readTags: (entry: Entry) => Promise<readonly string[]>) {
    this.#unread = new Set(entries);
    this.#readTags = readTags;
  }

  /** The notes that have the tag. */
  async tagged(tag: string): Promise<NoteList> {
    while (this.#unread.size > 0) {
      this.#reading ??= this.#readUnread().finally(() => {
        this.#reading = undefined;
      });
      await this.#reading;
    }
    return this.#byTag.get(tag) ?? NONE;
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

  async #readUnread(): Promise<void> {
    await Promise.all([...this.#unread].map((entry) => this.#readOne(entry)));
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
