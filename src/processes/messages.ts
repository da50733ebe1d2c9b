import type { ProcessMetrics } from '../telemetry/process-metrics.ts';

/** What a process says to its supervisor. */
export type Report =
  /** It takes requests. */
  | { readonly is: 'ready'; readonly url: string }
  /** It cannot start; a sentence. */
  | { readonly is: 'failed'; readonly why: string }
  /** It wants the counts of all processes. */
  | { readonly is: 'asking'; readonly id: number }
  /** Its own counts: for the question of that id, or the last ones before its end. */
  | { readonly is: 'counts'; readonly id?: number; readonly counts: ProcessMetrics };

/** What a supervisor says to a process. */
export type Order =
  /** Finish what runs, and end. */
  | { readonly is: 'stop' }
  /** The same, after the clients have closed their connections: other processes share the port. */
  | { readonly is: 'drain' }
  /** Send your counts. */
  | { readonly is: 'count'; readonly id: number }
  /** The answer to a question. */
  | { readonly is: 'all'; readonly id: number; readonly all: readonly ProcessMetrics[] };

/** The variable that tells a process that a supervisor has started it. */
export const SUPERVISED = 'NOTE_FEED_SUPERVISED';
