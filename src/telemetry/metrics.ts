import type { StatsFs } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { type Aggregator, Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Outcome } from '../http/exchange.ts';
import { VERSION } from '../version.ts';
import type { ToolOutcome } from './events.ts';
import { metricsOf, type ProcessGroup, summedMetrics } from './process-metrics.ts';

/** Every metric of our own, and what it says. */
const HELP = {
  service_build_info: '1; the labels are the versions of the service and of Node',
  service_http_request_duration_seconds:
    'From the request to the last byte of its answer handed to the system',
  service_http_request_bytes_total: 'Bytes of request bodies that arrived',
  service_http_response_bytes_total: 'Response body bytes; aborted and chunked responses are not counted',
  service_refusals_total: 'Requests answered with an error, by its code',
  service_task_duration_seconds: 'How long tasks ran on worker threads, without waiting, by what was done',
  service_tool_duration_seconds:
    "How long calls of assistants' tools took, by the tool and what became of it: ok, or the code of a refusal",
  service_storage_commit_duration_seconds: 'How long writes took to become durable or fail, with waiting',
  service_storage_commit_writes: 'How many writes one commit (of files: one sync of a folder) made durable',
  service_cache_hits_total: 'Answers from the read cache',
  service_cache_misses_total: 'Answers the read cache did not have',
  service_cache_evictions_total: 'Answers the read cache forgot to make room',
  service_cache_entries: 'Answers in the read cache',
  service_cache_fresh: '1; 0 while the read cache is off, because changes by other containers are not found',
  service_cache_bytes: 'Bytes in the read cache',
  service_request_body_bytes: 'Bytes of request bodies in memory',
  service_event_streams: 'Event streams that are open',
  service_connections: 'Connections that are open',
  service_connections_refused_total: 'Connections closed at once, because there were too many',
  service_websub_announcements_total:
    'Attempts to tell WebSub hubs of a changed feed (accepted, failed), and changes that were not told (given_up, dropped)',
  service_purges_total:
    'Requests to the CDN to drop changed feeds (accepted, failed), and changes that it was not told (given_up, dropped)',
  service_log_lines_lost_total: 'Log lines dropped because nobody read them',
  service_pool_waiting: 'Tasks that wait for a thread',
  service_pool_running: 'Tasks that have a thread',
  service_queue_full_total:
    'Refusals of what had to wait for a thread or for memory, because too much waited',
  service_storage_up: '1 if notes can be read and stored, else 0',
  service_disk_free_bytes: 'Bytes that the service may still write, by what is on the disk',
  service_disk_size_bytes: 'Bytes of the disk',
  service_backup_timestamp_seconds:
    'When the last backup succeeded, which is the date of .backup-done in DATA_DIR; 0 without that file',
  service_image_store_duration_seconds:
    'How long the image store took, or failed, with further attempts; of a read until its first bytes',
  service_image_store_failures_total: 'Failed image store operations, by refusal code',
  service_image_store_down: '1 while the image store is known to be down, else 0',
  service_images_freed:
    'Objects of the image store that no note refers to any more and that are still to be removed',
  service_images_unreferenced: 'Objects that no note refers to, as the last look at all of them left it',
  service_images_unreferenced_bytes: 'Their bytes',
  service_images_missing: 'Pictures whose object is not there, as of the last look at all of them',
  service_images_checked_timestamp_seconds: 'When the last look at all objects ended',
};

type Name = keyof typeof HELP;

/** How the values of several processes become one if all processes report the same thing, so that a sum would be wrong. */
const ALIKE: Partial<Record<Name, Aggregator>> = {
  service_build_info: 'first',
  service_cache_fresh: 'min',
  service_storage_up: 'min',
  service_disk_free_bytes: 'min',
  service_disk_size_bytes: 'min',
  service_backup_timestamp_seconds: 'max',
  service_image_store_down: 'max',
  service_images_freed: 'max',
};

const ANNOUNCEMENT_OUTCOMES = ['accepted', 'failed', 'given_up', 'dropped'] as const;
/** What became of an attempt to tell a WebSub hub or the CDN of a change, or of a change that it was not told. */
export type AnnouncementOutcome = (typeof ANNOUNCEMENT_OUTCOMES)[number];

