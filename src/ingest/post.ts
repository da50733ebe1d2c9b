import type { Access, Caller, NamedFeed } from '../access/access.ts';
import { feedPassword, type Passwords } from '../access/passwords.ts';
import type { Feed } from '../feeds/feed.ts';
import { randomReadId } from '../feeds/ids.ts';
import type { FeedName, ReadId } from '../feeds/names.ts';
import type { NewNote } from '../feeds/note.ts';
import { Refusal } from '../refusals.ts';
import type { Storage } from '../storage/storage.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import type { Post } from '../writing/command.ts';
import type { FeedLimits } from '../writing/limits.ts';
import { chosenReadId, notProtected, type ReadIdRules } from './feed-rules.ts';
import type { Preparation } from './preparation.ts';
import type { Submission } from './submission.ts';

interface PostingParts extends ReadIdRules {
  readonly storage: Storage;
  readonly access: Pick<Access, 'namedFeed'>;
  readonly passwords: Passwords;
  readonly preparation: Preparation;
  readonly limits: FeedLimits;
  readonly record: RecordEvent;
}

/** What a post asks for besides its notes, checked. */
interface AdmittedPost extends NamedFeed {
  /** For a new feed, undefined for a random one; or why it is refused, which means nothing for a feed that exists. */
  readonly readId: ReadId | Refusal | undefined;
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
   * Checks what can be checked before the notes are read.
   * @param readId chosen for a new feed; empty for a random one
   * @throws Refusal `invalid_request`
   */
  admit(named: NamedFeed, readId: string): AdmittedPost {
    const admitted = { ...named, readId: this.#readId(readId, named.name) };
    if (named.feed === undefined && admitted.readId instanceof Refusal) throw admitted.readId;
    return admitted;
  }

  /**
   * Stores all notes or none, in a feed that the caller may post to.
   * @throws Refusal as the contract says of a post whose body is complete
   */
  async post(admitted: AdmittedPost, submission: Submission, caller: Caller): Promise<Posted> {
    const { preparation, record, limits } = this.#parts;
    const prepared = await preparation.prepare(submission, caller);
    const { text, pictures, notes, isForm } = prepared;
    // After all checks, because it hashes a password.
    const target = await this.#target(admitted, caller);
    const command: Post = { kind: 'post', name: admitted.name, target, notes, limits };
    const feed = await preparation.store(prepared, () => this.#store(command, admitted, caller));
    for (const { type, bytes } of notes)
      record({ name: 'note posted', feed: feed.name, kind: type, size: bytes.length }, caller);
    return { feed, note: text ?? pictures[0]!, attachments: isForm ? pictures : undefined };
  }

  async #store(command: Post, admitted: AdmittedPost, caller: Caller): Promise<Feed> {
    const { storage, access, record } = this.#parts;
    const { name } = command;
    let { target } = command;
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const written = await storage.write({ ...command, target });
      if (written !== undefined) {
        if (target.kind === 'new') record({ name: 'feed created', feed: name }, caller);
        return written.feed;
      }
      const feed = await access.namedFeed(caller, name);
      target = await this.#target({ ...admitted, feed }, caller);
    }
    throw new Refusal('busy', 'The feed changes too often. Try again in a moment.');
  }

  async #target({ feed, readId }: AdmittedPost, { feedPassword: password }: Caller): Promise<Post['target']> {
    if (feed !== undefined) {
      if (password !== undefined && feed.passwordHash === undefined) throw notProtected();
      return { kind: 'existing', passwordHash: feed.passwordHash };
    }
    if (readId instanceof Refusal) throw readId;
    const passwordHash =
      password === undefined ? undefined : await this.#parts.passwords.hash(feedPassword(password));
    return { kind: 'new', readId: readId ?? randomReadId(), passwordHash };
  }

  #readId(text: string, name: FeedName): ReadId | Refusal | undefined {
    try {
      return chosenReadId(text, name, this.#parts);
    } catch (error) {
      if (error instanceof Refusal) return error;
      throw error;
    }
  }
}
