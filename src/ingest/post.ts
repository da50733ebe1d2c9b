import { feedPassword, type Passwords } from '../access/passwords.ts';
import type { FeedName, ReadId } from '../feeds/names.ts';
import { Refusal } from '../refusals.ts';
import type { Feed, NewNote, Storage, Target } from '../storage/storage.ts';
import type { Identified, RecordEvent } from '../telemetry/events.ts';
import type { NoteBodyRules } from './note-body.ts';
import type { HeaderSource } from './note-headers.ts';
import type { TextSender } from './picture-texts.ts';
import type { Preparation } from './preparation.ts';
import { chosenReadId, type ReadIdRules } from './read-id-choice.ts';
import { admitPost, type SubmissionRequest } from './submission.ts';

export interface PostingParts extends NoteBodyRules, ReadIdRules {
  readonly storage: Storage;
  readonly passwords: Passwords;
  readonly preparation: Preparation;
  readonly record: RecordEvent;
}

/** A request that posts. */
export type PostRequest = SubmissionRequest & TextSender & Identified;

/** Notes that have been stored. */
export interface Posted {
  readonly feed: Feed;
  /** The text; the first picture where there is none. */
  readonly note: NewNote;
  /** The pictures of a form, in order; undefined for a note that was the body itself. */
  readonly attachments: readonly NewNote[] | undefined;
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
   * Stores the notes that a request brings, all or none, in the order of checks of contract §5.
   * @param allowed the feed of that name, which the request may write to; undefined where there is none
   * @param again finds and checks the feed anew, where it came, went or changed its password meanwhile
   * @throws Refusal whatever the contract says of a post
   */
  async post(
    name: FeedName,
    request: PostRequest,
    allowed: Feed | undefined,
    again: () => Promise<Feed | undefined>,
  ): Promise<Posted> {
    const { preparation, record } = this.#parts;
    const read = admitPost(request, this.#parts);
    if (allowed === undefined) this.#readId(name, request);
    const submission = await read();
    const prepared = await preparation.prepare(submission, request);
    // After the body: it may be a conflict, and hashes a password.
    const target = await this.#target(name, allowed, request);
    const { text, pictures } = prepared;
    // Pictures come first, so that a text never shows without them.
    const notes = text ? [...pictures, text] : pictures;
    const feed = await preparation.store(prepared, () => this.#store(name, notes, target, again, request));
    for (const { type, bytes } of notes)
      record({ name: 'note posted', kind: type, size: bytes.length }, request);
    const attachments = submission.isForm ? pictures : undefined;
    return { feed, note: text ?? pictures[0]!, attachments };
  }

  async #store(
    name: FeedName,
    notes: readonly NewNote[],
    target: Target,
    again: () => Promise<Feed | undefined>,
    request: HeaderSource & Identified,
  ): Promise<Feed> {
    let current = target;
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const stored = await this.#parts.storage.post(name, notes, current);
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
