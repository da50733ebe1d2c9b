import type { Operation } from './exchange.ts';
import type { Outcome } from './transaction.ts';
import type { HttpResponse } from './uws.ts';

/** A body that stays open, for hours perhaps, and takes what is sent to it. Of its events only the newest counts. */
export interface LiveBody {
  /** Bytes that mean nothing; sent when nothing else has been for a while. */
  readonly heartbeat: Uint8Array;
  /** Called when the headers are written, not for a HEAD. Must send something at once: that takes the headers along. */
  open(stream: LiveStream): LiveSource;
}

/** Who sends to a live stream. */
export interface LiveSource {
  /** Nothing more can be sent: it was ended, or the client is gone or does not read, or the server stops. */
  closed(): void;
}

/** What live streams need of their server. */
export interface LiveHost {
  /** How long a reader may take nothing, in ms. */
  readonly stalledReader: number;
  /** After so many ms without anything sent comes a heartbeat. */
  readonly heartbeat: number;
  /** The server is going down: connections are not kept. */
  readonly isStopping: boolean;
  readonly observe: ((outcome: Outcome) => void) | undefined;
  opened(stream: LiveStream): void;
  closed(stream: LiveStream): void;
}

/** The request that a live stream answers, as far as its log line needs it. */
export interface LiveRequest {
  readonly requestId: string;
  readonly operation: Operation | undefined;
  readonly startedAt: number;
  /** The binding counts the time of this connection, because it was paused. */
  readonly isTimed: boolean;
}

/**
 * An answer that stays open. There may be thousands, so each holds little: nothing of the request beyond its line in the
 * log, and of what its client does not take, the newest event.
 */
export class LiveStream implements LiveRequest {
  readonly requestId: string;
  readonly operation: Operation | undefined;
  readonly startedAt: number;
  isTimed: boolean;
  readonly #host: LiveHost;
  readonly #res: HttpResponse;
  readonly #heartbeat: Uint8Array;
  #source: LiveSource | undefined;
  #isClosed = false;
  #sentAt = 0;
  /** Since when the socket takes nothing more, in `performance.now()` time. */
  #stuckAt: number | undefined;
  #watchesSocket = false;
  #next: Uint8Array | undefined;

  constructor(host: LiveHost, res: HttpResponse, request: LiveRequest, { heartbeat }: LiveBody) {
    this.requestId = request.requestId;
    this.operation = request.operation;
    this.startedAt = request.startedAt;
    this.isTimed = request.isTimed;
    this.#host = host;
    this.#res = res;
    this.#heartbeat = heartbeat;
  }

  /** Has the source send; to be called once, in the call that wrote the headers. */
  open(body: LiveBody): void {
    this.#res.onAborted(() => this.#close());
    this.#host.opened(this);
    this.#source = body.open(this);
    if (this.#isClosed) this.#source.closed();
    else if (this.#host.isStopping) this.end();
  }

  /** Nothing can be sent any more. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Sends an event; where the client has yet to take earlier ones, it replaces those that wait. Bytes are kept, not copied. */
  send(event: Uint8Array): void {
    if (this.#isClosed) return;
    if (this.#stuckAt === undefined) this.#write(event);
    else this.#next = event;
  }

  /** Ends the answer behind what was sent. */
  end(): void {
    if (this.#isClosed) return;
    const { isStopping } = this.#host;
    this.#res.cork(() => {
      if (this.#next !== undefined) this.#res.write(this.#next);
      this.#res.end('', isStopping);
    });
    this.#close();
  }

  /** Looks after a quiet stream and a slow client. To be called about every second. */
  tick(now: number): void {
    if (this.#stuckAt !== undefined && now - this.#stuckAt > this.#host.stalledReader) {
      this.#res.close();
      return;
    }
    if (this.isTimed) {
      this.#res.pause();
      this.#res.resume();
    }
    if (this.#stuckAt === undefined && now - this.#sentAt >= this.#host.heartbeat)
      this.#write(this.#heartbeat);
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

  /** What the binding keeps of the last event, it sends only with the next one. */
  #resume(): boolean {
    if (this.#isClosed || this.#stuckAt === undefined) return true;
    this.#stuckAt = undefined;
    const next = this.#next ?? this.#heartbeat;
    this.#next = undefined;
    this.#write(next);
    return true;
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#next = undefined;
    this.#host.closed(this);
    this.#source?.closed();
    this.#source = undefined;
    this.#host.observe?.({
      request: this,
      operation: this.operation,
      method: 'GET',
      status: 200,
      ms: performance.now() - this.startedAt,
      received: 0,
      bytes: 0,
      code: undefined,
      error: undefined,
      isLive: true,
    });
  }
}
