import type { Feed } from '../feeds/feed.ts';
import { type FeedName, isFeedName, LATER_ROUTE_NAMES, ROUTE_NAMES } from '../feeds/names.ts';
import { existing, notFound, onRefusal, Refusal, type RefusalCode } from '../refusals.ts';
import { secretMatcher } from '../signed.ts';
import type { OperatorRecords } from '../storage/operator-records.ts';
import type { SharedCounts, Storage } from '../storage/storage.ts';
import type { Identified } from '../telemetry/events.ts';
import { nameBlocked } from '../writing/decide.ts';
import type { Lockable, Session, Sessions, Unlocks } from './cookies.ts';
import { feedPassword, type PasswordRenewal, type Passwords } from './passwords.ts';
import { RateLimit } from './rate-limit.ts';

/** Form of a signed token; other bearers do not load the code for tokens. */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;
/** Previews per client per minute: one for each pause in typing. */
const PREVIEWS_PER_MINUTE = 240;
/** Reports per client per hour. */
const REPORTS_PER_HOUR = 5;
const HOUR_MS = 3_600_000;

/** Who sends a request, and its credentials; the same for the API, forms and tools. */
export interface Caller extends Identified {
  /** The client for rate limits: an IPv4 address or an IPv6 /64 network. */
  readonly client: string;
  /** The Bearer token: the instance password, or another token. */
  readonly bearer: string | undefined;
  /** The session of a browser; undefined if a Bearer token is sent, which takes precedence. */
  readonly session: Session | undefined;
  /** The feed's password, as sent. */
  readonly feedPassword: string | undefined;
  /** The user name of HTTP Basic. It counts as the feed password only if `X-Feed-Password` is absent and the feed has a password. */
  readonly userName?: string | undefined;
  /** The unlock cookie, as sent. A password takes precedence. */
  readonly unlock: string | undefined;
  /** Name of the person who has signed in. */
  readonly sender: string | undefined;
  /** The client is gone, so work that has not begun can be skipped. */
  readonly isAborted: boolean;
  readonly isAdmitted?: boolean;
}

/** A name that a caller may use, and its feed if it exists. */
export interface NamedFeed {
  readonly name: FeedName;
  readonly feed: Feed | undefined;
}

/** Verifies an access token for the tools of `base`; undefined if the text is none. */
type AccessTokens = (
  token: string,
  base: string,
) => Promise<{ readonly sender: string | undefined } | 'expired' | undefined>;

interface AccessParts {
  readonly password: string | undefined;
  /** Undefined on an open instance. */
  readonly sessions: Sessions | undefined;
  readonly unlocks: Unlocks;
  /** Without one, everybody may read the metrics. */
  readonly metricsToken?: string | undefined;
  /** Without one, there is no operator. */
  readonly operatorToken?: string | undefined;
  /** Writes per client per minute, and separately wrong passwords; 0 turns both limits off. */
  readonly rateLimit: number;
  readonly passwords: Pick<Passwords, 'verify'>;
  readonly renewal: Pick<PasswordRenewal, 'renew'>;
  readonly storage: Pick<Storage, 'feed' | 'feedToPost'> & {
    readonly records: Pick<OperatorRecords, 'find'>;
  };
  readonly reservedFeeds: ReadonlySet<string>;
  /** With it, reserved feeds exist and take posts that carry it. */
  readonly reservedPassword: string | undefined;
  /** Counts shared with other containers. */
  readonly counts?: SharedCounts | undefined;
  readonly accessTokens?: AccessTokens | undefined;
  /** A monotonic clock, ms. */
  readonly now?: () => number;
}

/**
 * Decides who may: by instance password, feed passwords, sessions, unlock cookies and rate limits, in the order of checks
 * of contract §5. One counter of wrong passwords per client: over the limit, right passwords are refused too. Missing
 * passwords and expired cookies are not counted.
 */
