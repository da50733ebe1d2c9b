import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** Result of a scan of all objects of the image store. */
interface Examined {
  readonly unreferenced: { readonly count: number; readonly bytes: number };
  readonly deleted: { readonly count: number; readonly bytes: number } | undefined;
  readonly missing: number;
}

export interface ImageMetrics {
  /** Call it at the end of every operation of the store. */
  readonly asked: (operation: string, ms: number, failure: string | undefined) => void;
  /** Call it after every scan of all objects. */
  readonly examined: (result: Examined) => void;
  /** Reads these at every scrape. Call it once, if there is a store. */
  watch(parts: WatchedImages): void;
}

export interface WatchedImages {
  readonly store: { readonly isDown: boolean };
  readonly rows: { countFreed(): Promise<number> };
}

/** From a folder on a fast disk to the timeout of a store, in seconds. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Registers the metrics of the image store, each with its first value. */
export function imageMetrics(registry: Registry): ImageMetrics {
  const registers = [registry];
  let counters: ReturnType<typeof askedMetrics> | undefined;
  let gauges: ReturnType<typeof examinedMetrics> | undefined;
  return {
    asked: (operation, ms, failure) => {
      counters ??= askedMetrics(registry);
      counters.seconds.observe({ operation }, ms / 1000);
      if (failure !== undefined) counters.failures.inc({ operation, code: failure });
    },
    examined: ({ unreferenced, deleted, missing }) => {
      gauges ??= examinedMetrics(registry);
      gauges.count.set(unreferenced.count - (deleted?.count ?? 0));
      gauges.bytes.set(unreferenced.bytes - (deleted?.bytes ?? 0));
      gauges.missing.set(missing);
      gauges.at.set(Date.now() / 1000);
    },
    watch: ({ store, rows }) => {
      new Gauge({
        name: 'service_image_store_down',
        help: '1 while the image store is known to be down, else 0',
        registers,
        collect() {
          this.set(store.isDown ? 1 : 0);
        },
      });
      new Gauge({
        name: 'service_images_freed',
        help: 'Objects of the image store that no note refers to any more and that are still to be removed',
        registers,
        async collect() {
          // If the database fails, the last number stays.
          const count = await rows.countFreed().catch(() => undefined);
          if (count !== undefined) this.set(count);
        },
      });
    },
  };
}

function askedMetrics(registry: Registry) {
  const registers = [registry];
  return {
    seconds: new Histogram({
      name: 'service_image_store_duration_seconds',
      help: 'How long the image store took, or failed, with further attempts; of a read until its first bytes',
      labelNames: ['operation'],
      buckets: SECONDS,
      registers,
    }),
    failures: new Counter({
      name: 'service_image_store_failures_total',
      help: 'Failed image store operations, by refusal code',
      labelNames: ['operation', 'code'],
      registers,
    }),
  };
}

function examinedMetrics(registry: Registry) {
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers: [registry] });
  return {
    count: gauge(
      'service_images_unreferenced',
      'Objects that no note refers to, as the last look at all of them left it',
    ),
    bytes: gauge('service_images_unreferenced_bytes', 'Their bytes'),
    missing: gauge(
      'service_images_missing',
      'Pictures whose object is not there, as of the last look at all of them',
    ),
    at: gauge('service_images_checked_timestamp_seconds', 'When the last look at all objects ended'),
  };
}
