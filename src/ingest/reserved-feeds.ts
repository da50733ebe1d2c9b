import type { Passwords } from '../access/passwords.ts';
import type { FeedName, ReadId } from '../feeds/names.ts';
import { Refusal } from '../refusals.ts';
import type { Storage } from '../storage/storage.ts';
import type { Log } from '../telemetry/log.ts';

export interface ReservedFeedsParts {
  readonly storage: Storage;
  readonly passwords: Passwords;
  readonly reservedFeeds: ReadonlySet<FeedName>;
  readonly reservedPassword: string | undefined;
  readonly log: Pick<Log, 'warn'>;
}

/**
 * Makes the reserved feeds where they have a password: protected, with their name as read id. One that exists
 * otherwise stays as it is, with a warning that counts its place in the setting and does not name it.
 */
export async function makeReservedFeeds(parts: ReservedFeedsParts): Promise<void> {
  let place = 0;
  for (const name of parts.reservedFeeds) {
    place += 1;
    const obstacle = await make(parts, name);
    if (obstacle !== undefined) parts.log.warn('a reserved feed is not as it should be', { place, obstacle });
  }
}

/** Says what is wrong, if anything is. */
async function make(parts: ReservedFeedsParts, name: FeedName): Promise<string | undefined> {
  const { storage, passwords, reservedPassword } = parts;
  const feed = await storage.feed(name);
  if (reservedPassword === undefined) return feed && 'it exists, and takes no posts without a password';
  if (feed === undefined) return create(storage, name, await passwords.hash(reservedPassword));
  if ((feed.readId as string) !== name) return 'it has a read id of its own';
  if (feed.passwordHash === undefined) return 'it has no password';
  if (!(await passwords.verify(feed.passwordHash, reservedPassword)))
    await storage.setPassword(feed, await passwords.hash(reservedPassword));
  return undefined;
}

async function create(storage: Storage, name: FeedName, passwordHash: string): Promise<string | undefined> {
  const readId: string = name;
  try {
    await storage.create(name, { readId: readId as ReadId, passwordHash });
    return undefined;
  } catch (cause) {
    // It was deleted once, or another feed has its read id: neither is a reason not to start.
    if (cause instanceof Refusal && (cause.code === 'taken' || cause.code === 'feed_limit'))
      return cause.message;
    throw cause;
  }
}
