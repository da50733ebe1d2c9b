import { createHmac } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Feed } from '../feeds/feed.ts';
import { Refusal } from '../refusals.ts';
import type { Storage } from '../storage/storage.ts';
import type { Log } from '../telemetry/log.ts';
import type { WorkerPool } from '../worker-pool.ts';
import { toFeed } from '../writing/command.ts';

/** Printable ASCII without a space at either end. */
const FEED_PASSWORD = /^(?! )[ -~]{1,256}(?<! )$/;

/**
 * Checks the form of a feed's password (contract §3). An empty one is refused, because a client that lost its password
 * would create an open feed.
 * @param field its name in the refusal
 * @throws Refusal `invalid_request`
 */
export function feedPassword(text: string, field = 'The feed password'): string {
  if (FEED_PASSWORD.test(text)) return text;
  throw new Refusal(
    'invalid_request',
    `${field} must be 1 to 256 printable ASCII characters without a space at either end.`,
  );
}

/** A password and a hash to verify it with. */
export interface PasswordClaim {
  /** An argon2 PHC string, or a hash of scrypt (`scrypt$…`); may be malformed. */
  readonly passwordHash: string;
  readonly password: string;
}

/** Right passwords to cache, about 200 bytes each. */
const MAX_CACHED = 10_000;

/** Hashes and verifies feed passwords with argon2id on worker threads. Right ones are cached, so they cost 3 µs after that. */
export class Passwords {
  readonly #pool: Pick<WorkerPool, 'run'>;
  readonly #key: Uint8Array;
  /** Fingerprints of right passwords, with their hashes. */
  readonly #right = new LRUCache<string, true>({ max: MAX_CACHED });
  /** By fingerprint. */
  readonly #verifying = new Map<string, Promise<boolean>>();

  /**
   * @param pool for passwords only: argon2 takes a thread for 9 ms, and a flood of wrong passwords must not delay other
   * tasks
   * @param key 32 or more secret bytes, so that the cache cannot be attacked faster than argon2
   */
  constructor(pool: Pick<WorkerPool, 'run'>, key: Uint8Array) {
    this.#pool = pool;
    this.#key = key;
  }

  /** The hash to store for a new password; caches the password as right. Throws a Refusal `busy` if too many wait. */
  async hash(password: string): Promise<string> {
    const passwordHash = (await this.#pool.run('hash-password', password)) as string;
    this.#right.set(this.#fingerprint({ passwordHash, password }), true);
    return passwordHash;
  }

  /**
   * Whether a password matches a hash; a malformed hash matches none. Equal calls at the same time share one task.
   * @throws Refusal `busy` if too many wait
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
    // The length makes the text unambiguous.
    const text = `${passwordHash.length} ${passwordHash}${password}`;
    return createHmac('sha256', this.#key).update(text).digest('base64url');
  }
}

interface PasswordRenewalParts {
  readonly storage: Pick<Storage, 'write'>;
  readonly passwords: Pick<Passwords, 'hash' | 'verify'>;
  readonly log: Pick<Log, 'warn'>;
}

/** Upgrades scrypt hashes, which come from another service, to argon2id. */
export class PasswordRenewal {
  readonly #parts: PasswordRenewalParts;
  /** By feed key. */
  readonly #running = new Map<string, Promise<void>>();
  readonly #failed = new Set<string>();

  constructor(parts: PasswordRenewalParts) {
    this.#parts = parts;
  }

  /**
   * Upgrades the hash of a feed's password if this is the right one. Returns true if the caller's feed may be out of date:
   * then read it again and check the password again. If storing fails, the hash stays until the next start;
   * after `busy`, the next right password starts another attempt.
   * @throws Refusal `busy`, but not for a password that was just verified
   */
  async renew(feed: Feed, password: string): Promise<boolean> {
    const { key, passwordHash } = feed;
    if (passwordHash === undefined || passwordHash.startsWith('$argon2')) return false;
    const isRight = await this.#parts.passwords.verify(passwordHash, password);
    if (!isRight || this.#failed.has(key)) return false;
    // Requests at the same time share one hashing.
    let running = this.#running.get(key);
    if (running === undefined) {
      running = this.#store(feed, password).finally(() => this.#running.delete(key));
      this.#running.set(key, running);
    }
    await running;
    return true;
  }

  async #store(feed: Feed, password: string): Promise<void> {
    const { passwords, storage, log } = this.#parts;
    try {
      const passwordHash = await passwords.hash(password);
      await storage.write({ kind: 'set password', ...toFeed(feed), passwordHash });
    } catch (cause) {
      const code = cause instanceof Refusal ? cause.code : 'internal';
      if (code === 'busy') return;
      this.#failed.add(feed.key);
      // The cause may name the feed.
      log.warn('the password of a feed stays in its old form until the next start', {
        feed: feed.name,
        code,
      });
    }
  }
}
