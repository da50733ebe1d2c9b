import type { Access } from '../access/access.ts';
import { type FeedName, isFeedName, ROUTE_NAMES } from '../feeds/names.ts';
import type { Exchange } from '../http/exchange.ts';
import { Refusal } from '../refusals.ts';
import type { Feed, Storage } from '../storage/storage.ts';

export interface GuardParts {
  readonly access: Access;
  readonly storage: Storage;
  readonly reservedFeeds: ReadonlySet<string>;
  /** Reserved feeds exist, and take posts that carry this password. */
  readonly reservedPassword: string | undefined;
}

/** Lets requests by a feed's name through, in the order of checks of contract §5. */
export class Guard {
  readonly #parts: GuardParts;

  constructor(parts: GuardParts) {
    this.#parts = parts;
  }

  /**
   * The feed that a path names, for somebody who may read and change it.
   * @throws Refusal `auth`, `too_many_attempts`, `invalid_feed`, `not_found`
   */
  async owned(exchange: Exchange): Promise<Feed> {
    await this.#parts.access.instance(exchange);
    return this.#existing(await this.feed(exchange, nameOf(exchange)));
  }

  /**
   * As `owned`, for a change: it counts toward the client's limit.
   * @throws Refusal also `rate_limited`
   */
  async changed(exchange: Exchange): Promise<Feed> {
    await this.#parts.access.instance(exchange);
    const feed = await this.feed(exchange, nameOf(exchange));
    await this.#parts.access.write(exchange);
    return this.#existing(feed);
  }

  /**
   * The name that a post is for, and its feed where it exists.
   * @throws Refusal as `changed`, but not `not_found`; `reserved_feed`
   */
  async posted(exchange: Exchange): Promise<{ name: FeedName; feed: Feed | undefined }> {
    const { access, reservedFeeds, reservedPassword } = this.#parts;
    await access.instance(exchange);
    const name = nameOf(exchange);
    if (ROUTE_NAMES.has(name)) throw reserved();
    const isReserved = reservedFeeds.has(name);
    if (isReserved && reservedPassword === undefined) throw reserved();
    const known = await this.#parts.storage.feedToPost(name);
    const feed = await this.#admitted(exchange, known).catch((cause) => {
      throw isReserved && cause instanceof Refusal && cause.code === 'auth' ? reserved() : cause;
    });
    // They are made at the start, with the password: nobody makes one with his own, or posts to one without.
    if (isReserved && feed?.passwordHash === undefined) throw reserved();
    await access.write(exchange);
    return { name, feed };
  }

  /** The feed of that name, if the request carries its password; undefined where there is none. */
  async feed(exchange: Exchange, name: FeedName): Promise<Feed | undefined> {
    return this.#admitted(exchange, await this.#parts.storage.feed(name));
  }

  async #admitted(exchange: Exchange, feed: Feed | undefined): Promise<Feed | undefined> {
    await this.#parts.access.feed(exchange, feed);
    return feed;
  }

  #existing(feed: Feed | undefined): Feed {
    if (feed === undefined) throw new Refusal('not_found', 'There is no such feed.');
    return feed;
  }
}

function nameOf(exchange: Exchange): FeedName {
  const name = exchange.parameter(0);
  if (!isFeedName(name))
    throw new Refusal('invalid_feed', 'A feed name is 1 to 64 characters of a-z, 0-9, "-" and "_".');
  return name;
}

function reserved(): Refusal {
  return new Refusal('reserved_feed', 'That feed name is reserved.');
}
