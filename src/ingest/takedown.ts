import type { Feed } from '../feeds/feed.ts';
import { isNoteId, isReadId, type NoteFile, noteFile, parseNoteFile } from '../feeds/names.ts';
import type { Note } from '../feeds/note.ts';
import { existing, Refusal } from '../refusals.ts';
import type { Storage, Written } from '../storage/storage.ts';
import { FileReplaced, hashOfFile } from '../storage/stored-file.ts';
import type { Identified, RecordEvent } from '../telemetry/events.ts';
import { toFeed } from '../writing/command.ts';
import type { Blocks } from './blocks.ts';
import { changeFeed } from './change-feed.ts';

/** Retries if a picture is replaced while it is read. */
const MAX_ATTEMPTS = 5;

/** What a report names. */
interface TakedownTarget {
  readonly readId: string;
  /** The id of a note, or its file if there is a dot in it; undefined for the feed. */
  readonly note: string | undefined;
}

/** What was removed. */
export interface TakenDown {
  /** Undefined if a feed was removed before, by the same call. */
  readonly feed: Pick<Feed, 'name'> | undefined;
  /** How many notes. */
  readonly removed: number;
}

interface TakedownParts {
  readonly storage: Pick<Storage, 'anyFeedByReadId' | 'note' | 'stat' | 'write'>;
  readonly blocks: Blocks;
  readonly record: RecordEvent;
}

/** Takes down notes and feeds by what a report names: a read id and a note. */
export class Takedown {
  readonly #parts: TakedownParts;

  constructor(parts: TakedownParts) {
    this.#parts = parts;
  }

  /**
   * Removes a note, or the whole feed.
   * @param blocks whether it cannot come back: the name and the read link of a feed, or the bytes of a picture, are blocked. The
   * blocks are stored first, so that the same call can finish the removal after a crash.
   * @throws Refusal `not_found`, `busy`
   */
  async take({ readId, note }: TakedownTarget, blocks: boolean, request: Identified): Promise<TakenDown> {
    const written = await changeFeed(
      async () => (isReadId(readId) ? this.#parts.storage.anyFeedByReadId(readId) : undefined),
      (feed) => (note === undefined ? this.#takeFeed(feed, blocks) : this.#takeNote(feed, note, blocks)),
    );
    if (written !== undefined) return { feed: written.feed, removed: this.#recordRemoval(written, request) };
    const isDone =
      blocks && note === undefined && isReadId(readId) && (await this.#parts.blocks.isRemoved(readId));
    if (isDone) return { feed: undefined, removed: 0 };
    throw new Refusal('not_found', 'There is nothing of that read id.');
  }

  async #takeFeed(feed: Feed, blocks: boolean): Promise<Written | undefined> {
    if (blocks) await this.#parts.blocks.blockFeed(feed.name, feed.readId, `/r/${feed.readId}`);
    return this.#parts.storage.write({ kind: 'delete', ...toFeed(feed) });
  }

  async #takeNote(feed: Feed, part: string, blocks: boolean): Promise<Written | undefined> {
    const named = await this.#named(feed, part);
    if (blocks && named.type !== 'md') await this.#blockPicture(feed, noteFile(named.id, named.type));
    return this.#parts.storage.write({ kind: 'remove', ...toFeed(feed), ...named });
  }

  /** Returns the number of removed notes. */
  #recordRemoval({ feed, note }: Written, request: Identified): number {
    const { record } = this.#parts;
    if (note === undefined) record({ name: 'feed deleted', feed: feed.name }, request);
    else record({ name: 'note deleted', feed: feed.name, kind: note.type, size: note.size }, request);
    return note === undefined ? feed.noteCount : 1;
  }

  /** The note of an id or of a file. Throws a Refusal `not_found`. */
  async #named(feed: Feed, part: string): Promise<Pick<Note, 'id' | 'type'>> {
    const { storage } = this.#parts;
    if (!part.includes('.')) {
      const { id, type } = existing(isNoteId(part) ? await storage.note(feed, part) : undefined, 'note');
      return { id, type };
    }
    const { id, type, file } = existing(parseNoteFile(part), 'note');
    existing(await storage.stat(feed, file), 'note');
    return { id, type };
  }

  async #blockPicture(feed: Feed, file: NoteFile): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const stored = existing(await this.#parts.storage.stat(feed, file), 'note');
      try {
        const hash = stored.sha256 ?? (await hashOfFile(stored));
        return await this.#parts.blocks.blockPicture(hash, `/r/${feed.readId}/${encodeURIComponent(file)}`);
      } catch (error) {
        if (!(error instanceof FileReplaced) || attempt === MAX_ATTEMPTS) throw error;
      }
    }
  }
}
