import { Refusal } from '../refusals.ts';
import {
  type BodyMemory,
  EarlyBytes,
  type Holder,
  type Reservation,
  STREAM_MEMORY_BYTES,
} from './body-memory.ts';
import { type BufferPool, copyBytes } from './buffers.ts';
import type { HttpResponse } from './uws.ts';

/** Takes a piece of a body, valid only during the call. */
export type Sink = (chunk: Uint8Array) => void;

/** The client went away, so nobody gets the answer. */
export class ClientGone extends Error {
  constructor() {
    super('the client closed the connection');
    this.name = 'ClientGone';
  }
}

/**
 * Limits of reading and discarding the rest of a body after its answer: closing a socket with unread input sends a RST, which
 * discards the answer. Enough for the biggest form. It is over, too, when nothing has come for a while.
 */
const LINGER_BYTES = 64 * 1024 * 1024;
export const LINGER_MS = 5_000;
const QUIET_MS = 200;

/**
 * The most pieces of a body in one turn of the event loop: a text in chunks of 10 bytes has as many. The binding hands over all
 * that it has read, and calls for each chunk.
 */
const MAX_PIECES = 10_000;

/** Shared by all uploads. */
export interface UploadContext {
  readonly memory: BodyMemory;
  readonly buffers: BufferPool;
  /** The slowest average speed over `windowMs`. It is judged after `graceMs` if others need the memory. */
  readonly pace: { readonly windowMs: number; readonly graceMs: number; readonly bytesPerSecond: number };
}

/** How many bytes of a streamed body may wait for their reader before the client has to. */
const STREAM_BYTES = STREAM_MEMORY_BYTES / 2;

type State = 'unread' | 'waiting' | 'receiving' | 'discarding' | 'complete';

/**
 * The arriving body of a request. The socket is paused until a handler asks for the body and gets memory; bytes that the
 * socket still delivers are kept aside, within a bound.
 */
export class Upload implements Holder {
  /** `Content-Length`, or undefined for a chunked body. */
  readonly declared: number | undefined;
  received = 0;
  /** The whole body has arrived. */
  ended = false;
  readonly #res: HttpResponse;
  readonly #client: string;
  readonly #context: UploadContext;
  #state: State = 'unread';
  #paused = false;
  #early: EarlyBytes | undefined;
  #reservation: Reservation | undefined;
  #buffer: SharedArrayBuffer | undefined;
  #sink: Sink = () => {};
  #settle: { resolve: () => void; reject: (cause: unknown) => void } | undefined;
  #failure: unknown;
  #onEnded: (() => void) | undefined;
  #windowStart = performance.now();
  #windowBytes = 0;
  /** In this turn of the event loop. */
  #pieces = 0;

