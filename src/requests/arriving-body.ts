import { setImmediate as nextTurn } from 'node:timers/promises';

/** As much is taken in one turn of the event loop, bytes: to parse it takes up to a millisecond. */
const TURN_BYTES = 512 * 1024;

/** Has the pieces of a body handed over as they arrive, all behind each other in one buffer; settles at its end. */
export type Receive = (onPiece: (piece: Uint8Array) => void) => Promise<unknown>;

/**
 * A body as it arrives, some of it in each turn of the event loop: a fast connection brings 50 MB in a single turn. What
 * waits is one view of the buffer, into however small pieces a client has cut it.
 */
export class ArrivingBody {
  #waiting: Uint8Array = new Uint8Array(0);
  #isComplete = false;
  #failure: { readonly cause: unknown } | undefined;
  #news = Promise.withResolvers<void>();

  constructor(receive: Receive) {
    receive((piece) => this.#add(piece)).then(
      () => {
        this.#isComplete = true;
        this.#news.resolve();
      },
      (cause) => {
        this.#failure = { cause };
        this.#news.resolve();
      },
    );
  }

  /** Throws what ended the body early, as soon as that is known: its buffer may be another request's by then. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (;;) {
      await this.#news.promise;
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
    this.#news.resolve();
  }

  #take(): Uint8Array {
    const taken = this.#waiting.subarray(0, TURN_BYTES);
    this.#waiting = this.#waiting.subarray(TURN_BYTES);
    if (this.#waiting.length === 0 && !this.#isComplete) this.#news = Promise.withResolvers();
    return taken;
  }
}