export class Access {
  readonly sessions: Sessions | undefined;
  readonly unlocks: Unlocks;
  /** Changes of feeds and notes. */
  readonly writes: RateLimit;
  readonly previews: RateLimit;
  readonly reports: RateLimit;
  /** Wrong passwords, and failed sign-ins. */
  readonly guesses: RateLimit;
  readonly #operatorGuesses: RateLimit;
  readonly #metricsGuesses: RateLimit;
  readonly #parts: AccessParts;
  readonly #isPassword: Matcher | undefined;
  readonly #isMetricsToken: Matcher | undefined;
  readonly #isOperatorToken: Matcher | undefined;

  constructor(parts: AccessParts) {
    const { rateLimit, counts, now } = parts;
    this.sessions = parts.sessions;
    this.unlocks = parts.unlocks;
    this.#parts = parts;
    this.#isPassword = matcher(parts.password);
    this.#isMetricsToken = matcher(parts.metricsToken);
    this.#isOperatorToken = matcher(parts.operatorToken);
    const limit = (code: RefusalCode, what: string) =>
      new RateLimit({ perWindow: rateLimit, code, what, shared: counts, now });
    this.writes = limit('rate_limited', 'changes');
    this.guesses = limit('too_many_attempts', 'wrong passwords');
    this.#operatorGuesses = limit('too_many_attempts', 'wrong tokens');
    // Not shared, because metrics are asked for while the database fails.
    const metrics = { perWindow: rateLimit, code: 'too_many_attempts', what: 'wrong tokens', now } as const;
    this.#metricsGuesses = new RateLimit(metrics);
    // Not shared, because each process renders for itself.
    const previews = rateLimit && PREVIEWS_PER_MINUTE;
    this.previews = new RateLimit({ perWindow: previews, code: 'rate_limited', what: 'previews', now });
    // Not shared, because containers share counts of a minute only.
    const reports = { perWindow: rateLimit && REPORTS_PER_HOUR, windowMs: HOUR_MS };
    this.reports = new RateLimit({ ...reports, code: 'rate_limited', what: 'reports', now });
  }

  get isLocked(): boolean {
    return this.sessions !== undefined;
  }

  /** Whether a browser must go to the login page: it sent nothing that could admit it. */
  mustLogIn({ bearer, session }: Caller): boolean {
    return this.isLocked && bearer === undefined && session === undefined;
  }

  /**
   * Requires the instance password or a session on a locked instance. Checked before anything is looked up, because it
   * depends on nothing stored. Returns a promise only if other containers must be asked.
   * @throws Refusal `auth`, `too_many_attempts`
   */
  requireInstance(caller: Caller): void | Promise<void> {
    const { client, bearer, session, isAdmitted } = caller;
    if (!this.isLocked || isAdmitted || session !== undefined) return;
    if (bearer === undefined)
      throw new Refusal(
        'auth',
        this.#isPassword === undefined
          ? 'People sign in to this instance in a browser; it has no password for programs.'
          : 'This instance has a password: send it as Authorization: Bearer.',
      );
    const isRight = this.#isPassword?.(bearer) === true;
    return this.guesses.countIfWrong(client, isRight, 'That is not the password of this instance.');
  }

  /**
   * Requires access to the instance and a valid name; the feed's password is checked later.
   * @throws Refusal `auth`, `too_many_attempts` of the instance; `invalid_feed`, `reserved_feed`
   */
  async requireName(caller: Caller, text: string): Promise<FeedName> {
    await this.requireInstance(caller);
    if (!isFeedName(text)) throw invalidFeed();
    if (ROUTE_NAMES.has(text)) throw reservedFeed();
    return text;
  }

  /**
   * Requires that the caller may read the feed of that name.
   * @throws Refusal `auth`, `too_many_attempts`, `invalid_feed`, `reserved_feed`
   */
  async requireReader(caller: Caller, text: string): Promise<NamedFeed> {
    const name = await this.requireName(caller, text);
    return { name, feed: await this.namedFeed(caller, name) };
  }

