import type { Refusal } from '../refusals.ts';
import { type Headers, headers } from './headers.ts';

export interface BodyStream {
  /** Bytes; without it the answer is chunked. */
  readonly size?: number;
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Frees what the stream holds. Called once, at the end of the request, whether the chunks were read or not. */
  close?(): void;
}

/** A body that is in memory as long as somebody else keeps it there, and can be read again. */
export interface KeptBody {
  /** Bytes. */
  readonly size: number;
  /** All of it, or undefined when it is not kept any more. */
  bytes(): Uint8Array | undefined;
  /** What follows the first `start` bytes, in pieces that are valid until the next is asked for. */
  from(start: number): AsyncIterable<Uint8Array>;
}

/** A body that stays open, perhaps for hours. A client that is behind gets only the newest event. */
export interface LiveBody {
  /** Meaningless bytes for a quiet stream. */
  readonly heartbeat: Uint8Array;
  /** Called when the headers are written, not for a HEAD. Must send at once, because that sends the headers too. */
  open(stream: LiveStream): LiveSource;
}

/** What a live body is sent through. */
export interface LiveStream {
  readonly isClosed: boolean;
  /** The client has taken what was sent. */
  readonly isReady: boolean;
  /** Sends an event. It replaces events that still wait for the client. Keeps the given bytes, not a copy: do not change them. */
  send(event: Uint8Array): void;
  end(): void;
}

/** The sender of a live body. */
export interface LiveSource {
  /** The stream ended: by itself, the client or the server. */
  closed(): void;
  /** The client has taken what was sent, and had not before. */
  drained?(): void;
}

/** Bytes of a body; undefined if unknown in advance. */
export function bodySize(body: NonNullable<Answer['body']>): number | undefined {
  if (body instanceof Uint8Array) return body.length;
  return 'open' in body ? undefined : body.size;
}

/** The result of a handler; only the front end writes it to the socket. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body?: Uint8Array | KeptBody | BodyStream | LiveBody | undefined;
  readonly code?: string;
}

export const NOSNIFF = { 'X-Content-Type-Options': 'nosniff' };
const encoder = new TextEncoder();

/** JSON as bodies have it. Without the line end, a terminal shows its next prompt behind it, and `read` of a shell fails. */
export function jsonLine(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}

/** A JSON answer that no cache keeps. */
export function json(status: number, value: unknown, extra: Readonly<Record<string, string>> = {}): Answer {
  return {
    status,
    headers: headers({
      'Content-Type': 'application/json',
      'Cache-Control': 'private, no-store',
      ...NOSNIFF,
      ...extra,
    }),
    body: encoder.encode(jsonLine(value)),
  };
}

/**
 * An answer that stays open and sends events.
 * @param format server-sent events (HTML), or a JSON object on each line
 * @param isPublic whether others than the client may see what it says
 */
export function liveAnswer(body: LiveBody, format: 'events' | 'lines', isPublic: boolean): Answer {
  const fields = {
    'Content-Type': format === 'events' ? 'text/event-stream' : 'application/x-ndjson',
    // nginx would wait until it has more.
    'X-Accel-Buffering': 'no',
    ...NOSNIFF,
    'Cache-Control': isPublic ? 'no-store' : 'private, no-store',
  };
  return { status: 200, headers: headers(fields), body };
}

export const NO_CONTENT: Answer = {
  status: 204,
  headers: headers({ 'Cache-Control': 'private, no-store' }),
};

/** The answer to a refused request (contract §5). */
export function refusalAnswer(refusal: Refusal): Answer {
  const { status, code, message } = refusal;
  const challenge = status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {};
  const answer = json(status, { error: message, code }, { ...challenge, ...refusal.headers });
  return { ...answer, code };
}
