import { join } from 'node:path';
import type { FeedName } from '../../feeds/names.ts';
import { KINDS, limitsNow, type Room, refuseBeyond } from '../refused-writes.ts';
import type { FeedLimits, NewNote } from '../storage.ts';
import type { Part } from './durable.ts';
import type { IndexedFeed } from './indexed-feed.ts';
import { entriesOf, partsOf } from './note-files.ts';
import type { Stamp } from './stamp.ts';
import { addToFeed, type WriteParts } from './steps.ts';

/** Stores new notes in feeds that exist. */
export class NoteWriter {
  readonly #parts: WriteParts;

  constructor(parts: WriteParts) {
    this.#parts = parts;
  }

  /** See `Storage.post`, with a target that exists. */
  post(
    name: FeedName,
    notes: readonly NewNote[],
    { passwordHash }: { readonly passwordHash: string | undefined },
    limits: FeedLimits,
  ): Promise<IndexedFeed | undefined> {
    const { dir, index, isLicenseValid } = this.#parts;
    return addToFeed(this.#parts, name, passwordHash, async (feed) => {
      const limitsOfFeed = limitsNow(limits, feed.files.license?.text, isLicenseValid);
      const giveRoomBack = keepRoom(feed, { notes, limits: limitsOfFeed });
      const parts = notes.map(partsOf);
      let stamps: readonly (Stamp | undefined)[];
      try {
        stamps = await this.#write(join(dir, name), parts);
      } finally {
        giveRoomBack();
      }
      index.apply(feed, { put: entriesOf(notes, parts, stamps) });
      return feed;
    });
  }

  /** One note stands with its content alone, so it needs no intent. */
  #write(folder: string, notes: readonly Part[][]): Promise<(Stamp | undefined)[]> {
    const { writer } = this.#parts;
    const parts = notes.flat();
    return notes.length === 1
      ? writer.change(folder, [], parts)
      : writer.change(folder, parts.slice(-1), parts.slice(0, -1));
  }
}

/**
 * Keeps room in a feed for notes that are about to be stored: what is stored and what is being stored never pass the
 * limits, however many posts come at once. Returns what gives the room back, to be called in the turn in which the
 * notes come into the index: else they would count twice meanwhile.
 * @throws Refusal as `refuseBeyond`
 */
function keepRoom({ stored, posting }: IndexedFeed, room: Room): () => void {
  const taken = { notes: stored.notes + posting.notes, images: stored.images + posting.images };
  const kept = refuseBeyond(room, taken);
  for (const kind of KINDS) posting[kind] += kept[kind];
  return () => {
    for (const kind of KINDS) posting[kind] -= kept[kind];
  };
}
