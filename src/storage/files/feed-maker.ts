import { randomReadId } from '../../feeds/ids.ts';
import type { FeedName, ReadId } from '../../feeds/names.ts';
import { Refusal } from '../../refusals.ts';
import { NO_SETTINGS } from '../metadata.ts';
import {
  limitsNow,
  NO_NOTES,
  type Room,
  readIdTaken,
  refuseBeyond,
  tooManyFeeds,
} from '../refused-writes.ts';
import type { FeedCreation, NewNote } from '../storage.ts';
import type { Part } from './durable.ts';
import { asRefusal, errorCode } from './failures.ts';
import { IndexedFeed } from './indexed-feed.ts';
import { LICENSE_FILE, PASSWORD_FILE, READ_ID_FILE } from './names.ts';
import { entryOf, partsOf } from './note-files.ts';
import { scanFeed } from './scan.ts';
import type { WriteParts } from './steps.ts';

/** Makes feeds, with their first note or without one. */
export class FeedMaker {
  readonly #parts: WriteParts;
  readonly #maxFeeds: number;
  readonly #onMade: (name: FeedName) => void;
  /** Feeds being made: they count against the cap. */
  #making = 0;

  /** @param maxFeeds 0 is no limit */
  constructor(parts: WriteParts, maxFeeds: number, onMade: (name: FeedName) => void) {
    this.#parts = parts;
    this.#maxFeeds = maxFeeds;
    this.#onMade = onMade;
  }

  /**
   * See `Storage.create` and, with notes, `Storage.post` with a target that is new. The feed has the note in it if it
   * is one; several are only looked at for whether the feed may hold them.
   */
  make(name: FeedName, creation: FeedCreation, room?: Room<NewNote>): Promise<IndexedFeed | undefined> {
    const { index, locks } = this.#parts;
    return locks.exclusive(name, async () =>
      index.get(name) ? undefined : this.#makeWithReadId(name, creation, room),
    );
  }

  async #makeWithReadId(
    name: FeedName,
    { readId = randomReadId(), passwordHash }: FeedCreation,
    room: Room<NewNote> | undefined,
  ): Promise<IndexedFeed | undefined> {
    const { index } = this.#parts;
    reserve(this.#parts, name, readId);
    try {
      if (this.#maxFeeds > 0 && index.size + this.#making >= this.#maxFeeds) throw tooManyFeeds();
      if (room) {
        const limits = limitsNow(room.limits, undefined, this.#parts.isLicenseValid);
        refuseBeyond({ notes: room.notes, limits }, NO_NOTES);
      }
      this.#making += 1;
      try {
        const [note, ...more] = room?.notes ?? [];
        const first = more.length === 0 ? note : undefined;
        return await this.#makeFolder(name, { readId, passwordHash }, first);
      } finally {
        this.#making -= 1;
      }
    } finally {
      index.unreserve(name, readId);
    }
  }

  /** Undefined when a folder of that name was put there by hand meanwhile; the index then has it. */
  async #makeFolder(
    name: FeedName,
    { readId, passwordHash }: { readonly readId: ReadId; readonly passwordHash: string | undefined },
    note: NewNote | undefined,
  ): Promise<IndexedFeed | undefined> {
    const { dir, index, writer } = this.#parts;
    const dotFiles: Part[] = [{ name: READ_ID_FILE, bytes: line(readId) }];
    if (passwordHash !== undefined) dotFiles.push(passwordPart(passwordHash));
    try {
      const parts = note ? [...dotFiles, ...partsOf(note)] : dotFiles;
      const { stamps, identity } = await writer.placeFolder(dir, name, parts);
      const files = { storedReadId: readId, settings: NO_SETTINGS, passwordHash };
      const entries = note ? [entryOf(note, stamps.slice(dotFiles.length))] : [];
      const feed = new IndexedFeed(name, identity, files, entries, Date.now());
      index.add(feed);
      this.#onMade(name);
      return feed;
    } catch (error) {
      if (!isOccupied(error)) throw asRefusal(error);
      return this.#adopt(name, error);
    }
  }

  async #adopt(name: FeedName, cause: unknown): Promise<undefined> {
    const { dir, index, log } = this.#parts;
    const feed = await scanFeed(dir, name, log);
    if (!(feed instanceof IndexedFeed))
      throw new Refusal('internal', 'Something that is not a feed is in the way.', {
        cause: asRefusal(cause),
      });
    index.add(feed);
  }
}

/**
 * Keeps a read id that somebody wants for a feed.
 * @throws Refusal `taken`
 */
export function reserve(
  { index, retired }: Pick<WriteParts, 'index' | 'retired'>,
  name: FeedName,
  readId: ReadId,
): void {
  if (!retired.has(readId) && index.reserve(name, readId)) return;
  throw readIdTaken();
}

/** The file of a feed's password. */
export function passwordPart(passwordHash: string): Part {
  return { name: PASSWORD_FILE, bytes: line(passwordHash), private: true };
}

/** The file of a feed's license. */
export function licensePart(text: string): Part {
  return { name: LICENSE_FILE, bytes: line(text), private: true };
}

/** A dot file of one line. */
export function line(text: string): Uint8Array {
  return Buffer.from(`${text}\n`);
}

function isOccupied(error: unknown): boolean {
  return ['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(errorCode(error) ?? '');
}
