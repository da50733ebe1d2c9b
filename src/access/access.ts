import { createHash, timingSafeEqual } from 'node:crypto';
import { type FeedName, isFeedName, ROUTE_NAMES } from '../feeds/names.ts';
import { existing, notFound, Refusal, type RefusalCode } from '../refusals.ts';
import type { Feed, Storage } from '../storage/storage.ts';
import type { PasswordRenewal } from './password-renewal.ts';
import { feedPassword, type Passwords } from './passwords.ts';
import { RateLimit } from './rate-limit.ts';
import type { Session, Sessions } from './sessions.ts';
import { type SharedCounts, SharedRateLimit } from './shared-rate-limit.ts';
import type { Lockable, Unlocks } from './unlocks.ts';

/** The form of a signed token, so that the code for them is not loaded for passwords. */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** Who asks for something, and what was sent to be let in; the same for an API request, a form and a tool. */
export interface Caller {
  /** What counts as one client: an IPv4 address or an IPv6 /64 network. */
  readonly client: string;
  /** The id of the request in the log. */
  readonly requestId: string;
  /** The Bearer token: the instance password, or the token for the metrics. */
  readonly bearer: string | undefined;
  /** The session of a browser; undefined where a Bearer token is sent, which wins over it. */
  readonly session: Session | undefined;
  /** The feed's password, not checked for its form. */
  readonly feedPassword: string | undefined;
  /** The cookie of a browser in which a feed is unlocked, not checked. A password that is sent wins over it. */
  readonly unlock: string | undefined;
  /** The name of a person who has signed in. */
  readonly sender: string | undefined;
  /** The client has gone; what is not begun need not be done. */
  readonly isAborted: boolean;
  /** The instance has let them in already, so that nothing of it is asked or counted again. */
  readonly isAdmitted?: boolean;
}

/** A name that a caller may use, and its feed where it exists. */
export interface NamedFeed {
  readonly name: FeedName;
  readonly feed: Feed | undefined;
}

/** What an access token for the tools of `base` says; undefined for any other text. */
export type AccessTokens = (
  token: string,
  base: string,
) => Promise<{ readonly sender: string | undefined } | 'expired' | undefined>;

export interface AccessParts {
  /** The instance password, if there is one. */
  readonly password: string | undefined;
  /** The sessions of a locked instance; undefined on an open one. */
  readonly sessions: Sessions | undefined;
  readonly unlocks: Unlocks;
  /** The Bearer token for the metrics; undefined where everybody may have them. */
  readonly metricsToken?: string | undefined;
  /** The Bearer token of the operator; undefined where there is nothing for one. */
  readonly operatorToken?: string | undefined;
  /** Writes per client per minute, and separately wrong passwords; 0 turns both limits off. */
  readonly rateLimit: number;
  readonly passwords: Pick<Passwords, 'verify'>;
  readonly renewal: Pick<PasswordRenewal, 'renew'>;
  readonly storage: Pick<Storage, 'feed' | 'feedToPost'>;
  readonly reservedFeeds: ReadonlySet<string>;
  /** Reserved feeds exist, and take posts that carry this password. */
  readonly reservedPassword: string | undefined;
  /** Where other containers count the same clients; without it there are none. */
  readonly counts?: SharedCounts | undefined;
  /** Tells access tokens from other texts, where assistants can have them. */
  readonly accessTokens?: AccessTokens | undefined;
  /** A clock in ms that never goes back. */
  readonly now?: () => number;
}

/** Previews per client per minute: one for each pause in typing. */
const PREVIEWS_PER_MINUTE = 240;

/**
 * Who may: the instance password, feed passwords, the cookies that stand for them, and how often, in the order of checks
 * of contract §5. Wrong passwords count per client, whatever they are for, and over the limit the right one waits as well;
 * a missing one is refused but not counted, and neither is a cookie that has ended.
 */
export class Access {
  readonly sessions: Sessions | undefined;
  readonly unlocks: Unlocks;
  /** Digest of the instance password, so that comparing takes the same time whatever is sent. */
  readonly #expected: Buffer | undefined;
  readonly #parts: AccessParts;
  /** Digest of the token for the metrics. */
  readonly #metricsToken: Buffer | undefined;
  readonly #operatorToken: Buffer | undefined;
  readonly #writes: RateLimit | SharedRateLimit;
  readonly #wrongPasswords: RateLimit | SharedRateLimit;
  readonly #wrongTokens: RateLimit | SharedRateLimit;
  readonly #previews: RateLimit;

  constructor(parts: AccessParts) {
    const { password, metricsToken, operatorToken, rateLimit, counts, now = () => performance.now() } = parts;
    this.sessions = parts.sessions;
    this.unlocks = parts.unlocks;
    this.#expected = password === undefined ? undefined : digest(password);
    this.#metricsToken = metricsToken === undefined ? undefined : digest(metricsToken);
    this.#operatorToken = operatorToken === undefined ? undefined : digest(operatorToken);
    this.#parts = parts;
    const limit = (kind: string) =>
      counts
        ? new SharedRateLimit({ perMinute: rateLimit, now, counts, kind })
        : new RateLimit({ perMinute: rateLimit, now });
    this.#writes = limit('write');
    // Each process renders for itself, so each counts for itself.
    this.#previews = new RateLimit({ perMinute: rateLimit && PREVIEWS_PER_MINUTE, now });
    this.#wrongPasswords = limit('wrong password');
    this.#wrongTokens = limit('wrong operator token');
  }

