import { type Entry, SortedEntries } from './entry.ts';

const NONE = new SortedEntries();

/**
 * The notes of one feed by tag. Tags are in the metadata files, so they are read when a tag is asked for, and
 * after that only those that changed since.
 */
export class TagIndex {
  readonly #byTag = new Map<string, SortedEntries>();
  readonly #tagsOf = new Map<Entry, readonly string[]>();
  #unread: Set<Entry>;
  #reading: Promise<void> | undefined;
  readonly #readTags: (entry: Entry) => Promise<readonly string[]>;

  constructor(entries: Iterable<Entry>, readTags: (entry: Entry) => Promise<readonly string[]>) {
    this.#unread = new Set(entries);
    this.#readTags = readTags;
  }

  /** The notes that have the tag. */
  async tagged(tag: string): Promise<SortedEntries> {
    while (this.#unread.size > 0) {
      this.#reading ??= this.#readUnread().finally(() => {
        this.#reading = undefined;
      });
      await this.#reading;
    }
    return this.#byTag.get(tag) ?? NONE;
  }

  /** The note is new, or its metadata may have changed. */
  changed(entry: Entry): void {
    this.remove(entry);
    this.#unread.add(entry);
  }

  remove(entry: Entry): void {
    this.#unread.delete(entry);
    for (const tag of this.#tagsOf.get(entry) ?? []) {
      const list = this.#byTag.get(tag);
      list?.remove(entry);
      if (list?.size === 0) this.#byTag.delete(tag);
    }
    this.#tagsOf.delete(entry);
  }

  async #readUnread(): Promise<void> {
    await Promise.all([...this.#unread].map((entry) => this.#readOne(entry)));
  }

  async #readOne(entry: Entry): Promise<void> {
    const { version } = entry;
    const tags = entry.meta ? await this.#readTags(entry) : [];
    if (!this.#unread.has(entry) || entry.version !== version) return;
    this.#unread.delete(entry);
    if (tags.length === 0) return;
    this.#tagsOf.set(entry, tags);
    for (const tag of tags) {
      const list = this.#byTag.get(tag);
      if (list) list.insert(entry);
      else this.#byTag.set(tag, new SortedEntries([entry]));
    }
  }
}
