import { join } from 'node:path';
import { type FeedName, noteFile } from '../../feeds/names.ts';
import type { NewNote } from '../storage.ts';
import { withinCaps } from './caps.ts';
import type { Part } from './durable.ts';
import type { IndexedFeed } from './indexed-feed.ts';
import { entriesOf, partsOf } from './note-files.ts';
import type { Stamp } from './stamp.ts';
import { forgetGone, type WriteParts } from './write-parts.ts';

/** Stores new notes in feeds that exist. */
export class NoteWriter {
  readonly #parts: Pick<WriteParts, 'dir' | 'index' | 'writer' | 'turns' | 'caps'>;

  constructor(parts: Pick<WriteParts, 'dir' | 'index' | 'writer' | 'turns' | 'caps'>) {
    this.#parts = parts;
  }

  /** See `Storage.post`, with a target that exists. */
  post(
    name: FeedName,
    notes: readonly NewNote[],
    { passwordHash }: { readonly passwordHash: string | undefined },
  ): Promise<IndexedFeed | undefined> {
    const { index, turns, caps } = this.#parts;
    return turns.shared(name, async () => {
      const feed = index.get(name);
      if (!feed || feed.files.passwordHash !== passwordHash) return undefined;
      return withinCaps(caps, feed, notes, () => this.#add(feed, notes));
    });
  }

  async #add(feed: IndexedFeed, notes: readonly NewNote[]): Promise<IndexedFeed | undefined> {
    const { dir, index } = this.#parts;
    const files = notes.map(({ id, type }) => noteFile(id, type));
    const parts = notes.map(partsOf);
    const work = this.#write(join(dir, feed.name), parts);
    for (const file of files) feed.pending.set(file, work);
    try {
      for (const entry of entriesOf(notes, parts, await work)) feed.put(entry);
      index.touch(feed);
      return feed;
    } catch (error) {
      return forgetGone(this.#parts, feed, error);
    } finally {
      for (const file of files) feed.pending.delete(file);
    }
  }

  /** One note stands with its content alone, so it needs no intent. */
  #write(folder: string, notes: readonly Part[][]): Promise<(Stamp | undefined)[]> {
    const { writer } = this.#parts;
    const parts = notes.flat();
    return notes.length === 1
      ? writer.place(folder, parts)
      : writer.change(folder, parts.slice(-1), parts.slice(0, -1));
  }
}
