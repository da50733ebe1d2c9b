import { collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import type { Outcome } from '../http/transaction.ts';
import type { CommitObserver } from '../storage/commit-observer.ts';
import { type ImageMetrics, imageMetrics } from './image-metrics.ts';
import { requestMetrics } from './request-metrics.ts';
import type { ToolOutcome } from './tool-outcome.ts';
import { type WatchedParts, watchParts } from './watched-metrics.ts';

/** What Prometheus is told. The members that take numbers are handed to the parts that have them. */
export interface Metrics {
  /** Takes the end of a request, from the front end. */
  readonly request: (outcome: Outcome) => void;
  /** Takes the end of a worker's task, from the pools. */
  readonly task: (work: string, ms: number) => void;
  readonly commits: CommitObserver;
  readonly images: ImageMetrics;
  /** Takes the end of a call of an assistant's tool. */
  readonly tool: (outcome: ToolOutcome) => void;
  /** Has these parts asked at every scrape. To be called once. */
  watch(parts: WatchedParts): void;
  /** Media type of `metricsAnswer`. */
  readonly contentType: string;
  /** All metrics as of now, in Prometheus' text format. */
  metricsAnswer(): Promise<string>;
}

/** From one slice of a thread to the longest that a task may take, in seconds. */
const TASK_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** From a disk with a cache of its own to one that is overloaded, in seconds. */
const COMMIT_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];
const COMMIT_WRITES = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/**
 * Begins to count, in a registry of its own; the process and its event loop are watched from then on. An instance
 * without metrics does not call this, nor load this file.
 */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const tasks = new Histogram({
    name: 'service_task_duration_seconds',
    help: 'How long tasks ran on worker threads, without waiting, by what was done',
    labelNames: ['task'],
    buckets: TASK_SECONDS,
    registers,
  });
  const commits = new Histogram({
    name: 'service_storage_commit_duration_seconds',
    help: 'How long writes took to become durable or fail, with waiting',
    buckets: COMMIT_SECONDS,
    registers,
  });
  const batches = new Histogram({
    name: 'service_storage_commit_writes',
    help: 'How many writes one commit (of files: one sync of a folder) made durable',
    buckets: COMMIT_WRITES,
    registers,
  });
  const tools = new Histogram({
    name: 'service_tool_duration_seconds',
    help: "How long calls of assistants' tools took, by the tool and what became of it: ok, or the code of a refusal",
    labelNames: ['tool', 'outcome'],
    buckets: TASK_SECONDS,
    registers,
  });
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
