import type { BodyStream } from './answer.ts';
import type { HttpResponse } from './uws.ts';

/** Largest write of a chunked body, bytes. The binding buffers what the socket does not take. */
const PIECE_BYTES = 256 * 1024;
/**
 * Largest write while the binding buffers something, bytes. It sends its buffer only with the next write. A write that is larger
 * than the room in the socket would make the buffer grow.
 */
const PIECE_BEHIND_BYTES = 16 * 1024;

/** Sends a body as fast as the client takes it, one piece at a time, without copies. */
export class BodyWriter {
  readonly #res: HttpResponse;
  readonly #size: number | undefined;
  /** The last byte is sent or the client is gone, so the response must not be touched any more. */
  isEnded = false;
  /** When bytes last moved or began to wait for the client, in `performance.now()` time. */
  #movedAt = performance.now();
  #rest: Uint8Array | undefined;
  #sent: number;
  #wake: (() => void) | undefined;
  /** The socket did not take all of the last piece of a chunked body. */
  #isBehind = false;

  /**
   * @param size of the whole body, of which `tryEnd` may have sent a part; undefined for a chunked answer
   * @param rest the part of the body that is not sent yet, if it is in memory
   */
  constructor(res: HttpResponse, size: number | undefined, rest?: Uint8Array) {
    this.#res = res;
    this.#size = size;
    this.#sent = size === undefined ? 0 : res.getWriteOffset();
    this.#rest = rest;
    res.onWritable(() => this.#push());
  }

  /**
   * Sends everything; settles when the last byte is handed over or the client is gone. If the producer fails or stops
   * early, the connection closes, so that the client does not take a part for the whole.
   * @throws the error of the producer
   */
  async run(chunks: BodyStream['chunks'] | []): Promise<void> {
    try {
      if (this.#rest !== undefined) await this.#untilTaken();
      for await (const chunk of chunks) {
        if (this.isEnded) return;
        for (let at = 0; at < chunk.length; ) {
          const piece = chunk.subarray(at, at + this.#pieceSize);
          await this.#send(piece);
          if (this.isEnded) return;
          at += piece.length;
        }
      }
      if (this.isEnded) return;
      // A body of no bytes has no piece that ends the answer.
      if (this.#size === undefined || this.#size === 0) this.#res.cork(() => this.#res.end());
      else this.#res.close();
      this.isEnded = true;
    } catch (cause) {
      if (!this.isEnded) this.#res.close();
      this.isEnded = true;
      throw cause;
    }
  }

  /** How long the client has taken nothing although bytes wait for it, in ms; 0 while they wait for the producer. */
  stalledFor(now: number): number {
    return this.#wake === undefined ? 0 : now - this.#movedAt;
  }

  /** Tries to send more. Call it now and then, because the kernel reports room late. */
  probe(): void {
    if (!this.isEnded && this.#rest !== undefined) this.#res.cork(() => this.#push());
  }

  /** Call it if the client went away. */
  abort(): void {
    this.isEnded = true;
    this.#wake?.();
  }

  get #pieceSize(): number {
    if (this.#size !== undefined) return Number.POSITIVE_INFINITY;
    return this.#isBehind ? PIECE_BEHIND_BYTES : PIECE_BYTES;
  }

  #send(chunk: Uint8Array): Promise<void> {
    const taken = this.#untilTaken();
    this.#rest = chunk;
    this.#res.cork(() => this.#push());
    return taken;
  }

  #untilTaken(): Promise<void> {
    this.#movedAt = performance.now();
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #push(): boolean {
    if (this.isEnded || this.#rest === undefined) {
      this.#onTaken();
      return true;
    }
    return this.#size === undefined ? this.#pushChunk(this.#rest) : this.#pushSized(this.#rest, this.#size);
  }

  #pushChunk(chunk: Uint8Array): boolean {
    this.#rest = undefined;
    // The binding keeps the bytes that the socket did not take, and calls back when they are sent.
    this.#isBehind = !this.#res.write(chunk);
    if (!this.#isBehind) this.#onTaken();
    return true;
  }

  #pushSized(rest: Uint8Array, size: number): boolean {
    const [isTaken, isDone] = this.#res.tryEnd(rest, size);
    if (isDone) {
      this.isEnded = true;
      this.#onTaken();
      return true;
    }
    const sent = this.#res.getWriteOffset();
    const moved = sent - this.#sent;
    this.#sent = sent;
    if (moved > 0) this.#movedAt = performance.now();
    this.#rest = rest.subarray(moved);
    if (isTaken || this.#rest.length === 0) {
      this.#rest = undefined;
      this.#onTaken();
      return true;
    }
    return false;
  }

  #onTaken(): void {
    this.#movedAt = performance.now();
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}
