import { copyBytes } from '../copy-bytes.ts';
import { Refusal } from '../refusals.ts';
import type { BodyMemory, Reservation } from './body-memory.ts';
import type { BufferPool } from './buffers.ts';
import { EarlyBytes } from './early-bytes.ts';
import type { HttpResponse } from './uws.ts';

/** Takes a piece of a body. The bytes are valid only during the call. */
export type Sink = (chunk: Uint8Array) => void;

/** How slow a body may be: `bytesPerSecond` on average over `windowMs`. */
export interface UploadPace {
  readonly windowMs: number;
  readonly bytesPerSecond: number;
}

/** Thrown into a handler whose client went away; nobody is left to answer. */
export class ClientGone extends Error {
  constructor() {
    super('the client closed the connection');
    this.name = 'ClientGone';
  }
}

/** How long, and for how much, the end of a discarded body is waited for. */
export interface Patience {
  readonly bytes: number;
  readonly ms: number;
  readonly quietMs?: number;
}

/** What an upload shares with all others. */
export interface UploadContext {
  readonly memory: BodyMemory;
  readonly buffers: BufferPool;
  readonly pace: UploadPace;
}

type State = 'unread' | 'waiting' | 'receiving' | 'discarding' | 'complete';

/**
 * The body of one request while it arrives. Until a handler asks for it, and while it waits for memory, the
 * socket is paused; what the socket delivers all the same is kept aside, within a bound.
 */
export class Upload {
  /** `Content-Length`, or undefined for a chunked body. */
  readonly declared: number | undefined;
  readonly #res: HttpResponse;
  readonly #client: string;
  readonly #context: UploadContext;
  #state: State = 'unread';
  #ended = false;
  #paused = false;
  #received = 0;
  /** What came before the body was asked for, if anything did. */
  #early: EarlyBytes | undefined;
  #reservation: Reservation | undefined;
  #buffer: SharedArrayBuffer | undefined;
  #sink: Sink = () => {};
  #settle: { resolve: () => void; reject: (cause: unknown) => void } | undefined;
  #failure: unknown;
  #passLimit = 0;
  #onPassed: (() => void) | undefined;
  #windowStart = performance.now();
  #windowBytes = 0;

