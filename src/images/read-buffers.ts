import type { OnReadOpts, Socket } from 'node:net';

const BUFFER_BYTES = 64 * 1024;
/** Kept for the next reads; more go to the garbage collector. */
const KEPT = 32;

/**
 * Buffers that sockets read into again and again. Fresh ones for every 64 KB of every body would have V8 start a full
 * garbage collection for each 10 MB, because it counts their memory as its own.
 */
export class ReadBuffers {
  readonly #free: Buffer[] = [];
  /** How far each buffer was filled by the last read. */
  readonly #filled = new WeakMap<ArrayBufferLike, number>();

  /** What `net.connect` needs to use them. */
  readonly onread: OnReadOpts = {
    buffer: () => this.#free.pop() ?? Buffer.allocUnsafeSlow(BUFFER_BYTES),
    callback: this.#reader(),
  };

  /**
   * Takes the buffer of a piece back, after which nobody may look at the piece. Pieces of a body must be released in
   * their order: the buffer is free when the last one in it is.
   */
  release({ buffer, byteOffset, byteLength }: Uint8Array): void {
    if (this.#filled.get(buffer) !== byteOffset + byteLength) return;
    this.#filled.delete(buffer);
    if (this.#free.length < KEPT) this.#free.push(Buffer.from(buffer));
  }

  #reader(): OnReadOpts['callback'] {
    const filled = this.#filled;
    return function (this: Socket, size: number, bytes: Uint8Array) {
      filled.set(bytes.buffer, size);
      return this.push(bytes.subarray(0, size));
    } as OnReadOpts['callback'];
  }
}
