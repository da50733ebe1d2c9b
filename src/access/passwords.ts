import { createHmac } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { PasswordClaim } from '../../workers/verify-password.ts';
import { Refusal } from '../refusals.ts';
import type { WorkerPool } from '../worker-pool.ts';

/** Printable ASCII without a space at either end. */
const FEED_PASSWORD = /^(?! )[ -~]{1,256}(?<! )$/;

/**
 * A feed's password as it may be chosen (contract §3): 1 to 256 printable ASCII characters, no space at
 * either end. An empty one never stands for none: a password that a client lost would leave a new feed open.
 *
 * `field` names it in the refusal, for example `password` in a JSON body. Throws `invalid_request`.
 */
export function feedPassword(text: string, field = 'X-Feed-Password'): string {
  if (FEED_PASSWORD.test(text)) return text;
  throw new Refusal(
    'invalid_request',
    `${field} must be 1 to 256 printable ASCII characters without a space at either end.`,
  );
}

/** How many right passwords are remembered, about 200 bytes each. */
const REMEMBERED = 10_000;

/**
 * Hashes feed passwords and tells right ones from wrong ones, with argon2id on worker threads. A right
 * password costs that once and then 3 µs; a wrong one costs it every time.
 */
export class Passwords {
  readonly #pool: Pick<WorkerPool, 'run'>;
  readonly #key: Uint8Array;
  /** Fingerprints of what was found to be right. A changed stored form has other fingerprints. */
  readonly #right = new LRUCache<string, true>({ max: REMEMBERED });
  /** What is being found out, by fingerprint. */
  readonly #verifying = new Map<string, Promise<boolean>>();

  /**
   * @param pool its own, of two threads and a short queue: argon2 takes a thread for 9 ms, and a flood of
   * wrong passwords must keep no other task waiting
   * @param key random bytes, 32 or more, that need not outlive the process: with them the memory holds
   * nothing that could be tried out more cheaply than argon2
   */
  constructor(pool: Pick<WorkerPool, 'run'>, key: Uint8Array) {
    this.#pool = pool;
    this.#key = key;
  }

  /**
   * The form in which a new password is stored. Who has just chosen it need not pay for it again.
   * @throws Refusal `busy` when too many wait
   */
  async hash(password: string): Promise<string> {
    const passwordHash = (await this.#pool.run('hash-password', password)) as string;
    this.#right.set(this.#fingerprint({ passwordHash, password }), true);
    return passwordHash;
  }

  /**
   * Whether a password is the one of a stored form; never for a malformed form. The same question asked many
   * times at once is answered once for all.
   * @throws Refusal `busy` when too many wait
   */
  async verify(passwordHash: string, password: string): Promise<boolean> {
    const claim = { passwordHash, password };
    const fingerprint = this.#fingerprint(claim);
    if (this.#right.get(fingerprint)) return true;
    let verifying = this.#verifying.get(fingerprint);
    if (verifying === undefined) {
      verifying = this.#verify(claim, fingerprint);
      this.#verifying.set(fingerprint, verifying);
    }
    return verifying;
  }

  async #verify(claim: PasswordClaim, fingerprint: string): Promise<boolean> {
    try {
      const isRight = (await this.#pool.run('verify-password', claim)) as boolean;
      if (isRight) this.#right.set(fingerprint, true);
      return isRight;
    } finally {
      this.#verifying.delete(fingerprint);
    }
  }

  #fingerprint({ passwordHash, password }: PasswordClaim): string {
    // With the length in front no two pairs make the same text.
    const text = `${passwordHash.length} ${passwordHash}${password}`;
    return createHmac('sha256', this.#key).update(text).digest('base64url');
  }
}
