import type { BodyStream } from './answer.ts';
import type { HttpResponse } from './uws.ts';

/** The part of an answer that the client has not taken yet, sent as fast as it takes it. */
export interface Sending {
  /** Tries to send more; to be called now and then, because the kernel reports room late. */
  probe(): void;
  /** When bytes last moved, in `performance.now()` time. */
  readonly movedAt: number;
  /** Nothing more is sent, and the response must not be touched: with its last byte it is gone. */
  readonly isEnded: boolean;
  /** The client went away. */
  abort(): void;
}

/** Sends bytes that did not fit into the socket at once. Nothing of them is copied or buffered. */
export class BytesSending implements Sending {
  readonly #res: HttpResponse;
  readonly #bytes: Uint8Array;
  readonly #done: () => void;
  #offset: number;
  isEnded = false;
  movedAt = performance.now();

  /** To be made right after the first `tryEnd` of `bytes`, which took a part of them. */
  constructor(res: HttpResponse, bytes: Uint8Array, done: () => void) {
    this.#res = res;
    this.#bytes = bytes;
    this.#done = done;
    this.#offset = res.getWriteOffset();
    res.onWritable(() => this.#push());
  }

  probe(): void {
    if (!this.isEnded) this.#res.cork(() => this.#push());
  }

  abort(): void {
    this.isEnded = true;
  }

  #push(): boolean {
    if (this.isEnded) return true;
    const [, isDone] = this.#res.tryEnd(this.#bytes.subarray(this.#offset), this.#bytes.length);
    if (isDone) {
      this.isEnded = true;
      this.#done();
      return true;
    }
    const offset = this.#res.getWriteOffset();
    if (offset > this.#offset) this.movedAt = performance.now();
    this.#offset = offset;
    return false;
  }
}

/** Sends a body while it is produced, one piece at a time. */
export class StreamSending implements Sending {
  readonly #res: HttpResponse;
  readonly #size: number | undefined;
  isEnded = false;
  #rest: Uint8Array | undefined;
  #sent = 0;
  #wake: (() => void) | undefined;
  movedAt = performance.now();

  constructor(res: HttpResponse, body: BodyStream) {
    this.#res = res;
    this.#size = body.size;
    res.onWritable(() => this.#push());
  }

  /**
   * Sends everything; settles when the last byte is handed over or the client is gone. A producer that
   * fails or stops short ends the connection, so that the client does not take a part for the whole.
   * @throws what the producer threw
   */
  async run(chunks: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      for await (const chunk of chunks) {
        if (this.isEnded) return;
        if (chunk.length > 0) await this.#send(chunk);
        if (this.isEnded) return;
      }
      if (this.#size === undefined) this.#res.cork(() => this.#res.end());
      else this.#res.close();
      this.isEnded = true;
    } catch (cause) {
      if (!this.isEnded) this.#res.close();
      this.isEnded = true;
      throw cause;
    }
  }

  probe(): void {
    if (!this.isEnded && this.#rest !== undefined) this.#res.cork(() => this.#push());
  }

  abort(): void {
    this.isEnded = true;
    this.#wake?.();
  }

  /** Sends one piece; settles when the socket has taken it. */
  #send(chunk: Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      this.#rest = chunk;
      this.#res.cork(() => this.#push());
    });
  }

  #push(): boolean {
    if (this.isEnded || this.#rest === undefined) {
      this.#taken();
      return true;
    }
    return this.#size === undefined ? this.#pushChunk(this.#rest) : this.#pushSized(this.#rest, this.#size);
  }

  #pushChunk(chunk: Uint8Array): boolean {
    this.#rest = undefined;
    // The binding keeps what the socket did not take, and calls back when it is gone.
    if (this.#res.write(chunk)) this.#taken();
    return true;
  }

  #pushSized(rest: Uint8Array, size: number): boolean {
    const [isTaken, isDone] = this.#res.tryEnd(rest, size);
    if (isDone) {
      this.isEnded = true;
      this.#taken();
      return true;
    }
    const sent = this.#res.getWriteOffset();
    const moved = sent - this.#sent;
    this.#sent = sent;
    if (moved > 0) this.movedAt = performance.now();
    this.#rest = rest.subarray(moved);
    if (isTaken || this.#rest.length === 0) {
      this.#rest = undefined;
      this.#taken();
      return true;
    }
    return false;
  }

  #taken(): void {
    this.movedAt = performance.now();
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}
