import type { Access, Caller, NamedFeed } from '../access/access.ts';
import { feedPassword, type Passwords } from '../access/passwords.ts';
import type { Feed } from '../feeds/feed.ts';
import { randomReadId } from '../feeds/ids.ts';
import { type FeedName, parseNoteFile, type ReadId } from '../feeds/names.ts';
import type { NewNote, Note } from '../feeds/note.ts';
import { existing, Refusal } from '../refusals.ts';
import type { Storage, Written } from '../storage/storage.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import { type Import, type Post, toFeed } from '../writing/command.ts';
import { feedIdentity } from '../writing/etags.ts';
import type { FeedLimits } from '../writing/limits.ts';
import { chosenReadId, notProtected, type ReadIdRules } from './feed-rules.ts';
import type { Preparation } from './preparation.ts';
import type { Submission } from './submission.ts';

interface PostingParts extends ReadIdRules {
  readonly storage: Storage;
  readonly access: Pick<Access, 'feedOfPost'>;
  readonly passwords: Passwords;
  readonly preparation: Preparation;
  readonly limits: FeedLimits;
  readonly record: RecordEvent;
}

/** What a sender expects of the feed. It must hold when the notes are stored. */
export interface FeedCondition {
  readonly exists: boolean;
  /** The feed must have one of these as its `feedIdentity`; undefined for any feed. */
  readonly identities: readonly string[] | undefined;
}

/** What a post asks for besides its notes, checked. */
export interface AdmittedPost extends NamedFeed {
  readonly condition: FeedCondition | undefined;
  /** The read id for a new feed, undefined for a random one; or why the chosen one is refused. Ignored if the feed exists. */
  readonly readId: ReadId | Refusal | undefined;
}

interface PostedForm {
  readonly feed: Feed;
  /** The pictures of a form, in order; undefined for a note without a form. */
  readonly attachments: readonly Pick<Note, 'id' | 'type'>[] | undefined;
}

/** The text of a post, else its first picture, as it is stored. */
export type Posted = PostedForm &
  (
    | { readonly outcome: 'made'; readonly note: Omit<Note, 'createdAt'> }
    /** `replayed` if the same post was stored before under the same key. */
    | { readonly outcome: 'replaced' | 'replayed'; readonly note: Note }
  );

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
  admit(named: NamedFeed, readId: string, condition?: FeedCondition): AdmittedPost {
    const admitted = { ...named, readId: this.#readId(readId, named.name), condition };
    if (named.feed === undefined && admitted.readId instanceof Refusal) throw admitted.readId;
    return admitted;
  }

  /**
   * Stores all notes or none, in a feed that the caller may post to.
   * @param replaces whether the note that has the submission's key gets its bytes and metadata
   * @throws Refusal as the contract says of a post whose body is complete
   */
  async post(
    admitted: AdmittedPost,
    submission: Submission,
    caller: Caller,
    replaces = false,
  ): Promise<Posted> {
    const { preparation, record, limits } = this.#parts;
    const prepared = await preparation.prepare(submission, caller);
    const { text, pictures, notes, isForm } = prepared;
    // After all checks, because it hashes a password.
    const target = await this.target(admitted, caller);
    const command: Post = { kind: 'post', name: admitted.name, target, notes, limits, replaces };
    const written = await preparation.store(prepared, () => this.#store(command, admitted, caller));
    const { feed, note } = written;
    const posted = text ?? pictures[0]!;
    const isOther = note !== undefined && note.id !== posted.id;
    if (isOther && !replaces) return { feed, outcome: 'replayed', note, attachments: attachmentsOf(note) };
    for (const { id, type, bytes } of notes) {
      const name = isOther && id === posted.id ? 'note edited' : 'note posted';
      record({ name, feed: feed.name, kind: type, size: bytes.length }, caller);
    }
    const attachments = isForm ? pictures : undefined;
    if (isOther) return { feed, outcome: 'replaced', note, attachments };
    return { feed, outcome: 'made', note: note ?? asSent(posted), attachments };
  }

  /**
   * Stores notes of an import. If there is no such feed, it is made with them.
   * @throws Refusal as for a post. It has a `position` if a new feed has no room for any of the notes
   */
  async import(
    admitted: AdmittedPost,
    target: Import['target'],
    notes: readonly NewNote[],
    caller: Caller,
  ): Promise<Written> {
    const { storage, access, limits } = this.#parts;
    const { name, feed, condition } = admitted;
    const command = { kind: 'import', name, target, notes, limits } as const;
    if (feed === undefined) return this.#store(command, admitted, caller);
    const written = await storage.write({ ...command, target: { ...target, ...toFeed(feed).target } });
    if (written === undefined && condition)
      refuseUnlessBelieved(condition, await access.feedOfPost(caller, name));
    return existing(written, 'feed');
  }

  async #store(command: Post | Import, admitted: AdmittedPost, caller: Caller): Promise<Written> {
    const { storage, access, record } = this.#parts;
    const { name } = command;
    let { target } = command;
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const written = await storage.write({ ...command, target });
      if (written !== undefined) {
        if (target.kind === 'new') record({ name: 'feed created', feed: name }, caller);
        return written;
      }
      const feed = await access.feedOfPost(caller, name);
      target = await this.target({ ...admitted, feed }, caller);
    }
    throw new Refusal('busy', 'The feed changes too often. Try again in a moment.');
  }

  /**
   * The feed that takes a post or an import, or what a new feed begins with; hashes its password.
   * @throws Refusal `changed`, `feed_exists`; those of a chosen read id
   */
  async target(
    { feed, readId, condition }: AdmittedPost,
    { feedPassword: password }: Caller,
  ): Promise<Post['target']> {
    if (condition) refuseUnlessBelieved(condition, feed);
    if (feed !== undefined) {
      if (password !== undefined && feed.passwordHash === undefined) throw notProtected();
      // The write requires this read id: by then, another feed may have the name, or this feed may have another read id.
      const expected = condition?.identities && feed.readId;
      return { kind: 'existing', passwordHash: feed.passwordHash, readId: expected };
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

/** @throws Refusal `changed` */
function refuseUnlessBelieved({ exists, identities }: FeedCondition, feed: Feed | undefined): void {
  if (exists !== (feed !== undefined))
    throw new Refusal('changed', exists ? 'This feed does not exist any more.' : 'This feed exists by now.');
  if (feed !== undefined && identities?.includes(feedIdentity(feed)) === false)
    throw new Refusal('changed', 'The feed of this name is another one now.');
}

/** A new text as a note (`Effects.note`). Without its date, which the answer to a post does not need. */
function asSent(text: NewNote): Omit<Note, 'createdAt'> {
  return { ...text, content: text.bytes, size: text.bytes.length, modifiedAt: 0 };
}

/** The pictures of the form that posted a note. */
function attachmentsOf({ meta }: Note): Posted['attachments'] {
  return meta.posted?.attachments?.flatMap((file) => parseNoteFile(file) ?? []);
}
