import type { Caller } from '../access/access.ts';
import { feedPassword, type Passwords } from '../access/passwords.ts';
import type { Feed } from '../feeds/feed.ts';
import { randomReadId } from '../feeds/ids.ts';
import { type NoteFile, parseNoteFile, type ReadId } from '../feeds/names.ts';
import { oneLine } from '../feeds/text.ts';
import { TITLE_LENGTH } from '../feeds/title.ts';
import { existing, notFound, Refusal } from '../refusals.ts';
import type { Storage } from '../storage/storage.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import { chosenReadId, notProtected, type ReadIdRules } from './feed-rules.ts';
import type { FeedChanges } from './json-bodies.ts';

/** Longest description of a feed, in characters. */
const DESCRIPTION_LENGTH = 500;

interface SettingsParts extends ReadIdRules {
  readonly storage: Storage;
  readonly passwords: Passwords;
  readonly record: RecordEvent;
}

/** Undefined members stay as they are. */
export type SettingsChanges = { readonly [Key in keyof FeedChanges]?: FeedChanges[Key] | undefined };

/** Changes a feed that the caller may write to. */
export class FeedSettingsWriter {
  readonly #parts: SettingsParts;

  constructor(parts: SettingsParts) {
    this.#parts = parts;
  }

  /** @throws Refusal `invalid_request`, `reserved_feed`, `taken`, `not_found` */
  async change(allowed: Feed, changes: SettingsChanges): Promise<Feed> {
    const title = changes.title && oneLine('title', changes.title, TITLE_LENGTH);
    const description =
      changes.description && oneLine('description', changes.description, DESCRIPTION_LENGTH);
    const readId = this.#readId(changes.read_id, allowed);
    const image = await this.#image(allowed, changes.image);
    const changed = await this.#parts.storage.configure(allowed, (feed) => ({
      title: title ?? feed.title,
      description: description ?? feed.description,
      showSender: changes.show_sender ?? feed.showSender,
      image: image === 'kept' ? feed.image : image,
      readId: readId ?? feed.readId,
    }));
    return existing(changed, 'feed');
  }

  /** @throws Refusal `not_found` */
  async remove(allowed: Feed, caller: Caller): Promise<void> {
    if (!(await this.#parts.storage.deleteFeed(allowed))) throw notFound('feed');
    this.#parts.record({ name: 'feed deleted', feed: allowed.name }, caller);
  }

  /**
   * Returns the changed members of the feed, and its name.
   * @throws Refusal `invalid_request`, `reserved_feed`; `feed_exists` for a feed without a password
   */
  async changePassword(feed: Feed, password: string): Promise<Pick<Feed, 'name' | 'passwordHash'>> {
    const checked = feedPassword(password, 'password');
    this.#refuseUnprotected(feed);
    const passwordHash = await this.#parts.passwords.hash(checked);
    await this.#setPassword(feed, passwordHash);
    return { name: feed.name, passwordHash };
  }

  /** @throws Refusal `reserved_feed`; `feed_exists` for a feed without a password */
  async removePassword(feed: Feed): Promise<void> {
    this.#refuseUnprotected(feed);
    await this.#setPassword(feed, undefined);
  }

  #refuseUnprotected({ name, passwordHash }: Feed): void {
    if (this.#parts.reservedFeeds.has(name))
      throw new Refusal('reserved_feed', 'The password of a reserved feed is set by the operator.');
    if (passwordHash === undefined) throw notProtected();
  }

  async #setPassword(feed: Feed, passwordHash: string | undefined): Promise<void> {
    if (!(await this.#parts.storage.setPassword(feed, passwordHash))) throw notFound('feed');
  }

  /** Undefined keeps the read id; an empty text makes a random one. */
  #readId(text: string | undefined, { name, readId }: Feed): ReadId | undefined {
    if (text === undefined || text === (readId as string)) return undefined;
    // It could never be given back: nobody may choose a reserved name.
    if (this.#parts.reservedFeeds.has(name) && (readId as string) === name)
      throw new Refusal('reserved_feed', 'The read id of a reserved feed is its name.', { field: 'read_id' });
    return chosenReadId(text, name, this.#parts) ?? randomReadId();
  }

  async #image(feed: Feed, text: string | undefined): Promise<NoteFile | undefined | 'kept'> {
    if (text === undefined) return 'kept';
    if (text === '') return undefined;
    const named = parseNoteFile(text);
    const isPicture = named !== undefined && named.type !== 'md';
    if (!isPicture || !(await this.#exists(feed, named.file)))
      throw new Refusal('invalid_request', 'image must be the file of a picture note of this feed.');
    return named.file;
  }

  async #exists(feed: Feed, file: NoteFile): Promise<boolean> {
    const stored = await this.#parts.storage.open(feed, file);
    await stored?.close();
    return stored !== undefined;
  }
}
