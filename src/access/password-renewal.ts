import type { Feed } from '../feeds/feed.ts';
import { Refusal } from '../refusals.ts';
import type { Storage } from '../storage/storage.ts';
import type { Log } from '../telemetry/log.ts';
import { toFeed } from '../writing/command.ts';
import type { Passwords } from './passwords.ts';

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
   * then read it again and check the password again. If storing fails, the hash stays until the next start.
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
      this.#failed.add(feed.key);
      // The cause may name the feed.
      const code = cause instanceof Refusal ? cause.code : 'internal';
      log.warn('the password of a feed stays in its old form until the next start', {
        feed: feed.name,
        code,
      });
    }
  }
}
