import type { Caller } from '../access/access.ts';
import { feedPassword, type Passwords } from '../access/passwords.ts';
import type { Feed } from '../feeds/feed.ts';
import { randomReadId } from '../feeds/ids.ts';
import { keepSettings } from '../feeds/keeping.ts';
import type { NoteFile, ReadId } from '../feeds/names.ts';
import { oneLine, TITLE_LENGTH } from '../feeds/text.ts';
import { existing, Refusal } from '../refusals.ts';
import type { JsonBodies } from '../schemas.ts';
import type { Storage } from '../storage/storage.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import { toFeed } from '../writing/command.ts';
import { chosenReadId, notProtected, type ReadIdRules } from './feed-rules.ts';

/** Longest description of a feed, in characters. */
export const DESCRIPTION_LENGTH = 500;

interface SettingsParts extends ReadIdRules {
  readonly storage: Storage;
  readonly passwords: Passwords;
  readonly record: RecordEvent;
}

/** Undefined members stay as they are. */
export type SettingsChanges = {
  readonly [Key in keyof JsonBodies['FeedChanges']]?: JsonBodies['FeedChanges'][Key] | undefined;
};

/** Changes a feed that the caller may write to. */
export class FeedSettingsWriter {
  readonly #parts: SettingsParts;

  constructor(parts: SettingsParts) {
    this.#parts = parts;
  }

  /** @throws Refusal `invalid_request`, `reserved_feed`, `taken`, `not_found`, `changed` */
  async change(
    allowed: Feed,
    changes: SettingsChanges,
    ifMatch?: readonly string[] | undefined,
  ): Promise<Feed> {
    const title = changes.title && oneLine('title', changes.title, TITLE_LENGTH);
    const description =
      changes.description && oneLine('description', changes.description, DESCRIPTION_LENGTH);
    const readId = this.#readId(changes.read_id, allowed);
    const settings = {
      ...(title !== undefined && { title }),
      ...(description !== undefined && { description }),
      ...(changes.show_sender !== undefined && { showSender: changes.show_sender }),
      ...(changes.listed !== undefined && { listed: changes.listed }),
      ...(changes.image !== undefined && { image: (changes.image || undefined) as NoteFile | undefined }),
      ...(readId !== undefined && { readId }),
      ...(changes.keep !== undefined && keepSettings(changes.keep)),
    };
    const command = { kind: 'configure', ...toFeed(allowed), ifMatch, settings } as const;
    const written = await this.#parts.storage.write(command);
    return existing(written, 'feed').feed;
  }

  /** Changes at least one setting. @throws Refusal as `change` */
  async patch(
    allowed: Feed,
    changes: SettingsChanges,
    ifMatch?: readonly string[] | undefined,
  ): Promise<Feed> {
    if (Object.values(changes).every((value) => value === undefined))
      throw new Refusal('invalid_request', 'There is nothing to change: give a setting.');
    return this.change(allowed, changes, ifMatch);
  }

  /**
   * Whether these changes give the feed another read id, which ends all links to it.
   * @throws Refusal `invalid_request`, `reserved_feed`
   */
  changesReadId(feed: Feed, { read_id: readId }: SettingsChanges): boolean {
    return this.#readId(readId, feed) !== undefined;
  }

  /** @throws Refusal `not_found`, `changed` */
  async remove(allowed: Feed, caller: Caller, ifMatch?: readonly string[] | undefined): Promise<void> {
    existing(await this.#parts.storage.write({ kind: 'delete', ...toFeed(allowed), ifMatch }), 'feed');
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
    const command = { kind: 'set password', ...toFeed(feed), passwordHash } as const;
    existing(await this.#parts.storage.write(command), 'feed');
  }

  /** Undefined keeps the read id; an empty text makes a random one. */
  #readId(text: string | undefined, { name, readId }: Feed): ReadId | undefined {
    if (text === undefined || text === (readId as string)) return undefined;
    // It could never be given back: nobody may choose a reserved name.
    if (this.#parts.reservedFeeds.has(name) && (readId as string) === name)
      throw new Refusal('reserved_feed', 'The read id of a reserved feed is its name.', { field: 'read_id' });
    return chosenReadId(text, name, this.#parts) ?? randomReadId();
  }
}
