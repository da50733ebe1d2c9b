import { type FeedName, isFeedName } from '../feeds/names.ts';
import type { NoteType } from '../feeds/note-types.ts';
import type { Outcome } from '../http/exchange.ts';
import type { Identified } from '../http/request-id.ts';
import type { Log } from './log.ts';

export type { Identified };

/** What every log line of a request has: its id, and the ids of its trace if it is part of one. */
export function requestFields({ requestId, trace }: Identified) {
  return { request: requestId, ...trace };
}

/** A durable change by a request, with what the log may say of a note: its type and the bytes stored or deleted. */
type Event = { readonly feed: FeedName } & (
  | { readonly name: 'feed created' | 'feed deleted' | 'license attached' | 'license detached' }
  | {
      readonly name: 'note posted' | 'note edited' | 'note deleted';
      readonly kind: NoteType;
      readonly size: number;
    }
  | { readonly name: 'notes imported'; readonly count: number }
);

export type RecordEvent = (event: Event, request: Identified) => void;

export function eventLog(log: Pick<Log, 'info'>): RecordEvent {
  return (event, request) => {
    const note = 'kind' in event ? { kind: event.kind, size: event.size } : {};
    const count = 'count' in event ? { count: event.count } : {};
    log.info(event.name, { ...requestFields(request), feed: event.feed, ...note, ...count });
  };
}

/** Who asked for a change that the operator is accountable for. */
type Accountable = Identified & { readonly client: string };

/**
 * Logs what the operator changed: the only lines that have the address of a client, because they say who did it.
 * @param feed that it is about, if it is about one
 */
export type RecordAudit = (what: string, by: Accountable, feed?: FeedName) => void;

export function auditLog(log: Pick<Log, 'info'>): RecordAudit {
  return (what, by, feed) =>
    log.info('operator', { audit: true, what, ...requestFields(by), feed, client: by.client });
}

type OutcomeLog = Pick<Log, 'info' | 'error'>;
const KNOWN_METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/**
 * Logs one line per request, with the id of its other lines. It has the pattern of the route, not the path, because that
 * holds a feed's name or read id, and not the client's address. A request by a read id does not say which feed it reads,
 * because an answer from the cache does not know.
 */
export function requestLog(log: OutcomeLog): (outcome: Outcome) => void {
  return ({ request, operation, method, status, ms, bytes, code, error }) =>
    logOutcome(log, 'request', error, {
      ...requestFields(request),
      method: KNOWN_METHODS.has(method) ? method : 'other',
      route: operation?.path ?? 'none',
      feed: operation?.path.includes('{feed}') ? validName(request.parameters[0]) : undefined,
      status,
      ms: rounded(ms),
      bytes,
      code,
    });
}

/** The end of a call of an assistant's tool. */
export interface ToolOutcome extends Identified {
  readonly tool: string;
  /** As the assistant sent it; undefined if it cannot be read. */
  readonly feed: string | undefined;
  readonly ms: number;
  /** The refusal's code. */
  readonly code: string | undefined;
  /** Cause of an internal error. */
  readonly error: unknown;
}

/**
 * Logs one line per call, besides that of its request.
 * @param isEach false to log internal errors only
 */
export function toolLog(log: OutcomeLog, isEach: boolean): (outcome: ToolOutcome) => void {
  return ({ tool, feed, ms, code, error, ...request }) => {
    if (error === undefined && !isEach) return;
    const fields = { ...requestFields(request), tool, feed: validName(feed), ms: rounded(ms), code };
    logOutcome(log, 'tool', error, fields);
  };
}

function validName(feed: string | undefined): FeedName | undefined {
  return feed !== undefined && isFeedName(feed) ? feed : undefined;
}

function logOutcome(log: OutcomeLog, what: string, err: unknown, fields: Record<string, unknown>): void {
  if (err === undefined) log.info(what, fields);
  else log.error(what, { ...fields, err });
}

/** To microseconds. */
function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
