import type { Outcome, TransactionHost } from './transaction.ts';
import type { HttpResponse } from './uws.ts';

/** A body that stays open, perhaps for hours. Only the newest of its events counts. */
export interface LiveBody {
  /** Meaningless bytes for a quiet stream. */
  readonly heartbeat: Uint8Array;
  /** Called when the headers are written, not for a HEAD. Must send at once, because that sends the headers too. */
  open(stream: LiveStream): LiveSource;
}

/** The sender of a live stream. */
export interface LiveSource {
  /** The stream ended: by itself, the client or the server. */
  closed(): void;
}

/** The part of the request that its log line needs. */
type LiveRequest = Outcome['request'] & Pick<Outcome, 'operation'> & { readonly startedAt: number };

/**
 * An answer that stays open. There may be thousands, so each keeps only what its log line needs, and the newest event that
 * the client has not taken.
 */
export class LiveStream {
  isClosed = false;
  /** The binding closes this connection when idle, because it was paused. */
  isTimed = false;
  readonly #request: LiveRequest;
  readonly #host: TransactionHost;
  readonly #res: HttpResponse;
  readonly #heartbeat: Uint8Array;
  #source: LiveSource | undefined;
  #sentAt = 0;
  /** When the socket stopped taking bytes, in `performance.now()` time. */
  #stuckAt: number | undefined;
  #watchesSocket = false;
  #next: Uint8Array | undefined;

  constructor(host: TransactionHost, res: HttpResponse, request: LiveRequest, heartbeat: Uint8Array) {
    this.#host = host;
    this.#res = res;
    this.#request = request;
    this.#heartbeat = heartbeat;
  }

  /** Starts the source. Call it once, in the call that wrote the headers. */
  open(body: LiveBody): void {
    this.#res.onAborted(() => this.#close());
    this.#host.onOpen(this);
    this.#source = body.open(this);
    if (this.isClosed) this.#source.closed();
    else if (this.#host.isStopping) this.end();
  }

  /** Sends an event, which replaces those that the client has not taken. Keeps the bytes without a copy. */
  send(event: Uint8Array): void {
    if (this.isClosed) return;
    if (this.#stuckAt === undefined) this.#write(event);
    else this.#next = event;
  }

  end(): void {
    if (this.isClosed) return;
    const { isStopping } = this.#host;
    this.#res.cork(() => {
      if (this.#next !== undefined) this.#res.write(this.#next);
      this.#res.end('', isStopping);
    });
    this.#close();
  }

  /** Sends heartbeats and closes stalled connections. Call it about every second. */
  tick(now: number): void {
    if (this.#stuckAt !== undefined && now - this.#stuckAt > this.#host.limits.stalledReader) {
      this.#res.close();
      return;
    }
    if (this.isTimed) {
      this.#res.pause();
      this.#res.resume();
    }
    const { heartbeat, tick } = this.#host.limits;
    // Less one tick, because this is only looked at once per tick.
    if (this.#stuckAt === undefined && now - this.#sentAt >= heartbeat - tick) this.#write(this.#heartbeat);
  }

  #write(bytes: Uint8Array): void {
    this.#sentAt = performance.now();
    let isTaken = true;
    this.#res.cork(() => {
      isTaken = this.#res.write(bytes);
    });
    if (isTaken) return;
    this.#stuckAt = this.#sentAt;
    this.isTimed = true;
    if (this.#watchesSocket) return;
    this.#watchesSocket = true;
    this.#res.onWritable(() => this.#resume());
  }

  /** The binding flushes the rest of an event only on the next write. */
  #resume(): boolean {
    if (this.isClosed || this.#stuckAt === undefined) return true;
    this.#stuckAt = undefined;
    const next = this.#next ?? this.#heartbeat;
    this.#next = undefined;
    this.#write(next);
    return true;
  }

  #close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#next = undefined;
    this.#host.onClose(this);
    this.#source?.closed();
    this.#source = undefined;
    const { operation, startedAt } = this.#request;
    this.#host.options.observe?.({
      request: this.#request,
      operation,
      method: 'GET',
      status: 200,
      ms: performance.now() - startedAt,
      received: 0,
      bytes: 0,
      code: undefined,
      error: undefined,
      isLive: true,
    });
  }
}
