import { type FeedName, isFeedName, ROUTE_NAMES } from '../feeds/names.ts';
import { Refusal } from '../refusals.ts';
import type { Feed, Storage } from '../storage/storage.ts';
import type { Access, Caller } from './access.ts';
import type { PasswordRenewal } from './password-renewal.ts';

export interface GuardParts {
  readonly access: Access;
  readonly storage: Pick<Storage, 'feed' | 'feedToPost'>;
  readonly renewal: Pick<PasswordRenewal, 'renew'>;
  readonly reservedFeeds: ReadonlySet<string>;
  /** Reserved feeds exist, and take posts that carry this password. */
  readonly reservedPassword: string | undefined;
}

/** A name that a caller may use, and its feed where it exists. */
export interface NamedFeed {
  readonly name: FeedName;
  readonly feed: Feed | undefined;
}

/** Lets callers in by a feed's name, in the order of checks of contract §5. */
export class Guard {
  readonly #parts: GuardParts;

  constructor(parts: GuardParts) {
    this.#parts = parts;
  }

  /**
   * For whoever may read the feed of that name.
   * @throws Refusal `auth`, `too_many_attempts`, `invalid_feed`, `reserved_feed`
   */
  async reader(caller: Caller, text: string): Promise<NamedFeed> {
    await this.#parts.access.instance(caller);
    const name = nameOf(text);
    return { name, feed: await this.feed(caller, name) };
  }

  /**
   * For whoever may change the feed of that name, which must exist; counts toward the client's limit.
   * @throws Refusal as `reader`; `rate_limited`, `not_found`
   */
  async writer(caller: Caller, text: string): Promise<Feed> {
    const { feed } = await this.reader(caller, text);
    await this.#parts.access.write(caller);
    return existing(feed);
  }

  /**
   * For whoever may post to that name; counts toward the client's limit.
   * @throws Refusal as `writer`, but not `not_found`
   */
  async poster(caller: Caller, text: string): Promise<NamedFeed> {
    const { access, storage, reservedFeeds, reservedPassword } = this.#parts;
    await access.instance(caller);
    const name = nameOf(text);
    const isReserved = reservedFeeds.has(name);
    if (isReserved && reservedPassword === undefined) throw reserved();
    const known = await storage.feedToPost(name);
    const feed = await this.#admitted(caller, known).catch((cause) => {
      throw isReserved && cause instanceof Refusal && cause.code === 'auth' ? reserved() : cause;
    });
    // They are made at the start, with the password: nobody makes one with his own, or posts to one without.
    if (isReserved && feed?.passwordHash === undefined) throw reserved();
    await access.write(caller);
    return { name, feed };
  }

  /**
   * The feed of that name as it is now, if the caller has its password; undefined if there is none.
   * @throws Refusal `auth`, `too_many_attempts`
   */
  async feed(caller: Caller, name: FeedName): Promise<Feed | undefined> {
    return this.#admitted(caller, await this.#parts.storage.feed(name));
  }

  /** The feed, or, where its password has been stored anew meanwhile, as it is then. */
  async #admitted(caller: Caller, feed: Feed | undefined): Promise<Feed | undefined> {
    const { access, renewal, storage } = this.#parts;
    await access.feed(caller, feed);
    const { feedPassword } = caller;
    if (!feed || feedPassword === undefined || !(await renewal.renew(feed, feedPassword))) return feed;
    const renewed = await storage.feed(feed.name);
    await access.feed(caller, renewed);
    return renewed;
  }
}

/**
 * The feed, if there is one.
 * @throws Refusal `not_found`
 */
export function existing(feed: Feed | undefined): Feed {
  if (feed === undefined) throw new Refusal('not_found', 'There is no such feed.');
  return feed;
}

function nameOf(text: string): FeedName {
  if (!isFeedName(text))
    throw new Refusal('invalid_feed', 'A feed name is 1 to 64 characters of a-z, 0-9, "-" and "_".');
  if (ROUTE_NAMES.has(text)) throw reserved();
  return text;
}

function reserved(): Refusal {
  return new Refusal('reserved_feed', 'That feed name is reserved.');
}
