import { LRUCache } from 'lru-cache';
import type { FeedName } from '../../feeds/names.ts';
import type { Log } from '../../telemetry/log.ts';

type Levels = Pick<Log, 'warn' | 'error'>;

/** Writes sentences about one feed. */
export type FeedLog = Readonly<
  Record<keyof Levels, (message: string, fields?: Readonly<Record<string, unknown>>) => void>
>;

/** Lines of each log that are remembered. */
const REMEMBERED = 1_000;
const written = new WeakMap<Levels, LRUCache<string, true>>();

/** The log for sentences about a feed. Each is written once, because what is wrong with a file is found at every look at it. */
export function logOfFeed(log: Levels, feed: FeedName): FeedLog {
  const lines = written.get(log) ?? new LRUCache<string, true>({ max: REMEMBERED });
  written.set(log, lines);
  const writer =
    (level: keyof Levels): FeedLog[keyof Levels] =>
    (message, fields) => {
      const line = JSON.stringify([feed, message, fields]);
      if (!lines.has(line)) log[level](message, { feed, ...fields });
      lines.set(line, true);
    };
  return { warn: writer('warn'), error: writer('error') };
}
