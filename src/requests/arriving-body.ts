import { setImmediate as nextTurn } from 'node:timers/promises';

/** Limit per turn of the event loop, bytes: parsing takes up to 1 ms. */
const TURN_BYTES = 512 * 1024;

/** Hands over the pieces of a body as they arrive, in order in one buffer; settles at the end. */
type Receive = (onPiece: (piece: Uint8Array) => void) => Promise<unknown>;

/**
 * Spreads an arriving body over turns of the event loop, because a fast connection brings 50 MB in one turn. Pending bytes
 * are one view, however small the client's chunks are.
 */
export class ArrivingBody {
  #waiting: Uint8Array = new Uint8Array(0);
  #isComplete = false;
  #failure: { readonly cause: unknown } | undefined;
  #wake = Promise.withResolvers<void>();

  constructor(receive: Receive) {
    receive((piece) => this.#add(piece)).then(
      () => {
        this.#isComplete = true;
        this.#wake.resolve();
      },
      (cause) => {
        this.#failure = { cause };
        this.#wake.resolve();
      },
    );
  }

  /** Throws the error of `receive` at once, because the buffer may belong to another request afterwards. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (;;) {
      await this.#wake.promise;
      await nextTurn();
      if (this.#failure !== undefined) throw this.#failure.cause;
      if (this.#waiting.length === 0 && this.#isComplete) return;
      yield this.#take();
    }
  }

  #add({ buffer, byteOffset, length }: Uint8Array): void {
    const waiting = this.#waiting.length;
    const start = waiting > 0 ? this.#waiting.byteOffset : byteOffset;
    this.#waiting = new Uint8Array(buffer, start, waiting + length);
    this.#wake.resolve();
  }

  #take(): Uint8Array {
    const taken = this.#waiting.subarray(0, TURN_BYTES);
    this.#waiting = this.#waiting.subarray(TURN_BYTES);
    if (this.#waiting.length === 0 && !this.#isComplete) this.#wake = Promise.withResolvers();
    return taken;
  }
}
