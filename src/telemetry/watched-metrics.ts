import { Counter, Gauge, type Registry } from 'prom-client';
import type { CacheCounts } from '../read/cache.ts';

/** Parts of the service that are read at every scrape. */
export interface WatchedParts {
  readonly cache: { readonly counts: CacheCounts };
  /** By a name that becomes a label. */
  readonly pools: Readonly<Record<string, { readonly waiting: number; readonly running: number }>>;
  /** Bytes of request bodies in memory now. */
  readonly bodyBytes: () => number;
  /** Event streams that are open. */
  readonly streams: () => number;
  readonly linesLost: () => number;
}

/** Registers metrics that read these parts at every scrape, and cost nothing between scrapes. */
export function watchParts(registry: Registry, parts: WatchedParts): void {
  const { cache, pools, bodyBytes, streams, linesLost } = parts;
  const { gauge, counter } = readers(registry);
  counter('service_cache_hits_total', 'Answers from the read cache', () => cache.counts.hits);
  counter('service_cache_misses_total', 'Answers the read cache did not have', () => cache.counts.misses);
  counter(
    'service_cache_evictions_total',
    'Answers the read cache forgot to make room',
    () => cache.counts.evictions,
  );
  gauge('service_cache_entries', 'Answers in the read cache', () => cache.counts.entries);
  gauge('service_cache_bytes', 'Bytes in the read cache', () => cache.counts.bytes);
  gauge('service_request_body_bytes', 'Bytes of request bodies in memory', bodyBytes);
  gauge('service_event_streams', 'Event streams that are open', streams);
  counter('service_log_lines_lost_total', 'Log lines dropped because nobody read them', linesLost);
  watchPools(registry, pools);
}

function readers(registry: Registry) {
  return {
    gauge: (name: string, help: string, read: () => number) =>
      new Gauge({
        name,
        help,
        registers: [registry],
        collect() {
          this.set(read());
        },
      }),
    counter: (name: string, help: string, read: () => number) =>
      new Counter({
        name,
        help,
        registers: [registry],
        collect() {
          this.reset();
          this.inc(read());
        },
      }),
  };
}

function watchPools(registry: Registry, pools: WatchedParts['pools']): void {
  const gauge = (name: string, help: string, member: 'waiting' | 'running') =>
    new Gauge({
      name,
      help,
      labelNames: ['pool'],
      registers: [registry],
      collect() {
        for (const [pool, counts] of Object.entries(pools)) this.set({ pool }, counts[member]);
      },
    });
  gauge('service_pool_waiting', 'Tasks that wait for a thread', 'waiting');
  gauge('service_pool_running', 'Tasks that have a thread', 'running');
}
