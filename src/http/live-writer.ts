import type { LiveBody, LiveSource, LiveStream } from './answer.ts';
import type { ServerContext } from './exchange.ts';
import type { HttpResponse } from './uws.ts';

/**
 * Sends an answer that stays open. There may be thousands, so each keeps only the newest event that the client has not
 * taken.
 */
export class LiveWriter implements LiveStream {
  isClosed = false;
  /** The binding closes this connection when idle, because it was paused. */
  isTimed = false;
  readonly #context: ServerContext;
  readonly #res: HttpResponse;
  readonly #heartbeat: Uint8Array;
  readonly #report: () => void;
  #source: LiveSource | undefined;
  #sentAt = 0;
  /** When the socket stopped taking bytes, in `performance.now()` time. */
  #stuckAt: number | undefined;
  #watchesSocket = false;
  #next: Uint8Array | undefined;

  /** @param report called at its end */
  constructor(context: ServerContext, res: HttpResponse, heartbeat: Uint8Array, report: () => void) {
    this.#context = context;
    this.#res = res;
    this.#heartbeat = heartbeat;
    this.#report = report;
  }

  /** Starts the source. Call it once, in the call that wrote the headers. */
  open(body: LiveBody): void {
    this.#res.onAborted(() => this.#close());
    this.#context.streams.add(this);
    this.#source = body.open(this);
    if (this.isClosed) this.#source.closed();
    else if (this.#context.isStopping) this.end();
  }

  get isReady(): boolean {
    return this.#stuckAt === undefined;
  }

  send(event: Uint8Array): void {
    if (this.isClosed) return;
    if (this.#stuckAt === undefined) this.#write(event);
    else this.#next = event;
  }

  end(): void {
    if (this.isClosed) return;
    this.#res.cork(() => {
      if (this.#next !== undefined) this.#res.write(this.#next);
      // Not `end('', true)`: to close the connection, the binding writes a header field into the last chunk.
      this.#res.end('');
    });
    this.#close();
  }

  /** Sends heartbeats and closes stalled connections. Call it about every second. */
  tick(now: number): void {
    const { heartbeat, stalledReader, tick } = this.#context.limits;
    if (this.#stuckAt !== undefined && now - this.#stuckAt > stalledReader) {
      this.#res.close();
      return;
    }
    if (this.isTimed) {
      this.#res.pause();
      this.#res.resume();
    }
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
    if (this.isReady) this.#source?.drained?.();
    return true;
  }

  #close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#next = undefined;
    this.#context.streams.delete(this);
    this.#source?.closed();
    this.#source = undefined;
    this.#report();
  }
}
