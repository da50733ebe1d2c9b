import { LRUCache } from 'lru-cache';
import type { FeedName } from '../../feeds/names.ts';
import type { Log } from '../../telemetry/log.ts';

type Levels = Pick<Log, 'warn' | 'error'>;

/** Writes sentences about one feed. */
export interface FeedLog extends Readonly<Record<keyof Levels, (message: string) => void>> {
  /** Warns of the state of something, once for each state, because it is found at every look. */
  warnOnce(message: string, state: Readonly<Record<string, unknown>>): void;
}

/** States of each log that are remembered. */
const REMEMBERED = 1_000;
const written = new WeakMap<Levels, LRUCache<string, true>>();

/** The log for sentences about a feed. */
export function logOfFeed(log: Levels, feed: FeedName): FeedLog {
  return {
    warn: (message) => log.warn(message, { feed }),
    error: (message) => log.error(message, { feed }),
    warnOnce(message, state) {
      const lines = written.get(log) ?? new LRUCache<string, true>({ max: REMEMBERED });
      written.set(log, lines);
      const line = JSON.stringify([feed, message, state]);
      if (!lines.has(line)) log.warn(message, { feed, ...state });
      lines.set(line, true);
    },
  };
}
