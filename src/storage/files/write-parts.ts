import { join } from 'node:path';
import type { FeedName } from '../../feeds/names.ts';
import type { LicenseCheck } from '../../licenses/licenses.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Turns } from '../turns.ts';
import type { FileWriter } from './durable.ts';
import { asRefusal, isGone, unavailable } from './failures.ts';
import type { FeedIndex } from './feed-index.ts';
import type { IndexedFeed } from './indexed-feed.ts';
import type { NoteReader } from './note-reader.ts';
import type { RetiredReadIds } from './retired-read-ids.ts';
import * as sys from './syscalls.ts';

/** What everything that writes works on. */
export interface WriteParts {
  readonly dir: string;
  readonly index: FeedIndex;
  readonly reader: NoteReader;
  readonly writer: FileWriter;
  /** Posts share the feed of a name; whatever else changes it, or makes it, or reads it anew, is alone with it. */
  readonly turns: Turns<FeedName>;
  readonly retired: RetiredReadIds;
  /** See `limitsNow`. */
  readonly licenseCounts?: LicenseCheck | undefined;
  readonly log: Pick<Log, 'warn' | 'error'>;
}

/**
 * What to do about a failed write: nothing but forget the feed when its folder was taken away by hand, which the
 * caller then answers as a feed that is not there.
 * @throws Refusal for any other failure
 */
export async function forgetGone(
  { dir, index }: Pick<WriteParts, 'dir' | 'index'>,
  feed: IndexedFeed,
  error: unknown,
): Promise<undefined> {
  if (!isGone(error) || (await isThere(join(dir, feed.name)))) throw asRefusal(error);
  if (!(await isThere(dir))) throw unavailable(error);
  index.drop(feed);
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
