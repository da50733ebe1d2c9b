import { Refusal, type RefusalCode } from '../refusals.ts';
import type { RateLimit } from './rate-limit.ts';
import type { SharedRateLimit } from './shared-rate-limit.ts';

/** A rate limit that refuses clients over it. Its methods return a promise only if other containers must be asked. */
export class RefusingLimit {
  readonly #limit: RateLimit | SharedRateLimit;
  readonly #code: RefusalCode;
  readonly #what: string;

  /** @param what too many of it, for people */
  constructor(limit: RateLimit | SharedRateLimit, code: RefusalCode, what: string) {
    this.#limit = limit;
    this.#code = code;
    this.#what = what;
  }

  /** @throws Refusal if the client is over the limit; then nothing is counted */
  count(client: string): void | Promise<void> {
    return whenKnown(this.#limit.take(client), this.#refuse);
  }

  /** Like `count`, but counts nothing. */
  check(client: string): void | Promise<void> {
    return whenKnown(this.#limit.peek(client), this.#refuse);
  }

  /**
   * Refuses a wrong credential and counts it. If parallel checks pass the limit, a right one is refused too, because
   * otherwise guessing in parallel would bypass the limit.
   * @throws Refusal `auth` with the message; as `count`
   */
  countIfWrong(client: string, isRight: boolean, message: string): void | Promise<void> {
    if (isRight) return this.check(client);
    return whenKnown(this.count(client), () => {
      throw new Refusal('auth', message);
    });
  }

  readonly #refuse = (seconds: number | undefined): void => {
    if (seconds === undefined) return;
    const unit = seconds === 1 ? 'second' : 'seconds';
    throw new Refusal(this.#code, `Too many ${this.#what}: please wait ${seconds} ${unit}.`, {
      retryAfter: seconds,
    });
  };
}

/** Calls `next` with the value; synchronous if the value is. */
function whenKnown<T>(value: T | Promise<T>, next: (value: T) => void): void | Promise<void> {
  return value instanceof Promise ? value.then(next) : next(value);
}
