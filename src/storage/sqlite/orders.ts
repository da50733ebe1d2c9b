import type { Failure } from './failures.ts';

/** Sent to a thread in place of orders: it lets go of the database and ends. */
export const CLOSE = 'close';

/** A call of one of the methods that a thread serves. */
export interface Order {
  readonly id: number;
  readonly method: string;
  readonly args: readonly unknown[];
}

/** What the method returned, or how it failed. */
export type Answer = { readonly id: number } & (
  | { readonly result: unknown; readonly failure?: undefined }
  | { readonly result?: undefined; readonly failure: Failure }
);

/** What else a thread has to say when it answers. */
export interface News {
  /** How many writes each commit since the last answer was for. */
  readonly commits: readonly number[];
  /** The log is long enough to be copied into the database. */
  readonly wantsCheckpoint: boolean;
}

/** What a thread sends: first whether it has started, then answers. */
export type Told =
  | { readonly started: true }
  | { readonly refused: string }
  | { readonly answers: readonly Answer[]; readonly news?: News };
