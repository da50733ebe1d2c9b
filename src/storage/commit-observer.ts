/** Receives how storage makes writes durable, for metrics. */
export interface CommitObserver {
  /** A write is durable, or has failed: ms since it was handed over, waiting included. */
  wrote(ms: number): void;
  /** One commit (on files: one sync of a folder) made this many writes durable. */
  committed(writes: number): void;
}
