import { randomFillSync } from 'node:crypto';

/** The position of a request in a distributed trace (W3C Trace Context): ids in lower-case hexadecimal. */
export interface Trace {
  /** Of the whole trace, 32 digits. */
  readonly trace: string;
  /** Of the caller's part of it, 16 digits. */
  readonly span: string;
}

/** What the log calls a request; leads to no feed or client. */
export interface Identified {
  readonly requestId: string;
  readonly trace?: Trace | undefined;
}

/** An `X-Request-Id` that can stand in a log line and a header as it is. */
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

export function isRequestId(text: string): boolean {
  return REQUEST_ID.test(text);
}

/** Version, trace, span and flags; more may follow in versions after 00 (W3C Trace Context §3.2, §4). */
const TRACEPARENT =
  /^(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(?:-|$)/;

/** The ids in a `traceparent`; undefined if it is not valid. */
export function traceOf(traceparent: string): Trace | undefined {
  const [, trace, span] = TRACEPARENT.exec(traceparent) ?? [];
  return trace === undefined || span === undefined ? undefined : { trace, span };
}

const ID_BYTES = 8;
/** Random bytes for many ids at once, because each call is expensive. */
const POOL = Buffer.alloc(512 * ID_BYTES);
let used = POOL.length;

/** 16 random hexadecimal digits. */
export function newRequestId(): string {
  if (used === POOL.length) {
    randomFillSync(POOL);
    used = 0;
  }
  used += ID_BYTES;
  return POOL.toString('hex', used - ID_BYTES, used);
}
