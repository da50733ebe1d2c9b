import { AggregatorRegistry, type Registry } from 'prom-client';

/** A metric as prom-client gives it; its own declaration has another `type`. */
interface MetricWithValues {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram' | 'summary';
  /** How the values of several processes become one. */
  readonly aggregator: string;
  readonly values: readonly {
    readonly value: number;
    readonly labels: object;
    readonly metricName?: string;
  }[];
}

/** All metrics of one process at one moment. */
export type ProcessMetrics = readonly MetricWithValues[];

/** The processes that share a port, as one of them knows them. */
export interface ProcessGroup {
  /** Sets the function that gives the metrics of this process. */
  countWith(count: () => Promise<ProcessMetrics>): void;
  /** The metrics of all processes, and the sums of those that have ended. */
  countAll(): Promise<readonly ProcessMetrics[]>;
}

/** The results of the last look at all objects of the image store, which one process takes for all. */
const SCAN = /^service_images_(unreferenced|unreferenced_bytes|missing|checked_timestamp_seconds)$/;
const SCANNED_AT = 'service_images_checked_timestamp_seconds';
const LINES_LOST = 'service_log_lines_lost_total';

export async function metricsOf(registry: Registry): Promise<ProcessMetrics> {
  return (await registry.getMetricsAsJSON()) as unknown as ProcessMetrics;
}

/** The metrics of all processes as those of one service, in Prometheus' text format. */
export function summedMetrics(all: readonly ProcessMetrics[]): Promise<string> {
  const newest = all.toSorted((a, b) => scannedAt(b) - scannedAt(a))[0];
  const counted = all.map((metrics) =>
    metrics
      .filter(({ name }) => metrics === newest || !SCAN.test(name))
      .map((metric) => (isOwn(metric) ? metric : { ...metric, aggregator: 'first' })),
  );
  return AggregatorRegistry.aggregate(counted).metrics();
}

/** The sums of what processes that have ended counted, because a counter of all must not fall. */
export function totalsOf(ended: readonly ProcessMetrics[]): ProcessMetrics {
  const lasting = ended.map((metrics) =>
    metrics.filter((metric) => isOwn(metric) && (metric.type === 'counter' || metric.type === 'histogram')),
  );
  const sums = AggregatorRegistry.aggregate(lasting).getMetricsAsArray() as unknown as ProcessMetrics;
  return sums.map(({ name, help, type, aggregator, values }) => ({ name, help, type, aggregator, values }));
}

/** The lines that the supervisor has dropped, as metrics of a process. */
export function linesLostBy(count: number): ProcessMetrics {
  const values = [{ value: count, labels: {} }];
  return [{ name: LINES_LOST, help: '', type: 'counter', aggregator: 'sum', values }];
}

/** A metric of ours; one of Node's or the system's has the process as a label. */
function isOwn({ name }: MetricWithValues): boolean {
  return name.startsWith('service_');
}

function scannedAt(metrics: ProcessMetrics): number {
  return metrics.find(({ name }) => name === SCANNED_AT)?.values[0]?.value ?? 0;
}
