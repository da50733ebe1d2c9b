import type { Feed } from '../feeds/feed.ts';
import { isReadId, parseNoteFile } from '../feeds/names.ts';
import { existing, Refusal } from '../refusals.ts';
import type { Storage } from '../storage/storage.ts';
import type { Identified, RecordEvent } from '../telemetry/events.ts';

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
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      const feed = isReadId(readId) ? await this.#storage.feedByReadId(readId) : undefined;
      if (feed === undefined) break;
      const removed = await (file === undefined
        ? this.#feed(feed, request)
        : this.#note(feed, file, request));
      if (removed !== undefined) return removed;
    }
    throw new Refusal('not_found', 'There is nothing of that read id.');
  }

  /** Undefined if the feed changed meanwhile and must be looked up again. */
  async #feed(feed: Feed, request: Identified): Promise<number | undefined> {
    if (!(await this.#storage.deleteFeed(feed))) return undefined;
    this.#record({ name: 'feed deleted', feed: feed.name }, request);
    return feed.noteCount;
  }

  async #note(feed: Feed, file: string, request: Identified): Promise<number | undefined> {
    const named = parseNoteFile(file);
    const stored = existing(named && (await this.#storage.open(feed, named.file)), 'note');
    await stored.close();
    if (!(await this.#storage.remove(feed, named!.id, named!.type))) return undefined;
    this.#record({ name: 'note deleted', feed: feed.name, kind: named!.type, size: stored.size }, request);
    return 1;
  }
}
