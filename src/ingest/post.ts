import { feedPassword, type Passwords } from '../access/passwords.ts';
import type { NoteIds } from '../feeds/ids.ts';
import type { FeedName, ReadId } from '../feeds/names.ts';
import { Refusal } from '../refusals.ts';
import type { Feed, NewNote, Storage, Target } from '../storage/storage.ts';
import type { Identified, RecordEvent } from '../telemetry/events.ts';
import { admitNote, checkAndStore, type NoteBodyRules, type NoteRequest, readNote } from './note-body.ts';
import { type HeaderSource, noteHeaders } from './note-headers.ts';
import { chosenReadId, type ReadIdRules } from './read-id-choice.ts';

export interface PostingParts extends NoteBodyRules, ReadIdRules {
  readonly storage: Storage;
  readonly passwords: Passwords;
  readonly ids: NoteIds;
  readonly record: RecordEvent;
}

/** A note that has been stored. */
export interface Posted {
  readonly feed: Feed;
  readonly note: NewNote;
}

/** How often a feed may come or go between the check of its password and the post. */
const MAX_ATTEMPTS = 3;

/** The way in for new notes: everything is checked first, then stored. */
export class Posting {
  readonly #parts: PostingParts;

  constructor(parts: PostingParts) {
    this.#parts = parts;
  }

  /**
   * Stores the note that a request brings, in the order of checks of contract §5.
   * @param allowed the feed of that name, which the request may write to; undefined where there is none
   * @param again finds and checks the feed anew, where it came, went or changed its password meanwhile
   * @throws Refusal whatever the contract says of a post
   */
  async post(
    name: FeedName,
    request: NoteRequest & Identified,
    allowed: Feed | undefined,
    again: () => Promise<Feed | undefined>,
  ): Promise<Posted> {
    const type = admitNote(request, this.#parts);
    const meta = noteHeaders(request, type);
    if (allowed === undefined) this.#readId(name, request);
    const bytes = await readNote(request, type, this.#parts);
    const { feed, note } = await checkAndStore(type, bytes, this.#parts, async (sha256) => {
      // After the body: it may be a conflict, and hashes a password.
      const target = await this.#target(name, allowed, request);
      const note = { id: this.#parts.ids.next(), type, meta, bytes, sha256 };
      return { feed: await this.#store(name, note, target, again, request), note };
    });
    this.#parts.record({ name: 'note posted', kind: type, size: bytes.length }, request);
    return { feed, note };
  }

  async #store(
    name: FeedName,
    note: NewNote,
    target: Target,
    again: () => Promise<Feed | undefined>,
    request: HeaderSource & Identified,
  ): Promise<Feed> {
    let current = target;
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const stored = await this.#parts.storage.post(name, note, current);
      if (stored !== undefined) {
        if (current.kind === 'new') this.#parts.record({ name: 'feed created' }, request);
        return stored;
      }
      current = await this.#target(name, await again(), request);
    }
    throw new Refusal('busy', 'The feed changes too often. Try again in a moment.', {
      headers: { 'Retry-After': '1' },
    });
  }

  async #target(name: FeedName, feed: Feed | undefined, request: HeaderSource): Promise<Target> {
    const password = request.header('x-feed-password');
    if (feed !== undefined) {
      if (password !== undefined && feed.passwordHash === undefined) throw notProtected();
      return { kind: 'existing', passwordHash: feed.passwordHash };
    }
    const passwordHash =
      password === undefined ? undefined : await this.#parts.passwords.hash(feedPassword(password));
    return { kind: 'new', readId: this.#readId(name, request), passwordHash };
  }

  #readId(name: FeedName, request: HeaderSource): ReadId | undefined {
    return chosenReadId(request.header('x-read-id') ?? '', name, this.#parts);
  }
}

function notProtected(): Refusal {
  return new Refusal(
    'feed_exists',
    'This feed exists without a password; one can only be set when it is made.',
  );
}
