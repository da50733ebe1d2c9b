import { isReadId, parseNoteFile } from '../feeds/names.ts';
import { notFound, Refusal } from '../refusals.ts';
import type { Storage, Written } from '../storage/storage.ts';
import type { Identified, RecordEvent } from '../telemetry/events.ts';
import { toFeed } from '../writing/command.ts';

/** Retries if the feed changes meanwhile. */
const MAX_ATTEMPTS = 5;

/** Takes down notes and feeds by read id and file, which is what a report contains. */
export class Takedown {
  readonly #storage: Storage;
  readonly #record: RecordEvent;

  constructor(storage: Storage, record: RecordEvent) {
    this.#storage = storage;
    this.#record = record;
  }

  /**
   * Removes a note, or the whole feed. Returns the number of removed notes.
   * @param file of the note; undefined for the feed
   * @throws Refusal `not_found`
   */
  async take(readId: string, file: string | undefined, request: Identified): Promise<number> {
    const named = file === undefined ? undefined : parseNoteFile(file);
    if (file !== undefined && named === undefined) throw notFound('note');
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      const feed = isReadId(readId) ? await this.#storage.feedByReadId(readId) : undefined;
      if (feed === undefined) break;
      const written = await this.#storage.write(
        named
          ? { kind: 'remove', ...toFeed(feed), id: named.id, type: named.type }
          : { kind: 'delete', ...toFeed(feed) },
      );
      if (written !== undefined) return this.#recordRemoval(written, request);
    }
    throw new Refusal('not_found', 'There is nothing of that read id.');
  }

  /** Returns the number of removed notes. */
  #recordRemoval({ feed, note }: Written, request: Identified): number {
    if (note === undefined) this.#record({ name: 'feed deleted', feed: feed.name }, request);
    else this.#record({ name: 'note deleted', feed: feed.name, kind: note.type, size: note.size }, request);
    return note === undefined ? feed.noteCount : 1;
  }
}