/** Buckets, in seconds. From a cached answer to one that waited for every limit. */
const REQUEST_SECONDS = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
/** From a short task to the longest limit. */
const TASK_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** From a disk with a write cache to an overloaded one. */
const COMMIT_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];
/** From a folder on a fast disk to the timeout of an image store. */
const IMAGE_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const COMMIT_WRITES = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/** The longest wait for the storage or a disk at a scrape, ms. Prometheus waits 10 s for all of the answer. */
const MAX_CHECK_MS = 3_000;

/** Parts of the service that are read at every scrape, and cost nothing between scrapes. */
interface WatchedParts {
  readonly cache: {
    readonly counts: Readonly<Record<'hits' | 'misses' | 'evictions' | 'entries' | 'bytes', number>>;
    readonly isEnabled: boolean;
  };
  /** By a name that becomes a label. */
  readonly pools: Readonly<Record<string, Readonly<Record<'waiting' | 'running' | 'refused', number>>>>;
  /** The memory of request bodies: bytes in use now, and bodies refused since the start. */
  readonly bodies: Readonly<Record<'used' | 'refused', number>>;
  /** Event streams that are open. */
  readonly streams: () => number;
  readonly connections: { readonly open: number; readonly refused: number };
  readonly linesLost: () => number;
}

/** What the service depends on: its storage, disks and backups. */
interface WatchedResources {
  /** Rejects if notes cannot be read and stored. */
  readonly checkStorage: () => Promise<void>;
  /** Folders on the disks to watch, by a name that becomes a label. */
  readonly folders: Readonly<Record<string, string>>;
  /** The file whose date is that of the last backup. */
  readonly backupMark: string;
}

/** What a scan of all objects of the image store found. */
interface ObjectScan {
  readonly unreferenced: { readonly count: number; readonly bytes: number };
  /** Undefined if nothing was to be deleted. */
  readonly deleted: ObjectScan['unreferenced'] | undefined;
  readonly missing: number;
}

/** The metrics for Prometheus. */
export type Metrics = ReturnType<typeof createMetrics>;

/**
 * Starts to count, also in the process and its event loop, in a registry of its own. An instance without metrics does not
 * load this file. Members that take an outcome or a duration are called at the end of that request, task, commit or tool call.
 * @param group of processes whose metrics are one answer, if there are several
 */
export function createMetrics(group?: ProcessGroup) {
  const registry = new Registry();
  const labels = group && { pid: String(process.pid) };
  collectDefaultMetrics({ register: registry, ...(labels && { labels }) });
  group?.countWith(() => metricsOf(registry));
  const make = makerIn(registry);
  const build = { version: VERSION, node: process.versions.node };
  make.gauge('service_build_info', (gauge) => gauge.set(build, 1), ...Object.keys(build));
  const tasks = make.histogram('service_task_duration_seconds', TASK_SECONDS, 'task');
  const commits = make.histogram('service_storage_commit_duration_seconds', COMMIT_SECONDS);
  const batches = make.histogram('service_storage_commit_writes', COMMIT_WRITES);
  const tools = make.histogram('service_tool_duration_seconds', TASK_SECONDS, 'tool', 'outcome');
  return {
    request: requestMetrics(make),
    task: (task: string, ms: number) => tasks.observe({ task }, ms / 1000),
    commits: {
      wrote: (ms: number) => commits.observe(ms / 1000),
      committed: (writes: number) => batches.observe(writes),
    },
    tool: ({ tool, code = 'ok', ms }: ToolOutcome) => tools.observe({ tool, outcome: code }, ms / 1000),
    images: imageMetrics(make),
    /** Counts what became of announcements to WebSub hubs. Call it once, if there are hubs. */
    announcements: () => announcementCounter(make, 'service_websub_announcements_total'),
    /** Counts what became of purges of the CDN. Call it once, if there is one to tell. */
    purges: () => announcementCounter(make, 'service_purges_total'),
    /** Reads these parts at every scrape. Call it once. */
    watch: (parts: WatchedParts) => watchParts(make, parts),
    /** Looks at these resources at every scrape. Call it once. */
    watchResources: (resources: WatchedResources) => watchResources(make, resources),
    /** Media type of `metricsAnswer`. */
    contentType: registry.contentType as string,
    /** All metrics in Prometheus' text format. */
    metricsAnswer: async () => (group ? summedMetrics(await group.countAll()) : registry.metrics()),
  };
}

