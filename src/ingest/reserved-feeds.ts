import type { Passwords } from '../access/passwords.ts';
import type { Config } from '../config.ts';
import { isReservedReadId } from '../feeds/ids.ts';
import type { FeedName, ReadId } from '../feeds/names.ts';
import { Refusal, type RefusalCode } from '../refusals.ts';
import type { Storage } from '../storage/storage.ts';
import type { Log } from '../telemetry/log.ts';
import { toFeed } from '../writing/command.ts';
import { NO_LIMITS } from '../writing/limits.ts';

/**
 * Refusals that do not prevent the start: another feed has the read id, the operator has closed the name, or the folder of that name is
 * no feed or cannot be read. A storage that cannot be used at all prevents it.
 */
const OBSTACLES = new Set<RefusalCode>(['taken', 'feed_limit', 'blocked', 'internal', 'store_unavailable']);

interface Parts extends Pick<Config, 'reservedFeeds' | 'reservedPassword'> {
  readonly storage: Storage;
  readonly passwords: Passwords;
  readonly log: Pick<Log, 'warn'>;
}

/**
 * Makes the reserved feeds if they have a password: protected, with their name as read id. If a feed exists in another
 * form, it stays, and the log has a warning with its place in the setting.
 */
export async function makeReservedFeeds(parts: Parts): Promise<void> {
  if (parts.reservedFeeds.size > 0 && parts.reservedPassword === undefined)
    parts.log.warn(
      'SERVICE_RESERVED_FEEDS is set without SERVICE_RESERVED_PASSWORD: nobody can post to these names',
    );
  let place = 0;
  for (const name of parts.reservedFeeds) {
    place += 1;
    const obstacle = await make(parts, name);
    if (obstacle !== undefined)
      parts.log.warn('a reserved feed is not as it should be', { feed: name, place, obstacle });
  }
}

/** Returns the obstacle, if there is one. */
async function make(parts: Parts, name: FeedName): Promise<string | undefined> {
  const { storage, passwords, reservedPassword } = parts;
  const feed = await storage.feed(name);
  if (reservedPassword === undefined) return feed && 'it exists, and takes no posts without a password';
  if (feed === undefined) return create(storage, name, await passwords.hash(reservedPassword));
  if (!isReservedReadId(feed.readId, name)) return 'it has a read id of its own';
  if (feed.passwordHash === undefined) return 'it has no password';
  if (!(await passwords.verify(feed.passwordHash, reservedPassword)))
    await storage.write({
      kind: 'set password',
      ...toFeed(feed),
      passwordHash: await passwords.hash(reservedPassword),
    });
  return undefined;
}

async function create(
  storage: Storage,
  name: FeedName,
  passwordHash: string,
  isSecond = false,
): Promise<string | undefined> {
  try {
    const target = { kind: 'new', readId: name as string as ReadId, passwordHash } as const;
    await storage.write({ kind: 'post', name, target, notes: [], limits: NO_LIMITS });
    return undefined;
  } catch (cause) {
    if (!(cause instanceof Refusal) || !OBSTACLES.has(cause.code)) throw cause;
    if (cause.code !== 'store_unavailable' || isSecond) return cause.message;
    await storage.check();
    // The storage may have failed for a moment only.
    return create(storage, name, passwordHash, true);
  }
}
