import { createHash, timingSafeEqual } from 'node:crypto';
import { Refusal, type RefusalCode } from '../refusals.ts';
import type { Feed } from '../storage/storage.ts';
import { feedPassword, type Passwords } from './passwords.ts';
import { RateLimit } from './rate-limit.ts';

/** A request, as far as it says who asks. */
export interface Caller {
  /** What counts as one client. */
  readonly client: string;
  /** A header field by its lower-case name. */
  header(name: string): string | undefined;
}

export interface AccessParts {
  /** The instance password; undefined on an open instance. */
  readonly password: string | undefined;
  /** Writes per client per minute, and separately wrong passwords; 0 turns both limits off. */
  readonly rateLimit: number;
  readonly passwords: Pick<Passwords, 'verify'>;
  /** A clock in ms that never goes back. */
  readonly now?: () => number;
}

/**
 * Who may: the instance password, feed passwords, and how often. Wrong passwords count per client, whatever
 * they are for, and over the limit the right one waits as well; a missing one is refused but not counted.
 */
export class Access {
  /** Digest of the instance password, so that comparing takes the same time whatever is sent. */
  readonly #expected: Buffer | undefined;
  readonly #passwords: Pick<Passwords, 'verify'>;
  readonly #writes: RateLimit;
  readonly #wrongPasswords: RateLimit;

  constructor({ password, rateLimit, passwords, now = () => performance.now() }: AccessParts) {
    this.#expected = password === undefined ? undefined : digest(password);
    this.#passwords = passwords;
    this.#writes = new RateLimit({ perMinute: rateLimit, now });
    this.#wrongPasswords = new RateLimit({ perMinute: rateLimit, now });
  }

  /**
   * Lets through who has the instance password, where there is one. To be asked first, before anything is
   * looked up: nothing here depends on what is stored.
   * @throws Refusal `auth`, `too_many_attempts`
   */
  instance(caller: Caller): void {
    if (this.#expected === undefined) return;
    const token = bearerToken(caller.header('authorization'));
    if (token === undefined)
      throw new Refusal('auth', 'This instance has a password: send it as Authorization: Bearer.');
    this.#refuseGuesser(caller);
    const isRight = timingSafeEqual(digest(token), this.#expected);
    this.#settle(caller, isRight, 'That is not the password of this instance.');
  }

  /**
   * Lets through who has the feed's password, where it has one; a password for any other feed is only checked
   * for its form, so a malformed one says nothing of the feed.
   * @throws Refusal `invalid_request` for an `X-Feed-Password` that no feed can have; `auth`,
   * `too_many_attempts`; `busy` when too many passwords wait to be checked
   */
  async feed(caller: Caller, feed: Pick<Feed, 'passwordHash'> | undefined): Promise<void> {
    const sent = caller.header('x-feed-password');
    const password = sent === undefined ? undefined : feedPassword(sent);
    if (feed?.passwordHash === undefined) return;
    if (password === undefined)
      throw new Refusal('auth', 'This feed has a password: send it as X-Feed-Password.');
    this.#refuseGuesser(caller);
    const isRight = await this.#passwords.verify(feed.passwordHash, password);
    this.#settle(caller, isRight, 'That is not the password of this feed.');
  }

  /**
   * Counts a write.
   * @throws Refusal `rate_limited`
   */
  write({ client }: Caller): void {
    const seconds = this.#writes.take(client);
    if (seconds !== undefined) throw tooMuch('rate_limited', 'Too many changes', seconds);
  }

  /** Turns away a client over the limit before its password costs anything. */
  #refuseGuesser({ client }: Caller): void {
    const seconds = this.#wrongPasswords.peek(client);
    if (seconds !== undefined) throw tooMuch('too_many_attempts', 'Too many wrong passwords', seconds);
  }

  /**
   * Counts a wrong password and refuses it. Of passwords checked at once, what comes out once the client is
   * over the limit says nothing of them, or one could guess beyond it.
   */
  #settle(caller: Caller, isRight: boolean, message: string): void {
    this.#refuseGuesser(caller);
    if (isRight) return;
    this.#wrongPasswords.take(caller.client);
    throw new Refusal('auth', message);
  }
}

/** The token of an `Authorization` header (RFC 6750 §2.1); undefined for any other scheme. */
function bearerToken(header: string | undefined): string | undefined {
  return /^bearer +(.+)$/i.exec(header ?? '')?.[1];
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
