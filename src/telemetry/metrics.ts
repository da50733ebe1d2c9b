import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import type { Outcome } from '../http/transaction.ts';
import type { CommitObserver } from '../storage/commit-observer.ts';
import { type ImageMetrics, imageMetrics } from './image-metrics.ts';
import type { ToolOutcome } from './tool-outcome.ts';
import { type WatchedParts, watchParts } from './watched-metrics.ts';

/** The metrics for Prometheus. */
export interface Metrics {
  /** Call it at the end of a request. */
  readonly request: (outcome: Outcome) => void;
  /** Call it at the end of a worker's task. */
  readonly task: (work: string, ms: number) => void;
  readonly commits: CommitObserver;
  readonly images: ImageMetrics;
  /** Call it at the end of a call of an assistant's tool. */
  readonly tool: (outcome: ToolOutcome) => void;
  /** Reads these parts at every scrape. Call it once. */
  watch(parts: WatchedParts): void;
  /** Media type of `metricsAnswer`. */
  readonly contentType: string;
  /** All metrics in Prometheus' text format. */
  metricsAnswer(): Promise<string>;
}

/** From a cached answer to one that waited for every limit, in seconds. */
const REQUEST_SECONDS = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
/** From a short task to the longest limit, in seconds. */
const TASK_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** From a disk with a write cache to an overloaded one, in seconds. */
const COMMIT_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];
const COMMIT_WRITES = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/**
 * Starts to count, also in the process and its event loop, in a registry of its own. An instance without metrics does not
 * load this file.
 */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const { tasks, commits, batches, tools } = histograms([registry]);
  return {
    request: requestMetrics(registry),
    task: (task, ms) => tasks.observe({ task }, ms / 1000),
    commits: {
      wrote: (ms) => commits.observe(ms / 1000),
      committed: (writes) => batches.observe(writes),
    },
    images: imageMetrics(registry),
    tool: ({ tool, code = 'ok', ms }) => tools.observe({ tool, outcome: code }, ms / 1000),
    watch: (parts) => watchParts(registry, parts),
    contentType: registry.contentType,
    metricsAnswer: () => registry.metrics(),
  };
}

function histograms(registers: Registry[]) {
  return {
    tasks: new Histogram({
      name: 'service_task_duration_seconds',
      help: 'How long tasks ran on worker threads, without waiting, by what was done',
      labelNames: ['task'],
      buckets: TASK_SECONDS,
      registers,
    }),
    commits: new Histogram({
      name: 'service_storage_commit_duration_seconds',
      help: 'How long writes took to become durable or fail, with waiting',
      buckets: COMMIT_SECONDS,
      registers,
    }),
    batches: new Histogram({
      name: 'service_storage_commit_writes',
      help: 'How many writes one commit (of files: one sync of a folder) made durable',
      buckets: COMMIT_WRITES,
      registers,
    }),
    tools: new Histogram({
      name: 'service_tool_duration_seconds',
      help: "How long calls of assistants' tools took, by the tool and what became of it: ok, or the code of a refusal",
      labelNames: ['tool', 'outcome'],
      buckets: TASK_SECONDS,
      registers,
    }),
  };
}

/**
 * Counts requests. Clients cannot make up labels: they are operation ids of the route table, status classes and codes of
 * refusals. A live answer, which takes hours, is counted by the gauge of open streams.
 */
function requestMetrics(registry: Registry): (outcome: Outcome) => void {
  const registers = [registry];
  const durations = new Histogram({
    name: 'service_http_request_duration_seconds',
    help: 'From the request to the last byte of its answer handed to the system',
    labelNames: ['operation', 'status'],
    buckets: REQUEST_SECONDS,
    registers,
  });
  const received = new Counter({
    name: 'service_http_request_bytes_total',
    help: 'Bytes of request bodies that arrived',
    labelNames: ['operation'],
    registers,
  });
  const sent = new Counter({
    name: 'service_http_response_bytes_total',
    help: 'Response body bytes; aborted and chunked responses are not counted',
    labelNames: ['operation'],
    registers,
  });
  const refusals = new Counter({
    name: 'service_refusals_total',
    help: 'Requests answered with an error, by its code',
    labelNames: ['code'],
    registers,
  });
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
