import type { Access, Caller, NamedFeed } from '../access/access.ts';
import { feedPassword, type Passwords } from '../access/passwords.ts';
import type { Feed } from '../feeds/feed.ts';
import type { FeedName } from '../feeds/names.ts';
import type { NewNote } from '../feeds/note.ts';
import { Refusal } from '../refusals.ts';
import type { FeedLimits, Storage, Target } from '../storage/storage.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import { chosenReadId, notProtected, type ReadIdRules } from './feed-rules.ts';
import type { Preparation } from './preparation.ts';
import type { Submission } from './submission.ts';

interface PostingParts extends ReadIdRules {
  readonly storage: Storage;
  readonly access: Pick<Access, 'namedFeed'>;
  readonly passwords: Passwords;
  readonly preparation: Preparation;
  readonly record: RecordEvent;
}

interface Post {
  readonly submission: Submission;
  readonly limits: FeedLimits;
  /** Unchecked, for a new feed; empty for a random one. */
  readonly readId: string;
}

export interface Posted {
  readonly feed: Feed;
  /** The text, else the first picture. */
  readonly note: NewNote;
  /** The pictures of a form, in order; undefined for a note without a form. */
  readonly attachments: readonly NewNote[] | undefined;
}

/** Retries if the feed is made or deleted after its password was checked. */
const MAX_ATTEMPTS = 3;

/** Checks and stores new notes. */
export class Posting {
  readonly #parts: PostingParts;

  constructor(parts: PostingParts) {
    this.#parts = parts;
  }

  /**
   * Stores all notes or none, in a feed that the caller may post to.
   * @throws Refusal as the contract says of a post whose body is complete
   */
  async post({ name, feed }: NamedFeed, post: Post, caller: Caller): Promise<Posted> {
    const { preparation, record } = this.#parts;
    const prepared = await preparation.prepare(post.submission, caller);
    const { text, pictures, notes, isForm } = prepared;
    // After all checks, because it hashes a password.
    const target = await this.#target(name, feed, post, caller);
    const stored = await preparation.store(prepared, () => this.#store(name, notes, target, post, caller));
    for (const { type, bytes } of notes)
      record({ name: 'note posted', feed: name, kind: type, size: bytes.length }, caller);
    return { feed: stored, note: text ?? pictures[0]!, attachments: isForm ? pictures : undefined };
  }

  /** Checks the read id for a new feed before the body is read. Throws a Refusal `invalid_request`. */
  admitReadId(name: FeedName, readId: string): void {
    chosenReadId(readId, name, this.#parts);
  }

  async #store(
    name: FeedName,
    notes: readonly NewNote[],
    target: Target,
    post: Post,
    caller: Caller,
  ): Promise<Feed> {
    const { storage, access, record } = this.#parts;
    let current = target;
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const stored = await storage.post(name, notes, current, post.limits);
      if (stored !== undefined) {
        if (current.kind === 'new') record({ name: 'feed created', feed: name }, caller);
        return stored;
      }
      current = await this.#target(name, await access.namedFeed(caller, name), post, caller);
    }
    throw new Refusal('busy', 'The feed changes too often. Try again in a moment.');
  }

  async #target(name: FeedName, feed: Feed | undefined, post: Post, caller: Caller): Promise<Target> {
    const password = caller.feedPassword;
    if (feed !== undefined) {
      if (password !== undefined && feed.passwordHash === undefined) throw notProtected();
      return { kind: 'existing', passwordHash: feed.passwordHash };
    }
    const readId = chosenReadId(post.readId, name, this.#parts);
    const passwordHash =
      password === undefined ? undefined : await this.#parts.passwords.hash(feedPassword(password));
    return { kind: 'new', readId, passwordHash };
  }
}
