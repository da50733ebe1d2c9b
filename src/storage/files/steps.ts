import { join } from 'node:path';
import type { AllowedFeed } from '../../feeds/feed.ts';
import type { FeedName } from '../../feeds/names.ts';
import type { LicenseCheck } from '../../licenses/licenses.ts';
import type { Log } from '../../telemetry/log.ts';
import type { KeyedLock } from '../keyed-lock.ts';
import type { FileWriter } from './durable.ts';
import { asRefusal, isGone, refuse, unavailable } from './failures.ts';
import type { FeedIndex, IndexedFeed } from './feed-index.ts';
import type { RetiredReadIds } from './line-files.ts';
import { isThere } from './read-file.ts';
import type { Removals } from './removals.ts';

/** Shared by all writes. */
export interface WriteParts {
  readonly dir: string;
  readonly index: FeedIndex;
  readonly writer: FileWriter;
  /**
   * Posts share the feed of a name; whatever else changes it, or makes it, or looks at it again, is alone with it. Other
   * keys are names of files in the data folder, and ids of licenses.
   */
  readonly locks: KeyedLock<string>;
  readonly retired: RetiredReadIds;
  readonly removals: Pick<Removals, 'remove'>;
  /** The most feeds there may be; 0 is no limit. */
  readonly maxFeeds: number;
  /** See `limitsNow`. */
  readonly isLicenseValid?: LicenseCheck | undefined;
  readonly log: Pick<Log, 'warn' | 'error'>;
  /** Called with the name of every feed that the service makes. */
  onMade(name: FeedName): void;
}

/**
 * Runs a step that changes a feed: alone with it, once the steps before are done. It ends with `FeedIndex.apply`. Undefined
 * if there is no such feed, or somebody removed its folder. A step must not read notes with `NoteReader`, which may
 * wait for a step.
 */
export function changeFeed<T>(
  parts: WriteParts,
  allowed: AllowedFeed,
  work: (feed: IndexedFeed) => Promise<T | undefined>,
): Promise<T | undefined> {
  return parts.locks.exclusive(allowed.name, async () => {
    const feed = parts.index.allowed(allowed);
    return feed && work(feed).catch((error) => forgetIfGone(parts, feed, error));
  });
}

/**
 * Forgets a feed whose step failed because somebody removed its folder.
 * @throws Refusal for any other failure
 */
export async function forgetIfGone(
  { dir, index }: Pick<WriteParts, 'dir' | 'index'>,
  feed: IndexedFeed,
  error: unknown,
): Promise<undefined> {
  if (!isGone(error) || (await isThere(join(dir, feed.name)).catch(refuse))) throw asRefusal(error);
  if (!(await isThere(dir).catch(refuse))) throw unavailable(error);
  index.drop(feed);
}