type Maker = ReturnType<typeof makerIn>;

/** Makes metrics in a registry. */
function makerIn(registry: Registry) {
  const common = (name: Name) => ({
    name,
    help: HELP[name],
    registers: [registry],
    ...(ALIKE[name] && { aggregator: ALIKE[name] }),
  });
  return {
    histogram: (name: Name, buckets: number[], ...labelNames: string[]) =>
      new Histogram({ ...common(name), buckets, labelNames }),
    counter: (name: Name, ...labelNames: string[]) => new Counter({ ...common(name), labelNames }),
    /** @param collect called at every scrape, to set it */
    gauge: (name: Name, collect?: (gauge: Gauge) => void | Promise<void>, ...labelNames: string[]) =>
      new Gauge({
        ...common(name),
        labelNames,
        collect() {
          return collect?.(this);
        },
      }),
    /** A counter whose count is read at every scrape. */
    total: (name: Name, read: () => number) =>
      new Counter({
        ...common(name),
        collect() {
          this.reset();
          this.inc(read());
        },
      }),
    /** As `total`, with a count for each value of a label. */
    totals: (name: Name, label: string, read: () => Iterable<readonly [value: string, count: number]>) =>
      new Counter({
        ...common(name),
        labelNames: [label],
        collect() {
          this.reset();
          for (const [value, count] of read()) this.inc({ [label]: value }, count);
        },
      }),
  };
}

/**
 * Counts requests. Clients cannot make up labels: they are operation ids of the route table, status classes and codes of
 * refusals. A live answer, which takes hours, is counted by the gauge of open streams.
 */
function requestMetrics(make: Maker): (outcome: Outcome) => void {
  const labels = ['operation', 'status'];
  const durations = make.histogram('service_http_request_duration_seconds', REQUEST_SECONDS, ...labels);
  const received = make.counter('service_http_request_bytes_total', 'operation');
  const sent = make.counter('service_http_response_bytes_total', 'operation');
  const refusals = make.counter('service_refusals_total', 'code');
  // Alerts need a zero to start from.
  for (const code of ['rate_limited', 'too_many_attempts', 'busy', 'internal']) refusals.inc({ code }, 0);
  return (outcome) => {
    if (outcome.isLive) return;
    const operation = outcome.operation?.id ?? 'none';
    const status = `${Math.trunc(outcome.status / 100)}xx`;
    durations.observe({ operation, status }, outcome.ms / 1000);
    if (outcome.received > 0) received.inc({ operation }, outcome.received);
    if (outcome.bytes > 0) sent.inc({ operation }, outcome.bytes);
    if (outcome.code !== undefined) refusals.inc({ code: outcome.code });
  };
}

function announcementCounter(make: Maker, name: Name): (outcome: AnnouncementOutcome) => void {
  const counter = make.counter(name, 'outcome');
  // Alerts need a zero to start from.
  for (const outcome of ANNOUNCEMENT_OUTCOMES) counter.inc({ outcome }, 0);
  return (outcome) => counter.inc({ outcome });
}

