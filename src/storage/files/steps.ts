import { join } from 'node:path';
import type { FeedName } from '../../feeds/names.ts';
import type { LicenseCheck } from '../../licenses/licenses.ts';
import type { Log } from '../../telemetry/log.ts';
import type { KeyedLock } from '../keyed-lock.ts';
import type { AllowedFeed } from '../storage.ts';
import type { FileWriter } from './durable.ts';
import { asRefusal, isGone, unavailable } from './failures.ts';
import type { FeedIndex } from './feed-index.ts';
import type { IndexedFeed } from './indexed-feed.ts';
import type { RetiredReadIds } from './retired-read-ids.ts';
import * as sys from './syscalls.ts';

/** What everything that writes works on. */
export interface WriteParts {
  readonly dir: string;
  readonly index: FeedIndex;
  readonly writer: FileWriter;
  /** Posts share the feed of a name; whatever else changes it, or makes it, or looks at it again, is alone with it. */
  readonly locks: KeyedLock<FeedName>;
  readonly retired: RetiredReadIds;
  /** See `limitsNow`. */
  readonly isLicenseValid?: LicenseCheck | undefined;
  readonly log: Pick<Log, 'warn' | 'error'>;
}

/**
 * Runs a step that changes a feed: alone with it, once the steps before are done. It ends with `FeedIndex.apply`. Undefined
 * if there is no such feed, or its folder was taken away by hand. A step must not read notes with `NoteReader`, which may
 * wait for a step.
 */
export function changeFeed<T>(
  parts: WriteParts,
  allowed: AllowedFeed,
  work: (feed: IndexedFeed) => Promise<T | undefined>,
): Promise<T | undefined> {
  return parts.locks.exclusive(allowed.name, async () => {
    const feed = parts.index.find(allowed);
    return feed && orGone(parts, feed, () => work(feed));
  });
}

/**
 * Runs a step that adds notes to a feed, beside others that do: a batch that begins when the last is over posts half as many
 * notes a second. Otherwise as `changeFeed`.
 */
export function addToFeed<T>(
  parts: WriteParts,
  name: FeedName,
  passwordHash: string | undefined,
  work: (feed: IndexedFeed) => Promise<T>,
): Promise<T | undefined> {
  return parts.locks.shared(name, async () => {
    const feed = parts.index.get(name);
    if (!feed || feed.files.passwordHash !== passwordHash) return undefined;
    return orGone(parts, feed, () => work(feed));
  });
}

/**
 * Forgets a feed whose step fails because its folder was taken away by hand.
 * @throws Refusal for any other failure
 */
async function orGone<T>(
  { dir, index }: WriteParts,
  feed: IndexedFeed,
  work: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!isGone(error) || (await isThere(join(dir, feed.name)))) throw asRefusal(error);
    if (!(await isThere(dir))) throw unavailable(error);
    index.drop(feed);
    return undefined;
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await sys.lstat(path);
    return true;
  } catch (error) {
    if (isGone(error)) return false;
    throw asRefusal(error);
  }
}