  /**
   * For whoever may read the feed of that name.
   * @throws Refusal `auth`, `too_many_attempts`, `invalid_feed`, `reserved_feed`
   */
  async reader(caller: Caller, text: string): Promise<NamedFeed> {
    const name = await this.visitor(caller, text);
    return { name, feed: await this.namedFeed(caller, name) };
  }

  /**
   * For whoever may use that name, where the feed's password is checked later.
   * @throws Refusal `auth`, `too_many_attempts` of the instance; `invalid_feed`, `reserved_feed`
   */
  async visitor(caller: Caller, text: string): Promise<FeedName> {
    await this.instance(caller);
    return nameOf(text);
  }

  /**
   * For whoever may change the feed of that name, which must exist; counts toward the client's limit.
   * @throws Refusal as `reader`; `rate_limited`, `not_found`
   */
  async writer(caller: Caller, text: string): Promise<Feed> {
    const { feed } = await this.reader(caller, text);
    await this.write(caller);
    return existing(feed, 'feed');
  }

  /**
   * For whoever may post to that name; counts toward the client's limit.
   * @throws Refusal as `writer`, but not `not_found`
   */
  async poster(caller: Caller, text: string): Promise<NamedFeed> {
    const { storage, reservedFeeds, reservedPassword } = this.#parts;
    const name = await this.visitor(caller, text);
    const isReserved = reservedFeeds.has(name);
    if (isReserved && reservedPassword === undefined) throw reserved();
    const known = await storage.feedToPost(name);
    const feed = await this.#admitted(caller, known).catch((cause) => {
      throw isReserved && cause instanceof Refusal && cause.code === 'auth' ? reserved() : cause;
    });
    // They are made at the start, with the password: nobody makes one with his own, or posts to one without.
    if (isReserved && feed?.passwordHash === undefined) throw reserved();
    await this.write(caller);
    return { name, feed };
  }

  /**
   * The feed of that name as it is now, if the caller has its password; undefined if there is none.
   * @throws Refusal `auth`, `too_many_attempts`
   */
  async namedFeed(caller: Caller, name: FeedName): Promise<Feed | undefined> {
    return this.#admitted(caller, await this.#parts.storage.feed(name));
  }

  /**
   * Lets through who has the password of a locked instance, or a session. To be asked first, before anything is
   * looked up: nothing here depends on what is stored. A promise where other containers have to be asked.
   * @throws Refusal `auth`, `too_many_attempts`
   */
  instance(caller: Caller): void | Promise<void> {
    if (!this.isLocked || caller.isAdmitted || caller.session !== undefined) return;
    if (caller.bearer === undefined) throw new Refusal('auth', this.#lockedMessage);
    const isRight = this.#expected !== undefined && timingSafeEqual(digest(caller.bearer), this.#expected);
    return this.#settle(caller, isRight, 'That is not the password of this instance.');
  }

  get #lockedMessage(): string {
    return this.#expected === undefined
      ? 'People sign in to this instance in a browser; it has no password for programs.'
      : 'This instance has a password: send it as Authorization: Bearer.';
  }

  /** Whether a browser is led to the login page: it brings nothing that could open the instance. */
  mustLogIn({ bearer, session }: Caller): boolean {
    return this.isLocked && bearer === undefined && session === undefined;
  }

  /**
   * Lets an assistant in: by an access token, or as `instance` does. Returns the caller as its tools see them.
   * @param base of the instance that the token must be for
   * @throws Refusal `auth`, `too_many_attempts`
   */
  async assistant(caller: Caller, base: string): Promise<Caller> {
    const { client, requestId, bearer } = caller;
    const grant =
      bearer !== undefined && JWT.test(bearer) ? await this.#parts.accessTokens?.(bearer, base) : undefined;
    if (grant === 'expired') throw new Refusal('auth', 'The access token has expired.');
    if (grant === undefined) await this.instance(caller);
    return {
      client,
      requestId,
      bearer: undefined,
      session: undefined,
      feedPassword: undefined,
      unlock: undefined,
      sender: grant?.sender,
      isAdmitted: true,
      get isAborted() {
        return caller.isAborted;
      },
    };
  }

  /**
   * Lets through who has the feed's password, where it has one, or has unlocked it; a password for any other feed is only
   * checked for its form, so a malformed one says nothing of the feed.
   * @throws Refusal `invalid_request` for an `X-Feed-Password` that no feed can have; `auth`,
   * `too_many_attempts`; `busy` when too many passwords wait to be checked
   */
  async feed(caller: Caller, feed: Lockable | undefined): Promise<void> {
    const password = caller.feedPassword === undefined ? undefined : feedPassword(caller.feedPassword);
    if (feed?.passwordHash === undefined) return;
    if (password === undefined) {
      if (this.unlocks.opens(caller.unlock, feed)) return;
      throw new Refusal('auth', 'This feed has a password: send it as X-Feed-Password.');
    }
    await this.refuseGuesser(caller);
    const isRight = await this.#parts.passwords.verify(feed.passwordHash, password);
    await this.#settle(caller, isRight, 'That is not the password of this feed.');
  }

  /** The instance is not open to everybody. */
  get isLocked(): boolean {
    return this.sessions !== undefined;
  }

  /**
   * Lets through who has the token for the metrics, where there is one.
   * @throws Refusal `auth`
   */
  metrics({ bearer = '' }: Caller): void {
    if (this.#metricsToken === undefined || timingSafeEqual(digest(bearer), this.#metricsToken)) return;
    throw new Refusal('auth', 'The metrics have a token: send it as Authorization: Bearer.');
  }

  /**
   * Lets through who has the operator's token. Wrong ones are counted by themselves.
   * @throws Refusal `not_found` where there is none; `auth`, `too_many_attempts`
   */
  operator({ client, bearer }: Caller): void | Promise<void> {
    if (this.#operatorToken === undefined) throw notFound('address');
    if (bearer === undefined)
      throw new Refusal('auth', 'The operator has a token: send it as Authorization: Bearer.');
    const isRight = timingSafeEqual(digest(bearer), this.#operatorToken);
    if (isRight) return whenKnown(this.#wrongTokens.peek(client), refuseToken);
    return whenKnown(this.#wrongTokens.take(client), (seconds) => {
      refuseToken(seconds);
      throw new Refusal('auth', "That is not the operator's token.");
    });
  }

  /**
   * Counts a write. A promise where other containers have to be asked.
   * @throws Refusal `rate_limited`
   */
  write({ client }: Caller): void | Promise<void> {
    return whenKnown(this.#writes.take(client), (seconds) => {
      if (seconds !== undefined) throw tooMuch('rate_limited', 'Too many changes', seconds);
    });
  }

  /** The feed, or, where its password has been stored anew meanwhile, as it is then. */
  async #admitted(caller: Caller, feed: Feed | undefined): Promise<Feed | undefined> {
    const { renewal, storage } = this.#parts;
    await this.feed(caller, feed);
    const { feedPassword } = caller;
    if (!feed || feedPassword === undefined || !(await renewal.renew(feed, feedPassword))) return feed;
    const renewed = await storage.feed(feed.name);
    await this.feed(caller, renewed);
    return renewed;
  }

  /**
   * Counts a text to be rendered that is not stored.
   * @throws Refusal `rate_limited`
   */
  preview({ client }: Pick<Caller, 'client'>): void {
    const seconds = this.#previews.take(client);
    if (seconds !== undefined) throw tooMuch('rate_limited', 'Too many previews', seconds);
  }

  /**
   * Turns away a client over the limit before its password costs anything. A promise where other containers have to be asked.
   * @throws Refusal `too_many_attempts`
   */
  refuseGuesser({ client }: Pick<Caller, 'client'>): void | Promise<void> {
    return whenKnown(this.#wrongPasswords.peek(client), refuseGuess);
  }

  /**
   * Counts a wrong password, or what is like one. A promise where other containers have to be asked.
   * @throws Refusal `too_many_attempts`
   */
  countGuess({ client }: Pick<Caller, 'client'>): void | Promise<void> {
    return whenKnown(this.#wrongPasswords.take(client), refuseGuess);
  }

  /**
   * Counts a wrong password and refuses it. Of passwords checked at once, what comes out once the client is
   * over the limit says nothing of them, or one could guess beyond it.
   */
  #settle(caller: Caller, isRight: boolean, message: string): void | Promise<void> {
    if (isRight) return this.refuseGuesser(caller);
    return whenKnown(this.#wrongPasswords.take(caller.client), (seconds) => {
      refuseGuess(seconds);
      throw new Refusal('auth', message);
    });
  }
}

/** Goes on at once where the value is there: only other containers have to be waited for. */
function whenKnown<T>(value: T | Promise<T>, goOn: (value: T) => void): void | Promise<void> {
  return value instanceof Promise ? value.then(goOn) : goOn(value);
}

function refuseGuess(seconds: number | undefined): void {
  if (seconds !== undefined) throw tooMuch('too_many_attempts', 'Too many wrong passwords', seconds);
}

function refuseToken(seconds: number | undefined): void {
  if (seconds !== undefined) throw tooMuch('too_many_attempts', 'Too many wrong tokens', seconds);
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function tooMuch(code: RefusalCode, what: string, seconds: number): Refusal {
  const unit = seconds === 1 ? 'second' : 'seconds';
  return new Refusal(code, `${what}: please wait ${seconds} ${unit}.`, {
    headers: { 'Retry-After': String(seconds) },
  });
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
