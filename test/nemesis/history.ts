/** When something happened and where; times of `performance`, ms. */
interface Span {
  /** Number of the container. */
  readonly container: number;
  readonly invokedAt: number;
  /** When the answer was there or given up. */
  readonly completedAt: number;
  /** Of the answer; 0 without one. */
  readonly status: number;
  /** Of a refusal. */
  readonly code?: string | undefined;
}

/** What is known of a write afterwards: a 503 says nothing, because the answer of the database may have been lost. */
export type Outcome = 'ok' | 'refused' | 'unknown';

/** Kinds of note, which have limits of their own. */
export type Medium = 'text' | 'picture';

/** Its value is no other write's. */
export interface Write extends Span {
  readonly kind: 'post' | 'edit' | 'deletion';
  readonly feed: string;
  /** The note's id; of a post, as it was answered. */
  readonly note?: string | undefined;
  /** Not of a deletion. Attempts of one post share it. */
  readonly value?: string;
  /** Not of a deletion. */
  readonly medium?: Medium;
  /** The value whose version the edit was to replace. */
  readonly replaces?: string | undefined;
  readonly outcome: Outcome;
}

export interface Read extends Span {
  readonly kind: 'read';
  readonly feed: string;
  /** What was read: two views may be of different times. */
  readonly view: string;
  /** How often the container had been started before: what it showed before a restart binds it no longer. */
  readonly start: number;
  /** By the ids of notes; null is a note that is not there. */
  readonly values: ReadonlyMap<string, string | null>;
  /** Whether no other notes are there. */
  readonly isWhole: boolean;
}

export type Operation = Write | Read;

/** From when until when a fault, or what it left, could keep a container from hearing of changes. */
export interface CutOff {
  readonly container: number;
  readonly from: number;
  readonly until: number;
}

/** Everything that clients did and were answered. */
export class History {
  readonly operations: Operation[] = [];
  readonly cutOffs: CutOff[] = [];

  add<T extends Operation>(operation: T): T {
    this.operations.push(operation);
    return operation;
  }
}

/** What an answer says of a write. */
export function outcomeOf(status: number): Outcome {
  if (status >= 200 && status < 300) return 'ok';
  return (status >= 400 && status < 500) || status === 507 ? 'refused' : 'unknown';
}

/** An operation as a line for people. */
export function lineOf(operation: Operation, note?: string): string {
  const { kind, feed, container, invokedAt, completedAt, status, code = '' } = operation;
  const times = `${Math.round(invokedAt)}-${Math.round(completedAt)}`;
  const where = `container ${container}, ${feed}`;
  if (kind === 'read') {
    const shown = note === undefined ? `${operation.values.size} notes` : operation.values.get(note);
    return `${times} ${where}: ${operation.view} shows ${shown ?? 'nothing'} (${status})`;
  }
  const { value = '', replaces, outcome } = operation;
  const base = replaces === undefined ? '' : ` in place of ${replaces}`;
  return `${times} ${where}: ${kind} ${value}${base} of ${operation.note ?? '?'} is ${outcome} (${status} ${code})`;
}