  constructor(res: HttpResponse, declared: number | undefined, client: string, context: UploadContext) {
    this.declared = declared;
    this.#res = res;
    this.#client = client;
    this.#context = context;
    res.onData((chunk, isLast) => this.#onData(chunk, isLast));
  }

  /** Bytes still to come; undefined for a chunked body that has not ended. */
  get remaining(): number | undefined {
    if (this.ended) return 0;
    return this.declared === undefined ? undefined : this.declared - this.received;
  }

  /** See `Exchange.body`. */
  async collect(limit: number, onPiece?: Sink): Promise<Uint8Array> {
    const capacity = this.declared ?? limit;
    if (capacity > limit) throw tooLarge(limit);
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#state !== 'unread') throw new Error('the body is read twice');
    const { memory, buffers } = this.#context;
    this.#reservation =
      memory.tryReserve(this.#client, capacity, this) ?? (await this.#waitForMemory(capacity, this));
    this.#buffer = buffers.take(capacity);
    const bytes = new Uint8Array(this.#buffer);
    let size = 0;
    await this.#receive((chunk) => {
      const start = size;
      size += chunk.length;
      if (size > limit) throw tooLarge(limit);
      copyBytes(chunk, bytes, start);
      onPiece?.(bytes.subarray(start, size));
    });
    return bytes.subarray(0, size);
  }

  /** See `Exchange.pieces`. */
  async *stream(limit: number): AsyncGenerator<Uint8Array> {
    if ((this.declared ?? 0) > limit) throw tooLarge(limit);
    if (this.#failure !== undefined) throw this.#failure;
    const memory = STREAM_MEMORY_BYTES;
    this.#reservation =
      this.#context.memory.tryReserve(this.#client, memory) ?? (await this.#waitForMemory(memory));
    // One is filled while the other is read.
    let [filling, other] = [new Uint8Array(STREAM_BYTES), new Uint8Array(STREAM_BYTES)];
    let [waiting, size, isComplete] = [0, 0, false];
    let wake = () => {};
    const sink = (chunk: Uint8Array) => {
      size += chunk.length;
      if (size > limit) throw tooLarge(limit);
      // A paused socket delivers what it has read already.
      if (waiting + chunk.length > filling.length) filling = larger(filling, waiting + chunk.length);
      filling.set(chunk, waiting);
      waiting += chunk.length;
      if (waiting >= STREAM_BYTES) this.#pause();
      wake();
    };
    this.#receive(sink).then(
      () => {
        isComplete = true;
        wake();
      },
      () => wake(),
    );
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure;
      if (waiting > 0) {
        const filled = filling.subarray(0, waiting);
        [filling, other, waiting] = [other, filling, 0];
        this.#resume();
        yield filled;
      } else if (isComplete) break;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
    this.#reservation.release();
  }

  /** Discards the rest of the body, and resumes the socket. */
  discard(): void {
    this.#early?.release();
    if (this.#state !== 'complete') this.#state = 'discarding';
    this.#resume();
  }

  /**
   * Calls back once: when the discarded body has ended, or when a limit is reached. Limits are checked now and then.
   * @param quietMs one of the limits: for so long nothing has come, ms
   */
  whenEnded(callback: () => void, quietMs = QUIET_MS): void {
    const [limit, end] = [this.received + LINGER_BYTES, performance.now() + LINGER_MS];
    const done = () => {
      this.#onEnded = undefined;
      callback();
    };
    const look = (before: number) => {
      if (this.#onEnded !== done) return;
      if (this.received === before || this.received > limit || performance.now() > end) done();
      else lookLater();
    };
    // Timers fire before I/O, so without `setImmediate` pending bytes would look like silence.
    const lookLater = (before = this.received) => setTimeout(() => setImmediate(look, before), quietMs);
    this.#onEnded = done;
    lookLater();
  }

  /**
   * Pauses the socket until a handler asks for the body. Waits for the next turn of the event loop, because bytes that are
   * read already still arrive in this one, and complete most bodies.
   */
  pauseUnlessReceiving(): void {
    setImmediate(() => {
      if (this.#state !== 'receiving' && this.#state !== 'discarding') this.#pause();
    });
  }

  /** Resets the idle timer of the binding, which closes connections after 10 s. */
  keepAlive(): void {
    if (this.#paused) {
      this.#res.resume();
      this.#res.pause();
    } else {
      this.#res.pause();
      this.#res.resume();
    }
  }

  /** Refuses a body that is too slow. Call it about every second. */
  checkPace(now: number): void {
    if (this.#state !== 'receiving') return;
    const { windowMs, bytesPerSecond } = this.#context.pace;
    // Then it is the client that waits.
    if (this.#paused) [this.#windowStart, this.#windowBytes] = [now, 0];
    const elapsed = now - this.#windowStart;
    if (elapsed < windowMs) return;
    const isTooSlow = this.#windowBytes < (bytesPerSecond * elapsed) / 1000;
    this.#windowStart = now;
    this.#windowBytes = 0;
    if (isTooSlow) this.fail(new Refusal('timeout', 'The request body arrived too slowly.'));
  }

  pace(now: number): number {
    const elapsed = now - this.#windowStart;
    if (this.#state !== 'receiving' || elapsed < this.#context.pace.graceMs) return Number.POSITIVE_INFINITY;
    return (this.#windowBytes / elapsed) * 1000;
  }

  giveWay(): void {
    const sentence =
      'The request body arrived too slowly, and somebody else needs the memory. Try again later.';
    this.fail(new Refusal('timeout', sentence));
  }

  /** Stops reading the body, unless it is complete. Its reader gets the error. */
  fail(cause: unknown): void {
    if (this.#state === 'complete' || this.#failure !== undefined) return;
    this.#state = 'discarding';
    this.#failure = cause;
    this.#settle?.reject(cause);
    this.#early?.release();
  }

  /** Call it if the client went away. */
  abort(): void {
    this.fail(new ClientGone());
    this.#onEnded?.();
  }

  /** Frees the memory at the end of the request. */
  release(): void {
    this.#early?.release();
    this.#reservation?.release();
    this.#reservation = undefined;
    if (this.#buffer !== undefined) this.#context.buffers.give(this.#buffer);
    this.#buffer = undefined;
  }

  async #waitForMemory(size: number, holder?: Holder): Promise<Reservation> {
    this.#state = 'waiting';
    this.pauseUnlessReceiving();
    const reservation = await this.#context.memory.reserve(this.#client, size, holder);
    if (this.#failure === undefined) return reservation;
    reservation.release();
    throw this.#failure;
  }

  #receive(sink: Sink): Promise<void> {
    this.#sink = sink;
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.#state = 'receiving';
      this.#windowStart = performance.now();
      this.#windowBytes = 0;
      if (this.#early !== undefined) this.#feed(this.#early.bytes);
      this.#early?.release();
      if (this.ended) this.#completeAfterParsing();
      else this.#resume();
    });
  }

  #onData(chunk: ArrayBuffer, isLast: boolean): void {
    if (this.#pieces === 0) setImmediate(() => (this.#pieces = 0));
    this.#pieces += 1;
    if (this.#pieces > MAX_PIECES) {
      if (this.#state !== 'discarding') return void this.#res.close();
      // What waits for the end of the body goes on now.
      this.#onEnded?.();
    }
    this.received += chunk.byteLength;
    this.#windowBytes += chunk.byteLength;
    if (isLast) this.ended = true;
    if (this.#state === 'receiving') {
      this.#feed(new Uint8Array(chunk));
      if (isLast) this.#completeAfterParsing();
    } else if (this.#state === 'unread' || this.#state === 'waiting') {
      if (chunk.byteLength > 0) this.#keepEarly(chunk);
    } else if (isLast) this.#onEnded?.();
  }

  #keepEarly(chunk: ArrayBuffer): void {
    try {
      this.#early ??= new EarlyBytes(this.#context.memory, this.#client);
      this.#early.add(chunk);
    } catch (refusal) {
      this.fail(refusal);
    }
  }

  #feed(chunk: Uint8Array): void {
    if (this.#state !== 'receiving') return;
    try {
      this.#sink(chunk);
    } catch (cause) {
      this.fail(cause);
    }
  }

  #complete(): void {
    if (this.#state !== 'receiving') return;
    this.#state = 'complete';
    this.#settle?.resolve();
  }

  /**
   * Waits with a chunked body until the binding has parsed its buffer: it takes trailers for a request and closes the
   * connection, and a request that gets no answer must change nothing.
   */
  #completeAfterParsing(): void {
    if (this.declared === undefined) setImmediate(() => this.#complete());
    else this.#complete();
  }

  #pause(): void {
    if (this.ended || this.#paused) return;
    this.#paused = true;
    this.#res.pause();
  }

  #resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#res.resume();
  }
}

function larger(buffer: Uint8Array<ArrayBuffer>, size: number): Uint8Array<ArrayBuffer> {
  const grown = new Uint8Array(2 * size);
  grown.set(buffer);
  return grown;
}

function tooLarge(limit: number): Refusal {
  return new Refusal('too_large', `The body may have at most ${limit} bytes.`);
}
