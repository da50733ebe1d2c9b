import { Refusal } from '../refusals.ts';
import type { Feed, Storage } from '../storage/storage.ts';
import type { Log } from '../telemetry/log.ts';
import type { Passwords } from './passwords.ts';

export interface PasswordRenewalParts {
  readonly storage: Pick<Storage, 'setPassword'>;
  readonly passwords: Pick<Passwords, 'hash' | 'verify'>;
  readonly log: Pick<Log, 'warn'>;
}

/** Stores passwords anew that are kept in the form of another service (scrypt). */
export class PasswordRenewal {
  readonly #parts: PasswordRenewalParts;
  /** By the keys of feeds. */
  readonly #running = new Map<string, Promise<void>>();
  readonly #failed = new Set<string>();

  constructor(parts: PasswordRenewalParts) {
    this.#parts = parts;
  }

  /**
   * Stores a feed's password as argon2id if it is stored in another form and this is the right password. Returns true if
   * the caller's feed may be out of date afterwards: a change allowed for it would find no feed, so look the feed up and
   * check the password again.
   *
   * Where storing fails, the form stays until the next start: a request that has the feed as it was may take long.
   * @throws Refusal `busy`, but not for a password that was just verified
   */
  async renew(feed: Feed, password: string): Promise<boolean> {
    const { key, passwordHash } = feed;
    if (passwordHash === undefined || passwordHash.startsWith('$argon2')) return false;
    const isRight = await this.#parts.passwords.verify(passwordHash, password);
    if (!isRight || this.#failed.has(key)) return false;
    // Once for all who ask now: each of them would hash the password.
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
      await storage.setPassword(feed, await passwords.hash(password));
    } catch (cause) {
      this.#failed.add(feed.key);
      // The cause may name the feed.
      const code = cause instanceof Refusal ? cause.code : 'internal';
      log.warn('the password of a feed stays in its old form until the next start', { code });
    }
  }
}
