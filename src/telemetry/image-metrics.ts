import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** What a look at all objects of the image store came to. */
interface Examined {
  readonly unreferenced: { readonly count: number; readonly bytes: number };
  readonly deleted: { readonly count: number; readonly bytes: number } | undefined;
  readonly missing: number;
}

/** The image store while it is asked, and its state at every scrape. */
export interface ImageMetrics {
  /** Takes the end of everything that the store is asked. */
  readonly asked: (operation: string, ms: number, failure: string | undefined) => void;
  /** Takes every look at all objects. */
  readonly examined: (result: Examined) => void;
  /** Has these asked at every scrape. To be called once, where there is a store. */
  watch(parts: WatchedImages): void;
}

export interface WatchedImages {
  readonly store: { readonly isDown: boolean };
  readonly rows: { countFreed(): Promise<number> };
}

/** From a folder on a fast disk to a store that is given up, in seconds. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Makes the metrics of the image store; none of them is there before there is something to tell. */
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
          // Without the database the last number stays.
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
      help: 'What the image store was asked for in vain, by how the client is told',
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