function watchParts(
  make: Maker,
  { cache, pools, bodies, streams, connections, linesLost }: WatchedParts,
): void {
  make.total('service_cache_hits_total', () => cache.counts.hits);
  make.total('service_cache_misses_total', () => cache.counts.misses);
  make.total('service_cache_evictions_total', () => cache.counts.evictions);
  make.total('service_log_lines_lost_total', linesLost);
  make.gauge('service_cache_entries', (gauge) => gauge.set(cache.counts.entries));
  make.gauge('service_cache_bytes', (gauge) => gauge.set(cache.counts.bytes));
  make.gauge('service_cache_fresh', (gauge) => gauge.set(cache.isEnabled ? 1 : 0));
  make.gauge('service_request_body_bytes', (gauge) => gauge.set(bodies.used));
  make.totals('service_queue_full_total', 'queue', () =>
    Object.entries({ ...pools, bodies }).map(([queue, { refused }]) => [queue, refused]),
  );
  make.gauge('service_event_streams', (gauge) => gauge.set(streams()));
  make.gauge('service_connections', (gauge) => gauge.set(connections.open));
  make.total('service_connections_refused_total', () => connections.refused);
  for (const member of ['waiting', 'running'] as const)
    make.gauge(
      `service_pool_${member}`,
      (gauge) => {
        for (const [pool, counts] of Object.entries(pools)) gauge.set({ pool }, counts[member]);
      },
      'pool',
    );
}

function watchResources(make: Maker, { checkStorage, folders, backupMark }: WatchedResources): void {
  make.gauge('service_storage_up', async (gauge) =>
    gauge.set(
      await orElse(
        checkStorage().then(() => 1),
        0,
      ),
    ),
  );
  make.gauge('service_backup_timestamp_seconds', async (gauge) => {
    const mark = await orElse(stat(backupMark), undefined);
    gauge.set(mark === undefined ? 0 : mark.mtimeMs / 1000);
  });
  const disks = (name: Name, bytesOf: (disk: StatsFs) => number) =>
    make.gauge(
      name,
      async (gauge) => {
        const watched = Object.entries(folders).map(async ([disk, folder]) => {
          const stats = await orElse(statfs(folder), undefined);
          if (stats === undefined) gauge.remove({ disk });
          else gauge.set({ disk }, bytesOf(stats));
        });
        await Promise.all(watched);
      },
      'disk',
    );
  disks('service_disk_free_bytes', ({ bavail, bsize }) => bavail * bsize);
  disks('service_disk_size_bytes', ({ blocks, bsize }) => blocks * bsize);
}

/** What it resolves to, or `otherwise` if it fails or takes too long. */
function orElse<T, O>(work: Promise<T>, otherwise: O): Promise<T | O> {
  const tooLate = wait(MAX_CHECK_MS, otherwise, { ref: false });
  return Promise.race([work.catch(() => otherwise), tooLate]);
}

/** The metrics of the image store, each there from its first value. */
function imageMetrics(make: Maker) {
  let operations: { seconds: Histogram; failures: Counter } | undefined;
  let scan: Record<'count' | 'bytes' | 'missing' | 'at', Gauge> | undefined;
  return {
    /** Call it at the end of every operation of the store. */
    recordOperation(operation: string, ms: number, failure: string | undefined): void {
      operations ??= {
        seconds: make.histogram('service_image_store_duration_seconds', IMAGE_SECONDS, 'operation'),
        failures: make.counter('service_image_store_failures_total', 'operation', 'code'),
      };
      operations.seconds.observe({ operation }, ms / 1000);
      if (failure !== undefined) operations.failures.inc({ operation, code: failure });
    },
    /** Call it after every scan of all objects. */
    recordScan({ unreferenced, deleted, missing }: ObjectScan): void {
      scan ??= {
        count: make.gauge('service_images_unreferenced'),
        bytes: make.gauge('service_images_unreferenced_bytes'),
        missing: make.gauge('service_images_missing'),
        at: make.gauge('service_images_checked_timestamp_seconds'),
      };
      scan.count.set(unreferenced.count - (deleted?.count ?? 0));
      scan.bytes.set(unreferenced.bytes - (deleted?.bytes ?? 0));
      scan.missing.set(missing);
      scan.at.set(Date.now() / 1000);
    },
    /** Reads these at every scrape. Call it once, if there is a store. */
    watch(store: { readonly isDown: boolean }, rows: { countFreed(): Promise<number> }): void {
      make.gauge('service_image_store_down', (gauge) => gauge.set(store.isDown ? 1 : 0));
      make.gauge('service_images_freed', async (gauge) => {
        const count = await orElse(rows.countFreed(), undefined);
        // If the database fails, the last number stays.
        if (count !== undefined) gauge.set(count);
      });
    },
  };
}
