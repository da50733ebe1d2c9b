import { join } from 'node:path';
import { type FeedName, noteFile } from '../../feeds/names.ts';
import type { NewNote } from '../storage.ts';
import { withinCaps } from './caps.ts';
import type { IndexedFeed } from './indexed-feed.ts';
import { entryOf, partsOf } from './note-files.ts';
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
    note: NewNote,
    { passwordHash }: { readonly passwordHash: string | undefined },
  ): Promise<IndexedFeed | undefined> {
    const { index, turns, caps } = this.#parts;
    return turns.shared(name, async () => {
      const feed = index.get(name);
      if (!feed || feed.files.passwordHash !== passwordHash) return undefined;
      return withinCaps(caps, feed, note.type, () => this.#add(feed, note));
    });
  }

  async #add(feed: IndexedFeed, note: NewNote): Promise<IndexedFeed | undefined> {
    const { dir, index, writer } = this.#parts;
    const file = noteFile(note.id, note.type);
    const work = writer.place(join(dir, feed.name), partsOf(note));
    feed.pending.set(file, work);
    try {
      feed.put(entryOf(note, await work));
      index.touch(feed);
      return feed;
    } catch (error) {
      return forgetGone(this.#parts, feed, error);
    } finally {
      feed.pending.delete(file);
    }
  }
}
