import { ROUTE_NAMES } from '../../feeds/names.ts';
import type { Log } from '../../telemetry/log.ts';
import type { FeedIndex } from './feed-index.ts';

/** Warns at the start of feeds that are not what whoever placed their folders may expect. */
export function warnOfOddFeeds(index: FeedIndex, log: Pick<Log, 'warn'>): void {
  for (const [feed] of index.waiting())
    log.warn(
      'the .readid of a feed is that of another one too, whose name sorts first and which has the read link: put another ' +
        'read id into that of the copy, or remove the file',
      { feed },
    );
  const names = index.names().filter((name) => ROUTE_NAMES.has(name));
  if (names.length > 0)
    log.warn(
      'folders in DATA_DIR are named like an address of the service, so nobody can post to these feeds',
      {
        names: names.sort(),
      },
    );
}
