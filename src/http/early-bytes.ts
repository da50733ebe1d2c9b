import type { BodyMemory } from './body-memory.ts';

const NONE = new Uint8Array(0);

/**
 * What a socket delivers of a body before the body is admitted, in one buffer: a client may cut it into chunks of a
 * byte, each of which would take far more than that.
 */
export class EarlyBytes {
  readonly #memory: BodyMemory;
  readonly #client: string;
  #buffer = NONE;
  #size = 0;

  constructor(memory: BodyMemory, client: string) {
    this.#memory = memory;
    this.#client = client;
  }

  /** All that was added; valid until the release. */
  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#size);
  }

  /**
   * Keeps a copy of a chunk.
   * @throws Refusal `busy` where too much is kept; what was added before stays
   */
  add(chunk: ArrayBuffer): void {
    const size = this.#size + chunk.byteLength;
    if (size > this.#buffer.length) this.#grow(Math.max(size, 2 * this.#buffer.length));
    this.#buffer.set(new Uint8Array(chunk), this.#size);
    this.#size = size;
  }

  /** Gives the memory back. May be called more than once. */
  release(): void {
    if (this.#buffer === NONE) return;
    this.#memory.releaseEarly(this.#client, this.#buffer.length);
    this.#buffer = NONE;
    this.#size = 0;
  }

  #grow(capacity: number): void {
    this.#memory.holdEarly(this.#client, capacity - this.#buffer.length);
    const larger = new Uint8Array(capacity);
    larger.set(this.bytes);
    this.#buffer = larger;
  }
}