  /**
   * Requires that the caller may change the feed of that name, which must exist; counts a write.
   * @throws Refusal as `requireReader`; `rate_limited`, `not_found`
   */
  async requireWriter(caller: Caller, text: string): Promise<Feed> {
    const { feed } = await this.requireReader(caller, text);
    await this.writes.count(caller.client);
    return existing(feed, 'feed');
  }

  /**
   * Requires that the caller may post to that name; counts a write.
   * @throws Refusal as `requireWriter`, but not `not_found`; `blocked`
   */
  async requirePoster(caller: Caller, text: string): Promise<NamedFeed> {
    const { storage } = this.#parts;
    const name = await this.requireName(caller, text);
    const feed = await this.feedOfPost(caller, name, 'feedToPost');
    await this.writes.count(caller.client);
    // The storage decides; this spares the body.
    if (feed?.isBlocked ?? (await storage.records.find('name', [name])).length > 0) throw nameBlocked();
    return { name, feed };
  }

  /**
   * The feed that takes a post to that name; undefined if the post makes it.
   * @param look the method of the storage: `feedToPost` may miss the last changes, so the write must check again
   * @throws Refusal as `requireFeedPassword`; `reserved_feed`
   */
  async feedOfPost(
    caller: Caller,
    name: FeedName,
    look: 'feed' | 'feedToPost' = 'feed',
  ): Promise<Feed | undefined> {
    const { storage, reservedFeeds, reservedPassword } = this.#parts;
    const isReserved = reservedFeeds.has(name);
    if (isReserved && reservedPassword === undefined) throw reservedFeed();
    const feed = await this.#unlock(caller, await storage[look](name)).catch((cause) => {
      throw isReserved && cause instanceof Refusal && cause.code === 'auth' ? reservedFeed() : cause;
    });
    // Reserved feeds exist from the start with `reservedPassword`; nobody creates one by a post.
    if (isReserved && feed?.passwordHash === undefined) throw reservedFeed();
    refuseLaterRoute(name, feed);
    return feed;
  }

  /** The feed of that name; refuses as `requireFeedPassword`, and `reserved_feed`. */
  async namedFeed(caller: Caller, name: FeedName): Promise<Feed | undefined> {
    const feed = await this.#unlock(caller, await this.#parts.storage.feed(name));
    refuseLaterRoute(name, feed);
    return feed;
  }

  /**
   * Carries out a change of a feed. If it finds no feed or note, the caller is checked again, because the feed may have got another
   * password since.
   * @param known the feed as it was when the caller was admitted; undefined if the change makes it
   * @throws Refusal as `requireFeedPassword`; `busy` if the caller may still change the feed
   */
  async change<T>(caller: Caller, known: Feed | undefined, step: () => T | Promise<T>): Promise<T> {
    return onRefusal(step, async (refusal) => {
      if (refusal.code === 'not_found' && known) await this.#checkAgain(caller, known);
      throw refusal;
    });
  }

  async #checkAgain(caller: Caller, known: Feed): Promise<void> {
    const feed = await this.#parts.storage.feed(known.name);
    if (feed?.key !== known.key || feed.passwordHash === known.passwordHash) return;
    await this.#unlock(caller, feed);
    throw new Refusal('busy', 'The password of the feed was changed meanwhile. Try again.');
  }

  /**
   * Requires the feed's password or its unlock cookie. For any other feed only the form of a password is checked, so a
   * malformed one reveals nothing about the feed.
   * @throws Refusal `invalid_request` for an `X-Feed-Password` that no feed can have; `auth`, `too_many_attempts`; `busy`
   * if too many passwords wait to be checked
   */
  async requireFeedPassword(caller: Caller, feed: Lockable | undefined): Promise<void> {
    const sent = caller.feedPassword ?? (feed?.passwordHash && caller.userName);
    const password = sent === undefined ? undefined : feedPassword(sent);
    if (feed?.passwordHash === undefined) return;
    if (password === undefined) {
      if (this.unlocks.opens(caller.unlock, feed)) return;
      throw new Refusal(
        'auth',
        'This feed has a password: unlock it in the browser, or send X-Feed-Password.',
      );
    }
    await this.guesses.check(caller.client);
    const isRight = await this.#parts.passwords.verify(feed.passwordHash, password);
    await this.guesses.countIfWrong(caller.client, isRight, 'That is not the password of this feed.');
  }

  /**
   * Admits an assistant by an access token, or as `requireInstance` does. Returns the caller as its tools see it.
   * @param base of the instance that the token must be for
   * @throws Refusal `auth`, `too_many_attempts`
   */
  async requireAssistant(caller: Caller, base: string): Promise<Caller> {
    const { bearer } = caller;
    const grant =
      bearer !== undefined && JWT.test(bearer) ? await this.#parts.accessTokens?.(bearer, base) : undefined;
    if (grant === 'expired') throw new Refusal('auth', 'The access token has expired.');
    if (grant === undefined) await this.requireInstance(caller);
    return admittedCaller(caller, { sender: grant?.sender, feedPassword: undefined });
  }

  /**
   * Requires the token for the metrics, if there is one. Wrong ones have a counter of their own.
   * @throws Refusal `auth`, `too_many_attempts`
   */
  requireMetricsToken({ client, bearer }: Caller): void | Promise<void> {
    if (this.#isMetricsToken === undefined) return;
    if (bearer === undefined)
      throw new Refusal('auth', 'The metrics have a token: send it as Authorization: Bearer.');
    const isRight = this.#isMetricsToken(bearer);
    return this.#metricsGuesses.countIfWrong(client, isRight, 'That is not the token of the metrics.');
  }

  /**
   * Requires the operator's token. Wrong ones have a counter of their own.
   * @throws Refusal `not_found` if there is none; `auth`, `too_many_attempts`
   */
  requireOperator({ client, bearer }: Caller): void | Promise<void> {
    if (this.#isOperatorToken === undefined) throw notFound('address');
    if (bearer === undefined)
      throw new Refusal('auth', 'The operator has a token: send it as Authorization: Bearer.');
    const isRight = this.#isOperatorToken(bearer);
    return this.#operatorGuesses.countIfWrong(client, isRight, "That is not the operator's token.");
  }

  /** Requires the feed's password; the feed, read again if checking the password upgraded its hash. */
  async #unlock(caller: Caller, feed: Feed | undefined): Promise<Feed | undefined> {
    const { renewal, storage } = this.#parts;
    await this.requireFeedPassword(caller, feed);
    const { feedPassword } = caller;
    if (!feed || feedPassword === undefined || !(await renewal.renew(feed, feedPassword))) return feed;
    const renewed = await storage.feed(feed.name);
    await this.requireFeedPassword(caller, renewed);
    return renewed;
  }
}

/** A caller that the instance has admitted, without its other credentials. */
export function admittedCaller(
  caller: Caller,
  { sender, feedPassword }: Pick<Caller, 'sender' | 'feedPassword'>,
): Caller {
  return {
    client: caller.client,
    requestId: caller.requestId,
    trace: caller.trace,
    bearer: undefined,
    session: undefined,
    feedPassword,
    unlock: undefined,
    sender,
    isAdmitted: true,
    get isAborted() {
      return caller.isAborted;
    },
  };
}

function refuseLaterRoute(name: FeedName, feed: Feed | undefined): void {
  if (feed === undefined && LATER_ROUTE_NAMES.has(name)) throw reservedFeed();
}

export function invalidFeed(): Refusal {
  return new Refusal('invalid_feed', 'A feed name is 1 to 64 characters of a-z, 0-9, "-" and "_".');
}

export function reservedFeed(): Refusal {
  return new Refusal('reserved_feed', 'That feed name is reserved.');
}

type Matcher = ReturnType<typeof secretMatcher>;

function matcher(secret: string | undefined): Matcher | undefined {
  return secret === undefined ? undefined : secretMatcher(secret);
}