  constructor(res: HttpResponse, declared: number | undefined, client: string, context: UploadContext) {
    this.declared = declared;
    this.#res = res;
    this.#client = client;
    this.#context = context;
    res.onData((chunk, isLast) => this.#onData(chunk, isLast));
  }

  /** Bytes that arrived so far. */
  get received(): number {
    return this.#received;
  }

  /** The whole body has arrived. */
  get ended(): boolean {
    return this.#ended;
  }

  /** How much is still to come, at most; undefined for a chunked body that has not ended. */
  get remaining(): number | undefined {
    if (this.#ended) return 0;
    return this.declared === undefined ? undefined : this.declared - this.#received;
  }

  /**
   * The whole body in one buffer of shared memory, which is reused once the request is over.
   * @param limit the most bytes the body may have
   * @param onPiece takes each piece as it arrives, as a view of that buffer
   * @throws Refusal `too_large`, `busy`, `timeout`; ClientGone
   */
  async collect(limit: number, onPiece?: Sink): Promise<Uint8Array> {
    const reserved = this.#admit(limit);
    if (reserved !== undefined) await reserved;
    this.#buffer = this.#context.buffers.take(this.declared ?? limit);
    const bytes = new Uint8Array(this.#buffer);
    let size = 0;
    await this.#run(limit, (chunk) => {
      const start = size;
      size += chunk.length;
      copyBytes(chunk, bytes, start);
      onPiece?.(bytes.subarray(start, size));
    });
    return bytes.subarray(0, size);
  }

  /** Lets what is left of the body, if anything, pass unread. Without it a paused socket stays so. */
  discard(): void {
    this.#early?.release();
    if (this.#state !== 'complete') this.#state = 'discarding';
    this.#resume();
  }

  /**
   * Calls back once when the discarded body has ended, or `bytes` more of it have passed, or after `ms`; with `quietMs`
   * also when nothing of it has come for that long.
   */
  whenEnded({ bytes, ms, quietMs }: Patience, callback: () => void): void {
    const timer = setTimeout(() => this.#onPassed?.(), ms);
    this.#passLimit = this.#received + bytes;
    const passed = () => {
      clearTimeout(timer);
      this.#onPassed = undefined;
      callback();
    };
    this.#onPassed = passed;
    if (quietMs !== undefined) this.#watchForQuiet(quietMs, passed);
  }

  /**
   * Stops reading until somebody asks for the body. What the socket has read comes in this turn of the event loop all the
   * same, and most bodies come with it whole: then nothing is left to stop.
   */
  pauseUnlessReceiving(): void {
    setImmediate(() => {
      if (this.#ended || this.#paused || this.#state === 'receiving' || this.#state === 'discarding') return;
      this.#paused = true;
      this.#res.pause();
    });
  }

  /** Tells the binding that this connection is in use; it closes one that is idle for 10 seconds. */
  keepAlive(): void {
    if (this.#paused) {
      this.#res.resume();
      this.#res.pause();
    } else {
      this.#res.pause();
      this.#res.resume();
    }
  }

  /** Refuses a body that has become too slow. To be called about every second. */
  checkPace(now: number): void {
    if (this.#state !== 'receiving') return;
    const { windowMs, bytesPerSecond } = this.#context.pace;
    const elapsed = now - this.#windowStart;
    if (elapsed < windowMs) return;
    const isTooSlow = this.#windowBytes < (bytesPerSecond * elapsed) / 1000;
    this.#windowStart = now;
    this.#windowBytes = 0;
    if (isTooSlow) this.#fail(new Refusal('timeout', 'The request body arrived too slowly.'));
  }

  /** The client went away. */
  abort(): void {
    this.#fail(new ClientGone());
    this.#onPassed?.();
  }

  /** The request is over: its memory may serve the next one. */
  release(): void {
    this.#early?.release();
    this.#reservation?.release();
    this.#reservation = undefined;
    if (this.#buffer !== undefined) this.#context.buffers.give(this.#buffer);
    this.#buffer = undefined;
  }

  #watchForQuiet(ms: number, onQuiet: () => void): void {
    const before = this.#received;
    // Looked at only after the sockets: what came while the loop was busy is not read yet when the timer is due.
    const look = () => {
      if (this.#onPassed !== onQuiet) return;
      if (this.#received === before) onQuiet();
      else this.#watchForQuiet(ms, onQuiet);
    };
    setTimeout(() => setImmediate(look), ms);
  }

  /** Reserves the memory of the body; a promise where it has to wait. */
  #admit(limit: number): Promise<void> | undefined {
    const size = this.declared ?? limit;
    if (size > limit) throw tooLarge(limit);
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#state !== 'unread') throw new Error('the body is read twice');
    this.#reservation = this.#context.memory.tryReserve(this.#client, size);
    if (this.#reservation !== undefined) return undefined;
    this.#state = 'waiting';
    this.pauseUnlessReceiving();
    return this.#wait(size);
  }

  async #wait(size: number): Promise<void> {
    const reservation = await this.#context.memory.reserve(this.#client, size);
    if (this.#failure === undefined) this.#reservation = reservation;
    else {
      reservation.release();
      throw this.#failure;
    }
  }

  #run(limit: number, sink: Sink): Promise<void> {
    let size = 0;
    this.#sink = (chunk) => {
      size += chunk.length;
      if (size > limit) throw tooLarge(limit);
      sink(chunk);
    };
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.#state = 'receiving';
      this.#windowStart = performance.now();
      this.#windowBytes = 0;
      if (this.#early !== undefined) this.#feed(this.#early.bytes);
      this.#early?.release();
      if (this.#ended) this.#complete();
      else this.#resume();
    });
  }

  #onData(chunk: ArrayBuffer, isLast: boolean): void {
    this.#received += chunk.byteLength;
    this.#windowBytes += chunk.byteLength;
    if (isLast) this.#ended = true;
    if (this.#state === 'receiving') {
      this.#feed(new Uint8Array(chunk));
      if (isLast) this.#complete();
    } else if (this.#state === 'unread' || this.#state === 'waiting') {
      if (chunk.byteLength > 0) this.#keepEarly(chunk);
    } else if (isLast || this.#received > this.#passLimit) this.#onPassed?.();
  }

  #keepEarly(chunk: ArrayBuffer): void {
    try {
      this.#early ??= new EarlyBytes(this.#context.memory, this.#client);
      this.#early.add(chunk);
    } catch (refusal) {
      this.#fail(refusal);
    }
  }

  #feed(chunk: Uint8Array): void {
    if (this.#state !== 'receiving') return;
    try {
      this.#sink(chunk);
    } catch (cause) {
      this.#fail(cause);
    }
  }

  #complete(): void {
    if (this.#state !== 'receiving') return;
    this.#state = 'complete';
    this.#settle?.resolve();
  }

  #fail(cause: unknown): void {
    if (this.#state === 'complete' || this.#failure !== undefined) return;
    this.#state = 'discarding';
    this.#failure = cause;
    this.#settle?.reject(cause);
    this.#early?.release();
  }

  #resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#res.resume();
  }
}

function tooLarge(limit: number): Refusal {
  return new Refusal('too_large', `The body may have at most ${limit} bytes.`);
}
